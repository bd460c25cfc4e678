package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads lines of Canal: the message that a line is, or the one in its `value`, and where the line says that it stands in
 * its topic. `Json` reads what is plain, Spark's reader everything else. The counts of a message can be texts.
 */
final class CanalReader {
  /** What a line has before the fields of a message in it. */
  private static final int BEFORE_MESSAGE = 4;
  private static final int VALUE = 0;
  private static final int TOPIC = 1;
  private static final int PARTITION = 2;
  private static final int OFFSET = 3;
  private static final int LINE = 0;
  private static final int END = 1;
  private static final int MALFORMED = 2;
  private static final UTF8String NOTHING = UTF8String.fromString("null");

  private final Objects lines;
  private final Objects messages;

  /** `lineType`: value, topic, partition and offset, and then the fields of `messageType`. */
  CanalReader(StructType lineType, StructType messageType, String options) {
    lines = new Objects(lineType, BEFORE_MESSAGE, options);
    messages = new Objects(messageType, 0, options);
  }

  Line read(UTF8String text) {
    Found line = lines.read(text);
    if (line.value == null) {
      return new Line(line.isMalformed || !text.trim().equals(NOTHING), null, null);
    }
    if (line.value.isNullAt(VALUE)) {
      return new Line(line.isMalformed, line.value, lines.messageOf(line.value));
    }
    Found message = messages.read(line.value.getUTF8String(VALUE));
    boolean isBroken = line.isMalformed || message.isMalformed || message.value == null;
    return new Line(isBroken, line.value, message.value);
  }

  /** What was read: whether it is no line of Canal's, the line's own fields, and the fields of its message. */
  static final class Line {
    final boolean isBroken;
    final InternalRow own;
    final InternalRow message;

    Line(boolean isBroken, InternalRow own, InternalRow message) {
      this.isBroken = isBroken;
      this.own = own;
      this.message = message;
    }

    UTF8String topic() {
      return own == null ? null : own.getUTF8String(TOPIC);
    }

    Object partition() {
      return own == null ? null : own.get(PARTITION, DataTypes.IntegerType);
    }

    Object offset() {
      return own == null ? null : own.get(OFFSET, DataTypes.LongType);
    }
  }

  /** An object, or null; and whether its text is not one of the type, or has something behind it. */
  private static final class Found {
    final InternalRow value;
    final boolean isMalformed;

    Found(InternalRow value, boolean isMalformed) {
      this.value = value;
      this.isMalformed = isMalformed;
    }
  }

  /** The objects of a type in texts. */
  private static final class Objects {
    private final StructType type;
    private final int counted;
    private final String options;
    private final JsonType json;
    private JsonToStructsEvaluator spark;
    private JsonToStructsEvaluator ofTexts;

    /** `counted`: from which field on bigints can be texts. */
    Objects(StructType type, int counted, String options) {
      this.type = type;
      this.counted = counted;
      this.options = options;
      this.json = JsonType.of(type, 0);
    }

    Found read(UTF8String text) {
      InternalRow plain = (InternalRow) Json.read(text, json, JsonCopy.AS_DOUBLES);
      return plain == null ? bySpark(text) : new Found(plain, false);
    }

    private Found bySpark(UTF8String text) {
      if (spark == null) {
        spark = FromJson.reader(lineOf(type), options);
        ofTexts = FromJson.reader(lineOf(withTexts()), options);
      }
      InternalRow given = ReadJson.lineBySpark(text, spark);
      if (given == null || given.isNullAt(MALFORMED)) {
        return new Found(objectOf(given), given == null || given.isNullAt(END));
      }
      InternalRow again = ReadJson.lineBySpark(text, ofTexts);
      boolean isMalformed = again == null || again.isNullAt(END) || !again.isNullAt(MALFORMED);
      InternalRow texts = objectOf(again);
      InternalRow numbers = texts == null ? null : counted(texts);
      return new Found(numbers, isMalformed || texts != null && isUncounted(texts, numbers));
    }

    private InternalRow objectOf(InternalRow given) {
      return given == null || given.isNullAt(LINE) ? null : given.getStruct(LINE, type.length());
    }

    InternalRow messageOf(InternalRow line) {
      Object[] values = new Object[type.length() - counted];
      for (int i = 0; i < values.length; i++) {
        values[i] = line.get(counted + i, type.fields()[counted + i].dataType());
      }
      return new GenericInternalRow(values);
    }

    private boolean isCount(int field) {
      return field >= counted && type.fields()[field].dataType().equals(DataTypes.LongType);
    }

    private InternalRow counted(InternalRow texts) {
      Object[] values = new Object[type.length()];
      for (int i = 0; i < values.length; i++) {
        DataType kind = isCount(i) ? DataTypes.StringType : type.fields()[i].dataType();
        Object value = texts.get(i, kind);
        values[i] = isCount(i) ? WholeNumber.of((UTF8String) value) : value;
      }
      return new GenericInternalRow(values);
    }

    private boolean isUncounted(InternalRow texts, InternalRow numbers) {
      for (int i = 0; i < type.length(); i++) {
        if (isCount(i) && !texts.isNullAt(i) && numbers.isNullAt(i)) {
          return true;
        }
      }
      return false;
    }

    private StructType withTexts() {
      StructField[] fields = new StructField[type.length()];
      for (int i = 0; i < fields.length; i++) {
        StructField field = type.fields()[i];
        fields[i] = isCount(i) ? DataTypes.createStructField(field.name(), DataTypes.StringType, true) : field;
      }
      return new StructType(fields);
    }

    private static StructType lineOf(StructType type) {
      return new StructType()
          .add("_line", type)
          .add("_end", DataTypes.IntegerType)
          .add("_malformed", DataTypes.StringType);
    }
  }
}
