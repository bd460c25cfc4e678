package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (image, a null of the stored row, a plan) that gives the row as it is to be stored, where the image has each
 * of its columns and no other, and each value is plain; null otherwise. The plan has a line a column: see `Stored`.
 */
public final class ReadRow implements UnboundFunction, ScalarFunction {
  static final String NAME = "read_row";

  private final StructType type;
  private transient JsonType json;
  private transient UTF8String known;

  ReadRow(StructType type) {
    this.type = type;
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

  public BoundFunction bind(StructType given) {
    if (given.length() != 3 || !(given.fields()[1].dataType() instanceof StructType)) {
      throw new UnsupportedOperationException(description());
    }
    return new ReadRow((StructType) given.fields()[1].dataType());
  }

  public String name() {
    return NAME;
  }

  public String description() {
    return NAME + " takes a text, a null of the struct that is wanted, and a plan";
  }

  public String canonicalName() {
    return "siltstone." + NAME;
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType, type, DataTypes.StringType};
  }

  public DataType resultType() {
    return type;
  }

  public boolean equals(Object other) {
    return other instanceof ReadRow && (type == null ? ((ReadRow) other).type == null : type.equals(((ReadRow) other).type));
  }

  public int hashCode() {
    return type == null ? 0 : type.hashCode();
  }
}
