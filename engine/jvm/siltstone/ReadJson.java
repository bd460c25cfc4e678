package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A function (text, a null of the wanted struct) that gives what `Json` reads; null where from_json is to read it. */
public final class ReadJson implements UnboundFunction, ScalarFunction {
  /** The text is the struct. */
  static final String OBJECT = "read_json";
  /** The same; the struct's last field is where from_json puts a text that it refuses, and stays null. */
  static final String OBJECT_OR_TEXT = "read_json_or_text";
  /** The text is the struct's first field; the second one is 0, the third null. */
  static final String LINE = "read_json_line";

  private final String name;
  private final StructType type;
  private transient JsonType json;

  ReadJson(String name, StructType type) {
    this.name = name;
    this.type = type;
  }

  public InternalRow invoke(UTF8String text, InternalRow example) {
    if (text == null) {
      return null;
    }
    if (json == null) {
      json = readType();
    }
    Object value = Json.read(text, json);
    if (value == null || !name.equals(LINE)) {
      return (InternalRow) value;
    }
    return new GenericInternalRow(new Object[] {value, Integer.valueOf(0), null});
  }

  private JsonType readType() {
    if (name.equals(LINE)) {
      return JsonType.of(type.fields()[0].dataType(), 0);
    }
    return JsonType.of(type, name.equals(OBJECT_OR_TEXT) ? 1 : 0);
  }

  public BoundFunction bind(StructType given) {
    if (given.length() != 2 || !(given.fields()[1].dataType() instanceof StructType)) {
      throw new UnsupportedOperationException(description());
    }
    return new ReadJson(name, (StructType) given.fields()[1].dataType());
  }

  public String name() {
    return name;
  }

  public String description() {
    return name + " takes a text and a null of the struct that is wanted";
  }

  public String canonicalName() {
    return "siltstone." + name;
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType, type};
  }

  public DataType resultType() {
    return type;
  }

  public boolean equals(Object other) {
    if (!(other instanceof ReadJson)) {
      return false;
    }
    ReadJson that = (ReadJson) other;
    return name.equals(that.name) && (type == null ? that.type == null : type.equals(that.type));
  }

  public int hashCode() {
    return 31 * name.hashCode() + (type == null ? 0 : type.hashCode());
  }
}
