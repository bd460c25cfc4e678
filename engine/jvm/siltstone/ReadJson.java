package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text, a null of the wanted struct, options) that gives what from_json gives with these options: of a plain
 * text what `Json` reads, of every other what Spark's own reader does; null there, where the options are null.
 */
public final class ReadJson extends Planned {
  /** The text is the struct. */
  static final String OBJECT = "read_json";
  /** The same; the struct's last field is where from_json puts a text that it refuses, and stays null. */
  static final String OBJECT_OR_TEXT = "read_json_or_text";
  /** The text is the struct's first field; the second one is 0, the third null. Spark gets it in an object, 0 behind it. */
  static final String LINE = "read_json_line";
  /** The same; fractions of many digits in what is kept as text stay as they stand. */
  static final String EXACT_LINE = "read_json_exact_line";
  /** The same; so do powers of ten, but only where a number is all that is kept as text. */
  static final String UNCUT_LINE = "read_json_uncut_line";
  /** The same as `LINE`; fractions of many digits are put into quotes. */
  static final String QUOTED_LINE = "read_json_quoted_line";

  private final String name;
  private final StructType type;
  private transient JsonType json;

  ReadJson(String name, StructType type) {
    super(name, new DataType[] {DataTypes.StringType, type, DataTypes.StringType}, type);
    this.name = name;
    this.type = type;
  }

  public BoundFunction bind(StructType given) {
    return new ReadJson(name, wanted(given, name));
  }

  public InternalRow invoke(UTF8String text, InternalRow example, UTF8String options) {
    if (text == null) {
      return null;
    }
    if (json == null) {
      json = readType();
    }
    Object value = Json.read(text, json, longNumbers());
    if (value == null) {
      return options == null ? null : bySpark(text, options);
    }
    return isLine() ? new GenericInternalRow(new Object[] {value, Integer.valueOf(0), null}) : (InternalRow) value;
  }

  Object madeOut(String options) {
    return FromJson.reader(type, options);
  }

  private InternalRow bySpark(UTF8String text, UTF8String options) {
    JsonToStructsEvaluator spark = (JsonToStructsEvaluator) madeOf(options);
    return isLine() ? lineBySpark(text, spark) : (InternalRow) spark.evaluate(text);
  }

  /** A line that is not UTF-8 is null: the reader would take another sign for what is none. */
  static InternalRow lineBySpark(UTF8String text, JsonToStructsEvaluator spark) {
    if (!text.isValid()) {
      return null;
    }
    return (InternalRow) spark.evaluate(UTF8String.fromString("{\"_line\":" + text.toString() + ",\"_end\":0}"));
  }

  private JsonType readType() {
    if (isLine()) {
      return JsonType.of(type.fields()[0].dataType(), 0);
    }
    return JsonType.of(type, name.equals(OBJECT_OR_TEXT) ? 1 : 0);
  }

  private boolean isLine() {
    return name.equals(LINE) || longNumbers() != JsonCopy.AS_DOUBLES;
  }

  private int longNumbers() {
    if (name.equals(EXACT_LINE)) {
      return JsonCopy.AS_THEY_STAND;
    }
    if (name.equals(UNCUT_LINE)) {
      return JsonCopy.FIELDS_AS_THEY_STAND;
    }
    return name.equals(QUOTED_LINE) ? JsonCopy.IN_QUOTES : JsonCopy.AS_DOUBLES;
  }
}
