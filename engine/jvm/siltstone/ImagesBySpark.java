package siltstone;

import java.util.Arrays;
import java.util.HashSet;

import org.apache.spark.sql.catalyst.expressions.json.JsonExpressionUtils;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.expressions.json.StructsToJsonEvaluator;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapBuilder;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Option;
import scala.collection.immutable.Map$;

/** What `OfImages` gives of objects that `JsonFields` is not sure of: by Spark's own readers and writers. */
final class ImagesBySpark {
  private static final MapType MAP = DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType);

  private final JsonToStructsEvaluator reader = FromJson.reader(MAP, "");
  private final StructsToJsonEvaluator writer = writer();

  /** Spark's writer of a map of texts as an object. */
  static StructsToJsonEvaluator writer() {
    return new StructsToJsonEvaluator(
        Map$.MODULE$.empty(), MAP, Option.apply(SQLConf.get().sessionLocalTimeZone()));
  }

  /** The fields of both, the second one's where both have one; null where one is no object. */
  UTF8String overlaid(UTF8String under, UTF8String over) {
    MapData below = fields(under);
    MapData above = fields(over);
    if (below == null || above == null) {
      return null;
    }
    ArrayBasedMapBuilder both = new ArrayBasedMapBuilder(MAP.keyType(), MAP.valueType());
    both.putAll(below.keyArray(), below.valueArray());
    both.putAll(above.keyArray(), above.valueArray());
    return (UTF8String) writer.evaluate(both.build());
  }

  /** Whether the second one has another value in one of the keys; a field that is not there is null. False where it is no object. */
  boolean changesKey(ArrayData keys, UTF8String under, UTF8String over) {
    MapData above = fields(over);
    if (above == null || JsonExpressionUtils.jsonObjectKeys(over) == null) {
      return false;
    }
    MapData below = fields(under);
    for (int i = 0; i < keys.numElements(); i++) {
      int at = keys.isNullAt(i) ? -1 : indexOf(above, keys.getUTF8String(i));
      if (at < 0) {
        continue;
      }
      int other = below == null ? -1 : indexOf(below, keys.getUTF8String(i));
      UTF8String after = value(above, at);
      UTF8String before = other < 0 ? null : value(below, other);
      if (before == null ? after != null : !before.equals(after)) {
        return true;
      }
    }
    return false;
  }

  /** Whether the first one has every field of the second; null where one is no object. */
  static Boolean covers(UTF8String under, UTF8String over) {
    ArrayData below = JsonExpressionUtils.jsonObjectKeys(under);
    ArrayData above = JsonExpressionUtils.jsonObjectKeys(over);
    if (below == null || above == null) {
      return null;
    }
    HashSet names = new HashSet(Arrays.asList(below.array()));
    return Boolean.valueOf(names.containsAll(Arrays.asList(above.array())));
  }

  private MapData fields(UTF8String object) {
    return object == null ? null : (MapData) reader.evaluate(object);
  }

  private static int indexOf(MapData fields, UTF8String name) {
    for (int i = 0; i < fields.numElements(); i++) {
      if (fields.keyArray().getUTF8String(i).equals(name)) {
        return i;
      }
    }
    return -1;
  }

  private static UTF8String value(MapData fields, int at) {
    return fields.valueArray().isNullAt(at) ? null : fields.valueArray().getUTF8String(at);
  }
}
