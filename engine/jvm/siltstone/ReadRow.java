package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (image, a null of the stored row, a plan) that gives the row as it is to be stored, where the image has each
 * of its columns and no other, and each value is plain; null otherwise, and where there is no plan. It has a line a column:
 * see `Stored`.
 */
public final class ReadRow extends Scalar {
  static final String NAME = "read_row";

  private final StructType type;
  private transient Planned planned;

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
    Planned now = planned;
    if (now == null || (plan != now.plan && !plan.equals(now.plan))) {
      now = new Planned(plan, JsonType.ofRow(type, plan.toString()));
      planned = now;
    }
    return (InternalRow) Json.read(image, now.json);
  }

  /** A plan, which is mostly the same literal as in the last call, and what is read by it. */
  private static final class Planned {
    final UTF8String plan;
    final JsonType json;

    Planned(UTF8String plan, JsonType json) {
      this.plan = plan;
      this.json = json;
    }
  }
}
