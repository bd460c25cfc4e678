package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (image, a null of the stored row, a plan) that gives the row as it is to be stored, where the image has each
 * of its columns and no other, and each value is plain; null otherwise. The plan has a line a column: see `Stored`.
 */
public final class ReadRow extends Scalar {
  static final String NAME = "read_row";

  private final StructType type;
  private transient JsonType json;
  private transient UTF8String known;

  ReadRow(StructType type) {
    super(NAME, new DataType[] {DataTypes.StringType, type, DataTypes.StringType}, type);
    this.type = type;
  }

  public BoundFunction bind(StructType given) {
    return new ReadRow(wanted(given, NAME));
  }

  public InternalRow invoke(UTF8String image, InternalRow example, UTF8String plan) {
    if (image == null) {
      return null;
    }
    if (json == null || !plan.equals(known)) {
      json = JsonType.ofRow(type, plan.toString());
      known = plan.clone();
    }
    return (InternalRow) Json.read(image, json);
  }
}
