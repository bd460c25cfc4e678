package siltstone;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * A format of files that Spark reads by this class's name: each record of Avro files as a text of JSON, without a struct in
 * between, with its number in its file. The option RECORDS has the schema that the files were written with, and properties of
 * what is to be told otherwise than it was written (`AvroType`); PIECES what was counted of the pieces that Spark makes of the
 * files (`AvroPiece`). Where no column is asked for, the records are only counted.
 */
public final class AvroTexts implements FileFormat {
  static final String RECORDS = "records";
  static final String PIECES = "pieces";
  static final String FILE = "file";
  static final String LINE = "line";
  static final String IS_LAST = "is_last";
  static final String TEXT = "text";
  private static final StructType COLUMNS =
      new StructType()
          .add(FILE, DataTypes.StringType)
          .add(LINE, DataTypes.LongType)
          .add(IS_LAST, DataTypes.BooleanType)
          .add(TEXT, DataTypes.StringType);

  /** Whether files of a schema can be read so. */
  public static boolean canRead(String schema) {
    try {
      AvroType.told(schema);
      return true;
    } catch (Unsure unsure) {
      return false;
    }
  }

  public Option inferSchema(SparkSession spark, Map options, Seq files) {
    return Option.apply(COLUMNS);
  }

  public boolean isSplitable(SparkSession spark, Map options, Path path) {
    return true;
  }

  public Function1 buildReader(
      SparkSession spark,
      StructType columns,
      StructType partitions,
      StructType wanted,
      Seq filters,
      Map options,
      Configuration conf) {
    return new AvroTextsOf(
        SerializableConfiguration.broadcast(spark.sparkContext(), conf),
        (String) options.apply(RECORDS),
        wanted.fieldNames(),
        AvroPiece.of((String) options.apply(PIECES)));
  }

  public OutputWriterFactory prepareWrite(SparkSession spark, Job job, Map options, StructType columns) {
    throw new UnsupportedOperationException("siltstone reads Avro files so, and writes none");
  }
}
