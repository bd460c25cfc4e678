package siltstone;

import java.util.Arrays;

import org.apache.spark.unsafe.types.UTF8String;

/** Values that an event carries as text whatever their type: what is met every day of what engine.decode.written takes. */
final class Written {
  private static final int MOST_DIGITS = 18; // of a whole number that certainly is one of 64 bits
  private static final int LONGEST_NUMBER = 40; // signs

  private Written() {}

  static Boolean flag(UTF8String text) throws Unsure {
    String told = text.toString();
    if (told.equals("true") || told.equals("1")) {
      return Boolean.TRUE;
    }
    if (told.equals("false") || told.equals("0")) {
      return Boolean.FALSE;
    }
    throw Unsure.UNSURE;
  }

  static long whole(UTF8String text) throws Unsure {
    int length = text.numBytes();
    int start = length > 0 && text.getByte(0) == '-' ? 1 : 0;
    if (length == start || length - start > MOST_DIGITS) {
      throw Unsure.UNSURE;
    }
    long number = Times.number(text, start, length);
    return start == 1 ? -number : number;
  }

  /** The text, where it is a number that is written as JSON writes numbers. */
  static String number(UTF8String text) throws Unsure {
    int length = text.numBytes();
    int at = length > 0 && text.getByte(0) == '-' ? 1 : 0;
    int whole = behindDigits(text, at);
    if (whole == at || length > LONGEST_NUMBER) {
      throw Unsure.UNSURE;
    }
    at = whole;
    if (at < length && text.getByte(at) == '.') {
      at = behindDigits(text, at + 1);
      if (at == whole + 1) {
        throw Unsure.UNSURE;
      }
    }
    if (at < length && (text.getByte(at) == 'e' || text.getByte(at) == 'E')) {
      at++;
      if (at < length && (text.getByte(at) == '+' || text.getByte(at) == '-')) {
        at++;
      }
      int exponent = at;
      at = behindDigits(text, at);
      if (at == exponent || at > exponent + 3) {
        throw Unsure.UNSURE;
      }
    }
    if (at < length) {
      throw Unsure.UNSURE;
    }
    return text.toString();
  }

  /** A number of JSON as it is handed on as text: a fraction as the double that it is. */
  static String usual(String number) {
    boolean isFraction = number.indexOf('.') >= 0 || number.indexOf('e') >= 0 || number.indexOf('E') >= 0;
    return isFraction ? Double.toString(Double.parseDouble(number)) : number;
  }

  /** Where the digits end that begin there. */
  static int behindDigits(UTF8String text, int at) {
    int length = text.numBytes();
    while (at < length && text.getByte(at) >= '0' && text.getByte(at) <= '9') {
      at++;
    }
    return at;
  }

  /** -838:59:59 or 12:00:00.5 as HH:MM:SS.ffffff. */
  static UTF8String clock(UTF8String text) throws Unsure {
    int length = text.numBytes();
    int start = length > 0 && text.getByte(0) == '-' ? 1 : 0;
    int hours = behindDigits(text, start);
    int seconds = hours + 6;
    if (hours == start || length < seconds || text.getByte(hours) != ':' || text.getByte(hours + 3) != ':') {
      throw Unsure.UNSURE;
    }
    Times.number(text, hours + 1, hours + 3);
    Times.number(text, hours + 4, seconds);
    String told = text.toString();
    String fraction = "";
    if (length > seconds) {
      if (text.getByte(seconds) != '.' || length == seconds + 1 || length > seconds + 7) {
        throw Unsure.UNSURE;
      }
      Times.number(text, seconds + 1, length);
      fraction = told.substring(seconds + 1);
    }
    StringBuilder clock = new StringBuilder(told.substring(0, start));
    if (hours - start < 2) {
      clock.append('0');
    }
    clock.append(told.substring(start, seconds)).append('.').append(fraction).append("000000".substring(fraction.length()));
    return UTF8String.fromString(clock.toString());
  }

  /** A label of an enum, or those of a set; what is a number can stand for one. */
  static UTF8String label(UTF8String text) throws Unsure {
    int length = text.numBytes();
    if (length > 0 && behindDigits(text, 0) == length) {
      throw Unsure.UNSURE;
    }
    return text;
  }

  /** A number as `size` digits of 0 and 1; as many as it needs where that is 0. */
  static UTF8String bits(UTF8String text, int size) throws Unsure {
    long number = whole(text);
    if (text.getByte(0) == '-') {
      throw Unsure.UNSURE;
    }
    String digits = Long.toBinaryString(number);
    if (size > 0 && digits.length() > size) {
      throw Unsure.UNSURE;
    }
    StringBuilder bits = new StringBuilder();
    for (int i = digits.length(); i < size; i++) {
      bits.append('0');
    }
    return UTF8String.fromString(bits.append(digits).toString());
  }

  /** Bytes, each written as the sign of its number; zeros up to `size` of them were cut from the end. */
  static byte[] bytes(UTF8String text, int size) throws Unsure {
    byte[] bytes = text.getBytes();
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] < 0) {
        throw Unsure.UNSURE; // not of ASCII
      }
    }
    return bytes.length < size ? Arrays.copyOf(bytes, size) : bytes;
  }
}
