package siltstone;

import java.util.Arrays;
import java.util.Base64;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads one JSON text, byte by byte, into the values of a type: what Spark's from_json gives of the same text, or
 * nothing where this reader is not sure of that. Whoever asks takes from_json then.
 *
 * Not sure is the answer to all that is no plain JSON object with one thing of each name, whose values have the types
 * that were asked for: so malformed texts, and every leniency of Spark's reader, stay with Spark.
 */
final class Json {
  private static final int DEEPEST = 200;
  private static final int LONGEST_NUMBER = 60;
  private static final int LONGEST_TEXT = 20000000; // Jackson reads no longer ones
  private static final int LONGEST_NAME = 50000;
  private static final double[] TENS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };
  private static final UTF8String TRUE = UTF8String.fromString("true");
  private static final UTF8String FALSE = UTF8String.fromString("false");

  final byte[] text;
  int at = 0;
  private byte[] out = null; // what is written anew of a value that is copied as text
  private int written = 0;

  private Json(byte[] text) {
    this.text = text;
  }

  private static Json of(UTF8String text) throws Unsure {
    if (text.numBytes() > LONGEST_TEXT) {
      throw Unsure.UNSURE;
    }
    return new Json(text.getBytes());
  }

  /** The value in the text, and nothing behind it; null where this reader is not sure, and where it is null. */
  static Object read(UTF8String text, JsonType type) {
    try {
      Json json = of(text);
      json.blanks();
      Object value = json.value(type, 0);
      json.blanks();
      return json.at == json.text.length ? value : null;
    } catch (Unsure unsure) {
      return null;
    }
  }

  /** How many fields the object in the text has; -1 where this reader is not sure. */
  static int size(UTF8String text) {
    try {
      Json json = of(text);
      json.blanks();
      int size = json.skipNested('{', 0);
      json.blanks();
      return json.at == json.text.length ? size : -1;
    } catch (Unsure unsure) {
      return -1;
    }
  }

  private InternalRow object(JsonType type, int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    expect('{');
    Object[] values = new Object[type.width];
    boolean[] seen = new boolean[type.width];
    int next = 0;
    int found = 0;
    blanks();
    if (peek() == '}') {
      at++;
      return complete(values, found, type);
    }
    while (true) {
      int start = name();
      int index = type.indexOf(text, start, at - 1, next);
      blanks();
      expect(':');
      blanks();
      if (index < 0) {
        if (type.isExact) {
          throw Unsure.UNSURE;
        }
        skip(depth);
      } else {
        found++;
        if (seen[index]) {
          throw Unsure.UNSURE; // the last one counts, but for its nulls
        }
        seen[index] = true;
        next = index + 1;
        values[index] = value(type.fields[index], depth);
      }
      blanks();
      int mark = take();
      if (mark == '}') {
        return complete(values, found, type);
      }
      if (mark != ',') {
        throw Unsure.UNSURE;
      }
      blanks();
    }
  }

  /** The object, where no field is missing that must be there. */
  private static InternalRow complete(Object[] values, int found, JsonType type) throws Unsure {
    if (type.isExact && found < values.length) {
      throw Unsure.UNSURE;
    }
    return new GenericInternalRow(values);
  }

  private Object value(JsonType type, int depth) throws Unsure {
    int first = peek();
    if (first == 'n') {
      word("null");
      return null;
    }
    switch (type.kind) {
      case JsonType.STRING:
        return string(first, depth);
      case JsonType.OBJECT:
        return object(type, depth + 1);
      case JsonType.ARRAY:
        return array(type.fields[0], depth);
      case JsonType.BOOLEAN:
        if (first == 't') {
          word("true");
          return Boolean.TRUE;
        }
        word("false");
        return Boolean.FALSE;
      case JsonType.INT: {
        long number = whole();
        if (number != (int) number) {
          throw Unsure.UNSURE;
        }
        return Integer.valueOf((int) number);
      }
      case JsonType.LONG:
        return Long.valueOf(whole());
      case JsonType.DOUBLE:
        return Double.valueOf(floating());
      case JsonType.FLOAT:
        return Float.valueOf(Float.parseFloat(number()));
      case JsonType.DECIMAL:
        return decimal(first, type);
      case JsonType.BINARY:
        return binary();
      case JsonType.STORED:
        return type.stored.value(this, first);
      default:
        throw Unsure.UNSURE;
    }
  }

  private GenericArrayData array(JsonType element, int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    expect('[');
    Object[] values = new Object[8];
    int size = 0;
    blanks();
    if (peek() == ']') {
      at++;
      return new GenericArrayData(new Object[0]);
    }
    while (true) {
      if (size == values.length) {
        values = Arrays.copyOf(values, 2 * size);
      }
      values[size++] = value(element, depth + 1);
      blanks();
      int mark = take();
      if (mark == ']') {
        return new GenericArrayData(Arrays.copyOf(values, size));
      }
      if (mark != ',') {
        throw Unsure.UNSURE;
      }
      blanks();
    }
  }

  // --- texts ---------------------------------------------------------------------------------------------------------

  private UTF8String string(int first, int depth) throws Unsure {
    if (first == '"') {
      return quoted();
    }
    if (first == 't') {
      word("true");
      return TRUE;
    }
    if (first == 'f') {
      word("false");
      return FALSE;
    }
    // What is no text is kept as JSON, as Jackson writes it: without blanks, numbers and escapes in their usual form.
    int start = at;
    written = 0;
    int kept = copied(start, depth);
    if (kept == start && written == 0) {
      return UTF8String.fromBytes(text, start, at - start);
    }
    write(kept, at);
    return UTF8String.fromBytes(Arrays.copyOf(out, written));
  }

  /** What stands between quotes, its escapes resolved. */
  UTF8String quoted() throws Unsure {
    expect('"');
    int start = at;
    if (plain()) {
      return UTF8String.fromBytes(text, start, at - 1 - start);
    }
    at = start;
    written = 0;
    unescaped();
    return UTF8String.fromBytes(Arrays.copyOf(out, written));
  }

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

  /** Where the sign ends that begins with a byte other than ASCII's; it must be one of UTF-8, and none of control. */
  private int behindSign(int first, int next) throws Unsure {
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
  private void unescaped() throws Unsure {
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

  private int escape() throws Unsure {
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

  private int hex4() throws Unsure {
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

  /**
   * Goes behind a value, and writes what Jackson would write otherwise than it stands here; gives where what is still
   * to be written begins.
   */
  private int copied(int kept, int depth) throws Unsure {
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

  private int copiedNested(int kept, int first, int depth) throws Unsure {
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

  private int withoutBlanks(int kept) {
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

  private int copiedText(int kept) throws Unsure {
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

  private int copiedNumber(int kept) throws Unsure {
    int start = at;
    if (!scanNumber()) {
      return kept;
    }
    // A fraction is written as the double that it is: 1.10 as 1.1.
    String told = new String(text, 0, start, at - start);
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

  // --- numbers -------------------------------------------------------------------------------------------------------

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

  private boolean isFraction() {
    return at < text.length && (text[at] == '.' || text[at] == 'e' || text[at] == 'E');
  }

  private void digits() {
    while (at < text.length && text[at] >= '0' && text[at] <= '9') {
      at++;
    }
  }

  /** What follows a number or a word must not be part of one. */
  private void ends() throws Unsure {
    if (at < text.length) {
      int c = text[at];
      if (c != ',' && c != '}' && c != ']' && c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        throw Unsure.UNSURE;
      }
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

  private Decimal decimal(int first, JsonType type) throws Unsure {
    String told;
    if (first == '"') {
      at++;
      int start = at;
      if (!plain() || at - 1 == start || at - 1 - start > LONGEST_NUMBER) {
        throw Unsure.UNSURE;
      }
      told = new String(text, 0, start, at - 1 - start);
    } else {
      told = number();
    }
    try {
      java.math.BigDecimal number = new java.math.BigDecimal(told);
      if (number.scale() > 1000 || number.scale() < -1000) {
        throw Unsure.UNSURE;
      }
      return Decimal.apply(number, type.precision, type.scale);
    } catch (ArithmeticException beyond) {
      throw Unsure.UNSURE;
    } catch (NumberFormatException none) {
      throw Unsure.UNSURE;
    }
  }

  byte[] binary() throws Unsure {
    expect('"');
    int start = at;
    if (!plain() || (at - 1 - start) % 4 != 0) {
      throw Unsure.UNSURE;
    }
    try {
      return Base64.getDecoder().decode(Arrays.copyOfRange(text, start, at - 1));
    } catch (IllegalArgumentException none) {
      throw Unsure.UNSURE;
    }
  }

  // --- what is not asked for -----------------------------------------------------------------------------------------

  private void skip(int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    int first = peek();
    switch (first) {
      case '"':
        at++;
        skipText();
        return;
      case '{':
      case '[':
        skipNested(first, depth);
        return;
      case 't':
        word("true");
        return;
      case 'f':
        word("false");
        return;
      case 'n':
        word("null");
        return;
      default:
        scanNumber();
    }
  }

  private void skipText() throws Unsure {
    while (!plain()) {
      escape();
    }
  }

  /** Goes behind an array or an object; gives how many values are in it. */
  private int skipNested(int first, int depth) throws Unsure {
    int last = first == '{' ? '}' : ']';
    int size = 1;
    expect(first);
    blanks();
    if (peek() == last) {
      at++;
      return 0;
    }
    while (true) {
      if (first == '{') {
        int name = at;
        expect('"');
        skipText();
        if (at - name > LONGEST_NAME) {
          throw Unsure.UNSURE;
        }
        blanks();
        expect(':');
        blanks();
      }
      skip(depth + 1);
      blanks();
      int mark = take();
      if (mark == last) {
        return size;
      }
      if (mark != ',') {
        throw Unsure.UNSURE;
      }
      size++;
      blanks();
    }
  }

  // --- signs ---------------------------------------------------------------------------------------------------------

  /** Goes behind a name, which ends one before; gives where it starts. */
  private int name() throws Unsure {
    expect('"');
    int start = at;
    if (!plain() || at - start > LONGEST_NAME) {
      throw Unsure.UNSURE;
    }
    return start;
  }

  void word(String word) throws Unsure {
    for (int i = 0; i < word.length(); i++) {
      expect(word.charAt(i));
    }
    ends();
  }

  private void blanks() {
    while (at < text.length) {
      int c = text[at];
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        return;
      }
      at++;
    }
  }

  private int peek() throws Unsure {
    if (at >= text.length) {
      throw Unsure.UNSURE;
    }
    return text[at];
  }

  private int take() throws Unsure {
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

  // --- what is written anew ------------------------------------------------------------------------------------------

  private void write(int from, int to) {
    room(to - from);
    System.arraycopy(text, from, out, written, to - from);
    written += to - from;
  }

  private void put(int sign) {
    room(1);
    out[written++] = (byte) sign;
  }

  private void putSign(int sign) {
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

  /** A sign beyond 16 bits, as Jackson writes it: as the escapes of its two halves. */
  private void putPair(int sign) {
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

  private void room(int more) {
    if (out == null) {
      out = new byte[Math.max(256, text.length)];
    }
    if (written + more > out.length) {
      out = Arrays.copyOf(out, Math.max(written + more, 2 * out.length));
    }
  }
}
