package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of the digits of a number, with a sign perhaps and a point among them, that gives them as a segment of a
 * position: see engine.decode.position, `number_segment`. Null of every other text.
 */
public final class NumberSegment extends Scalar {
  static final String NAME = "number_segment";
  private static final int MOST_DIGITS = 255; // before the point

  NumberSegment() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.StringType);
  }

  /** Whether the text is one that has a segment. */
  static boolean isPlain(UTF8String text) {
    int end = text.numBytes();
    int start = end > 0 && (text.getByte(0) == '-' || text.getByte(0) == '+') ? 1 : 0;
    int point = Written.behindDigits(text, start);
    if (point == start || point - start > MOST_DIGITS) {
      return false;
    }
    return point == end
        || text.getByte(point) == '.' && point + 1 < end && Written.behindDigits(text, point + 1) == end;
  }

  public UTF8String invoke(UTF8String text) {
    if (text == null || !isPlain(text)) {
      return null;
    }
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
    byte[] segment = new byte[3 + digits + (isBelow ? 1 : 0)];
    int count = isBelow ? MOST_DIGITS - whole : whole;
    segment[0] = (byte) (isBelow ? 'A' : 'B');
    segment[1] = (byte) JsonWriter.HEX.charAt(count >> 4);
    segment[2] = (byte) JsonWriter.HEX.charAt(count & 15);
    System.arraycopy(told, start, segment, 3, whole);
    if (hasFraction) {
      System.arraycopy(told, point + 1, segment, 3 + whole, digits - whole);
    }
    if (isBelow) {
      for (int i = 3; i < 3 + digits; i++) {
        segment[i] = (byte) ('0' + '9' - segment[i]);
      }
      segment[3 + digits] = 'F';
    }
    return UTF8String.fromBytes(segment);
  }
}
