package siltstone;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function (texts of JSON, whether nulls may stand among them): whether each begins as an object does. */
public final class AreObjects extends Scalar {
  static final String NAME = "are_objects";
  private static final UTF8String OPENED = UTF8String.fromString("{");

  AreObjects() {
    super(
        NAME,
        new DataType[] {DataTypes.createArrayType(DataTypes.StringType), DataTypes.BooleanType},
        DataTypes.BooleanType);
  }

  public Boolean invoke(ArrayData texts, boolean mayBeNull) {
    if (texts == null) {
      return null;
    }
    boolean are = true;
    for (int i = 0; are && i < texts.numElements(); i++) {
      are = texts.isNullAt(i) ? mayBeNull : texts.getUTF8String(i).startsWith(OPENED);
    }
    return Boolean.valueOf(are);
  }
}
