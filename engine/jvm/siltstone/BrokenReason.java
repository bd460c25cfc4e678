package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text, why it could not be read if it begins with one of these signs, the signs, why it could not if it does
 * not) that gives why a line could not be read as what it should be. It is asked of few lines; in the code that Spark makes
 * for all of them it takes little room.
 */
public final class BrokenReason extends Scalar {
  static final String NAME = "broken_reason";
  private static final UTF8String EMPTY = UTF8String.fromString("empty line");

  private final NoJsonReason noJson = new NoJsonReason();
  private final LineValue value = new LineValue();

  BrokenReason() {
    super(
        NAME,
        new DataType[] {DataTypes.StringType, DataTypes.StringType, DataTypes.StringType, DataTypes.StringType},
        DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String text, UTF8String misfit, UTF8String opening, UTF8String other) {
    if (text != null && text.trim().numBytes() == 0) {
      return EMPTY;
    }
    UTF8String reason = noJson.invoke(text);
    if (reason != null) {
      return reason;
    }
    UTF8String read = value.invoke(text);
    return read.numBytes() > 0 && opening.contains(read.substring(0, 1)) ? misfit : other;
  }
}
