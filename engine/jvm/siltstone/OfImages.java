package siltstone;

import java.util.Arrays;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of row images: `JsonFields` reads what is plain, Spark's reader everything else. */
abstract class OfImages extends Scalar {
  private transient ImagesBySpark bySpark;

  OfImages(String name, DataType[] inputTypes, DataType resultType) {
    super(name, inputTypes, resultType);
  }

  final ImagesBySpark bySpark() {
    if (bySpark == null) {
      bySpark = new ImagesBySpark();
    }
    return bySpark;
  }

  /**
   * The fields of two JSON objects in one, the second one's where both have one, all values as texts; null where one of them
   * is no object.
   */
  final UTF8String overlaid(UTF8String under, UTF8String over) {
    JsonFields below = JsonFields.of(under);
    JsonFields above = below == null ? null : JsonFields.of(over);
    return above == null ? bySpark().overlaid(under, over) : overlaid(below, above);
  }

  /** Whether the second one of two JSON objects has another value in one of the keys. */
  final boolean changesKey(ArrayData keys, UTF8String under, UTF8String over) {
    if (hasNone(keys, over.getBytes())) {
      return false;
    }
    JsonFields above = JsonFields.of(over);
    if (above == null) {
      return bySpark().changesKey(keys, under, over);
    }
    if (!namesOne(keys, above)) {
      return false;
    }
    JsonFields below = JsonFields.of(under);
    return below == null ? bySpark().changesKey(keys, under, over) : changesKey(keys, below, above);
  }

  static UTF8String overlaid(JsonFields below, JsonFields above) {
    JsonWriter writer = new JsonWriter(below.mostBytes() + above.mostBytes());
    for (int i = 0; i < below.size; i++) {
      int other = above.indexOf(below.names[i]);
      writer.field(below.names[i], other < 0 ? below.values[i] : above.values[other]);
    }
    for (int i = 0; i < above.size; i++) {
      if (below.indexOf(above.names[i]) < 0) {
        writer.field(above.names[i], above.values[i]);
      }
    }
    return writer.object();
  }

  static boolean changesKey(ArrayData keys, JsonFields below, JsonFields above) {
    for (int i = 0; i < keys.numElements(); i++) {
      int at = indexOf(keys, i, above);
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

  /** Whether for certain no field is called as one of the keys: none of them stands in the text between quotes. */
  private static boolean hasNone(ArrayData keys, byte[] text) {
    for (int i = 0; i < text.length; i++) {
      if (text[i] == '\\' || text[i] == '\'') {
        return false; // a name can be written in another way
      }
    }
    for (int i = 0; i < keys.numElements(); i++) {
      if (!keys.isNullAt(i) && stands(keys.getUTF8String(i).getBytes(), text)) {
        return false;
      }
    }
    return true;
  }

  private static boolean stands(byte[] name, byte[] text) {
    int last = text.length - name.length - 1;
    for (int i = 1; i < last + 1; i++) {
      if (text[i - 1] == '"' && text[i + name.length] == '"' && JsonType.same(name, text, i, i + name.length)) {
        return true;
      }
    }
    return false;
  }

  private static boolean namesOne(ArrayData keys, JsonFields fields) {
    for (int i = 0; i < keys.numElements(); i++) {
      if (indexOf(keys, i, fields) >= 0) {
        return true;
      }
    }
    return false;
  }

  private static int indexOf(ArrayData keys, int number, JsonFields fields) {
    return keys.isNullAt(number) ? -1 : fields.indexOf(keys.getUTF8String(number).getBytes());
  }
}
