package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of a text: the one JSON value in it, as Spark's reader writes it; null where it is none, or not UTF-8. */
public final class LineValue extends Scalar {
  static final String NAME = "line_value";
  private static final StructType LINE =
      new StructType().add("_line", DataTypes.StringType).add("_end", DataTypes.IntegerType);
  private static final String OPTIONS = "allowSingleQuotes" + Stored.BETWEEN_WORDS + "false";

  private transient JsonToStructsEvaluator spark;

  LineValue() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String text) {
    if (text == null) {
      return null;
    }
    if (spark == null) {
      spark = FromJson.reader(LINE, OPTIONS);
    }
    InternalRow read = ReadJson.lineBySpark(text, spark);
    return read == null || read.isNullAt(1) ? null : read.getUTF8String(0);
  }
}
