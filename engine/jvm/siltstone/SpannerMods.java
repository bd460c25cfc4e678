package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (line, a null of the struct that a line is, a null of the result, text to be told) that gives what a line of a
 * Spanner change stream holds, where it holds nothing but data records and heartbeats, spelled as Spanner spells them; null
 * of every other line, and where something in one is unusual: a part that is missing or no object, a time or a number that
 * is written in another way.
 *
 * A line is a data record, or an object with records, or with change records that have some. Of each mod of a data record
 * it gives the kind, the record (its mods left out), the microseconds of its commit, its sequence, where the mod stands in
 * it, and the three parts of the mod: null where it lacks one, or has an empty text. Of a heartbeat it gives its kind, the
 * record, its microseconds, and its text. Last stands the text to be told: with the first mod of each record, and with each
 * heartbeat. A record can have thousands of mods.
 */
public final class SpannerMods extends Scalar {
  static final String NAME = "spanner_mods";
  private static final String DATA = "data_change_record";
  private static final String BEAT = "heartbeat_record";
  private static final String CHANGES = "change_record";
  private static final UTF8String CHANGE_KIND = UTF8String.fromString("data_change");
  private static final UTF8String BEAT_KIND = UTF8String.fromString("heartbeat");

  private final StructType line;
  private transient JsonType json;
  private transient JsonType beats;
  private transient JsonType beat;
  private transient Record bare;
  private transient Record inside;

  SpannerMods(StructType line, DataType result) {
    super(NAME, new DataType[] {DataTypes.StringType, line, result, DataTypes.StringType}, result);
    this.line = line;
  }

  public BoundFunction bind(StructType given) {
    return new SpannerMods(wanted(given, NAME), given.fields()[2].dataType());
  }

  public ArrayData invoke(UTF8String text, InternalRow exampleLine, ArrayData exampleResult, UTF8String told) {
    if (text == null) {
      return null;
    }
    if (json == null) {
      StructType record = (StructType) line.apply(DATA).dataType();
      json = JsonType.of(line, 0);
      beats = JsonType.of(DataTypes.createArrayType(DataTypes.StringType), 0);
      beat = JsonType.of(new StructType().add("timestamp", DataTypes.StringType), 0);
      bare = new Record(line, record);
      inside = new Record(record, record);
    }
    InternalRow read = (InternalRow) Json.read(text, json, JsonCopy.AS_DOUBLES);
    Mods mods = new Mods(told);
    return read == null || !addTo(mods, read) || mods.size == 0 ? null : mods.all();
  }

  private boolean addTo(Mods mods, InternalRow read) {
    UTF8String token = bare.text(read, bare.token);
    int data = line.fieldIndex(DATA);
    int changes = line.fieldIndex(CHANGES);
    boolean isBare = !read.isNullAt(bare.table) || !read.isNullAt(bare.commit) || !read.isNullAt(bare.type);
    if (!isBare && read.isNullAt(changes)) {
      boolean isUsual = read.isNullAt(data) || inside.addTo(mods, read.getStruct(data, inside.width), token);
      return isUsual && addOthers(mods, read, line, token);
    }
    if (!addOthers(mods, read, line, token) || mods.size > 0) {
      return false; // what stands beside a record, or beside change records, is left out, or is none
    }
    if (isBare) {
      return bare.addTo(mods, read, token);
    }
    return read.isNullAt(data) && addAll(mods, read.getArray(changes), token);
  }

  private boolean addAll(Mods mods, ArrayData changes, UTF8String token) {
    StructType type = (StructType) ((ArrayType) line.apply(CHANGES).dataType()).elementType();
    int data = type.fieldIndex(DATA);
    for (int i = 0; i < changes.numElements(); i++) {
      InternalRow change = changes.isNullAt(i) ? null : changes.getStruct(i, type.length());
      if (change == null) {
        return false;
      }
      ArrayData records = change.isNullAt(data) ? null : change.getArray(data);
      for (int j = 0; records != null && j < records.numElements(); j++) {
        if (records.isNullAt(j) || !inside.addTo(mods, records.getStruct(j, inside.width), token)) {
          return false;
        }
      }
      if (!addOthers(mods, change, type, token)) {
        return false;
      }
    }
    return true;
  }

  /** The heartbeats beside the data; false where there are records of another kind. What is not used may be an empty array. */
  private boolean addOthers(Mods mods, InternalRow row, StructType type, UTF8String token) {
    for (int i = 0; i < type.length(); i++) {
      String name = type.fields()[i].name();
      if (name.endsWith("_record") && !name.equals(DATA) && !name.equals(CHANGES) && !row.isNullAt(i)) {
        UTF8String told = row.getUTF8String(i);
        byte[] bytes = told.getBytes();
        boolean isUnused = bytes.length == 2 && bytes[0] == '[' && bytes[1] == ']';
        if (!isUnused && !(name.equals(BEAT) && addBeats(mods, told, bytes, token))) {
          return false;
        }
      }
    }
    return true;
  }

  private boolean addBeats(Mods mods, UTF8String told, byte[] bytes, UTF8String token) {
    if (bytes.length == 0 || bytes[0] != '[') {
      return addBeat(mods, told, token);
    }
    ArrayData listed = (ArrayData) Json.read(told, beats, JsonCopy.AS_DOUBLES);
    if (listed == null) {
      return false;
    }
    for (int i = 0; i < listed.numElements(); i++) {
      if (listed.isNullAt(i) || !addBeat(mods, listed.getUTF8String(i), token)) {
        return false;
      }
    }
    return true;
  }

  /** A heartbeat that is nothing but a time. */
  private boolean addBeat(Mods mods, UTF8String told, UTF8String token) {
    InternalRow read = (InternalRow) Json.read(told, beat, JsonCopy.AS_DOUBLES);
    UTF8String stamp = read == null || read.isNullAt(0) ? null : read.getUTF8String(0);
    Long micros = Record.micros(stamp);
    if (micros == null || Json.size(told) != 1) {
      return false;
    }
    Object[] record = new Object[inside.width];
    record[inside.timestamp] = stamp;
    record[inside.token] = token;
    InternalRow row = new GenericInternalRow(record);
    mods.add(new Object[] {BEAT_KIND, row, micros, null, null, null, null, null, told, mods.told});
    return true;
  }

  /** Where the fields of a record are in a struct that begins with them. */
  private static final class Record {
    final int width;
    final int commit;
    final int sequence;
    final int transaction;
    final int table;
    final int types;
    final int mods;
    final int type;
    final int capture;
    final int token;
    final int timestamp;

    Record(StructType in, StructType record) {
      width = record.length();
      commit = in.fieldIndex("commit_timestamp");
      sequence = in.fieldIndex("record_sequence");
      transaction = in.fieldIndex("server_transaction_id");
      table = in.fieldIndex("table_name");
      types = in.fieldIndex("column_types");
      mods = in.fieldIndex("mods");
      type = in.fieldIndex("mod_type");
      capture = in.fieldIndex("value_capture_type");
      token = in.fieldIndex("partition_token");
      timestamp = in.fieldIndex("timestamp");
    }

    UTF8String text(InternalRow row, int index) {
      return row.isNullAt(index) ? null : row.getUTF8String(index);
    }

    /** Whether the record is as usual: its mods are added then. */
    boolean addTo(Mods found, InternalRow row, UTF8String lineToken) {
      if (row.isNullAt(mods) || row.isNullAt(transaction) || row.isNullAt(types) || row.isNullAt(capture)) {
        return false;
      }
      UTF8String named = text(row, table);
      Long micros = micros(text(row, commit));
      Long place = whole(text(row, sequence));
      if (named == null || named.numBytes() == 0 || micros == null || place == null || !isKnown(text(row, type))) {
        return false;
      }
      Object[] told = new Object[width];
      for (int i = 0; i < width; i++) {
        told[i] = i == mods ? null : text(row, i);
      }
      if (told[token] == null) {
        told[token] = lineToken;
      }
      InternalRow record = new GenericInternalRow(told);
      ArrayData listed = row.getArray(mods);
      for (int i = 0; i < listed.numElements(); i++) {
        Object[] mod = listed.isNullAt(i) ? null : parts(listed.getStruct(i, 3));
        if (mod == null) {
          return false;
        }
        Object at = Integer.valueOf(i);
        UTF8String text = i == 0 ? found.told : null;
        found.add(new Object[] {CHANGE_KIND, record, micros, place, at, mod[0], mod[1], mod[2], null, text});
      }
      return listed.numElements() > 0;
    }

    /** The keys, the new values and the old ones; null where they are not as usual. */
    private static Object[] parts(InternalRow mod) {
      if (mod.isNullAt(0) || mod.isNullAt(1) && mod.isNullAt(2)) {
        return null;
      }
      Object[] parts = new Object[3];
      for (int i = 0; i < 3; i++) {
        UTF8String part = mod.isNullAt(i) ? null : mod.getUTF8String(i);
        if (part != null && part.numBytes() > 0) {
          if (!Joined.isBraced(part.getBytes()) || Json.size(part) < 0) {
            return null;
          }
          parts[i] = part;
        }
      }
      return parts[0] == null ? null : parts;
    }

    private static boolean isKnown(UTF8String type) {
      if (type == null) {
        return false;
      }
      String told = type.toString();
      return told.equals("INSERT") || told.equals("UPDATE") || told.equals("DELETE");
    }

    private static Long whole(UTF8String text) {
      try {
        return text == null ? null : Long.valueOf(Written.whole(text));
      } catch (Unsure unsure) {
        return null;
      }
    }

    private static Long micros(UTF8String text) {
      try {
        return text == null ? null : Long.valueOf(Times.written(text, Times.LOCAL | Times.ZONED | Times.CUT));
      } catch (Unsure unsure) {
        return null;
      }
    }
  }

  private static final class Mods {
    final UTF8String told;
    Object[] found = new Object[4];
    int size = 0;

    Mods(UTF8String told) {
      this.told = told;
    }

    void add(Object[] values) {
      if (size == found.length) {
        found = java.util.Arrays.copyOf(found, 2 * size);
      }
      found[size++] = new GenericInternalRow(values);
    }

    ArrayData all() {
      return new GenericArrayData(java.util.Arrays.copyOf(found, size));
    }
  }
}
