package siltstone;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Map;

import org.apache.avro.mapred.FsInput;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;

import scala.runtime.AbstractFunction1;

/** The records in a piece of an Avro file. */
final class AvroTextsOf extends AbstractFunction1 implements Serializable {
  private final Broadcast conf;
  private final String schema;
  private final String[] columns;
  private final Map pieces;
  private transient AvroType type; // made out once for all pieces of a task

  AvroTextsOf(Broadcast conf, String schema, String[] columns, Map pieces) {
    this.conf = conf;
    this.schema = schema;
    this.columns = columns;
    this.pieces = pieces;
  }

  public Object apply(Object piece) {
    PartitionedFile file = (PartitionedFile) piece;
    Configuration hadoop = ((SerializableConfiguration) conf.value()).value();
    try {
      if (type == null && Arrays.asList(columns).contains(AvroTexts.TEXT)) {
        type = AvroType.told(schema);
      }
      AvroPiece told = (AvroPiece) pieces.get(AvroPiece.name(file));
      long end = file.start() + file.length();
      FsInput input = new FsInput(file.toPath(), hadoop);
      return new AvroRecords(
          file.urlEncodedPath(), input, file.start(), end, type, columns, told == null ? AvroPiece.NONE : told);
    } catch (IOException unread) {
      throw new UncheckedIOException(unread);
    } catch (Unsure unsure) {
      throw new IllegalArgumentException("siltstone is not sure of the schema of these records");
    }
  }
}
