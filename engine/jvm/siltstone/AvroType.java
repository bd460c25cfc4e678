package siltstone;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * An Avro schema as it is needed to write what it describes as JSON: as `to_json` writes what Spark reads, nulls kept.
 *
 * What is to be written otherwise the schema itself can say, where it is asked: types have a property TOLD then.
 */
final class AvroType {
  /** The property, and what it says of a type, with a number behind it where there is one to say. */
  static final String TOLD = "siltstone";
  private static final String DAYS = "days"; // since 1970: a date
  private static final String INSTANT = "instant"; // a count since 1970 of so many units a second: a moment in UTC
  private static final String LOCAL = "local"; // the same without a zone
  private static final String CLOCK = "clock"; // as INSTANT, but null, not the count, where it is beyond the calendar
  private static final String DIGITS = "digits"; // bytes of a number of so many places
  private static final String ONLY = "only"; // of a record no more than this field
  private static final String FIELDS = "fields"; // of a record these fields, in this order

  private Schema.Type kind;
  int likely; // how many bytes its names take
  private AvroType[] parts;
  private byte[][] names; // before the values of a record, or of a union's members; the symbols of an enum, in quotes
  private int size;
  private String told; // null: as it is
  private long number;
  private int[] order;

  /** Raises: Unsure, of types that Spark leaves out or reads in a way of its own, and of what is no schema. */
  static AvroType of(String schema) throws Unsure {
    return of(parsed(schema), false, new HashSet());
  }

  /** As the properties say. Raises: Unsure, of maps, too. */
  static AvroType told(String schema) throws Unsure {
    return of(parsed(schema), true, new HashSet());
  }

  static Schema parsed(String schema) throws Unsure {
    try {
      return new Schema.Parser().setValidateDefaults(false).parse(schema);
    } catch (AvroRuntimeException unread) {
      throw Unsure.UNSURE; // whether it is one, Spark says
    }
  }

  /** A field of a record, or one of the types of a union. */
  AvroType part(int at) {
    return parts[at];
  }

  void write(AvroBytes from, JsonWriter to) throws Unsure {
    switch (kind) {
      case NULL:
        to.nothing();
        return;
      case BOOLEAN:
        to.flag(from.flag());
        return;
      case INT:
        count(from.number(), to);
        return;
      case LONG:
        count(from.count(), to);
        return;
      case FLOAT:
        to.number(from.single());
        return;
      case DOUBLE:
        to.number(from.fraction());
        return;
      case STRING: {
        int start = from.sized();
        if (told == null) {
          to.quoted(from.bytes, start, from.at);
        } else {
          to.quotedAnyway(UTF8String.fromBytes(from.bytes, start, from.at - start));
        }
        return;
      }
      case BYTES: {
        int start = from.sized();
        bytes(Arrays.copyOfRange(from.bytes, start, from.at), to);
        return;
      }
      case FIXED: {
        int start = from.skip(size);
        bytes(Arrays.copyOfRange(from.bytes, start, from.at), to);
        return;
      }
      case ENUM:
        to.raw(names[from.index(names.length)]);
        return;
      case RECORD:
        if (order != null) {
          writeFields(from, to);
        } else if (told != null) {
          writeOnly(from, to);
        } else {
          writeRecord(from, to);
        }
        return;
      case ARRAY:
        writeArray(from, to);
        return;
      case MAP:
        writeMap(from, to);
        return;
      default:
        writeBranch(from, to);
    }
  }

  /** Goes behind a value, which is one of the type but for the signs of texts. */
  void skip(AvroBytes from) throws Unsure {
    switch (kind) {
      case NULL:
        return;
      case BOOLEAN:
        from.flag();
        return;
      case INT:
        from.number();
        return;
      case LONG:
        from.count();
        return;
      case ENUM:
        from.index(names.length);
        return;
      case FLOAT:
        from.skip(4);
        return;
      case DOUBLE:
        from.skip(8);
        return;
      case STRING:
      case BYTES:
        from.sized();
        return;
      case FIXED:
        from.skip(size);
        return;
      case RECORD:
        for (int i = 0; i < parts.length; i++) {
          parts[i].skip(from);
        }
        return;
      case ARRAY:
      case MAP:
        for (int items = from.block(); items > 0; items = from.block()) {
          for (int i = 0; i < items; i++) {
            if (kind == Schema.Type.MAP) {
              from.sized();
            }
            parts[0].skip(from);
          }
        }
        return;
      default:
        parts[from.index(parts.length)].skip(from);
    }
  }

  // --- values ------------------------------------------------------------------------------------------------------

  private void count(long count, JsonWriter to) throws Unsure {
    if (told == null) {
      to.number(count);
      return;
    }
    int before = to.size();
    to.put('"');
    try {
      if (told == DAYS) {
        Times.date(to, Times.days(count).intValue());
      } else {
        Times.moment(to, Times.counted(count, number));
        if (told != LOCAL) {
          to.put('Z');
        }
      }
    } catch (Unsure beyond) {
      to.backTo(before);
      if (told == CLOCK) {
        to.nothing();
        return;
      }
      to.put('"');
      to.number(count);
    }
    to.put('"');
  }

  private void bytes(byte[] value, JsonWriter to) {
    if (told == null || value.length == 0) {
      to.base64(value);
      return;
    }
    to.put('"');
    to.raw(DecimalText.digits(value, (int) number));
    to.put('"');
  }

  private void writeRecord(AvroBytes from, JsonWriter to) throws Unsure {
    to.put('{');
    for (int i = 0; i < parts.length; i++) {
      to.raw(names[i]);
      parts[i].write(from, to);
    }
    to.put('}');
  }

  private void writeFields(AvroBytes from, JsonWriter to) throws Unsure {
    int[] starts = new int[parts.length];
    for (int i = 0; i < parts.length; i++) {
      starts[i] = from.at;
      parts[i].skip(from);
    }
    int end = from.at;
    to.put('{');
    for (int i = 0; i < order.length; i++) {
      from.at = starts[order[i]];
      to.raw(names[i]);
      parts[order[i]].write(from, to);
    }
    to.put('}');
    from.at = end;
  }

  private void writeOnly(AvroBytes from, JsonWriter to) throws Unsure {
    for (int i = 0; i < parts.length; i++) {
      if (i == number) {
        parts[i].write(from, to);
      } else {
        parts[i].skip(from);
      }
    }
  }

  private void writeArray(AvroBytes from, JsonWriter to) throws Unsure {
    to.put('[');
    boolean isFirst = true;
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        if (!isFirst) {
          to.put(',');
        }
        isFirst = false;
        parts[0].write(from, to);
      }
    }
    to.put(']');
  }

  private void writeMap(AvroBytes from, JsonWriter to) throws Unsure {
    to.put('{');
    int items = from.block();
    if (items > 1) {
      throw Unsure.UNSURE; // Spark has them in an order of its own
    }
    if (items == 1) {
      int start = from.sized();
      to.quoted(from.bytes, start, from.at);
      to.put(':');
      parts[0].write(from, to);
      if (from.block() > 0) {
        throw Unsure.UNSURE;
      }
    }
    to.put('}');
  }

  /** One of several types; where more than one of them is something, an object with a field for each of these. */
  private void writeBranch(AvroBytes from, JsonWriter to) throws Unsure {
    int branch = from.index(parts.length);
    AvroType chosen = parts[branch];
    if (chosen.kind == Schema.Type.NULL || names == null) {
      chosen.write(from, to);
      return;
    }
    to.put('{');
    int member = 0;
    for (int i = 0; i < parts.length; i++) {
      if (parts[i].kind != Schema.Type.NULL) {
        to.raw(names[member++]);
        if (i == branch) {
          chosen.write(from, to);
        } else {
          to.nothing();
        }
      }
    }
    to.put('}');
  }

  // --- from schemas ------------------------------------------------------------------------------------------------

  /** `around`: the names of the records that this one is in. */
  private static AvroType of(Schema schema, boolean asTold, Set around) throws Unsure {
    AvroType made = new AvroType();
    made.kind = schema.getType();
    if (asTold) {
      made.takeTold(schema.getProp(TOLD));
    }
    switch (made.kind) {
      case RECORD:
        if (!around.add(schema.getFullName())) {
          throw Unsure.UNSURE; // it is in itself
        }
        made.takeFields(schema, asTold, around);
        around.remove(schema.getFullName());
        break;
      case UNION:
        made.takeBranches(schema.getTypes(), asTold, around);
        break;
      case ARRAY:
        made.parts = new AvroType[] {something(schema.getElementType(), asTold, around)};
        break;
      case MAP:
        if (asTold) {
          throw Unsure.UNSURE;
        }
        made.parts = new AvroType[] {something(schema.getValueType(), asTold, around)};
        break;
      case ENUM: {
        List symbols = schema.getEnumSymbols();
        made.names = new byte[symbols.size()][];
        for (int i = 0; i < made.names.length; i++) {
          made.names[i] = ascii("\"" + symbols.get(i) + "\"");
        }
        break;
      }
      case FIXED:
        made.size = schema.getFixedSize();
        break;
      case STRING:
        made.told = asTold ? TOLD : null;
        break;
      default:
        break;
    }
    return made;
  }

  /** A type that is not null alone: Spark leaves out what always is. */
  private static AvroType something(Schema schema, boolean asTold, Set around) throws Unsure {
    AvroType made = of(schema, asTold, around);
    boolean isNothing = made.kind == Schema.Type.NULL;
    if (made.kind == Schema.Type.UNION) {
      isNothing = true;
      for (int i = 0; i < made.parts.length; i++) {
        isNothing = isNothing && made.parts[i].kind == Schema.Type.NULL;
      }
    }
    if (isNothing) {
      throw Unsure.UNSURE;
    }
    return made;
  }

  private void takeTold(String words) throws Unsure {
    if (words == null) {
      return;
    }
    String[] said = words.split(" ");
    told = said[0].intern(); // which makes it the one above
    if (told == FIELDS) {
      order = new int[said.length - 1];
      for (int i = 0; i < order.length; i++) {
        order[i] = Integer.parseInt(said[i + 1]);
      }
    } else if (said.length > 1) {
      number = Long.parseLong(said[1]);
    }
  }

  private void takeFields(Schema schema, boolean asTold, Set around) throws Unsure {
    List fields = schema.getFields();
    parts = new AvroType[fields.size()];
    Set known = new HashSet();
    for (int i = 0; i < parts.length; i++) {
      Schema.Field field = (Schema.Field) fields.get(i);
      if (!known.add(field.name().toLowerCase())) {
        throw Unsure.UNSURE; // to Spark, they may be one
      }
      parts[i] = something(field.schema(), asTold, around);
    }
    names = new byte[order == null ? parts.length : order.length][];
    for (int i = 0; i < names.length; i++) {
      int place = order == null ? i : order[i];
      names[i] = ascii((i == 0 ? "\"" : ",\"") + ((Schema.Field) fields.get(place)).name() + "\":");
      likely += names[i].length + parts[place].likely;
    }
  }

  private void takeBranches(List types, boolean asTold, Set around) throws Unsure {
    parts = new AvroType[types.size()];
    int some = 0;
    boolean isNumber = true;
    for (int i = 0; i < parts.length; i++) {
      parts[i] = of((Schema) types.get(i), asTold, around);
      if (parts[i].kind != Schema.Type.NULL) {
        some++;
        isNumber = isNumber && isNumber(parts[i].kind);
      }
      likely += parts[i].likely;
    }
    if (some > 1) {
      if (isNumber) {
        throw Unsure.UNSURE; // Spark reads an int or a long as a long, a float or a double as a double
      }
      names = new byte[some][];
      for (int i = 0; i < some; i++) {
        names[i] = ascii((i == 0 ? "\"member" : ",\"member") + i + "\":");
        likely += names[i].length + 4;
      }
    }
  }

  private static boolean isNumber(Schema.Type kind) {
    return kind == Schema.Type.INT || kind == Schema.Type.LONG || kind == Schema.Type.FLOAT || kind == Schema.Type.DOUBLE;
  }

  /** Names are of letters, digits and underscores. */
  private static byte[] ascii(String name) throws Unsure {
    for (int i = 0; i < name.length(); i++) {
      if (name.charAt(i) > '~') {
        throw Unsure.UNSURE;
      }
    }
    return name.getBytes(StandardCharsets.US_ASCII);
  }
}
