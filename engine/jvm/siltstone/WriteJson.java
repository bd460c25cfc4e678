package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of a struct that gives its text as `to_json` writes it where nulls are kept; null where it is not sure, and of
 * structs with values that `to_json` writes by its options (times) or that are seldom met.
 */
public final class WriteJson extends Scalar {
  static final String NAME = "write_json";

  private final StructType type;
  private transient JsonType json;
  private transient boolean canWrite;
  private transient int likely; // bytes of a text

  WriteJson(StructType type) {
    super(NAME, new DataType[] {type}, DataTypes.StringType);
    this.type = type;
  }

  public BoundFunction bind(StructType given) {
    if (given.length() != 1 || !(given.fields()[0].dataType() instanceof StructType)) {
      throw new UnsupportedOperationException(NAME + " takes a struct");
    }
    return new WriteJson((StructType) given.fields()[0].dataType());
  }

  public UTF8String invoke(InternalRow row) {
    if (row == null) {
      return null;
    }
    if (json == null) {
      JsonType made = JsonType.of(type, 0);
      canWrite = made.canBeWritten();
      likely = made.likely();
      json = made;
    }
    if (!canWrite) {
      return null;
    }
    try {
      JsonWriter to = new JsonWriter(likely);
      write(row, json, to);
      return to.text();
    } catch (Unsure unsure) {
      return null;
    }
  }

  private static void write(InternalRow row, JsonType type, JsonWriter to) throws Unsure {
    byte[][] labels = type.labels();
    for (int i = 0; i < type.width; i++) {
      to.put(i == 0 ? '{' : ',');
      to.raw(labels[i]);
      write(row, i, type.fields[i], to);
    }
    if (type.width == 0) {
      to.put('{');
    }
    to.put('}');
  }

  private static void write(ArrayData array, JsonType element, JsonWriter to) throws Unsure {
    to.put('[');
    int size = array.numElements();
    for (int i = 0; i < size; i++) {
      if (i > 0) {
        to.put(',');
      }
      write(array, i, element, to);
    }
    to.put(']');
  }

  private static void write(SpecializedGetters from, int i, JsonType type, JsonWriter to) throws Unsure {
    if (from.isNullAt(i)) {
      to.nothing();
      return;
    }
    switch (type.kind) {
      case JsonType.STRING:
        to.quotedAnyway(from.getUTF8String(i));
        return;
      case JsonType.BOOLEAN:
        to.flag(from.getBoolean(i));
        return;
      case JsonType.INT:
        to.number(from.getInt(i));
        return;
      case JsonType.LONG:
        to.number(from.getLong(i));
        return;
      case JsonType.FLOAT:
        to.number(from.getFloat(i));
        return;
      case JsonType.DOUBLE:
        to.number(from.getDouble(i));
        return;
      case JsonType.BINARY:
        to.base64(from.getBinary(i));
        return;
      case JsonType.DATE:
        to.put('"');
        Times.date(to, Times.days(from.getInt(i)).intValue());
        to.put('"');
        return;
      case JsonType.OBJECT:
        write(from.getStruct(i, type.width), type, to);
        return;
      case JsonType.ARRAY:
        write(from.getArray(i), type.fields[0], to);
        return;
      default:
        throw Unsure.UNSURE;
    }
  }
}
