package siltstone;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.json.JsonExpressionUtils;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.expressions.json.StructsToJsonEvaluator;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.CollationSupport;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (JSON array of names, another one for where it has none, JSON object): an object with a null of each name, once,
 * spelled as the fields of the object are: as it is listed where there is such a field, else as the first that differs in
 * upper and lower case alone. Null where no array has a name.
 */
public final class KeyNames extends Scalar {
  static final String NAME = "key_names";

  private transient JsonToStructsEvaluator reader;
  private transient StructsToJsonEvaluator writer;

  KeyNames() {
    super(
        NAME,
        new DataType[] {DataTypes.StringType, DataTypes.StringType, DataTypes.StringType},
        DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String listed, UTF8String others, UTF8String object) {
    UTF8String plain = listed == null || object == null ? null : plainly(listed, object);
    return plain == null ? bySpark(listed, others, object) : plain;
  }

  /** Where the object has a field of each name, looked at no further than to the last of them; null where not sure. */
  private static UTF8String plainly(UTF8String listed, UTF8String object) {
    JsonFields named = JsonFields.ofNames(listed);
    if (named == null || named.size == 0 || !named.areAllIn(object)) {
      return null;
    }
    JsonWriter text = new JsonWriter(named.mostBytes());
    for (int i = 0; i < named.size; i++) {
      text.field(named.names[i], null);
    }
    return text.object();
  }

  private UTF8String bySpark(UTF8String listed, UTF8String others, UTF8String object) {
    if (reader == null) {
      reader = FromJson.reader(DataTypes.createArrayType(DataTypes.StringType), "");
      writer = ImagesBySpark.writer();
    }
    List names = names(listed);
    if (names.isEmpty()) {
      names = names(others);
    }
    if (names.isEmpty()) {
      return null;
    }
    ArrayData fields = object == null ? null : JsonExpressionUtils.jsonObjectKeys(object);
    LinkedHashSet spelt = new LinkedHashSet();
    for (int i = 0; i < names.size(); i++) {
      spelt.add(spelt((UTF8String) names.get(i), fields));
    }
    Object[] found = spelt.toArray();
    ArrayData nulls = new GenericArrayData(new Object[found.length]);
    return (UTF8String) writer.evaluate(new ArrayBasedMapData(new GenericArrayData(found), nulls));
  }

  private List names(UTF8String listed) {
    List names = new ArrayList();
    ArrayData read = listed == null ? null : (ArrayData) reader.evaluate(listed);
    for (int i = 0; read != null && i < read.numElements(); i++) {
      if (!read.isNullAt(i)) {
        names.add(read.getUTF8String(i));
      }
    }
    return names;
  }

  private static UTF8String spelt(UTF8String name, ArrayData fields) {
    UTF8String alike = null;
    for (int i = 0; fields != null && i < fields.numElements(); i++) {
      UTF8String field = fields.getUTF8String(i);
      if (field.equals(name)) {
        return name;
      }
      if (alike == null && lower(field).equals(lower(name))) {
        alike = field;
      }
    }
    return alike == null ? name : alike;
  }

  private static UTF8String lower(UTF8String text) {
    return CollationSupport.Lower.execBinaryICU(text);
  }
}
