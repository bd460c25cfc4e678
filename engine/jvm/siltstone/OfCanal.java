package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A function (text, a null of the fields of a line, a null of those of a message, options of Spark's reader) of lines of Canal. */
abstract class OfCanal extends Planned {
  private final StructType line;
  final StructType messageType;

  OfCanal(String name, StructType line, StructType message, DataType result) {
    super(name, new DataType[] {DataTypes.StringType, line, message, DataTypes.StringType}, result);
    this.line = line;
    this.messageType = message;
  }

  static StructType struct(StructType given, int argument, String name) {
    if (given.length() != 4 || !(given.fields()[argument].dataType() instanceof StructType)) {
      throw new UnsupportedOperationException(name + " takes a text, nulls of a line and of a message, and options");
    }
    return (StructType) given.fields()[argument].dataType();
  }

  Object madeOut(String options) {
    return new CanalReader(line, messageType, options);
  }

  final CanalReader.Line read(UTF8String text, UTF8String options) {
    return ((CanalReader) madeOf(options)).read(text);
  }
}
