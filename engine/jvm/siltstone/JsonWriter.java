package siltstone;

import java.util.Arrays;
import java.util.Base64;

import org.apache.spark.unsafe.types.UTF8String;

/** JSON text as Jackson writes it. */
final class JsonWriter {
  private static final byte[] NULL = {'n', 'u', 'l', 'l'};
  private static final byte[] TRUE = {'t', 'r', 'u', 'e'};
  private static final byte[] FALSE = {'f', 'a', 'l', 's', 'e'};
  private static final int MOST_DIGITS = 19; // of a bigint
  private static final long LONGEST = Integer.MAX_VALUE - 16; // of an array
  private static final String NAMED = "\b\t\n\f\r";
  private static final String NAMES = "btnfr";
  private static final int FIRST_OF_FOUR = (byte) 0xF0; // bytes of a sign that is a pair of surrogates to Java
  static final String HEX = "0123456789ABCDEF";
  private byte[] out;
  private int size = 0;
  private boolean hasPairs = false;

  /** `likely`: how many bytes it will most likely be at most. */
  JsonWriter(int likely) {
    this.out = new byte[likely + 2];
  }

  /** The next field of an object that has no objects in it. `name`, `value`: what is to stand between quotes; a value can be null. */
  void field(byte[] name, byte[] value) {
    put(size == 0 ? '{' : ',');
    between(name);
    put(':');
    if (value == null) {
      nothing();
    } else {
      between(value);
    }
  }

  /** The object of these fields. */
  UTF8String object() {
    if (size == 0) {
      put('{');
    }
    put('}');
    return text();
  }

  /** A name as it stands before a value. */
  static byte[] label(byte[] name) throws Unsure {
    JsonWriter label = new JsonWriter(name.length + 1);
    label.quoted(name, 0, name.length);
    label.put(':');
    return label.text().getBytes();
  }

  /** All that was written. */
  UTF8String text() {
    return UTF8String.fromBytes(out, 0, size);
  }

  /** Whether a sign was put in quotes that Jackson writes as two escapes, where it copies text into text. */
  boolean hasPairs() {
    return hasPairs;
  }

  /** How many bytes are written. */
  int size() {
    return size;
  }

  /** Only the first bytes stay. */
  void backTo(int size) {
    this.size = size;
  }

  /** Whether the same stands here as in another text. */
  boolean hasSame(int start, int end, JsonWriter other, int otherStart, int otherEnd) {
    return Arrays.equals(out, start, end, other.out, otherStart, otherEnd);
  }

  // --- values --------------------------------------------------------------------------------------------------------

  void nothing() {
    raw(NULL);
  }

  void flag(boolean value) {
    raw(value ? TRUE : FALSE);
  }

  void number(long value) {
    if (value == Long.MIN_VALUE) {
      raw(Long.toString(value));
      return;
    }
    room(MOST_DIGITS + 1);
    long left = value;
    if (left < 0) {
      out[size++] = '-';
      left = -left;
    }
    int width = 1;
    for (long limit = 10; width < MOST_DIGITS && left >= limit; limit *= 10) {
      width++;
    }
    for (int i = size + width - 1; i >= size; i--) {
      out[i] = (byte) ('0' + left % 10);
      left /= 10;
    }
    size += width;
  }

  /** What is no number stands in quotes. */
  void number(double value) {
    finite(Double.toString(value), Double.isNaN(value) || Double.isInfinite(value));
  }

  void number(float value) {
    finite(Float.toString(value), Float.isNaN(value) || Float.isInfinite(value));
  }

  private void finite(String told, boolean isNone) {
    if (isNone) {
      put('"');
      raw(told);
      put('"');
    } else {
      raw(told);
    }
  }

  void base64(byte[] bytes) {
    between(Base64.getEncoder().encode(bytes));
  }

  void quoted(UTF8String text) throws Unsure {
    byte[] bytes = text.getBytes();
    quoted(bytes, 0, bytes.length);
  }

  /** A text of UTF-8, its escapes put in. */
  void quoted(byte[] from, int start, int end) throws Unsure {
    int length = end - start;
    room(length + 2);
    out[size++] = '"';
    int at = start;
    while (at < end && isPlain(from[at])) {
      at++;
    }
    if (at == end) {
      System.arraycopy(from, start, out, size, length);
      size += length;
    } else {
      if (!UTF8String.fromBytes(from, start, length).isValid()) {
        throw Unsure.UNSURE;
      }
      escaped(from, start, end);
    }
    put('"');
  }

  /** The same of any bytes: of what is not UTF-8, what Java makes of it, as `to_json` does. */
  void quotedAnyway(UTF8String text) throws Unsure {
    int before = size;
    try {
      quoted(text);
    } catch (Unsure unsure) {
      size = before;
      quoted(UTF8String.fromString(text.toString()));
    }
  }

  private static boolean isPlain(int sign) {
    return sign >= ' ' && sign != '"' && sign != '\\';
  }

  private void escaped(byte[] from, int start, int end) {
    for (int i = start; i < end; i++) {
      int sign = from[i];
      if (isPlain(sign) || sign < 0) {
        hasPairs |= sign < 0 && sign >= FIRST_OF_FOUR;
        put(sign);
        continue;
      }
      put('\\');
      int named = NAMED.indexOf(sign);
      if (sign == '"' || sign == '\\') {
        put(sign);
      } else if (named >= 0) {
        put(NAMES.charAt(named));
      } else {
        raw("u00");
        put(HEX.charAt(sign >> 4));
        put(HEX.charAt(sign & 15));
      }
    }
  }

  // --- as it stands --------------------------------------------------------------------------------------------------

  void put(int sign) {
    room(1);
    out[size++] = (byte) sign;
  }

  /** Signs of ASCII. */
  void raw(String signs) {
    int length = signs.length();
    room(length);
    for (int i = 0; i < length; i++) {
      out[size++] = (byte) signs.charAt(i);
    }
  }

  /** A number that is not negative, zeros before it. */
  void padded(long number, int width) {
    long limit = 1;
    for (int i = 1; i < width; i++) {
      limit *= 10;
      if (number < limit) {
        put('0');
      }
    }
    number(number);
  }

  void raw(byte[] bytes) {
    room(bytes.length);
    System.arraycopy(bytes, 0, out, size, bytes.length);
    size += bytes.length;
  }

  private void between(byte[] bytes) {
    put('"');
    raw(bytes);
    put('"');
  }

  private void room(int more) {
    if (size + more > out.length) {
      out = Arrays.copyOf(out, (int) Math.max(size + more, Math.min(2L * out.length, LONGEST)));
    }
  }
}
