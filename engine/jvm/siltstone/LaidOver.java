package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (keys, object, object laid over it): the fields of both in one, the second one's where both have one, all values
 * as texts; whether the second one has another value in one of the keys; and whether the first one has every field of the
 * second. Null where one of them is null.
 */
public final class LaidOver extends OfImages {
  static final String NAME = "laid_over";
  private static final ArrayData NO_KEYS = new GenericArrayData(new Object[0]);
  private static final StructType GIVEN =
      new StructType()
          .add("image", DataTypes.StringType)
          .add("changes_key", DataTypes.BooleanType)
          .add("covers", DataTypes.BooleanType);

  LaidOver() {
    super(
        NAME,
        new DataType[] {DataTypes.createArrayType(DataTypes.StringType), DataTypes.StringType, DataTypes.StringType},
        GIVEN);
  }

  public InternalRow invoke(ArrayData keys, UTF8String under, UTF8String over) {
    if (under == null || over == null) {
      return null;
    }
    ArrayData asked = keys == null ? NO_KEYS : keys;
    JsonFields below = JsonFields.of(under);
    JsonFields above = below == null ? null : JsonFields.of(over);
    if (above == null) {
      ImagesBySpark spark = bySpark();
      Boolean changes = Boolean.valueOf(spark.changesKey(asked, under, over));
      return new GenericInternalRow(
          new Object[] {spark.overlaid(under, over), changes, ImagesBySpark.covers(under, over)});
    }
    Object[] given = {
      overlaid(below, above), Boolean.valueOf(changesKey(asked, below, above)), Boolean.valueOf(below.haveAllOf(above))
    };
    return new GenericInternalRow(given);
  }
}
