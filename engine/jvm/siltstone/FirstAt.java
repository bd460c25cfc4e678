package siltstone;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text of JSON, paths, a line each) that gives what get_json_object gives of the first path at which a value is,
 * and the text itself where there is none; null where this reader is not sure. A path is names with dots between them.
 */
public final class FirstAt extends Planned {
  static final String NAME = "first_at";

  FirstAt() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  /** One for each place where it is asked, for each asks for other paths. */
  public BoundFunction bind(StructType given) {
    return new FirstAt();
  }

  public UTF8String invoke(UTF8String text, UTF8String paths) {
    if (text == null || paths == null) {
      return null;
    }
    JsonType[][] types = (JsonType[][]) madeOf(paths);
    for (int i = 0; i < types.length; i++) {
      UTF8String found = text;
      for (int j = 0; found != null && j < types[i].length; j++) {
        InternalRow object = (InternalRow) Json.read(found, types[i][j], JsonCopy.AS_DOUBLES);
        if (object == null) {
          return null;
        }
        found = object.getUTF8String(0);
      }
      if (found != null) {
        return found;
      }
    }
    return text;
  }

  Object madeOut(String paths) {
    String[] lines = paths.split("\n");
    JsonType[][] found = new JsonType[lines.length][];
    for (int i = 0; i < lines.length; i++) {
      String[] names = lines[i].split("\\.");
      found[i] = new JsonType[names.length];
      for (int j = 0; j < names.length; j++) {
        found[i][j] = JsonType.of(new StructType().add(names[j], DataTypes.StringType), 0);
      }
    }
    return found;
  }
}
