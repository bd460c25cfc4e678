package siltstone;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.unsafe.types.UTF8String;

/** What was counted of a piece of an Avro file: which numbers its records have in the file. */
final class AvroPiece implements Serializable {
  /** A piece that has no records, for those that have none are counted nowhere. */
  static final AvroPiece NONE = new AvroPiece("", 1, 0, 0);

  final String path; // of the file, as it was listed
  final long first;
  final long records;
  final long ofFile;

  private AvroPiece(String path, long first, long records, long ofFile) {
    this.path = path;
    this.first = first;
    this.records = records;
    this.ofFile = ofFile;
  }

  /** What a text tells of pieces, by their names: of each the file as Spark calls it, where it begins, and the fields in their order. */
  static Map of(String told) {
    Map pieces = new HashMap();
    try {
      List all = (List) new ObjectMapper().readValue(told, List.class);
      for (int i = 0; i < all.size(); i++) {
        List one = (List) all.get(i);
        AvroPiece piece = new AvroPiece((String) one.get(2), number(one, 3), number(one, 4), number(one, 5));
        pieces.put(name((String) one.get(0), number(one, 1)), piece);
      }
    } catch (IOException unread) {
      throw new UncheckedIOException(unread);
    }
    return pieces;
  }

  static String name(PartitionedFile file) {
    return name(new Path(file.toPath().toString()).toUri().toString(), file.start()); // as the column `_metadata` has it
  }

  UTF8String file() {
    return UTF8String.fromString(path);
  }

  private static String name(String file, long start) {
    return start + " " + file;
  }

  private static long number(List one, int at) {
    return ((Number) one.get(at)).longValue();
  }
}
