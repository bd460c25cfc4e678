package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A function of a Confluent frame (a zero byte, four of a number, a body) that gives the number; -1 of bytes that are none. */
public final class FrameNumber extends Scalar {
  static final String NAME = "frame_number";
  private static final int FRAME = 5; // bytes before the body

  FrameNumber() {
    super(NAME, new DataType[] {DataTypes.BinaryType}, DataTypes.LongType);
  }

  public long invoke(byte[] bytes) {
    if (bytes == null || bytes.length < FRAME || bytes[0] != 0) {
      return -1;
    }
    long number = 0;
    for (int i = 1; i < FRAME; i++) {
      number = number << 8 | bytes[i] & 0xFFL;
    }
    return number;
  }
}
