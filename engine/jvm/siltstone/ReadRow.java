package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (image, a null of the result, a plan) that gives the row as it is to be stored, where the image has no fields
 * that are not of it, and each value is plain; null otherwise, and where there is no plan. Beside the row stand the names
 * of the columns that the image has; null where it has all of them. A plan has a line for the names of fields that are left
 * out, and then one a column: see `Stored`.
 */
public final class ReadRow extends Planned {
  static final String NAME = "read_row";

  private final StructType type;

  ReadRow(StructType type) {
    super(NAME, new DataType[] {DataTypes.StringType, type, DataTypes.StringType}, type);
    this.type = type;
  }

  public BoundFunction bind(StructType given) {
    return new ReadRow(wanted(given, NAME));
  }

  public InternalRow invoke(UTF8String image, InternalRow example, UTF8String plan) {
    if (image == null || plan == null) {
      return null;
    }
    return Json.readRow(image, (JsonType) madeOf(plan));
  }

  Object madeOut(String plan) {
    return JsonType.ofRow((StructType) type.fields()[0].dataType(), plan);
  }
}
