package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of a text: why it is no JSON value; null where it is one. */
public final class NoJsonReason extends Scalar {
  static final String NAME = "no_json_reason";
  private static final UTF8String NOT_TEXT = UTF8String.fromString("not UTF-8 text");
  private static final UTF8String NOT_JSON = UTF8String.fromString("not JSON");

  private final LineValue value = new LineValue();

  NoJsonReason() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String text) {
    if (text != null && !text.isValid()) {
      return NOT_TEXT;
    }
    return value.invoke(text) == null ? NOT_JSON : null;
  }
}
