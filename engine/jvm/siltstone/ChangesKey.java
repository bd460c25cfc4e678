package siltstone;

import java.util.Arrays;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (keys, object, object laid over it): whether the second one has another value in one of the keys; null where
 * `JsonFields` is not sure.
 */
public final class ChangesKey extends Scalar {
  static final String NAME = "changes_key";

  ChangesKey() {
    super(
        NAME,
        new DataType[] {DataTypes.createArrayType(DataTypes.StringType), DataTypes.StringType, DataTypes.StringType},
        DataTypes.BooleanType);
  }

  public Boolean invoke(ArrayData keys, UTF8String under, UTF8String over) {
    if (keys == null || under == null || over == null) {
      return null;
    }
    JsonFields above = JsonFields.of(over);
    if (above == null) {
      return null;
    }
    JsonFields below = null;
    for (int i = 0; i < keys.numElements(); i++) {
      int at = keys.isNullAt(i) ? -1 : above.indexOf(keys.getUTF8String(i).getBytes());
      if (at < 0) {
        continue;
      }
      below = below == null ? JsonFields.of(under) : below;
      if (below == null) {
        return null;
      }
      int other = below.indexOf(above.names[at]);
      byte[] before = other < 0 ? null : below.values[other];
      byte[] after = above.values[at];
      if (before == null || after == null ? before != after : !Arrays.equals(before, after)) {
        return Boolean.TRUE;
      }
    }
    return Boolean.FALSE;
  }
}
