package siltstone;

/** A value of a JSON text, written as Jackson writes it: without blanks, its numbers and escapes in their usual form. */
class JsonCopy extends JsonBytes {
  static final int DEEPEST = 200;
  static final int LONGEST_NAME = 50000;
  private static final int LONG = 17; // digits and a point, of which a double may lose some

  /** Whether fractions that a double does not tell to their last digit are not to be copied. */
  boolean isExact = false;

  JsonCopy(byte[] text) {
    super(text);
  }

  /**
   * Goes behind a value, and writes what Jackson would write otherwise than it stands here; gives where what is still
   * to be written begins.
   */
  int copied(int kept, int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    int first = peek();
    switch (first) {
      case '"':
        return copiedText(kept);
      case '{':
      case '[':
        return copiedNested(kept, first, depth);
      case 't':
        word("true");
        return kept;
      case 'f':
        word("false");
        return kept;
      case 'n':
        word("null");
        return kept;
      default:
        return copiedNumber(kept);
    }
  }

  int copiedNested(int kept, int first, int depth) throws Unsure {
    boolean isObject = first == '{';
    int last = isObject ? '}' : ']';
    at++;
    kept = withoutBlanks(kept);
    if (peek() == last) {
      at++;
      return kept;
    }
    while (true) {
      if (isObject) {
        if (peek() != '"') {
          throw Unsure.UNSURE;
        }
        int name = at;
        kept = copiedText(kept);
        if (at - name > LONGEST_NAME) {
          throw Unsure.UNSURE;
        }
        kept = withoutBlanks(kept);
        expect(':');
        kept = withoutBlanks(kept);
      }
      kept = withoutBlanks(copied(kept, depth + 1));
      int mark = take();
      if (mark == last) {
        return kept;
      }
      if (mark != ',') {
        throw Unsure.UNSURE;
      }
      kept = withoutBlanks(kept);
    }
  }

  int withoutBlanks(int kept) {
    if (at < text.length && text[at] > ' ') {
      return kept;
    }
    int start = at;
    blanks();
    if (at == start) {
      return kept;
    }
    write(kept, start);
    return at;
  }

  int copiedText(int kept) throws Unsure {
    at++;
    while (true) {
      int c = take();
      if (c == '"') {
        return kept;
      }
      if (c == '\\') {
        int start = at - 1;
        int named = peek();
        int sign = escape();
        if (named == 'u' || named == '/') {
          write(kept, start);
          if (sign < ' ' || sign == '"' || sign == '\\' || sign == 0x7F) {
            throw Unsure.UNSURE; // Jackson would escape it again
          }
          if (sign < 0x80) {
            put(sign);
          } else if (sign < 0x10000) {
            putSign(sign);
          } else {
            putPair(sign);
          }
          kept = at;
        }
      } else if (c < ' ') {
        int start = at - 1;
        at = behindSign(c, at);
        if (at - start == 4) {
          write(kept, start);
          putPair((c & 7) << 18 | (text[at - 3] & 0x3F) << 12 | (text[at - 2] & 0x3F) << 6 | text[at - 1] & 0x3F);
          kept = at;
        }
      }
    }
  }

  int copiedNumber(int kept) throws Unsure {
    int start = at;
    if (!scanNumber()) {
      return kept;
    }
    // A fraction is written as the double that it is: 1.10 as 1.1.
    String told = new String(text, 0, start, at - start);
    if (isExact && (told.length() >= LONG || told.indexOf('e') >= 0 || told.indexOf('E') >= 0)) {
      throw Unsure.UNSURE;
    }
    String usual = Double.toString(Double.parseDouble(told));
    if (usual.equals(told)) {
      return kept;
    }
    if (usual.indexOf('I') >= 0) {
      throw Unsure.UNSURE;
    }
    write(kept, start);
    for (int i = 0; i < usual.length(); i++) {
      put(usual.charAt(i));
    }
    return at;
  }

  /** A sign beyond 16 bits, as Jackson writes it: as the escapes of its two halves. */
  void putPair(int sign) {
    char[] halves = Character.toChars(sign);
    for (int i = 0; i < halves.length; i++) {
      put('\\');
      put('u');
      String digits = Integer.toHexString(halves[i]).toUpperCase(); // of a half always four
      for (int digit = 0; digit < digits.length(); digit++) {
        put(digits.charAt(digit));
      }
    }
  }
}
