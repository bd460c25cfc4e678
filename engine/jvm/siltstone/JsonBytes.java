package siltstone;

import java.util.Arrays;
import java.util.Base64;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * A place in a JSON text, and what is read there byte by byte: signs, texts between quotes, numbers, base64. What is
 * not plain JSON, or not certainly read by Jackson in the same way, is `Unsure`.
 */
class JsonBytes {
  static final int LONGEST_NUMBER = 60;
  private static final int LONGEST_TEXT = 20000000; // Jackson reads no longer ones
  private static final int LONGEST_NAME = 50000; // neither
  private static final double[] TENS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };

  final byte[] text;
  int at = 0;
  byte[] out = null; // what is written anew: a text without its escapes, a value as Jackson would write it
  int written = 0;

  JsonBytes(UTF8String text) throws Unsure {
    if (text.numBytes() > LONGEST_TEXT) {
      throw Unsure.UNSURE;
    }
    this.text = text.getBytes();
  }

  // --- signs ---------------------------------------------------------------------------------------------------------

  void word(String word) throws Unsure {
    for (int i = 0; i < word.length(); i++) {
      expect(word.charAt(i));
    }
    ends();
  }

  void blanks() {
    while (at < text.length) {
      int c = text[at];
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        return;
      }
      at++;
    }
  }

  int peek() throws Unsure {
    if (at >= text.length) {
      throw Unsure.UNSURE;
    }
    return text[at];
  }

  int take() throws Unsure {
    if (at >= text.length) {
      throw Unsure.UNSURE;
    }
    return text[at++];
  }

  void expect(int sign) throws Unsure {
    if (at >= text.length || text[at] != sign) {
      throw Unsure.UNSURE;
    }
    at++;
  }

  /** Goes into an object or an array; gives a comma, or where nothing is in it its last mark, and then is behind that. */
  int opened(int first, int last) throws Unsure {
    expect(first);
    blanks();
    if (peek() == last) {
      return take();
    }
    return ',';
  }

  /** Whether nothing but blanks is left. */
  boolean isAtEnd() {
    blanks();
    return at == text.length;
  }

  /** What follows a number or a word must not be part of one. */
  void ends() throws Unsure {
    if (at < text.length) {
      int c = text[at];
      if (c != ',' && c != '}' && c != ']' && c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        throw Unsure.UNSURE;
      }
    }
  }

  // --- texts ---------------------------------------------------------------------------------------------------------

  /** Goes behind the closing quote; false where it met an escape before that, and went behind its backslash. */
  boolean plain() throws Unsure {
    byte[] bytes = text;
    int i = at;
    int end = bytes.length;
    while (i < end) {
      int c = bytes[i++];
      if (c == '"') {
        at = i;
        return true;
      }
      if (c == '\\') {
        at = i;
        return false;
      }
      if (c < ' ') {
        i = behindSign(c, i);
      }
    }
    throw Unsure.UNSURE;
  }

  /** Goes behind the next quote, backslash, or byte that is no sign of ASCII's, or one of control; gives it. */
  int takePlain() throws Unsure {
    byte[] bytes = text;
    int end = bytes.length;
    for (int i = at; i < end; i++) {
      int c = bytes[i];
      if (c == '"' || c == '\\' || c < ' ') {
        at = i + 1;
        return c;
      }
    }
    throw Unsure.UNSURE;
  }

  /** Goes behind a name, which ends one before; gives where it starts. */
  int name() throws Unsure {
    expect('"');
    int start = at;
    if (!plain()) {
      throw Unsure.UNSURE;
    }
    nameFrom(start);
    return start;
  }

  /** Behind a name that starts here: it must not be longer than Jackson reads. */
  void nameFrom(int start) throws Unsure {
    if (at - start > LONGEST_NAME) {
      throw Unsure.UNSURE;
    }
  }

  /** Where the sign ends that begins with a byte other than ASCII's; it must be one of UTF-8, and none of control. */
  int behindSign(int first, int next) throws Unsure {
    int more;
    int low = 0x80;
    int high = 0xBF;
    int lead = first & 0xFF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      low = lead == 0xE0 ? 0xA0 : low;
      high = lead == 0xED ? 0x9F : high;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      low = lead == 0xF0 ? 0x90 : low;
      high = lead == 0xF4 ? 0x8F : high;
    } else {
      throw Unsure.UNSURE;
    }
    if (next + more > text.length) {
      throw Unsure.UNSURE;
    }
    for (int i = next; i < next + more; i++) {
      int sign = text[i] & 0xFF;
      if (sign < low || sign > high) {
        throw Unsure.UNSURE;
      }
      low = 0x80;
      high = 0xBF;
    }
    return next + more;
  }

  /** A text up to its closing quote, its escapes resolved, in `out`. */
  void unescaped() throws Unsure {
    while (true) {
      int c = take();
      if (c == '"') {
        return;
      }
      if (c == '\\') {
        int sign = escape();
        if (sign < 0x80) {
          put(sign);
        } else {
          putSign(sign);
        }
        continue;
      }
      if (c < ' ') {
        int start = at - 1;
        at = behindSign(c, at);
        write(start, at);
      } else {
        put(c);
      }
    }
  }

  int escape() throws Unsure {
    int c = take();
    switch (c) {
      case '"':
      case '\\':
      case '/':
        return c;
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'u': {
        int sign = hex4();
        if (sign < 0xD800 || sign > 0xDFFF) {
          return sign;
        }
        if (sign > 0xDBFF || take() != '\\' || take() != 'u') {
          throw Unsure.UNSURE;
        }
        int low = hex4();
        if (low < 0xDC00 || low > 0xDFFF) {
          throw Unsure.UNSURE;
        }
        return 0x10000 + ((sign - 0xD800) << 10) + (low - 0xDC00);
      }
      default:
        throw Unsure.UNSURE;
    }
  }

  int hex4() throws Unsure {
    int number = 0;
    for (int i = 0; i < 4; i++) {
      int digit = Character.digit((char) take(), 16);
      if (digit < 0) {
        throw Unsure.UNSURE;
      }
      number = number * 16 + digit;
    }
    return number;
  }

  // --- numbers and bytes ---------------------------------------------------------------------------------------------

  /** Goes behind a number; whether it is a fraction. */
  boolean scanNumber() throws Unsure {
    int start = at;
    if (peek() == '-') {
      at++;
    }
    int first = take();
    if (first < '0' || first > '9') {
      throw Unsure.UNSURE;
    }
    int whole = at;
    digits();
    if (first == '0' && (at > whole || start < whole - 1 && !isFraction())) {
      throw Unsure.UNSURE; // leading zeros; and -0
    }
    boolean fraction = false;
    if (at < text.length && text[at] == '.') {
      fraction = true;
      at++;
      int places = at;
      digits();
      if (at == places) {
        throw Unsure.UNSURE;
      }
    }
    if (at < text.length && (text[at] == 'e' || text[at] == 'E')) {
      fraction = true;
      at++;
      if (at < text.length && (text[at] == '+' || text[at] == '-')) {
        at++;
      }
      int exponent = at;
      digits();
      if (at == exponent) {
        throw Unsure.UNSURE;
      }
    }
    if (at - start > LONGEST_NUMBER) {
      throw Unsure.UNSURE;
    }
    ends();
    return fraction;
  }

  boolean isFraction() {
    return at < text.length && (text[at] == '.' || text[at] == 'e' || text[at] == 'E');
  }

  void digits() {
    while (at < text.length && text[at] >= '0' && text[at] <= '9') {
      at++;
    }
  }

  String number() throws Unsure {
    int start = at;
    scanNumber();
    return new String(text, 0, start, at - start);
  }

  long whole() throws Unsure {
    int start = at;
    if (scanNumber()) {
      throw Unsure.UNSURE;
    }
    boolean negative = text[start] == '-';
    int first = negative ? start + 1 : start;
    if (at - first > 18) {
      try {
        return Long.parseLong(new String(text, 0, start, at - start));
      } catch (NumberFormatException beyond) {
        throw Unsure.UNSURE;
      }
    }
    long number = 0;
    for (int i = first; i < at; i++) {
      number = number * 10 + (text[i] - '0');
    }
    return negative ? -number : number;
  }

  double floating() throws Unsure {
    int start = at;
    scanNumber();
    // Up to 15 digits are exact in a double, and so is a power of ten that small: their quotient is the nearest one.
    if (at - start <= 16) {
      long digits = 0;
      int places = -1;
      int i = text[start] == '-' ? start + 1 : start;
      boolean simple = true;
      for (; i < at; i++) {
        int c = text[i];
        if (c == '.') {
          places = 0;
        } else if (c == 'e' || c == 'E') {
          simple = false;
          break;
        } else {
          digits = digits * 10 + (c - '0');
          if (places >= 0) {
            places++;
          }
        }
      }
      if (simple && digits < 1000000000000000L) {
        double number = places > 0 ? digits / TENS[places] : (double) digits;
        return text[start] == '-' ? -number : number;
      }
    }
    return Double.parseDouble(new String(text, 0, start, at - start));
  }

  byte[] binary() throws Unsure {
    expect('"');
    int start = at;
    if (!plain()) {
      throw Unsure.UNSURE;
    }
    return ofBase64(text, start, at - 1);
  }

  /** The bytes that stand there in base64, its end filled up and nothing between its signs. */
  static byte[] ofBase64(byte[] text, int start, int end) throws Unsure {
    if ((end - start) % 4 != 0) {
      throw Unsure.UNSURE;
    }
    try {
      return Base64.getDecoder().decode(Arrays.copyOfRange(text, start, end));
    } catch (IllegalArgumentException none) {
      throw Unsure.UNSURE;
    }
  }

  // --- what is written anew ------------------------------------------------------------------------------------------

  void write(int from, int to) {
    room(to - from);
    System.arraycopy(text, from, out, written, to - from);
    written += to - from;
  }

  void put(int sign) {
    room(1);
    out[written++] = (byte) sign;
  }

  void putSign(int sign) {
    room(4);
    if (sign < 0x800) {
      out[written++] = (byte) (0xC0 | sign >> 6);
    } else {
      if (sign < 0x10000) {
        out[written++] = (byte) (0xE0 | sign >> 12);
      } else {
        out[written++] = (byte) (0xF0 | sign >> 18);
        out[written++] = (byte) (0x80 | sign >> 12 & 0x3F);
      }
      out[written++] = (byte) (0x80 | sign >> 6 & 0x3F);
    }
    out[written++] = (byte) (0x80 | sign & 0x3F);
  }

  void room(int more) {
    if (out == null) {
      out = new byte[Math.max(256, text.length)];
    }
    if (written + more > out.length) {
      out = Arrays.copyOf(out, Math.max(written + more, 2 * out.length));
    }
  }
}
