package siltstone;

import java.util.HashMap;
import java.util.Map;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function that reads bytes by a schema, one of those that an argument lists: in a line each a number, BETWEEN_WORDS, the
 * schema as JSON.
 */
abstract class BySchema extends Planned {
  BySchema(String name, DataType[] inputTypes, DataType resultType) {
    super(name, inputTypes, resultType);
  }

  /** What reads by a schema. Raises: Unsure, of one that it cannot be sure of. */
  abstract Object madeOfOne(String schema) throws Unsure;

  /** What reads by the schema of a number; null where there is none. */
  final Object of(long number, UTF8String schemas) {
    return schemas == null ? null : ((Map) madeOf(schemas)).get(Long.valueOf(number));
  }

  final Object madeOut(String schemas) {
    Map readers = new HashMap();
    String[] lines = schemas.isEmpty() ? new String[0] : schemas.split("\n");
    for (int i = 0; i < lines.length; i++) {
      int end = lines[i].indexOf(Stored.BETWEEN_WORDS);
      try {
        readers.put(Long.valueOf(lines[i].substring(0, end)), madeOfOne(lines[i].substring(end + 1)));
      } catch (Unsure unsure) {
        continue;
      }
    }
    return readers;
  }
}
