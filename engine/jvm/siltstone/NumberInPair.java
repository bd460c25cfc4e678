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
  private static final long UNSURE = -2;
  private static final long ABSENT = -1;

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
    long first = number(bytes, 1, comma);
    long second = number(bytes, comma + 1, last);
    if (first == UNSURE || second == UNSURE) {
      return null;
    }
    return Long.valueOf(side > 0 ? first : second);
  }

  private static long number(byte[] text, int start, int end) {
    if (end - start == 4 && text[start] == 'n' && text[start + 1] == 'u' && text[start + 2] == 'l' && text[start + 3] == 'l') {
      return ABSENT;
    }
    int digits = end - start - 2;
    if (digits < 1 || digits > MOST_DIGITS || text[start] != '"' || text[end - 1] != '"') {
      return UNSURE;
    }
    long number = 0;
    for (int i = start + 1; i < end - 1; i++) {
      if (text[i] < '0' || text[i] > '9') {
        return UNSURE;
      }
      number = number * 10 + text[i] - '0';
    }
    return number;
  }
}
