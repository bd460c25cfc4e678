package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of a text: how many fields the JSON object in it has; -1 where `Json` is not sure, as of all other texts. */
public final class ObjectSize extends Scalar {
  static final String NAME = "object_size";

  ObjectSize() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.IntegerType);
  }

  public boolean isResultNullable() {
    return false;
  }

  public int invoke(UTF8String text) {
    return text == null ? -1 : Json.size(text);
  }
}
