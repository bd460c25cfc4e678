package siltstone;

import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (bytes, a null of the wanted struct, the number of their schema, numbers and schemas) that gives of the record in
 * the bytes what Spark's reader of JSON would give of the text that `AvroJson` writes; null where that gives null, and where it
 * is not sure.
 */
public final class AvroStruct extends BySchema {
  static final String NAME = "avro_struct";
  private static final int MOST_LIKELY = 1 << 24; // bytes of a text

  private final StructType wanted;

  AvroStruct(StructType wanted) {
    super(
        NAME,
        new DataType[] {DataTypes.BinaryType, wanted, DataTypes.LongType, DataTypes.StringType},
        wanted);
    this.wanted = wanted;
  }

  public BoundFunction bind(StructType given) {
    return new AvroStruct(wanted(given, NAME));
  }

  public InternalRow invoke(byte[] bytes, InternalRow none, long number, UTF8String schemas) {
    AvroPick pick = bytes == null ? null : (AvroPick) of(number, schemas);
    if (pick == null) {
      return null;
    }
    try {
      AvroBytes from = new AvroBytes(bytes);
      InternalRow row = (InternalRow) pick.read(from, (int) Math.min(2L * bytes.length, MOST_LIKELY));
      return from.isAtEnd() ? row : null;
    } catch (Unsure unsure) {
      return null;
    }
  }

  Object madeOfOne(String schema) throws Unsure {
    Schema parsed = AvroType.parsed(schema);
    return new AvroPick(parsed, AvroType.of(schema), wanted);
  }
}
