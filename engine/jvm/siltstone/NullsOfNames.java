package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (JSON array of names, JSON object): an object with a null of each name, once, where the other object has a field
 * of each, looked at no further than to the last of them; null where that is not so, and where `JsonFields` is not sure.
 */
public final class NullsOfNames extends Scalar {
  static final String NAME = "nulls_of_names";

  NullsOfNames() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String listed, UTF8String object) {
    if (listed == null || object == null) {
      return null;
    }
    JsonFields named = JsonFields.ofNames(listed);
    if (named == null || named.size == 0 || !named.areAllIn(object)) {
      return null;
    }
    JsonWriter writer = new JsonWriter(named.mostBytes());
    for (int i = 0; i < named.size; i++) {
      writer.field(named.names[i], null);
    }
    return writer.object();
  }
}
