package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Of a line of Canal: topic, partition and offset; `id` and `es` of its message, and a hash of what of it is the same when it
 * is sent again, which is all but `id` and `ts`. Each field of it goes into the hash with whether it is there, each array
 * with its size.
 */
public final class CanalContent extends OfCanal {
  static final String NAME = "canal_content";
  private static final long SEED = 42;
  private static final StructType GIVEN =
      new StructType()
          .add("topic", DataTypes.StringType)
          .add("partition", DataTypes.IntegerType)
          .add("offset", DataTypes.LongType)
          .add("id", DataTypes.LongType)
          .add("es", DataTypes.LongType)
          .add("content", DataTypes.LongType);

  CanalContent(StructType line, StructType message) {
    super(NAME, line, message, GIVEN);
  }

  public BoundFunction bind(StructType given) {
    return new CanalContent(struct(given, 1, NAME), struct(given, 2, NAME));
  }

  public InternalRow invoke(UTF8String text, InternalRow line, InternalRow message, UTF8String options) {
    if (text == null) {
      return null;
    }
    CanalReader.Line found = read(text, options);
    InternalRow told = found.message;
    Object[] values = {found.topic(), found.partition(), found.offset(), null, null, null};
    if (told != null) {
      values[3] = told.get(messageType.fieldIndex("id"), DataTypes.LongType);
      values[4] = told.get(messageType.fieldIndex("es"), DataTypes.LongType);
      values[5] = Long.valueOf(content(told));
    }
    return new GenericInternalRow(values);
  }

  private long content(InternalRow message) {
    long hash = SEED;
    for (int i = 0; i < messageType.length(); i++) {
      String name = messageType.fields()[i].name();
      if (!name.equals("id") && !name.equals("ts")) {
        hash = with(message.isNullAt(i) ? 0 : 1, hash);
        hash = message.isNullAt(i) ? hash : with(message, i, hash);
      }
    }
    return hash;
  }

  private long with(InternalRow message, int field, long hash) {
    DataType type = messageType.fields()[field].dataType();
    if (type.equals(DataTypes.BooleanType)) {
      return with(message.getBoolean(field) ? 1 : 0, hash);
    }
    if (type.equals(DataTypes.LongType)) {
      return XXH64.hashLong(message.getLong(field), hash);
    }
    if (!(type instanceof ArrayType)) {
      return with(message.getUTF8String(field), hash);
    }
    ArrayData texts = message.getArray(field);
    long all = with(texts.numElements(), hash);
    for (int i = 0; i < texts.numElements(); i++) {
      all = with(texts.isNullAt(i) ? 0 : 1, all);
      all = texts.isNullAt(i) ? all : with(texts.getUTF8String(i), all);
    }
    return all;
  }

  private static long with(int number, long hash) {
    return XXH64.hashInt(number, hash);
  }

  private static long with(UTF8String text, long hash) {
    return XXH64.hashUTF8String(text, hash);
  }
}
