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
      now = new Planned(plan, JsonType.ofRow((StructType) type.fields()[0].dataType(), plan.toString()));
      planned = now;
    }
    return Json.readRow(image, now.json);
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
