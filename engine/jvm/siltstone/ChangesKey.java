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
    if (!namesOne(keys, above)) {
      return Boolean.FALSE;
    }
    JsonFields below = JsonFields.of(under);
    return below == null ? null : Boolean.valueOf(of(keys, below, above));
  }

  private static boolean namesOne(ArrayData keys, JsonFields fields) {
    for (int i = 0; i < keys.numElements(); i++) {
      if (at(keys, i, fields) >= 0) {
        return true;
      }
    }
    return false;
  }

  static boolean of(ArrayData keys, JsonFields below, JsonFields above) {
    for (int i = 0; i < keys.numElements(); i++) {
      int at = at(keys, i, above);
      if (at < 0) {
        continue;
      }
      int other = below.indexOf(above.names[at]);
      byte[] before = other < 0 ? null : below.values[other];
      byte[] after = above.values[at];
      if (before == null || after == null ? before != after : !Arrays.equals(before, after)) {
        return true;
      }
    }
    return false;
  }

  private static int at(ArrayData keys, int number, JsonFields fields) {
    return keys.isNullAt(number) ? -1 : fields.indexOf(keys.getUTF8String(number).getBytes());
  }
}
