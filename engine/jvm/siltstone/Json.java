package siltstone;

import java.util.Arrays;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads one JSON text, byte by byte, into the values of a type: what Spark's from_json gives of the same text, or
 * nothing where this reader is not sure of that. Whoever asks takes from_json then.
 *
 * Not sure is the answer to all that is no plain JSON object with one thing of each name, whose values have the types
 * that were asked for: so malformed texts, and every leniency of Spark's reader, stay with Spark.
 */
final class Json extends JsonCopy {
  private static final UTF8String TRUE = UTF8String.fromString("true");
  private static final UTF8String FALSE = UTF8String.fromString("false");

  private Json(UTF8String text) throws Unsure {
    super(text);
  }

  /**
   * The value in the text, and nothing behind it; null where this reader is not sure, and where it is null. `longNumbers`:
   * how fractions of many digits are written inside of what is handed on as text.
   */
  static Object read(UTF8String text, JsonType type, int longNumbers) {
    try {
      Json json = new Json(text);
      json.longNumbers = longNumbers;
      json.blanks();
      Object value = json.value(type, 0);
      return json.isAtEnd() ? value : null;
    } catch (Unsure unsure) {
      return null;
    }
  }

  /** The row in the text as it is to be stored, and the names of the columns that are there: null where all are. */
  static InternalRow readRow(UTF8String text, JsonType type) {
    try {
      Json json = new Json(text);
      json.blanks();
      if (json.peek() == 'n') {
        return null;
      }
      InternalRow row = json.row(type);
      return json.isAtEnd() ? row : null;
    } catch (Unsure unsure) {
      return null;
    }
  }

  /** The field of an object of one, where it is the first in the text; null where it is not, and where not sure. */
  static InternalRow first(UTF8String text, JsonType type) {
    try {
      Json json = new Json(text);
      json.blanks();
      if (json.opened('{', '}') != ',') {
        return null;
      }
      int start = json.name();
      if (!JsonType.same(type.names[0], json.text, start, json.at - 1)) {
        return null;
      }
      json.blanks();
      json.expect(':');
      json.blanks();
      return new GenericInternalRow(new Object[] {json.value(type.fields[0], 0)});
    } catch (Unsure unsure) {
      return null;
    }
  }

  /** How many fields the object in the text has; -1 where this reader is not sure. */
  static int size(UTF8String text) {
    try {
      Json json = new Json(text);
      json.blanks();
      int size = json.skipNested('{', 0);
      return json.isAtEnd() ? size : -1;
    } catch (Unsure unsure) {
      return -1;
    }
  }

  private InternalRow object(JsonType type, int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    Object[] values = new Object[type.width];
    boolean[] seen = new boolean[type.width];
    int next = 0;
    int mark = opened('{', '}');
    while (mark == ',') {
      blanks();
      int start = name();
      int index = type.indexOf(text, start, at - 1, next);
      blanks();
      expect(':');
      blanks();
      if (index < 0) {
        skip(depth);
      } else {
        if (seen[index]) {
          throw Unsure.UNSURE; // the last one counts, but for its nulls
        }
        seen[index] = true;
        next = index + 1;
        values[index] = value(type.fields[index], depth);
      }
      blanks();
      mark = take();
    }
    if (mark != '}') {
      throw Unsure.UNSURE;
    }
    return new GenericInternalRow(values);
  }

  private InternalRow row(JsonType type) throws Unsure {
    Object[] values = new Object[type.width];
    boolean[] seen = new boolean[type.width];
    int next = 0;
    int found = 0;
    int mark = opened('{', '}');
    while (mark == ',') {
      blanks();
      int start = name();
      int end = at - 1;
      int index = type.indexOf(text, start, end, next);
      blanks();
      expect(':');
      blanks();
      if (index >= 0) {
        Object value = value(type.fields[index], 0);
        if (!seen[index]) {
          found += value == Stored.LEFT_OUT ? 0 : 1;
        } else if (value == null || value == Stored.LEFT_OUT || values[index] == Stored.LEFT_OUT) {
          throw Unsure.UNSURE; // of two values the last one counts, but for its nulls
        }
        seen[index] = true;
        next = index + 1;
        values[index] = value;
      } else if (type.leavesOut(text, start, end)) {
        skip(0);
      } else {
        throw Unsure.UNSURE;
      }
      blanks();
      mark = take();
    }
    if (mark != '}') {
      throw Unsure.UNSURE;
    }
    Object there = found == values.length ? null : there(values, seen, found, type);
    return new GenericInternalRow(new Object[] {new GenericInternalRow(values), there});
  }

  /** The names of what is there. What the source left out has no value then. */
  private static GenericArrayData there(Object[] values, boolean[] seen, int found, JsonType type) {
    Object[] names = new Object[found];
    int size = 0;
    for (int i = 0; i < seen.length; i++) {
      if (values[i] == Stored.LEFT_OUT) {
        values[i] = null;
      } else if (seen[i]) {
        names[size++] = UTF8String.fromBytes(type.names[i]);
      }
    }
    return new GenericArrayData(names);
  }

  private Object value(JsonType type, int depth) throws Unsure {
    int first = peek();
    if (first == 'n') {
      word("null");
      return null;
    }
    switch (type.kind) {
      case JsonType.STRING:
        return string(first, depth);
      case JsonType.OBJECT:
        return object(type, depth + 1);
      case JsonType.ARRAY:
        return array(type.fields[0], depth);
      case JsonType.BOOLEAN:
        if (first == 't') {
          word("true");
          return Boolean.TRUE;
        }
        word("false");
        return Boolean.FALSE;
      case JsonType.INT: {
        long number = whole();
        if (number != (int) number) {
          throw Unsure.UNSURE;
        }
        return Integer.valueOf((int) number);
      }
      case JsonType.LONG:
        return Long.valueOf(whole());
      case JsonType.DOUBLE:
        return Double.valueOf(floating());
      case JsonType.FLOAT:
        return Float.valueOf(Float.parseFloat(number()));
      case JsonType.DECIMAL:
        return decimal(first, type);
      case JsonType.BINARY:
        return binary();
      case JsonType.STORED:
        return type.stored.value(this, first);
      default:
        throw Unsure.UNSURE;
    }
  }

  private GenericArrayData array(JsonType element, int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    expect('[');
    Object[] values = new Object[8];
    int size = 0;
    blanks();
    if (peek() == ']') {
      at++;
      return new GenericArrayData(new Object[0]);
    }
    while (true) {
      if (size == values.length) {
        values = Arrays.copyOf(values, 2 * size);
      }
      values[size++] = value(element, depth + 1);
      blanks();
      int mark = take();
      if (mark == ']') {
        return new GenericArrayData(Arrays.copyOf(values, size));
      }
      if (mark != ',') {
        throw Unsure.UNSURE;
      }
      blanks();
    }
  }

  private UTF8String string(int first, int depth) throws Unsure {
    if (first == '"') {
      return quoted();
    }
    if (first == 't') {
      word("true");
      return TRUE;
    }
    if (first == 'f') {
      word("false");
      return FALSE;
    }
    // What is no text is kept as JSON, as Jackson writes it: without blanks, numbers and escapes in their usual form.
    int start = at;
    written = 0;
    boolean isNested = first == '{' || first == '[';
    int kept = isNested ? copiedNested(start, first, depth) : copiedNumber(start, true);
    if (kept == start && written == 0) {
      return UTF8String.fromBytes(text, start, at - start);
    }
    write(kept, at);
    return UTF8String.fromBytes(Arrays.copyOf(out, written));
  }

  /** What stands between quotes, its escapes resolved. */
  UTF8String quoted() throws Unsure {
    expect('"');
    int start = at;
    if (plain()) {
      return UTF8String.fromBytes(text, start, at - 1 - start);
    }
    at = start;
    written = 0;
    unescaped();
    return UTF8String.fromBytes(Arrays.copyOf(out, written));
  }

  private Decimal decimal(int first, JsonType type) throws Unsure {
    String told;
    if (first == '"') {
      at++;
      int start = at;
      if (!plain() || at - 1 == start || at - 1 - start > LONGEST_NUMBER) {
        throw Unsure.UNSURE;
      }
      told = new String(text, 0, start, at - 1 - start);
    } else {
      told = number();
    }
    try {
      java.math.BigDecimal number = new java.math.BigDecimal(told);
      if (number.scale() > 1000 || number.scale() < -1000) {
        throw Unsure.UNSURE;
      }
      return Decimal.apply(number, type.precision, type.scale);
    } catch (ArithmeticException beyond) {
      throw Unsure.UNSURE;
    } catch (NumberFormatException none) {
      throw Unsure.UNSURE;
    }
  }

  // --- what is not asked for -----------------------------------------------------------------------------------------

  private void skip(int depth) throws Unsure {
    if (depth > DEEPEST) {
      throw Unsure.UNSURE;
    }
    int first = peek();
    switch (first) {
      case '"':
        at++;
        skipText();
        return;
      case '{':
      case '[':
        skipNested(first, depth);
        return;
      case 't':
        word("true");
        return;
      case 'f':
        word("false");
        return;
      case 'n':
        word("null");
        return;
      default:
        scanNumber();
    }
  }

  private void skipText() throws Unsure {
    while (!plain()) {
      escape();
    }
  }

  /** Goes behind an array or an object; gives how many values are in it. */
  private int skipNested(int first, int depth) throws Unsure {
    int last = first == '{' ? '}' : ']';
    int size = 1;
    expect(first);
    blanks();
    if (peek() == last) {
      at++;
      return 0;
    }
    while (true) {
      if (first == '{') {
        int name = at;
        expect('"');
        skipText();
        nameFrom(name);
        blanks();
        expect(':');
        blanks();
      }
      skip(depth + 1);
      blanks();
      int mark = take();
      if (mark == last) {
        return size;
      }
      if (mark != ',') {
        throw Unsure.UNSURE;
      }
      size++;
      blanks();
    }
  }
}
