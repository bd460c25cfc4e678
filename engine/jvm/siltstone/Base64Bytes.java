package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of a text that is nothing but base64, its end filled up: its bytes; null of every other text. */
public final class Base64Bytes extends Scalar {
  static final String NAME = "base64_bytes";

  Base64Bytes() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.BinaryType);
  }

  public byte[] invoke(UTF8String text) {
    if (text == null || text.numBytes() == 0) {
      return null;
    }
    try {
      return JsonBytes.ofBase64(text.getBytes(), 0, text.numBytes());
    } catch (Unsure unsure) {
      return null;
    }
  }
}
