package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function (number, width): its upper-case hexadecimal digits behind zeros; of more digits the first ones. */
public final class HexDigits extends Scalar {
  static final String NAME = "hex_digits";
  private static final int BITS = 4;

  HexDigits() {
    super(NAME, new DataType[] {DataTypes.LongType, DataTypes.IntegerType}, DataTypes.StringType);
  }

  public UTF8String invoke(long number, int width) {
    int length = Math.max(1, (Long.SIZE - Long.numberOfLeadingZeros(number) + BITS - 1) / BITS);
    byte[] digits = new byte[width];
    long left = length > width ? number >>> BITS * (length - width) : number;
    for (int i = width - 1; i >= 0; i--) {
      int digit = (int) (left & 0xF);
      digits[i] = (byte) (digit < 10 ? '0' + digit : 'A' + digit - 10);
      left >>>= BITS;
    }
    return UTF8String.fromBytes(digits);
  }
}
