package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (JSON array of two whole numbers, each in quotes or null, and which of them: 1, or -1 for the second) that gives
 * the number, -1 where it is null; null where the text is written in another way.
 */
public final class NumberInPair extends Scalar {
  static final String NAME = "number_in_pair";
  private static final int MOST_DIGITS = 18;
  private static final long ABSENT = -1;
  private static final UTF8String NULL = UTF8String.fromString("null");

  NumberInPair() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.IntegerType}, DataTypes.LongType);
  }

  public Long invoke(UTF8String text, int side) {
    if (text == null) {
      return null;
    }
    byte[] bytes = text.getBytes();
    int comma = 1;
    while (comma < bytes.length && bytes[comma] != ',') {
      comma++;
    }
    int last = bytes.length - 1;
    if (last <= comma || bytes[0] != '[' || bytes[last] != ']') {
      return null;
    }
    try {
      long first = number(text, 1, comma);
      long second = number(text, comma + 1, last);
      return Long.valueOf(side > 0 ? first : second);
    } catch (Unsure unsure) {
      return null;
    }
  }

  private static long number(UTF8String text, int start, int end) throws Unsure {
    int digits = end - start - 2;
    if (digits > 0 && digits <= MOST_DIGITS && text.getByte(start) == '"' && text.getByte(end - 1) == '"') {
      return Times.number(text, start + 1, end - 1);
    }
    if (UTF8String.fromBytes(text.getBytes(), start, end - start).equals(NULL)) {
      return ABSENT;
    }
    throw Unsure.UNSURE;
  }
}
