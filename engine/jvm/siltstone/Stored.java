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
  private static final String[] CODES = {
    "text", "any_text", "boolean", "int", "long", "float", "double", "unsigned", "decimal_base64", "decimal_text",
    "decimal_number", "binary", "days", "date", "moment", "clock"
  };
  private static final String UNAVAILABLE = "!";
  private static final String BETWEEN_WORDS = "\037"; // stands in no text of JSON

  private static final long DAY = 86400000000L;
  private static final long FIRST_DAY = -719162;
  private static final long LAST_DAY = 2932896;
  private static final int MOST_BYTES = 16; // of an unscaled number
  private static final int LONGEST_NUMBER = 38; // signs
  private static final int EXACT_DIGITS = 15; // of a fraction that a double tells to its last digit
  private static final int[] DAYS_OF_MONTHS = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  private static final BigDecimal AFTER_LONG = new BigDecimal("18446744073709551616");

  private final int code;
  private final long size;
  private final long more;
  private final UTF8String[] unavailable;
  private final int precision;
  private final int scale;

  private Stored(int code, long size, long more, UTF8String[] unavailable, int precision, int scale) {
    this.code = code;
    this.size = size;
    this.more = more;
    this.unavailable = unavailable;
    this.precision = precision;
    this.scale = scale;
  }

  /** `plan`: the code, up to two numbers, and behind `!` the texts that stand for no value, with a mark between. */
  static Stored of(DataType type, String plan) {
    String[] words = plan.split(BETWEEN_WORDS);
    int code = Arrays.asList(CODES).indexOf(words[0]);
    if (code < 0) {
      throw new IllegalArgumentException("no way to carry a value: " + words[0]);
    }
    int mark = Arrays.asList(words).indexOf(UNAVAILABLE);
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
    return new Stored(code, size, more, unavailable, precision, scale);
  }

  /** `first`: the first sign of a value that is not null. */
  Object value(Json json, int first) throws Unsure {
    switch (code) {
      case TEXT:
        return text(json, first);
      case ANY_TEXT: {
        UTF8String text = text(json, first);
        if (text.numBytes() > 0 && text.getByte(0) == '{') {
          throw Unsure.UNSURE; // it may be a number that says its scale
        }
        return text;
      }
      case BOOLEAN:
        json.word(first == 't' ? "true" : "false");
        return Boolean.valueOf(first == 't');
      case INT: {
        long number = json.whole();
        if (number != (int) number) {
          throw Unsure.UNSURE;
        }
        return Integer.valueOf((int) number);
      }
      case LONG:
        return Long.valueOf(json.whole());
      case FLOAT: {
        float number = Float.parseFloat(json.number());
        if (Float.isInfinite(number)) {
          throw Unsure.UNSURE;
        }
        return Float.valueOf(number);
      }
      case DOUBLE: {
        double number = json.floating();
        if (Double.isInfinite(number)) {
          throw Unsure.UNSURE;
        }
        return Double.valueOf(number);
      }
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
        return days(json.whole());
      case DATE:
        return first == '"' ? date(json.quoted()) : days(json.whole());
      case MOMENT:
        return Long.valueOf(first == '"' ? written(json.quoted()) : counted(json.whole()));
      default:
        return first == '"' ? clock(json.quoted()) : clock(json.whole());
    }
  }

  // --- texts and bytes -----------------------------------------------------------------------------------------------

  private UTF8String text(Json json, int first) throws Unsure {
    if (first != '"') {
      int start = json.at;
      if (first == 't' || first == 'f') {
        json.word(first == 't' ? "true" : "false");
      } else if (json.scanNumber()) {
        throw Unsure.UNSURE;
      }
      return UTF8String.fromBytes(json.text, start, json.at - start);
    }
    UTF8String text = json.quoted();
    for (int i = 0; i < unavailable.length; i++) {
      if (unavailable[i].equals(text)) {
        throw Unsure.UNSURE;
      }
    }
    return text;
  }

  private byte[] binary(Json json) throws Unsure {
    byte[] bytes = json.binary();
    for (int i = 0; i < unavailable.length; i++) {
      if (Arrays.equals(unavailable[i].getBytes(), bytes)) {
        throw Unsure.UNSURE;
      }
    }
    return bytes;
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
    int length = json.at - start;
    if (isFraction) {
      for (int i = start; i < json.at; i++) {
        if (json.text[i] == 'e' || json.text[i] == 'E') {
          throw Unsure.UNSURE;
        }
      }
    }
    if (length > (isFraction ? EXACT_DIGITS : LONGEST_NUMBER)) {
      throw Unsure.UNSURE;
    }
    return decimal(new BigDecimal(new String(json.text, 0, start, length)));
  }

  // --- times ---------------------------------------------------------------------------------------------------------

  private static Integer days(long number) throws Unsure {
    if (number < FIRST_DAY || number > LAST_DAY) {
      throw Unsure.UNSURE;
    }
    return Integer.valueOf((int) number);
  }

  private static Integer date(UTF8String text) throws Unsure {
    if (text.numBytes() != 10) {
      throw Unsure.UNSURE;
    }
    return Integer.valueOf((int) dayOf(text));
  }

  /** `size`: how many units of the count a second has; 0 where a number says nothing. */
  private long counted(long number) throws Unsure {
    if (size == 0) {
      throw Unsure.UNSURE;
    }
    long micros;
    if (size > 1000000) {
      micros = Math.floorDiv(number, size / 1000000);
    } else {
      long factor = 1000000 / size;
      micros = number * factor;
      if (micros / factor != number) {
        throw Unsure.UNSURE;
      }
    }
    if (micros < FIRST_DAY * DAY || micros >= (LAST_DAY + 1) * DAY) {
      throw Unsure.UNSURE;
    }
    return micros;
  }

  /** `more`: 1 where a text must not say its zone, 2 where it must say that it is UTC, 3 where it may; 0: no text. */
  private long written(UTF8String text) throws Unsure {
    int length = text.numBytes();
    boolean utc = length > 0 && text.getByte(length - 1) == 'Z';
    int end = utc ? length - 1 : length;
    if ((more & (utc ? 2 : 1)) == 0 || end < 19 || end > 26 || end == 20) {
      throw Unsure.UNSURE;
    }
    int between = text.getByte(10);
    if ((between != 'T' && between != ' ') || text.getByte(13) != ':' || text.getByte(16) != ':') {
      throw Unsure.UNSURE;
    }
    int hour = number(text, 11, 13);
    int minute = number(text, 14, 16);
    int second = number(text, 17, 19);
    if (hour > 23 || minute > 59 || second > 59) {
      throw Unsure.UNSURE;
    }
    long micros = 0;
    if (end > 19) {
      if (text.getByte(19) != '.') {
        throw Unsure.UNSURE;
      }
      micros = number(text, 20, end);
      for (int i = end; i < 26; i++) {
        micros *= 10;
      }
    }
    return dayOf(text) * DAY + ((hour * 60L + minute) * 60 + second) * 1000000 + micros;
  }

  /** The day of a text that begins with a date of the years 2 to 9998, far from where the calendar ends. */
  private static long dayOf(UTF8String text) throws Unsure {
    int year = number(text, 0, 4);
    int month = number(text, 5, 7);
    int day = number(text, 8, 10);
    boolean leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (text.getByte(4) != '-' || text.getByte(7) != '-' || year < 2 || year > 9998 || month < 1 || month > 12) {
      throw Unsure.UNSURE;
    }
    if (day < 1 || day > DAYS_OF_MONTHS[month - 1] || (month == 2 && day == 29 && !leaps)) {
      throw Unsure.UNSURE;
    }
    // Years that begin with March: the day that a leap year has more is the last one.
    long years = month > 2 ? year : year - 1;
    long era = years / 400;
    long yearOfEra = years - era * 400;
    long dayOfYear = (153L * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
  }

  private static int number(UTF8String text, int start, int end) throws Unsure {
    int number = 0;
    for (int i = start; i < end; i++) {
      int digit = text.getByte(i) - '0';
      if (digit < 0 || digit > 9) {
        throw Unsure.UNSURE;
      }
      number = number * 10 + digit;
    }
    return number;
  }

  /** A time of day as text; `more`: 1 where it can be. */
  private UTF8String clock(UTF8String text) throws Unsure {
    byte[] bytes = text.getBytes();
    for (int i = 0; more == 1 && i < bytes.length; i++) {
      if (bytes[i] == ':') {
        return text;
      }
    }
    throw Unsure.UNSURE;
  }

  private UTF8String clock(long number) throws Unsure {
    long count = Math.abs(number);
    if (size == 0 || count < 0 || (size < 1000000 && count > Long.MAX_VALUE / 1000000)) {
      throw Unsure.UNSURE;
    }
    long micros = size > 1000000 ? count / (size / 1000000) : count * (1000000 / size);
    long seconds = micros / 1000000;
    StringBuilder text = new StringBuilder();
    if (number < 0) {
      text.append('-');
    }
    padded(text, seconds / 3600, 2);
    text.append(':');
    padded(text, seconds / 60 % 60, 2);
    text.append(':');
    padded(text, seconds % 60, 2);
    text.append('.');
    padded(text, micros % 1000000, 6);
    return UTF8String.fromString(text.toString());
  }

  private static void padded(StringBuilder text, long number, int width) {
    String digits = Long.toString(number);
    for (int i = digits.length(); i < width; i++) {
      text.append('0');
    }
    text.append(digits);
  }
}
