package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of two JSON objects: whether the first one has every field of the second; null where `JsonFields` is not sure. */
public final class HasFieldsOf extends Scalar {
  static final String NAME = "has_fields_of";

  HasFieldsOf() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.BooleanType);
  }

  public Boolean invoke(UTF8String text, UTF8String other) {
    if (text == null || other == null) {
      return null;
    }
    JsonFields wanted = JsonFields.of(other);
    JsonFields there = wanted == null ? null : JsonFields.of(text);
    return there == null ? null : Boolean.valueOf(there.haveAllOf(wanted));
  }
}
