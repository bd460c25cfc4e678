package siltstone;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (bytes, the number of their schema, numbers and schemas) that gives the record in the bytes as `to_json` writes
 * what `from_avro` reads, nulls kept; null where the record does not end where the bytes do, where its schema is not among
 * them, and where it is not sure: of maps of more than one key, of types that Spark leaves out or reads in a way of its own.
 */
public final class AvroJson extends BySchema {
  static final String NAME = "avro_json";
  private static final int MOST_LIKELY = 1 << 24; // bytes of a text

  AvroJson() {
    super(
        NAME,
        new DataType[] {DataTypes.BinaryType, DataTypes.LongType, DataTypes.StringType},
        DataTypes.StringType);
  }

  /** One for each place where it is asked, for each asks for other schemas. */
  public BoundFunction bind(StructType given) {
    return new AvroJson();
  }

  public UTF8String invoke(byte[] bytes, long number, UTF8String schemas) {
    AvroType type = bytes == null ? null : (AvroType) of(number, schemas);
    if (type == null) {
      return null;
    }
    try {
      AvroBytes from = new AvroBytes(bytes);
      JsonWriter to = new JsonWriter((int) Math.min(2L * bytes.length + type.likely, MOST_LIKELY));
      type.write(from, to);
      return from.isAtEnd() ? to.text() : null;
    } catch (Unsure unsure) {
      return null;
    }
  }

  Object madeOfOne(String schema) throws Unsure {
    return AvroType.of(schema);
  }
}
