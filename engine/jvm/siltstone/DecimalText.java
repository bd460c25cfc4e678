package siltstone;

import java.math.BigDecimal;
import java.math.BigInteger;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function (bytes, scale): the digits of the number whose unscaled value they are, big-endian; null of no bytes. */
public final class DecimalText extends Scalar {
  static final String NAME = "decimal_text";

  DecimalText() {
    super(NAME, new DataType[] {DataTypes.BinaryType, DataTypes.IntegerType}, DataTypes.StringType);
  }

  public UTF8String invoke(byte[] bytes, int scale) {
    if (bytes == null || bytes.length == 0) {
      return null;
    }
    return UTF8String.fromString(digits(bytes, scale));
  }

  static String digits(byte[] bytes, int scale) {
    return new BigDecimal(new BigInteger(bytes), scale).toPlainString();
  }
}
