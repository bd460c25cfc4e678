package siltstone;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * How a value is carried, and what is stored of it: for what is met every day the same that the conversions of
 * engine.decode give, which take all that this one is not sure of.
 */
final class Stored {
  private static final int TEXT = 0;
  private static final int ANY_TEXT = 1;
  private static final int BOOLEAN = 2;
  private static final int INT = 3;
  private static final int LONG = 4;
  private static final int FLOAT = 5;
  private static final int DOUBLE = 6;
  private static final int UNSIGNED = 7;
  private static final int DECIMAL_BASE64 = 8;
  private static final int DECIMAL_TEXT = 9;
  private static final int DECIMAL_NUMBER = 10;
  private static final int BINARY = 11;
  private static final int DAYS = 12;
  private static final int DATE = 13;
  private static final int MOMENT = 14;
  private static final int CLOCK = 15;
  private static final int DAY_OF = 16;
  private static final int WRITTEN_BOOLEAN = 17;
  private static final int WRITTEN_INT = 18;
  private static final int WRITTEN_LONG = 19;
  private static final int WRITTEN_FLOAT = 20;
  private static final int WRITTEN_DOUBLE = 21;
  private static final int WRITTEN_CLOCK = 22;
  private static final int WRITTEN_LABEL = 23;
  private static final int WRITTEN_BITS = 24;
  private static final int WRITTEN_BYTES = 25;
  private static final int TEXT_CLOCK = 26;
  private static final int MARKED = 27;
  private static final int UNMARKED = 28;
  private static final String[] CODES = {
    "text", "any_text", "boolean", "int", "long", "float", "double", "unsigned", "decimal_base64", "decimal_text",
    "decimal_number", "binary", "days", "date", "moment", "clock", "day_of", "written_boolean", "written_int",
    "written_long", "written_float", "written_double", "written_clock", "written_label", "written_bits", "written_bytes",
    "text_clock", "marked", "unmarked"
  };
  /** Stands before base64 where there can be texts, too: BYTES_MARK of engine.decode.conversion. */
  private static final UTF8String MARK = UTF8String.fromString("\000bytes:");
  private static final UTF8String OPENED = UTF8String.fromString("{");
  private static final String UNAVAILABLE = "!";
  private static final String MAY_LACK = "?";
  /** What stands for a value that the source left out, where a row may lack one. */
  static final Object LEFT_OUT = new Object();
  static final String BETWEEN_WORDS = "\037"; // stands in no text of JSON

  private static final int MOST_BYTES = 16; // of an unscaled number
  private static final int LONGEST_NUMBER = 38; // signs
  private static final int LONGEST_EXPONENT = 3; // signs, with its letter
  private static final int EXACT_DIGITS = 15; // of a fraction that a double tells to its last digit
  private static final BigDecimal AFTER_LONG = new BigDecimal("18446744073709551616");

  private final int code;
  private final long size;
  private final long more;
  private final UTF8String[] unavailable;
  private final boolean mayLack;
  private final int precision;
  private final int scale;

  private Stored(
      int code, long size, long more, UTF8String[] unavailable, boolean mayLack, int precision, int scale) {
    this.code = code;
    this.size = size;
    this.more = more;
    this.unavailable = unavailable;
    this.mayLack = mayLack;
    this.precision = precision;
    this.scale = scale;
  }

  /**
   * `plan`: the code, up to two numbers, and behind `!` the texts that stand for no value, with a mark between; behind `?`
   * where a row may lack the value.
   */
  static Stored of(DataType type, String plan) {
    String[] words = plan.split(BETWEEN_WORDS);
    int code = Arrays.asList(CODES).indexOf(words[0]);
    if (code < 0) {
      throw new IllegalArgumentException("no way to carry a value: " + words[0]);
    }
    boolean mayLack = Arrays.asList(words).contains(MAY_LACK);
    int mark = Arrays.asList(words).indexOf(mayLack ? MAY_LACK : UNAVAILABLE);
    int numbers = mark < 0 ? words.length : mark;
    UTF8String[] unavailable = new UTF8String[words.length - numbers - (mark < 0 ? 0 : 1)];
    for (int i = 0; i < unavailable.length; i++) {
      unavailable[i] = UTF8String.fromString(words[mark + 1 + i]);
    }
    long size = numbers > 1 ? Long.parseLong(words[1]) : 0;
    long more = numbers > 2 ? Long.parseLong(words[2]) : 0;
    boolean isDecimal = type instanceof DecimalType;
    int precision = isDecimal ? ((DecimalType) type).precision() : 0;
    int scale = isDecimal ? ((DecimalType) type).scale() : 0;
    return new Stored(code, size, more, unavailable, mayLack, precision, scale);
  }

  /** `first`: the first sign of a value that is not null. LEFT_OUT where the row may lack it and does. */
  Object value(Json json, int first) throws Unsure {
    switch (code) {
      case TEXT:
        return text(json, first);
      case ANY_TEXT: {
        Object text = text(json, first);
        if (text instanceof UTF8String && ((UTF8String) text).startsWith(OPENED)) {
          throw Unsure.UNSURE; // it may be a number that says its scale
        }
        return text;
      }
      case BOOLEAN:
        json.word(first == 't' ? "true" : "false");
        return Boolean.valueOf(first == 't');
      case INT:
        return narrow(json.whole());
      case LONG:
        return Long.valueOf(json.whole());
      case FLOAT:
        return finite(Float.parseFloat(json.number()));
      case DOUBLE:
        return finite(json.floating());
      case UNSIGNED: {
        BigDecimal number = BigDecimal.valueOf(json.whole());
        return decimal(number.signum() < 0 ? number.add(AFTER_LONG) : number);
      }
      case DECIMAL_BASE64: {
        byte[] bytes = json.binary();
        if (bytes.length == 0 || bytes.length > MOST_BYTES) {
          throw Unsure.UNSURE;
        }
        return decimal(new BigDecimal(new BigInteger(bytes), (int) size));
      }
      case DECIMAL_TEXT:
        return first == '"' ? decimal(digits(json)) : fraction(json);
      case DECIMAL_NUMBER:
        return fraction(json);
      case BINARY:
        return binary(json);
      case DAYS:
        return Times.days(json.whole());
      case DATE:
        return first == '"' ? Times.date(json.quoted()) : Times.days(json.whole());
      case MOMENT:
        return Long.valueOf(first == '"' ? Times.written(json.quoted(), (int) more) : Times.counted(json.whole(), size));
      case DAY_OF:
        return Times.dayOf(json.whole(), size);
      case CLOCK:
        return Times.clock(json.whole(), size);
      case TEXT_CLOCK:
        return first == '"' ? clock(json.quoted()) : Times.clock(json.whole(), size);
      default:
        return written(json, first);
    }
  }

  /** What is text whatever its type; perhaps it came as a number or a word of JSON. */
  private Object written(Json json, int first) throws Unsure {
    boolean isText = first == '"';
    switch (code) {
      case WRITTEN_BOOLEAN:
        return Written.flag(isText ? json.quoted() : bare(json, first));
      case WRITTEN_INT:
        return narrow(isText ? Written.whole(json.quoted()) : json.whole());
      case WRITTEN_LONG:
        return Long.valueOf(isText ? Written.whole(json.quoted()) : json.whole());
      case WRITTEN_FLOAT:
        return finite(Float.parseFloat(isText ? Written.number(json.quoted()) : Written.usual(json.number())));
      case WRITTEN_DOUBLE:
        return finite(isText ? Double.parseDouble(Written.number(json.quoted())) : json.floating());
      case WRITTEN_CLOCK:
        return Written.clock(json.quoted());
      case WRITTEN_LABEL:
        return Written.label(json.quoted());
      case WRITTEN_BITS:
        return Written.bits(isText ? json.quoted() : bare(json, first), (int) size);
      case MARKED:
        return marked(json.quoted());
      case UNMARKED:
        return unmarked(json.quoted());
      default:
        return Written.bytes(json.quoted(), (int) size);
    }
  }

  private static Integer narrow(long number) throws Unsure {
    if (number != (int) number) {
      throw Unsure.UNSURE;
    }
    return Integer.valueOf((int) number);
  }

  private static Float finite(float number) throws Unsure {
    if (Float.isInfinite(number)) {
      throw Unsure.UNSURE;
    }
    return Float.valueOf(number);
  }

  private static Double finite(double number) throws Unsure {
    if (Double.isInfinite(number)) {
      throw Unsure.UNSURE;
    }
    return Double.valueOf(number);
  }

  // --- texts and bytes -----------------------------------------------------------------------------------------------

  private Object text(Json json, int first) throws Unsure {
    if (first != '"') {
      return bare(json, first);
    }
    UTF8String text = json.quoted();
    for (int i = 0; i < unavailable.length; i++) {
      if (unavailable[i].equals(text)) {
        return leftOut();
      }
    }
    return text;
  }

  /** A word or a whole number of JSON as text. */
  private static UTF8String bare(Json json, int first) throws Unsure {
    int start = json.at;
    if (first == 't' || first == 'f') {
      json.word(first == 't' ? "true" : "false");
    } else if (json.scanNumber()) {
      throw Unsure.UNSURE;
    }
    return UTF8String.fromBytes(json.text, start, json.at - start);
  }

  private Object binary(Json json) throws Unsure {
    byte[] bytes = json.binary();
    for (int i = 0; i < unavailable.length; i++) {
      if (Arrays.equals(unavailable[i].getBytes(), bytes)) {
        return leftOut();
      }
    }
    return bytes;
  }

  private Object leftOut() throws Unsure {
    if (!mayLack) {
      throw Unsure.UNSURE;
    }
    return LEFT_OUT;
  }

  private static byte[] marked(UTF8String text) throws Unsure {
    if (!text.startsWith(MARK)) {
      throw Unsure.UNSURE;
    }
    return JsonBytes.ofBase64(text.getBytes(), MARK.numBytes(), text.numBytes());
  }

  private static UTF8String unmarked(UTF8String text) throws Unsure {
    if (text.startsWith(MARK)) {
      throw Unsure.UNSURE; // they are bytes
    }
    return text;
  }

  // --- decimals ------------------------------------------------------------------------------------------------------

  private Decimal decimal(BigDecimal number) throws Unsure {
    try {
      BigDecimal scaled = number.setScale(scale); // throws where a digit would be lost
      if (scaled.precision() > precision) {
        throw Unsure.UNSURE;
      }
      return Decimal.apply(scaled, precision, scale);
    } catch (ArithmeticException lost) {
      throw Unsure.UNSURE;
    }
  }

  private static BigDecimal digits(Json json) throws Unsure {
    UTF8String text = json.quoted();
    int length = text.numBytes();
    int start = length > 0 && text.getByte(0) == '-' ? 1 : 0;
    int point = -1;
    for (int i = start; i < length; i++) {
      int c = text.getByte(i);
      if (c == '.' && point < 0 && i > start && i < length - 1) {
        point = i;
      } else if (c < '0' || c > '9') {
        throw Unsure.UNSURE;
      }
    }
    if (length == start || length > LONGEST_NUMBER) {
      throw Unsure.UNSURE;
    }
    return new BigDecimal(text.toString());
  }

  /** A number of JSON, of few digits: those of a fraction went through a double before they were looked at. */
  private Decimal fraction(Json json) throws Unsure {
    int start = json.at;
    boolean isFraction = json.scanNumber();
    int digits = 0;
    int end = start;
    while (end < json.at && json.text[end] != 'e' && json.text[end] != 'E') {
      if (json.text[end] != '-' && json.text[end] != '.') {
        digits++;
      }
      end++;
    }
    if (digits > (isFraction ? EXACT_DIGITS : LONGEST_NUMBER) || json.at - end > LONGEST_EXPONENT) {
      throw Unsure.UNSURE;
    }
    return decimal(new BigDecimal(new String(json.text, 0, start, json.at - start)));
  }

  /** A time of day that is text already. */
  private static UTF8String clock(UTF8String text) throws Unsure {
    byte[] bytes = text.getBytes();
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == ':') {
        return text;
      }
    }
    throw Unsure.UNSURE;
  }
}
