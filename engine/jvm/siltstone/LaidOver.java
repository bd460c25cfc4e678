package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (keys, object, object laid over it): what `Overlaid` gives of the two, what `ChangesKey` does, and whether the
 * first one has every field of the second; null where `JsonFields` is not sure.
 */
public final class LaidOver extends Scalar {
  static final String NAME = "laid_over";
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
    if (keys == null || under == null || over == null) {
      return null;
    }
    JsonFields below = JsonFields.of(under);
    JsonFields above = below == null ? null : JsonFields.of(over);
    if (above == null) {
      return null;
    }
    Object[] given = {
      Overlaid.of(below, above), Boolean.valueOf(ChangesKey.of(keys, below, above)), Boolean.valueOf(below.haveAllOf(above))
    };
    return new GenericInternalRow(given);
  }
}
