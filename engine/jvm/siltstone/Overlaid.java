package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of two JSON objects: the fields of both in one, the second one's where both have one, all values as texts; null
 * where `JsonFields` is not sure.
 */
public final class Overlaid extends Scalar {
  static final String NAME = "overlaid";

  Overlaid() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String under, UTF8String over) {
    if (under == null || over == null) {
      return null;
    }
    JsonFields below = JsonFields.of(under);
    JsonFields above = below == null ? null : JsonFields.of(over);
    return above == null ? null : of(below, above);
  }

  static UTF8String of(JsonFields below, JsonFields above) {
    JsonWriter writer = new JsonWriter(below.mostBytes() + above.mostBytes());
    for (int i = 0; i < below.size; i++) {
      int other = above.indexOf(below.names[i]);
      writer.field(below.names[i], other < 0 ? below.values[i] : above.values[other]);
    }
    for (int i = 0; i < above.size; i++) {
      if (below.indexOf(above.names[i]) < 0) {
        writer.field(above.names[i], above.values[i]);
      }
    }
    return writer.object();
  }
}
