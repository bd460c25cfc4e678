package siltstone;

import java.util.List;

import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What is wanted of the values of an Avro schema: what Spark's reader of JSON gives of their text, without that text. Structs
 * of texts, whole numbers and such structs; what else there is is read over.
 */
final class AvroPick {
  private final Schema.Type kind;
  private final AvroType type;
  private final DataType wanted; // null: the value is read over
  private AvroPick[] parts; // the fields of a record, or what a union can be
  private int[] places; // of a record's fields in the struct
  private int size; // of the struct
  private UTF8String[] symbols;

  /** Raises: Unsure, of a type whose JSON Spark would not read as what is wanted, or in a way of its own. */
  AvroPick(Schema schema, AvroType type, DataType wanted) throws Unsure {
    this.kind = schema.getType();
    this.type = type;
    this.wanted = wanted;
    if (wanted == null || kind == Schema.Type.NULL) {
      return;
    }
    if (kind == Schema.Type.UNION) {
      takeBranches(schema.getTypes());
    } else if (wanted instanceof StructType) {
      takeFields(schema, (StructType) wanted);
    } else if (wanted.equals(DataTypes.LongType)) {
      sure(isWhole());
    } else {
      sure(wanted.equals(DataTypes.StringType));
      takeText(schema);
    }
  }

  private static void sure(boolean is) throws Unsure {
    if (!is) {
      throw Unsure.UNSURE;
    }
  }

  private boolean isWhole() {
    return kind == Schema.Type.INT || kind == Schema.Type.LONG;
  }

  private boolean hasParts() {
    return kind == Schema.Type.RECORD || kind == Schema.Type.ARRAY || kind == Schema.Type.MAP;
  }

  private void takeBranches(List types) throws Unsure {
    int some = 0;
    parts = new AvroPick[types.size()];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new AvroPick((Schema) types.get(i), type.part(i), wanted);
      some += parts[i].kind == Schema.Type.NULL ? 0 : 1;
    }
    sure(some <= 1); // the text of one of several is an object with a field for each
  }

  private void takeFields(Schema schema, StructType struct) throws Unsure {
    sure(kind == Schema.Type.RECORD);
    List fields = schema.getFields();
    parts = new AvroPick[fields.size()];
    places = new int[parts.length];
    size = struct.length();
    for (int i = 0; i < parts.length; i++) {
      Schema.Field field = (Schema.Field) fields.get(i);
      places[i] = placeOf(field.name(), struct.fields());
      DataType part = places[i] < 0 ? null : struct.fields()[places[i]].dataType();
      parts[i] = new AvroPick(field.schema(), type.part(i), part);
    }
  }

  private static int placeOf(String name, StructField[] fields) {
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].name().equals(name)) {
        return i;
      }
    }
    return -1;
  }

  private void takeText(Schema schema) throws Unsure {
    if (kind == Schema.Type.ENUM) {
      List words = schema.getEnumSymbols();
      symbols = new UTF8String[words.size()];
      for (int i = 0; i < symbols.length; i++) {
        symbols[i] = UTF8String.fromString(words.get(i).toString());
      }
      return;
    }
    sure(isWhole() || hasParts() || kind == Schema.Type.STRING || kind == Schema.Type.BOOLEAN);
  }

  /** A value, and goes behind it. `likely`: bytes of a text. */
  Object read(AvroBytes from, int likely) throws Unsure {
    if (wanted == null || kind == Schema.Type.NULL) {
      type.skip(from);
      return null;
    }
    if (kind == Schema.Type.UNION) {
      return parts[from.index(parts.length)].read(from, likely);
    }
    if (places != null) {
      Object[] values = new Object[size];
      for (int i = 0; i < parts.length; i++) {
        Object value = parts[i].read(from, likely);
        if (places[i] >= 0) {
          values[places[i]] = value;
        }
      }
      return new GenericInternalRow(values);
    }
    return wanted.equals(DataTypes.LongType) ? (Object) number(from) : text(from, likely);
  }

  private static boolean isAscii(byte[] bytes, int start, int end) {
    for (int i = start; i < end; i++) {
      if (bytes[i] < 0) {
        return false;
      }
    }
    return true;
  }

  private Long number(AvroBytes from) throws Unsure {
    return Long.valueOf(kind == Schema.Type.INT ? from.number() : from.count());
  }

  private UTF8String text(AvroBytes from, int likely) throws Unsure {
    if (kind == Schema.Type.STRING) {
      int start = from.sized();
      UTF8String text = UTF8String.fromBytes(from.bytes, start, from.at - start);
      sure(isAscii(from.bytes, start, from.at) || text.isValid());
      return text;
    }
    if (hasParts()) {
      JsonWriter to = new JsonWriter(likely);
      type.write(from, to);
      sure(!to.hasPairs());
      return to.text();
    }
    if (kind == Schema.Type.ENUM) {
      return symbols[from.index(symbols.length)];
    }
    return UTF8String.fromString(isWhole() ? number(from).toString() : String.valueOf(from.flag()));
  }
}
