package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of a text: the microseconds since 1970 of a moment in UTC that is written in the usual way, with Z behind it or
 * without; digits behind the microsecond are cut. Null for every other text.
 */
public final class WrittenMicros extends Scalar {
  static final String NAME = "written_micros";

  WrittenMicros() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.LongType);
  }

  public Long invoke(UTF8String text) {
    if (text == null) {
      return null;
    }
    try {
      return Long.valueOf(Times.written(text, Times.LOCAL | Times.ZONED | Times.CUT));
    } catch (Unsure unsure) {
      return null;
    }
  }
}
