package siltstone;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (bytes, a schema as JSON) that gives the record in the bytes as `to_json` writes what `from_avro` reads, nulls
 * kept; null where the record does not end where the bytes do, and where it is not sure: of maps of more than one key, of
 * types that Spark leaves out or reads in a way of its own.
 */
public final class AvroJson extends Planned {
  static final String NAME = "avro_json";
  private static final int MOST_LIKELY = 1 << 24; // bytes of a text

  AvroJson() {
    super(NAME, new DataType[] {DataTypes.BinaryType, DataTypes.StringType}, DataTypes.StringType);
  }

  /** One for each place where it is asked, for each asks for another schema. */
  public BoundFunction bind(StructType given) {
    return new AvroJson();
  }

  public UTF8String invoke(byte[] bytes, UTF8String schema) {
    if (bytes == null || schema == null) {
      return null;
    }
    Type type = (Type) madeOf(schema);
    if (type.kind == null) {
      return null;
    }
    try {
      AvroBytes from = new AvroBytes(bytes);
      JsonWriter to = new JsonWriter((int) Math.min(2L * bytes.length + type.likely, MOST_LIKELY));
      write(from, type, to);
      return from.isAtEnd() ? to.text() : null;
    } catch (Unsure unsure) {
      return null;
    }
  }

  Object madeOut(String schema) {
    try {
      return Type.of(new Schema.Parser().setValidateDefaults(false).parse(schema), new HashSet());
    } catch (Unsure unsure) {
      return new Type();
    } catch (AvroRuntimeException unread) {
      return new Type(); // whether it is a schema, Spark says
    }
  }

  private static void write(AvroBytes from, Type type, JsonWriter to) throws Unsure {
    switch (type.kind) {
      case NULL:
        to.nothing();
        return;
      case BOOLEAN:
        to.flag(from.flag());
        return;
      case INT:
        to.number(from.number());
        return;
      case LONG:
        to.number(from.count());
        return;
      case FLOAT:
        to.number(from.single());
        return;
      case DOUBLE:
        to.number(from.fraction());
        return;
      case STRING: {
        int start = from.sized();
        to.quoted(from.bytes, start, from.at);
        return;
      }
      case BYTES: {
        int start = from.sized();
        to.base64(Arrays.copyOfRange(from.bytes, start, from.at));
        return;
      }
      case FIXED: {
        int start = from.skip(type.size);
        to.base64(Arrays.copyOfRange(from.bytes, start, from.at));
        return;
      }
      case ENUM:
        to.raw(type.names[from.index(type.names.length)]);
        return;
      case RECORD:
        writeRecord(from, type, to);
        return;
      case ARRAY:
        writeArray(from, type.parts[0], to);
        return;
      case MAP:
        writeMap(from, type.parts[0], to);
        return;
      default:
        writeBranch(from, type, to);
    }
  }

  private static void writeRecord(AvroBytes from, Type type, JsonWriter to) throws Unsure {
    to.put('{');
    for (int i = 0; i < type.parts.length; i++) {
      to.raw(type.names[i]);
      write(from, type.parts[i], to);
    }
    to.put('}');
  }

  private static void writeArray(AvroBytes from, Type element, JsonWriter to) throws Unsure {
    to.put('[');
    boolean isFirst = true;
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        if (!isFirst) {
          to.put(',');
        }
        isFirst = false;
        write(from, element, to);
      }
    }
    to.put(']');
  }

  private static void writeMap(AvroBytes from, Type value, JsonWriter to) throws Unsure {
    to.put('{');
    int items = from.block();
    if (items > 1) {
      throw Unsure.UNSURE; // Spark has them in an order of its own
    }
    if (items == 1) {
      int start = from.sized();
      to.quoted(from.bytes, start, from.at);
      to.put(':');
      write(from, value, to);
      if (from.block() > 0) {
        throw Unsure.UNSURE;
      }
    }
    to.put('}');
  }

  /** One of several types; where more than one of them is something, an object with a field for each of these. */
  private static void writeBranch(AvroBytes from, Type type, JsonWriter to) throws Unsure {
    int branch = from.index(type.parts.length);
    Type chosen = type.parts[branch];
    if (chosen.kind == Schema.Type.NULL || type.names == null) {
      write(from, chosen, to);
      return;
    }
    to.put('{');
    int member = 0;
    for (int i = 0; i < type.parts.length; i++) {
      if (type.parts[i].kind != Schema.Type.NULL) {
        to.raw(type.names[member++]);
        if (i == branch) {
          write(from, chosen, to);
        } else {
          to.nothing();
        }
      }
    }
    to.put('}');
  }

  /** A schema as it is needed here. */
  private static final class Type {
    Schema.Type kind; // null: a schema that this reader is not sure of
    Type[] parts;
    byte[][] names; // before the values of a record, or of a union's members; the symbols of an enum, in quotes
    int size;
    int likely; // how many bytes its names take

    /** `around`: the names of the records that this one is in. */
    static Type of(Schema schema, Set around) throws Unsure {
      Type made = new Type();
      made.kind = schema.getType();
      switch (made.kind) {
        case RECORD:
          if (!around.add(schema.getFullName())) {
            throw Unsure.UNSURE; // it is in itself
          }
          made.takeFields(schema, around);
          around.remove(schema.getFullName());
          break;
        case UNION:
          made.takeBranches(schema.getTypes(), around);
          break;
        case ARRAY:
          made.parts = new Type[] {something(schema.getElementType(), around)};
          break;
        case MAP:
          made.parts = new Type[] {something(schema.getValueType(), around)};
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
        default:
          break;
      }
      return made;
    }

    /** A type that is not null alone: Spark leaves out what always is. */
    private static Type something(Schema schema, Set around) throws Unsure {
      Type made = of(schema, around);
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

    private void takeFields(Schema schema, Set around) throws Unsure {
      List fields = schema.getFields();
      parts = new Type[fields.size()];
      names = new byte[parts.length][];
      Set known = new HashSet();
      for (int i = 0; i < parts.length; i++) {
        Schema.Field field = (Schema.Field) fields.get(i);
        if (!known.add(field.name().toLowerCase())) {
          throw Unsure.UNSURE; // to Spark, they may be one
        }
        parts[i] = something(field.schema(), around);
        names[i] = ascii((i == 0 ? "\"" : ",\"") + field.name() + "\":");
        likely += names[i].length + parts[i].likely;
      }
    }

    private void takeBranches(List types, Set around) throws Unsure {
      parts = new Type[types.size()];
      int some = 0;
      boolean isNumber = true;
      for (int i = 0; i < parts.length; i++) {
        parts[i] = of((Schema) types.get(i), around);
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
}
