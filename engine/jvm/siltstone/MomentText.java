package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (count, how many of its units a second has) of what has been counted since 1970: the moment as Spark writes one
 * without a zone, to its last microsecond; null of one that is not in the years 1 to 9999.
 */
public final class MomentText extends Scalar {
  static final String NAME = "moment_text";
  private static final int LENGTH = 26;

  MomentText() {
    super(NAME, new DataType[] {DataTypes.LongType, DataTypes.LongType}, DataTypes.StringType);
  }

  public UTF8String invoke(long count, long size) {
    try {
      JsonWriter text = new JsonWriter(LENGTH);
      Times.moment(text, Times.counted(count, size));
      return text.text();
    } catch (Unsure unsure) {
      return null;
    }
  }
}
