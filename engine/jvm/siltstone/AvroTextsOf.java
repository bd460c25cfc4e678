package siltstone;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;

import org.apache.avro.mapred.FsInput;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;

import scala.runtime.AbstractFunction1;

/** The texts of the records in a piece of an Avro file. */
final class AvroTextsOf extends AbstractFunction1 implements Serializable {
  private final Broadcast conf;
  private final String schema; // null: nobody asks for texts, only how many there are
  private transient AvroType type; // made out once for all pieces of a task

  AvroTextsOf(Broadcast conf, String schema) {
    this.conf = conf;
    this.schema = schema;
  }

  public Object apply(Object piece) {
    PartitionedFile file = (PartitionedFile) piece;
    Configuration hadoop = ((SerializableConfiguration) conf.value()).value();
    try {
      if (schema != null && type == null) {
        type = AvroType.told(schema);
      }
      long end = file.start() + file.length();
      return new AvroRecords(file.urlEncodedPath(), new FsInput(file.toPath(), hadoop), file.start(), end, type);
    } catch (IOException unread) {
      throw new UncheckedIOException(unread);
    } catch (Unsure unsure) {
      throw new IllegalArgumentException("siltstone is not sure of the schema of these records");
    }
  }
}
