package siltstone;

import java.nio.charset.StandardCharsets;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A type as the reader needs it: its kind, and the names and types of what is in it. */
final class JsonType {
  static final int OBJECT = 0;
  static final int STRING = 1;
  static final int BOOLEAN = 2;
  static final int INT = 3;
  static final int LONG = 4;
  static final int FLOAT = 5;
  static final int DOUBLE = 6;
  static final int DECIMAL = 7;
  static final int BINARY = 8;
  static final int ARRAY = 9;
  static final int STORED = 10;
  static final int DATE = 11;
  static final int OTHER = 12;
  private static final int A_VALUE = 20; // bytes of one that is usual, with the signs around it

  final int kind;
  final byte[][] names;
  final JsonType[] fields;
  final int width;
  final int precision;
  final int scale;
  /** Of a row: the names of the fields that are left out; all others must be columns. Null of every other object. */
  final byte[][] leftOut;
  /** Of what is read as it is to be stored: how. */
  final Stored stored;
  private byte[][] labels;

  private JsonType(int kind, byte[][] names, JsonType[] fields, int width, int precision, int scale) {
    this(kind, names, fields, width, precision, scale, null, null);
  }

  private JsonType(
      int kind,
      byte[][] names,
      JsonType[] fields,
      int width,
      int precision,
      int scale,
      byte[][] leftOut,
      Stored stored) {
    this.leftOut = leftOut;
    this.stored = stored;
    this.kind = kind;
    this.names = names;
    this.fields = fields;
    this.width = width;
    this.precision = precision;
    this.scale = scale;
  }

  /** `unread`: how many of the last fields of an object stay null. */
  static JsonType of(DataType type, int unread) {
    if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      int read = fields.length - unread;
      byte[][] names = new byte[read][];
      JsonType[] types = new JsonType[read];
      for (int i = 0; i < read; i++) {
        names[i] = fields[i].name().getBytes(StandardCharsets.UTF_8);
        types[i] = of(fields[i].dataType(), 0);
      }
      return new JsonType(OBJECT, names, types, fields.length, 0, 0);
    }
    if (type instanceof ArrayType) {
      JsonType element = of(((ArrayType) type).elementType(), 0);
      return new JsonType(ARRAY, null, new JsonType[] {element}, 0, 0, 0);
    }
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return new JsonType(DECIMAL, null, null, 0, decimal.precision(), decimal.scale());
    }
    return new JsonType(plain(type), null, null, 0, 0, 0);
  }

  /** A row whose values are read as they are to be stored; `plan` says how each of them is carried. */
  static JsonType ofRow(StructType type, String plan) {
    String[] parts = plan.split("\n", -1);
    String[] others = parts[0].isEmpty() ? new String[0] : parts[0].split(Stored.BETWEEN_WORDS);
    byte[][] leftOut = new byte[others.length][];
    for (int i = 0; i < others.length; i++) {
      leftOut[i] = others[i].getBytes(StandardCharsets.UTF_8);
    }
    JsonType[] fields = new JsonType[parts.length - 1];
    for (int i = 0; i < fields.length; i++) {
      Stored stored = Stored.of(type.fields()[i].dataType(), parts[i + 1]);
      fields[i] = new JsonType(STORED, null, null, 0, 0, 0, null, stored);
    }
    return new JsonType(OBJECT, of(type, 0).names, fields, fields.length, 0, 0, leftOut, null);
  }

  /** Whether `WriteJson` knows how its values are written. */
  boolean canBeWritten() {
    boolean can = kind != DECIMAL && kind != STORED && kind != OTHER;
    for (int i = 0; fields != null && i < fields.length; i++) {
      can = can && fields[i].canBeWritten();
    }
    return can;
  }

  /** What stands before the values of the fields in the text of an object. */
  byte[][] labels() throws Unsure {
    if (labels == null) {
      byte[][] made = new byte[names.length][];
      for (int i = 0; i < made.length; i++) {
        made[i] = JsonWriter.label(names[i]);
      }
      labels = made;
    }
    return labels;
  }

  /** How many bytes the text of an object most likely takes. */
  int likely() {
    int bytes = A_VALUE;
    for (int i = 0; names != null && i < names.length; i++) {
      bytes += names[i].length + fields[i].likely();
    }
    return bytes;
  }

  private static int plain(DataType type) {
    if (type.equals(DataTypes.StringType)) {
      return STRING;
    }
    if (type.equals(DataTypes.BooleanType)) {
      return BOOLEAN;
    }
    if (type.equals(DataTypes.IntegerType)) {
      return INT;
    }
    if (type.equals(DataTypes.LongType)) {
      return LONG;
    }
    if (type.equals(DataTypes.FloatType)) {
      return FLOAT;
    }
    if (type.equals(DataTypes.DoubleType)) {
      return DOUBLE;
    }
    if (type.equals(DataTypes.BinaryType)) {
      return BINARY;
    }
    return type.equals(DataTypes.DateType) ? DATE : OTHER;
  }

  /** Which field is called as these bytes; -1 where none is. `next`: the one that most likely is. */
  int indexOf(byte[] text, int start, int end, int next) {
    int count = names.length;
    int i = next;
    for (int tried = 0; tried < count; tried++) {
      if (i >= count) {
        i = 0;
      }
      if (same(names[i], text, start, end)) {
        return i;
      }
      i++;
    }
    return -1;
  }

  /** Whether a field of this name is left out of a row. */
  boolean leavesOut(byte[] text, int start, int end) {
    for (int i = 0; i < leftOut.length; i++) {
      if (same(leftOut[i], text, start, end)) {
        return true;
      }
    }
    return false;
  }

  static boolean same(byte[] name, byte[] text, int start, int end) {
    int length = end - start;
    if (name.length != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (name[i] != text[start + i]) {
        return false;
      }
    }
    return true;
  }
}
