package siltstone;

import org.apache.spark.unsafe.types.UTF8String;

/** A value of a JSON text, written as Jackson writes it: without blanks, its numbers and escapes in their usual form. */
class JsonCopy extends JsonBytes {
  static final int DEEPEST = 200;
  private static final int LONG = 17; // digits and a point, of which a double may lose some
  private static final int FAR = 16; // an exponent that no bigint has room for
  private static final int MOST_OF_EXPONENT = 999;

  /** How fractions are written that a double may not tell to their last digit: as the double, as they stand, in quotes. */
  static final int AS_DOUBLES = 0;
  static final int AS_THEY_STAND = 1;
  static final int IN_QUOTES = 2;
  /** As they stand, and powers of ten, too, where they are the whole value of a field; as doubles inside of one. */
  static final int FIELDS_AS_THEY_STAND = 3;
  int longNumbers = AS_DOUBLES;

  JsonCopy(UTF8String text) throws Unsure {
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
        return copiedNumber(kept, false);
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
        nameFrom(name);
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
      int c = takePlain();
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
      } else {
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

  /** `isAlone`: the number is the whole text, and not a value in it: so it has no quotes. */
  int copiedNumber(int kept, boolean isAlone) throws Unsure {
    int start = at;
    if (!scanNumber()) {
      return kept;
    }
    // A fraction is written as the double that it is: 1.10 as 1.1.
    String told = new String(text, 0, start, at - start);
    if (longNumbers == FIELDS_AS_THEY_STAND) {
      if (isAlone && (isLong(told) || told.indexOf('e') >= 0 || told.indexOf('E') >= 0)) {
        return kept;
      }
    } else if (longNumbers != AS_DOUBLES && isLong(told)) {
      if (isAlone) {
        throw Unsure.UNSURE;
      }
      if (longNumbers == IN_QUOTES) {
        write(kept, start);
        put('"');
        write(start, at);
        put('"');
        return at;
      }
      return kept;
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

  /** Whether a fraction may have more digits than a double: engine.decode.fractions tells it in the same way. */
  private static boolean isLong(String fraction) throws Unsure {
    int end = Math.max(fraction.indexOf('e'), fraction.indexOf('E'));
    int digits = (end < 0 ? fraction.length() : end) - (fraction.charAt(0) == '-' ? 1 : 0);
    if (end < 0) {
      return digits >= LONG;
    }
    int sign = fraction.charAt(end + 1);
    int exponent = 0;
    for (int i = sign == '+' || sign == '-' ? end + 2 : end + 1; i < fraction.length(); i++) {
      exponent = 10 * exponent + fraction.charAt(i) - '0';
      if (exponent > MOST_OF_EXPONENT) {
        throw Unsure.UNSURE;
      }
    }
    return digits >= LONG || exponent >= FAR;
  }

  /** A sign beyond 16 bits, as Jackson writes it: as the escapes of its two halves. */
  void putPair(int sign) {
    char[] halves = Character.toChars(sign);
    for (int i = 0; i < halves.length; i++) {
      put('\\');
      put('u');
      for (int shift = 12; shift >= 0; shift -= 4) {
        put(JsonWriter.HEX.charAt(halves[i] >> shift & 0xF));
      }
    }
  }
}
