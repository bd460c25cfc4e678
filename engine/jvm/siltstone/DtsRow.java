package siltstone;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (bytes, the keys of tables) that gives what a record of DTS says of a change of a row, where it is one of every
 * day; null of every other record: of control events, where something in it is seldom met, and where something is wrong.
 *
 * The second argument has a line for each table whose keys are declared: its name, and the names of its keys.
 */
public final class DtsRow extends Planned {
  static final String NAME = "dts_row";
  private static final StructType TYPE = new StructType()
    .add("op", DataTypes.StringType)
    .add("table", DataTypes.StringType)
    .add("file", DataTypes.LongType)
    .add("offset", DataTypes.LongType)
    .add("seconds", DataTypes.LongType)
    .add("id", DataTypes.LongType)
    .add("source_type", DataTypes.StringType)
    .add("transaction", DataTypes.StringType)
    .add("gtid", DataTypes.StringType)
    .add("read_ms", DataTypes.StringType)
    .add("key_info", DataTypes.StringType)
    .add("row_schema", DataTypes.StringType)
    .add("schema_hash", DataTypes.LongType)
    .add("old_json", DataTypes.StringType)
    .add("new_json", DataTypes.StringType)
    .add("old_partial", DataTypes.BooleanType)
    .add("moved", DataTypes.BooleanType);
  private static final int UPDATE = 1; // behind INSERT
  private static final int DELETE = 2;
  private static final int INIT = 16;
  private static final int OPERATIONS = 17;
  private static final UTF8String[] OPS = {text("insert"), text("update"), text("delete"), text("read")};
  /** In the order of the wire, as engine.decode.dts_schema has them. */
  private static final byte[][] SOURCES = {ascii("MySQL"), ascii("Oracle"), ascii("SQLServer"), ascii("PostgreSQL"),
    ascii("MongoDB"), ascii("Redis"), ascii("DB2"), ascii("PPAS"), ascii("DRDS"), ascii("HBASE"), ascii("HDFS"),
    ascii("FILE"), ascii("OTHER")};
  private static final int MYSQL = 0;
  private static final int POSTGRESQL = 3;
  private static final String BETWEEN = "<->";
  private static final UTF8String IN_NANOS = text(BETWEEN);
  private static final UTF8String[] TAGS = {text("readerThroughoutTime"), text("GTID"), text("pk_uk_info"), text("l_db_name"),
    text("l_tb_name")};
  private static final List TAG_NAMES = Arrays.asList(TAGS);
  private static final int READ_AT = 0;
  private static final int GTID = 1;
  private static final int KEYS = 2;
  private static final int DATABASE = 3;
  private static final int TABLE = 4;
  private static final int IMAGE = 2; // of the three types that an image can be, and the fields
  private static final int MOST_DIGITS = 18;

  private transient DtsFields lastFields;
  private transient KeyInfo lastKeys;

  DtsRow() {
    super(NAME, new DataType[] {DataTypes.BinaryType, DataTypes.StringType}, TYPE);
  }

  public BoundFunction bind(StructType given) {
    return new DtsRow();
  }

  private static UTF8String text(String signs) {
    return UTF8String.fromString(signs);
  }

  private static byte[] ascii(String signs) {
    return signs.getBytes(StandardCharsets.US_ASCII);
  }

  /** The keys by the names of tables, as bytes. */
  Object madeOut(String plan) {
    Map declared = new HashMap();
    String[] lines = plan.split("\n");
    for (int i = 0; i < lines.length; i++) {
      String[] words = lines[i].split(Stored.BETWEEN_WORDS);
      byte[][] keys = new byte[words.length - 1][];
      for (int j = 0; j < keys.length; j++) {
        keys[j] = words[j + 1].getBytes(StandardCharsets.UTF_8);
      }
      if (keys.length > 0) {
        declared.put(text(words[0]), keys);
      }
    }
    return declared;
  }

  public InternalRow invoke(byte[] bytes, UTF8String plan) {
    if (bytes == null || plan == null) {
      return null;
    }
    try {
      return read(new AvroBytes(bytes), (Map) madeOf(plan));
    } catch (Unsure unsure) {
      return null;
    }
  }

  private InternalRow read(AvroBytes from, Map declared) throws Unsure {
    from.number(); // the version
    long id = from.count();
    long seconds = from.count();
    UTF8String place = sized(from);
    from.sized(); // the safe position
    UTF8String transaction = sized(from);
    int sourceType = from.index(SOURCES.length);
    byte[] source = SOURCES[sourceType];
    from.sized(); // the source's version
    int operation = from.index(OPERATIONS);
    boolean isRow = operation <= DELETE || operation == INIT;
    if (!isRow || seconds < Times.FIRST_DAY * 86400 || seconds >= (Times.LAST_DAY + 1) * 86400) {
      throw Unsure.UNSURE;
    }
    UTF8String name = from.index(2) == 0 ? null : sized(from);
    if (from.index(2) == 1) {
      skipTimes(from);
    }
    UTF8String[] tags = tags(from);
    UTF8String table = table(name, tags[DATABASE], tags[TABLE]);
    if (from.index(3) != IMAGE) {
      throw Unsure.UNSURE;
    }
    DtsFields fields = fields(from, source);
    boolean nanos = sourceType != MYSQL && sourceType != POSTGRESQL || place.contains(IN_NANOS);
    DtsValues old = image(from, fields, nanos);
    DtsValues now = image(from, fields, nanos);
    if (!from.isAtEnd()) {
      from.count(); // when it was born: newer records say so
    }
    boolean isUpdate = operation == UPDATE;
    boolean lacks = operation == DELETE ? old == null : now == null;
    if (!from.isAtEnd() || lacks || isUpdate && old != null && now.isPartial) {
      throw Unsure.UNSURE;
    }
    long[] at = operation == INIT ? null : numbers(place);
    boolean moved = isUpdate && old != null && moves(fields, old, now, (byte[][]) declared.get(table), tags[KEYS]);
    DtsValues before = operation == UPDATE || operation == DELETE ? old : null;
    return new GenericInternalRow(new Object[] {
      OPS[operation == INIT ? 3 : operation],
      table,
      at == null ? null : Long.valueOf(at[0]),
      at == null ? null : Long.valueOf(at[1]),
      Long.valueOf(seconds),
      Long.valueOf(id),
      UTF8String.fromBytes(source),
      transaction,
      tags[GTID],
      tags[READ_AT],
      tags[KEYS],
      schema(source, fields, before, operation == DELETE ? null : now),
      Long.valueOf(fields.hash),
      old == null ? null : old.json.text(),
      now == null ? null : now.json.text(),
      Boolean.valueOf(old != null && old.isPartial),
      Boolean.valueOf(moved)
    });
  }

  private static UTF8String sized(AvroBytes from) throws Unsure {
    int start = from.sized();
    return UTF8String.fromBytes(from.bytes, start, from.at - start);
  }

  private static void skipTimes(AvroBytes from) throws Unsure {
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        from.count();
      }
    }
  }

  /** The last two parts of an object's name; for each the logical name, where there is one. */
  private static UTF8String table(UTF8String name, UTF8String database, UTF8String table) throws Unsure {
    if (name == null) {
      throw Unsure.UNSURE;
    }
    byte[] bytes = name.getBytes();
    int last = lastDot(bytes, bytes.length);
    if (last < 0 || !name.isValid()) {
      throw Unsure.UNSURE;
    }
    int first = lastDot(bytes, last) + 1;
    boolean isPhysical = isEmpty(database) && isEmpty(table);
    if (isPhysical) {
      return UTF8String.fromBytes(bytes, first, bytes.length - first);
    }
    UTF8String owner = isEmpty(database) ? UTF8String.fromBytes(bytes, first, last - first) : database;
    UTF8String own = isEmpty(table) ? UTF8String.fromBytes(bytes, last + 1, bytes.length - last - 1) : table;
    return UTF8String.concat(owner, text("."), own);
  }

  private static boolean isEmpty(UTF8String text) {
    return text == null || text.numBytes() == 0;
  }

  private static int lastDot(byte[] name, int end) throws Unsure {
    for (int i = end - 1; i >= 0; i--) {
      if (name[i] == '\\') {
        throw Unsure.UNSURE; // it may be the escape of a dot
      }
      if (name[i] == '.') {
        return i;
      }
    }
    return -1;
  }

  private static UTF8String[] tags(AvroBytes from) throws Unsure {
    UTF8String[] found = new UTF8String[TAGS.length];
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        int at = TAG_NAMES.indexOf(sized(from));
        UTF8String value = sized(from);
        if (at >= 0) {
          if (found[at] != null) {
            throw Unsure.UNSURE;
          }
          found[at] = value;
        }
      }
    }
    return found;
  }

  /** The fields of the record, made out once for all that have the same. */
  private DtsFields fields(AvroBytes from, byte[] source) throws Unsure {
    int start = from.at;
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        from.sized();
        from.number();
      }
    }
    DtsFields last = lastFields;
    if (last == null || !last.are(from.bytes, start, from.at, source)) {
      last = new DtsFields(Arrays.copyOfRange(from.bytes, start, from.at), source);
      lastFields = last;
    }
    return last;
  }

  /** An image; null where the record has none. */
  private static DtsValues image(AvroBytes from, DtsFields fields, boolean nanos) throws Unsure {
    int branch = from.index(3);
    if (branch == 0) {
      return null;
    }
    if (branch != IMAGE) {
      throw Unsure.UNSURE;
    }
    DtsValues image = new DtsValues(from, fields, nanos, from.bytes.length + fields.json.length);
    image.read();
    return image;
  }

  private static UTF8String schema(byte[] source, DtsFields fields, DtsValues old, DtsValues now) throws Unsure {
    JsonWriter to = new JsonWriter(fields.json.length + 64 + 4 * fields.size());
    to.raw("{\"dts\":\"");
    to.raw(source);
    to.raw("\",\"fields\":");
    to.raw(fields.json);
    to.raw(",\"told\":\"");
    DtsValues.told(to, old, now, fields.size());
    to.raw("\"}");
    return to.text();
  }

  // --- the place -----------------------------------------------------------------------------------------------------

  /** The file and the position in it: `position@file`, `file<->position`, or a position alone. */
  private static long[] numbers(UTF8String text) throws Unsure {
    String told = text.toString();
    int at = told.indexOf('@');
    int between = told.indexOf(BETWEEN);
    long[] found = new long[2];
    if (at >= 0) {
      found[0] = number(told.substring(at + 1));
      found[1] = number(told.substring(0, at));
    } else if (between >= 0) {
      found[0] = place(told.substring(0, between));
      found[1] = place(told.substring(between + BETWEEN.length()));
    } else {
      found[1] = place(told);
    }
    if (found[0] <= 0 && found[1] <= 0) {
      throw Unsure.UNSURE;
    }
    return found;
  }

  private static long number(String digits) throws Unsure {
    if (digits.isEmpty() || digits.length() > MOST_DIGITS) {
      throw Unsure.UNSURE;
    }
    return Times.number(text(digits), 0, digits.length());
  }

  /** A number, or an LSN of PostgreSQL: the hexadecimal digits of its halves. */
  private static long place(String told) throws Unsure {
    int slash = told.indexOf('/');
    if (slash < 0) {
      return number(told);
    }
    long high = half(told.substring(0, slash));
    if (high > Integer.MAX_VALUE) {
      throw Unsure.UNSURE;
    }
    return high << 32 | half(told.substring(slash + 1));
  }

  private static long half(String digits) throws Unsure {
    long number = 0;
    for (int i = 0; i < digits.length(); i++) {
      int digit = Character.digit(digits.charAt(i), 16);
      if (digit < 0 || digits.charAt(i) > 'f') {
        throw Unsure.UNSURE;
      }
      number = number * 16 + digit;
    }
    if (digits.isEmpty() || digits.length() > 8) {
      throw Unsure.UNSURE;
    }
    return number;
  }

  // --- keys ----------------------------------------------------------------------------------------------------------

  private boolean moves(DtsFields fields, DtsValues old, DtsValues now, byte[][] declared, UTF8String info)
      throws Unsure {
    byte[][] keys = declared;
    if (keys == null && info != null) {
      KeyInfo last = lastKeys;
      if (last == null || !last.text.equals(info)) {
        last = new KeyInfo(info.copy());
        lastKeys = last;
      }
      keys = last.keys;
    }
    for (int i = 0; keys != null && i < keys.length; i++) {
      int column = fields.indexOf(keys[i]);
      if (column >= 0 && old.differs(column, now)) {
        return true;
      }
    }
    return false;
  }

  /** The columns of the primary key, else those of the only unique one, in `{"PRIMARY":["id"]}`; null where it has neither. */
  private static final class KeyInfo {
    final UTF8String text;
    final byte[][] keys;

    KeyInfo(UTF8String text) throws Unsure {
      this.text = text;
      this.keys = read(text);
    }

    private static byte[][] read(UTF8String text) throws Unsure {
      JsonBytes json = new JsonBytes(text);
      byte[][] primary = null;
      byte[][] only = null;
      int size = 0;
      List known = new ArrayList();
      json.blanks();
      int mark = json.opened('{', '}');
      while (mark == ',') {
        json.blanks();
        int start = json.name();
        String name = new String(json.text, start, json.at - 1 - start, StandardCharsets.UTF_8);
        if (known.contains(name)) {
          throw Unsure.UNSURE;
        }
        known.add(name);
        json.blanks();
        json.expect(':');
        json.blanks();
        byte[][] keys = names(json);
        if (keys.length > 0) {
          size++;
          only = keys;
          if (name.toLowerCase().equals("primary") && primary == null) {
            primary = keys;
          }
        }
        json.blanks();
        mark = json.take();
      }
      if (mark != '}' || !json.isAtEnd()) {
        throw Unsure.UNSURE;
      }
      return primary != null ? primary : size == 1 ? only : null;
    }

    private static byte[][] names(JsonBytes json) throws Unsure {
      List found = new ArrayList();
      int mark = json.opened('[', ']');
      while (mark == ',') {
        json.blanks();
        int start = json.name();
        found.add(Arrays.copyOfRange(json.text, start, json.at - 1));
        json.blanks();
        mark = json.take();
      }
      if (mark != ']') {
        throw Unsure.UNSURE;
      }
      return (byte[][]) found.toArray(new byte[found.size()][]);
    }
  }
}
