package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;

/**
 * A function (text, a null of the wanted struct, array or map, options) that gives what Spark's from_json gives: by Spark's
 * own reader. Spark generates no code for from_json, and so none for whatever stands beside it; for this it does.
 */
public final class FromJson extends Planned {
  static final String NAME = "from_json";

  private final DataType type;

  FromJson(DataType type) {
    super(NAME, new DataType[] {DataTypes.StringType, type, DataTypes.StringType}, type);
    this.type = type;
  }

  public BoundFunction bind(StructType given) {
    if (given.length() != 3) {
      throw new UnsupportedOperationException(NAME + " takes a text, a null of the type that is wanted, and options");
    }
    return new FromJson(given.fields()[1].dataType());
  }

  public InternalRow invoke(UTF8String text, InternalRow example, UTF8String options) {
    return (InternalRow) read(text, options);
  }

  public ArrayData invoke(UTF8String text, ArrayData example, UTF8String options) {
    return (ArrayData) read(text, options);
  }

  public MapData invoke(UTF8String text, MapData example, UTF8String options) {
    return (MapData) read(text, options);
  }

  private Object read(UTF8String text, UTF8String options) {
    return text == null ? null : ((JsonToStructsEvaluator) madeOf(options)).evaluate(text);
  }

  Object madeOut(String options) {
    return reader(type, options);
  }

  /** Spark's reader of a type. `options`: a line each, the name and the value. */
  static JsonToStructsEvaluator reader(DataType type, String options) {
    Map set = Map$.MODULE$.empty();
    String[] lines = options.isEmpty() ? new String[0] : options.split("\n");
    for (int i = 0; i < lines.length; i++) {
      String[] words = lines[i].split(Stored.BETWEEN_WORDS);
      set = (Map) set.updated(words[0], words[1]);
    }
    SQLConf settings = SQLConf.get();
    Option zone = Option.apply(settings.sessionLocalTimeZone());
    return new JsonToStructsEvaluator(set, type.asNullable(), settings.columnNameOfCorruptRecord(), zone, false);
  }
}
