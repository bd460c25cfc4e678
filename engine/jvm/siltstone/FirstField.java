package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text, a null of a struct of one field) that gives the field where it is the first one of the object: what is
 * behind it is not looked at. Null where another field is the first, or the reader is not sure.
 */
public final class FirstField extends Scalar {
  static final String NAME = "first_field";

  private final StructType type;
  private transient JsonType json;

  FirstField(StructType type) {
    super(NAME, new DataType[] {DataTypes.StringType, type}, type);
    this.type = type;
  }

  public BoundFunction bind(StructType given) {
    return new FirstField(wanted(given, NAME));
  }

  public InternalRow invoke(UTF8String text, InternalRow example) {
    if (text == null) {
      return null;
    }
    if (json == null) {
      json = JsonType.of(type, 0);
    }
    return Json.first(text, json);
  }
}
