package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of the digits of a number, with a sign perhaps and a point among them, that gives them as a segment of a
 * position: see engine.decode.position, `number_segment`. It takes the words for infinity, too. Null of every other text.
 */
public final class NumberSegment extends Scalar {
  static final String NAME = "number_segment";
  static final UTF8String BELOW_ALL = UTF8String.fromString("-Infinity");
  static final UTF8String ABOVE_ALL = UTF8String.fromString("Infinity");

  private static final int FEW = 0xFF; // so many digits before the point and more are counted in two bytes
  private static final int MANY = 0xFFFF;
  private static final UTF8String SEGMENT_BELOW_ALL = UTF8String.fromString("A000000F");
  private static final UTF8String SEGMENT_ABOVE_ALL = UTF8String.fromString("BFFFFFF");

  NumberSegment() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.StringType);
  }

  /** Whether the text is one that has a segment. */
  static boolean isPlain(UTF8String text) {
    int end = text.numBytes();
    int start = end > 0 && (text.getByte(0) == '-' || text.getByte(0) == '+') ? 1 : 0;
    int point = Written.behindDigits(text, start);
    if (point == start || point - start >= MANY) {
      return false;
    }
    return point == end
        || text.getByte(point) == '.' && point + 1 < end && Written.behindDigits(text, point + 1) == end;
  }

  public UTF8String invoke(UTF8String text) {
    if (text == null) {
      return null;
    }
    return isPlain(text) ? ofDigits(text) : infinite(text);
  }

  private static UTF8String infinite(UTF8String text) {
    if (text.equals(ABOVE_ALL)) {
      return SEGMENT_ABOVE_ALL;
    }
    return text.equals(BELOW_ALL) ? SEGMENT_BELOW_ALL : null;
  }

  private static UTF8String ofDigits(UTF8String text) {
    byte[] told = text.getBytes();
    int end = told.length;
    int start = told[0] == '-' || told[0] == '+' ? 1 : 0;
    int point = Written.behindDigits(text, start);
    while (point < end && told[end - 1] == '0') {
      end--;
    }
    boolean hasFraction = end > point + 1;
    while (start < point && told[start] == '0') {
      start++;
    }
    int whole = point - start;
    int digits = whole + (hasFraction ? end - point - 1 : 0);
    boolean isBelow = told[0] == '-' && digits > 0;
    int head = whole < FEW ? 3 : 7;
    byte[] segment = new byte[head + digits + (isBelow ? 1 : 0)];
    segment[0] = (byte) (isBelow ? 'A' : 'B');
    count(segment, whole, isBelow);
    System.arraycopy(told, start, segment, head, whole);
    if (hasFraction) {
      System.arraycopy(told, point + 1, segment, head + whole, digits - whole);
    }
    if (isBelow) {
      for (int i = head; i < head + digits; i++) {
        segment[i] = (byte) ('0' + '9' - segment[i]);
      }
      segment[head + digits] = 'F';
    }
    return UTF8String.fromBytes(segment);
  }

  /** Writes how many digits stand before the point: in a byte, or, behind the last one that a byte can be, in two more. */
  private static void count(byte[] segment, int whole, boolean isBelow) {
    int first = Math.min(whole, FEW);
    hex(segment, 1, isBelow ? FEW - first : first, 2);
    if (first == FEW) {
      hex(segment, 3, isBelow ? MANY - whole : whole, 4);
    }
  }

  private static void hex(byte[] segment, int at, int number, int digits) {
    for (int i = 0; i < digits; i++) {
      segment[at + i] = (byte) JsonWriter.HEX.charAt(number >> 4 * (digits - 1 - i) & 15);
    }
  }
}
