package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of a text: the number that its last digits are; null where it does not end in one that a bigint holds. */
public final class NumberAtEnd extends Scalar {
  static final String NAME = "number_at_end";

  NumberAtEnd() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.LongType);
  }

  public Long invoke(UTF8String text) {
    if (text == null) {
      return null;
    }
    int end = text.numBytes();
    int start = end;
    while (start > 0 && text.getByte(start - 1) >= '0' && text.getByte(start - 1) <= '9') {
      start--;
    }
    if (start == end) {
      return null;
    }
    long number = 0;
    for (int i = start; i < end; i++) {
      int digit = text.getByte(i) - '0';
      if (number > (Long.MAX_VALUE - digit) / 10) {
        return null;
      }
      number = number * 10 + digit;
    }
    return Long.valueOf(number);
  }
}
