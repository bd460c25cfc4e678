package siltstone;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Base64;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * An image of a row in a record of DTS: one value of a union for each column, written as a JSON object of their texts, as
 * engine.decode.dts_values gives them. What is seldom met is `Unsure`.
 */
final class DtsValues {
  static final int INTEGER = 1;
  static final int CHARACTER = 2;
  static final int DECIMAL = 3;
  static final int FLOAT = 4;
  static final int TIMESTAMP = 5;
  static final int DATE_TIME = 6;
  static final int ZONED = 7;
  static final int BINARY_GEOMETRY = 8;
  static final int TEXT_GEOMETRY = 9;
  static final int BINARY = 10;
  static final int TEXT = 11;
  static final int EMPTY = 12;
  static final int KINDS = 13; // and null
  private static final int JSONB = 3802;
  private static final String BYTES_MARK = "\"\\u0000bytes:"; // as engine.decode.conversion has it, in JSON
  private static final int PARTS = 7; // of a DateTime: from the year to the fraction

  /** What there is to say of a value beside its column's type. */
  private static final int NOTHING = 0;
  private static final int BYTES = 1;
  private static final int WHOLE = 2;
  private static final int OTHER = 3;
  private static final int DIGITS = 4;

  final JsonWriter json;
  boolean isPartial = false;
  private final DtsFields fields;
  private final AvroBytes from;
  private final boolean nanos;
  /** Where the text of each value stands; -1 where there is none. */
  private final int[] starts;
  private final int[] ends;
  private final int[] facts;
  private final int[] precisions;
  private final int[] scales;
  private final int[] parts = new int[PARTS];
  private int known; // which parts are there, a bit each
  private String zone;

  /** `nanos`: whether fractions of dates and times count nanoseconds. */
  DtsValues(AvroBytes from, DtsFields fields, boolean nanos, int likely) {
    int size = fields.size();
    this.from = from;
    this.fields = fields;
    this.nanos = nanos;
    this.json = new JsonWriter(likely);
    this.starts = new int[size];
    this.ends = new int[size];
    this.facts = new int[size];
    this.precisions = new int[size];
    this.scales = new int[size];
  }

  /** Goes behind the image. */
  void read() throws Unsure {
    int at = 0;
    json.put('{');
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        if (at == starts.length) {
          throw Unsure.UNSURE; // not as many values as fields
        }
        value(at++);
      }
    }
    if (at < starts.length) {
      throw Unsure.UNSURE;
    }
    json.put('}');
  }

  /** Whether a column has another text in another image; not where either is null. */
  boolean differs(int column, DtsValues other) {
    if (starts[column] < 0 || other.starts[column] < 0) {
      return false;
    }
    return !json.hasSame(starts[column], ends[column], other.json, other.starts[column], other.ends[column]);
  }

  private void value(int column) throws Unsure {
    int kind = from.index(KINDS);
    starts[column] = -1;
    if (kind == EMPTY && from.index(2) == 1) {
      isPartial = true; // it is not there
      return;
    }
    if (json.size() > 1) {
      json.put(',');
    }
    json.raw(fields.labels[column]);
    if (kind == 0 || kind == EMPTY) {
      json.nothing();
      return;
    }
    int number = fields.numbers[column];
    if (fields.isDecimal(number)) {
      facts[column] = kind == INTEGER ? WHOLE : kind == DECIMAL ? DIGITS : OTHER;
    }
    starts[column] = json.size();
    write(kind, column, number);
    ends[column] = json.size();
  }

  private void write(int kind, int column, int number) throws Unsure {
    switch (kind) {
      case INTEGER:
        from.number();
        quoted();
        return;
      case CHARACTER:
        character(column);
        return;
      case DECIMAL:
        decimal(column);
        return;
      case FLOAT:
        json.put('"');
        json.raw(Double.toString(from.fraction()));
        json.put('"');
        from.number();
        from.number();
        return;
      case TIMESTAMP: {
        long seconds = from.count();
        json.put('"');
        instant(seconds, from.number());
        json.raw("Z\"");
        return;
      }
      case DATE_TIME:
        readParts();
        json.put('"');
        dateTime();
        json.put('"');
        return;
      case ZONED: {
        readParts();
        int start = from.sized();
        zone = new String(from.bytes, 0, start, from.at - start);
        json.put('"');
        zoned();
        json.raw("Z\"");
        return;
      }
      case BINARY_GEOMETRY:
        from.sized();
        marked(column, from.sized());
        return;
      case BINARY:
        if (number == JSONB) {
          throw Unsure.UNSURE;
        }
        from.sized();
        marked(column, from.sized());
        return;
      default: // texts
        from.sized();
        quoted();
    }
  }

  private void quoted() throws Unsure {
    int start = from.sized();
    json.quoted(from.bytes, start, from.at);
  }

  private void marked(int column, int start) {
    facts[column] = BYTES;
    json.raw(BYTES_MARK);
    json.raw(Base64.getEncoder().encode(Arrays.copyOfRange(from.bytes, start, from.at)));
    json.put('"');
  }

  private void character(int column) throws Unsure {
    int start = from.sized();
    int charset = fields.charset(from.bytes, start, from.at);
    start = from.sized();
    if (charset == DtsFields.NONE) {
      marked(column, start);
      return;
    }
    if (charset == DtsFields.OTHER || charset == DtsFields.LIKE_ASCII && !isAscii(start)) {
      throw Unsure.UNSURE;
    }
    json.quoted(from.bytes, start, from.at);
  }

  private boolean isAscii(int start) {
    for (int i = start; i < from.at; i++) {
      if (from.bytes[i] < 0) {
        return false;
      }
    }
    return true;
  }

  private void decimal(int column) throws Unsure {
    int start = from.sized();
    int end = from.at;
    if (end > start && from.bytes[end - 1] == '~') {
      throw Unsure.UNSURE; // infinity, as Oracle writes it
    }
    json.quoted(from.bytes, start, end);
    precisions[column] = from.number();
    scales[column] = from.number();
  }

  // --- times ---------------------------------------------------------------------------------------------------------

  private void readParts() throws Unsure {
    known = 0;
    for (int i = 0; i < PARTS; i++) {
      parts[i] = 0;
      if (from.index(2) == 1) {
        parts[i] = from.number();
        known |= 1 << i;
      }
    }
  }

  private boolean has(int first, int last) {
    for (int i = first; i <= last; i++) {
      if ((known & 1 << i) == 0) {
        return false;
      }
    }
    return true;
  }

  /** A date, a time of day, both, or a year alone. */
  private void dateTime() throws Unsure {
    boolean hasClock = has(3, 3);
    if (!has(0, 0)) {
      clock();
      return;
    }
    if (parts[0] < 0) {
      throw Unsure.UNSURE;
    }
    if (!has(1, 1) && !hasClock) {
      json.raw(Integer.toString(parts[0]));
      return;
    }
    if (!has(1, 2) || !isTwo(parts[1]) || !isTwo(parts[2])) {
      throw Unsure.UNSURE;
    }
    Times.date(json, parts[0], parts[1], parts[2]);
    if (hasClock) {
      json.put(' ');
      clock();
    }
  }

  private static boolean isTwo(int number) {
    return number >= 0 && number < 100;
  }

  private void clock() throws Unsure {
    if (!has(3, 5) || parts[3] < 0 || parts[4] < 0 || parts[4] > 59 || parts[5] < 0 || parts[5] > 61) {
      throw Unsure.UNSURE;
    }
    Times.timeOfDay(json, parts[3], parts[4], parts[5]);
    json.put('.');
    json.padded(micros(), 6);
  }

  private int micros() throws Unsure {
    int micros = nanos ? parts[6] / 1000 : parts[6];
    if (parts[6] < 0 || micros >= Times.SECOND) {
      throw Unsure.UNSURE;
    }
    return micros;
  }

  private void zoned() throws Unsure {
    boolean isBelow = parts[3] < 0 || parts[4] < 0 || parts[5] < 0;
    if (!has(0, 5) || isBelow || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) {
      throw Unsure.UNSURE;
    }
    try {
      long day = LocalDate.of(parts[0], parts[1], parts[2]).toEpochDay();
      long seconds = day * 86400 + (parts[3] * 60L + parts[4]) * 60 + parts[5];
      instant(seconds - offset(), micros());
    } catch (DateTimeException none) {
      throw Unsure.UNSURE;
    }
  }

  private int offset() throws Unsure {
    if (zone.equals("UTC") || zone.equals("Z")) {
      return 0;
    }
    if (zone.length() != 6 || zone.charAt(3) != ':') {
      throw Unsure.UNSURE;
    }
    return ZoneOffset.of(zone).getTotalSeconds();
  }

  /** In UTC, of the years 2 to 9998. */
  private void instant(long seconds, int micros) throws Unsure {
    long whole = seconds + Math.floorDiv(micros, (int) Times.SECOND);
    long day = Math.floorDiv(whole, 86400L);
    if (day < Times.FIRST_DAY + 366 || day > Times.LAST_DAY - 366) {
      throw Unsure.UNSURE;
    }
    Times.moment(json, seconds * Times.SECOND + micros);
  }

  // --- what the values say of their columns --------------------------------------------------------------------------

  /** A text a column, with semicolons between; of two images what both say. Either can be null. */
  static void told(JsonWriter to, DtsValues old, DtsValues now, int size) throws Unsure {
    for (int i = 0; i < size; i++) {
      if (i > 0) {
        to.put(';');
      }
      boolean one = old != null && old.facts[i] != NOTHING;
      boolean other = now != null && now.facts[i] != NOTHING;
      if (one && other && !old.saysTheSame(i, now)) {
        both(to, old, now, i);
      } else if (one) {
        old.fact(to, i);
      } else if (other) {
        now.fact(to, i);
      }
    }
  }

  private boolean saysTheSame(int i, DtsValues other) {
    boolean isAlike = facts[i] == other.facts[i];
    return isAlike && (facts[i] != DIGITS || precisions[i] == other.precisions[i] && scales[i] == other.scales[i]);
  }

  private void fact(JsonWriter to, int i) {
    switch (facts[i]) {
      case BYTES:
        to.put('b');
        return;
      case WHOLE:
        to.put('i');
        return;
      case OTHER:
        to.put('t');
        return;
      default:
        to.raw(precisions[i] + "," + scales[i]);
    }
  }

  /** Of two decimals the one that has room for each. */
  private static void both(JsonWriter to, DtsValues old, DtsValues now, int i) {
    if (old.isUsual(i) && now.isUsual(i)) {
      int scale = Math.max(old.scales[i], now.scales[i]);
      int whole = Math.max(old.precisions[i] - old.scales[i], now.precisions[i] - now.scales[i]);
      to.raw(whole + scale + "," + scale);
      return;
    }
    old.fact(to, i);
    to.put('/');
    now.fact(to, i);
  }

  private boolean isUsual(int i) {
    return facts[i] == DIGITS && scales[i] >= 0 && precisions[i] > 0 && precisions[i] >= scales[i];
  }
}
