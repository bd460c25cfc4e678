package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (headers of a message as JSON, name) that gives the value of the first header of the name; null where none has
 * it. Headers are an object, or an array of objects with `key` and `value`.
 */
public final class HeaderValue extends Scalar {
  static final String NAME = "header_value";
  private static final StructType HEADER =
      new StructType().add("key", DataTypes.StringType).add("value", DataTypes.StringType);

  private transient JsonToStructsEvaluator lists;
  private transient JsonToStructsEvaluator objects;

  HeaderValue() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String headers, UTF8String name) {
    if (headers == null) {
      return null;
    }
    if (lists == null) {
      lists = FromJson.reader(DataTypes.createArrayType(HEADER), "");
      objects = FromJson.reader(DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType), "");
    }
    boolean isList = headers.numBytes() > 0 && headers.getByte(0) == '[';
    return isList ? ofList((ArrayData) lists.evaluate(headers), name) : ofObject((MapData) objects.evaluate(headers), name);
  }

  private static UTF8String ofList(ArrayData list, UTF8String name) {
    for (int i = 0; list != null && i < list.numElements(); i++) {
      InternalRow header = list.isNullAt(i) ? null : list.getStruct(i, 2);
      if (header != null && !header.isNullAt(0) && header.getUTF8String(0).equals(name)) {
        return header.isNullAt(1) ? null : header.getUTF8String(1);
      }
    }
    return null;
  }

  private static UTF8String ofObject(MapData object, UTF8String name) {
    for (int i = 0; object != null && i < object.numElements(); i++) {
      if (object.keyArray().getUTF8String(i).equals(name)) {
        return object.valueArray().isNullAt(i) ? null : object.valueArray().getUTF8String(i);
      }
    }
    return null;
  }
}
