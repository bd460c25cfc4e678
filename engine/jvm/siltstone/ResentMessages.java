package siltstone;

import java.io.Serializable;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * An aggregate of Canal's messages: which of them stand in their lane a second time. Of a whole lane, or of one piece of it:
 * then there is also its border, all that must be known of the piece to judge the lane, which is for pieces of more than
 * four batches the first two and the last two of them. `Lane` says what the arguments are and how they are judged.
 */
public final class ResentMessages implements UnboundFunction, AggregateFunction {
  static final String OF_PIECE = "resent_of_piece";
  static final String OF_LANE = "resent_of_lane";

  private static final DataType[] MESSAGE = {
    DataTypes.LongType, DataTypes.BooleanType, DataTypes.StringType, DataTypes.LongType, DataTypes.BooleanType,
    DataTypes.LongType, DataTypes.LongType, DataTypes.LongType, DataTypes.IntegerType
  };
  private static final String[] NAMES = {"offset", "in_file", "file", "line", "after_gap", "id", "es", "content", "beginning"};
  private static final StructType TOLD =
      new StructType()
          .add("file", DataTypes.StringType)
          .add("line", DataTypes.LongType)
          .add("resent", DataTypes.BooleanType)
          .add("reached", DataTypes.LongType);
  private static final StructType RESULT =
      new StructType()
          .add("told", DataTypes.createArrayType(TOLD))
          .add("border", DataTypes.createArrayType(message()))
          .add("batches", DataTypes.LongType)
          .add("least", DataTypes.LongType)
          .add("greatest", DataTypes.LongType);

  private final String name;

  ResentMessages(String name) {
    this.name = name;
  }

  private static StructType message() {
    StructField[] fields = new StructField[NAMES.length];
    for (int i = 0; i < NAMES.length; i++) {
      fields[i] = DataTypes.createStructField(NAMES[i], MESSAGE[i], true);
    }
    return new StructType(fields);
  }

  public BoundFunction bind(StructType given) {
    return this;
  }

  public String name() {
    return name;
  }

  public String description() {
    return name + " of siltstone";
  }

  public String canonicalName() {
    return "siltstone." + name;
  }

  public DataType[] inputTypes() {
    return MESSAGE;
  }

  public DataType resultType() {
    return RESULT;
  }

  public Serializable newAggregationState() {
    return new Lane();
  }

  public Serializable update(Serializable state, InternalRow message) {
    ((Lane) state).add(message);
    return state;
  }

  /** What was serialized comes back as bytes: see `Lane`. */
  public Serializable merge(Serializable state, Serializable other) {
    ((Lane) state).add(other instanceof Lane ? (Lane) other : Lane.of((byte[]) other));
    return state;
  }

  public Object produceResult(Serializable state) {
    return ((Lane) state).judged(name.equals(OF_PIECE));
  }

  public boolean equals(Object other) {
    return other instanceof ResentMessages && name.equals(((ResentMessages) other).name);
  }

  public int hashCode() {
    return name.hashCode();
  }
}
