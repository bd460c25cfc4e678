package siltstone;

import java.time.ZoneOffset;
import java.util.regex.Pattern;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.util.DateTimeUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Option;

/**
 * A function of a text: the microseconds since 1970 of an instant. It is written, with an offset or in UTC, or counted in
 * microseconds, or `{"seconds", "nanos"}`. Null for every other text, and for what the calendar does not have.
 */
public final class InstantMicros extends Scalar {
  static final String NAME = "instant_micros";
  private static final Pattern WRITTEN =
      Pattern.compile("^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.Z+-]|$)");
  private static final StructType PARTS =
      new StructType().add("seconds", DataTypes.LongType).add("nanos", DataTypes.LongType);
  private static final long NANOS = 1000; // of a microsecond
  private static final int MOST_DIGITS = 18;

  private transient JsonToStructsEvaluator parts;

  InstantMicros() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.LongType);
  }

  public Long invoke(UTF8String text) {
    if (text == null) {
      return null;
    }
    try {
      return Long.valueOf(Times.written(text, Times.LOCAL | Times.ZONED | Times.CUT));
    } catch (Unsure unsure) {
      return unusual(text);
    }
  }

  private Long unusual(UTF8String text) {
    Long micros;
    if (WRITTEN.matcher(text.toString()).find()) {
      Option read = DateTimeUtils$.MODULE$.stringToTimestamp(text, ZoneOffset.UTC);
      micros = read.isEmpty() ? null : (Long) read.get();
    } else if (text.numBytes() > 0 && text.getByte(0) == '{') {
      micros = ofParts(text);
    } else {
      micros = WholeNumber.unsigned(text, MOST_DIGITS);
    }
    try {
      return micros == null ? null : Long.valueOf(Times.counted(micros.longValue(), Times.SECOND));
    } catch (Unsure beyondCalendar) {
      return null;
    }
  }

  private Long ofParts(UTF8String text) {
    if (parts == null) {
      parts = FromJson.reader(PARTS, "");
    }
    InternalRow read = (InternalRow) parts.evaluate(text);
    if (read == null || read.isNullAt(0)) {
      return null;
    }
    long nanos = read.isNullAt(1) ? 0 : read.getLong(1);
    try {
      long micros = Math.multiplyExact(read.getLong(0), Times.SECOND);
      return Long.valueOf(Math.addExact(micros, Math.floorDiv(nanos, NANOS)));
    } catch (ArithmeticException tooLarge) {
      return null;
    }
  }
}
