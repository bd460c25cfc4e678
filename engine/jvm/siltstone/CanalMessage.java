package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Of a line of Canal: whether it is none; topic, partition and offset; and its message, as `CanalReader` reads it. */
public final class CanalMessage extends OfCanal {
  static final String NAME = "canal_message";

  CanalMessage(StructType line, StructType message) {
    super(NAME, line, message, message == null ? null : given(message));
  }

  private static StructType given(StructType message) {
    return new StructType()
        .add("broken", DataTypes.BooleanType)
        .add("topic", DataTypes.StringType)
        .add("partition", DataTypes.IntegerType)
        .add("offset", DataTypes.LongType)
        .add("message", message);
  }

  public BoundFunction bind(StructType given) {
    return new CanalMessage(struct(given, 1, NAME), struct(given, 2, NAME));
  }

  public InternalRow invoke(UTF8String text, InternalRow line, InternalRow message, UTF8String options) {
    if (text == null) {
      return null;
    }
    CanalReader.Line found = read(text, options);
    Object[] values = {
      Boolean.valueOf(found.isBroken), found.topic(), found.partition(), found.offset(), found.message
    };
    return new GenericInternalRow(values);
  }
}
