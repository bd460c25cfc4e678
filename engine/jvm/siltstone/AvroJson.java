package siltstone;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (bytes, a schema as JSON) that gives the record in the bytes as `to_json` writes what `from_avro` reads, nulls
 * kept; null where the record does not end where the bytes do, and where it is not sure: of maps of more than one key, of
 * types that Spark leaves out or reads in a way of its own.
 */
public final class AvroJson extends Planned {
  static final String NAME = "avro_json";
  private static final int MOST_LIKELY = 1 << 24; // bytes of a text

  AvroJson() {
    super(NAME, new DataType[] {DataTypes.BinaryType, DataTypes.StringType}, DataTypes.StringType);
  }

  /** One for each place where it is asked, for each asks for another schema. */
  public BoundFunction bind(StructType given) {
    return new AvroJson();
  }

  public UTF8String invoke(byte[] bytes, UTF8String schema) {
    if (bytes == null || schema == null) {
      return null;
    }
    AvroType type = (AvroType) madeOf(schema);
    if (type.kind == null) {
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

  Object madeOut(String schema) {
    try {
      return AvroType.of(schema);
    } catch (Unsure unsure) {
      return new AvroType();
    }
  }
}
