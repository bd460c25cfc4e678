package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text, most digits, whether a sign may stand before them) that gives the bigint that a text is: digits alone,
 * perhaps with a line end behind them. Null for every other text, and for what no bigint holds.
 */
public final class WholeNumber extends Scalar {
  static final String NAME = "whole_number";

  WholeNumber() {
    super(
        NAME,
        new DataType[] {DataTypes.StringType, DataTypes.IntegerType, DataTypes.BooleanType},
        DataTypes.LongType);
  }

  /** What the function gives of a text of any length, with a sign or without. */
  static Long of(UTF8String text) {
    return number(text, Integer.MAX_VALUE, true);
  }

  /** The same of at most so many digits, without a sign. */
  static Long unsigned(UTF8String text, int most) {
    return number(text, most, false);
  }

  public Long invoke(UTF8String text, int most, boolean signed) {
    return number(text, most, signed);
  }

  private static Long number(UTF8String text, int most, boolean signed) {
    if (text == null) {
      return null;
    }
    int end = withoutLineEnd(text);
    int start = 0;
    boolean negative = false;
    if (signed && end > 0 && (text.getByte(0) == '-' || text.getByte(0) == '+')) {
      negative = text.getByte(0) == '-';
      start = 1;
    }
    if (end == start || end - start > most) {
      return null;
    }
    long number = 0; // below zero, for there is one more number than above
    for (int i = start; i < end; i++) {
      int digit = text.getByte(i) - '0';
      if (digit < 0 || digit > 9 || number < (Long.MIN_VALUE + digit) / 10) {
        return null;
      }
      number = number * 10 - digit;
    }
    if (!negative && number == Long.MIN_VALUE) {
      return null;
    }
    return Long.valueOf(negative ? number : -number);
  }

  /** Where the text ends, a line end behind it left out. */
  private static int withoutLineEnd(UTF8String text) {
    int end = text.numBytes();
    if (end > 0 && text.getByte(end - 1) == '\n') {
      end--;
    }
    return end > 0 && text.getByte(end - 1) == '\r' ? end - 1 : end;
  }
}
