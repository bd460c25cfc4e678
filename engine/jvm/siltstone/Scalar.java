package siltstone;

import java.util.Arrays;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** What the functions have in common: they are told apart by their names and types, and Spark calls their `invoke`. */
abstract class Scalar implements UnboundFunction, ScalarFunction {
  private final String name;
  private final DataType[] inputTypes;
  private final DataType resultType;

  Scalar(String name, DataType[] inputTypes, DataType resultType) {
    this.name = name;
    this.inputTypes = inputTypes;
    this.resultType = resultType;
  }

  public BoundFunction bind(StructType given) {
    return this;
  }

  /** The struct that a function is to give, which its second argument shows by its type. */
  static StructType wanted(StructType given, String name) {
    if (given.length() < 2 || !(given.fields()[1].dataType() instanceof StructType)) {
      throw new UnsupportedOperationException(name + " takes a text and a null of the struct that is wanted");
    }
    return (StructType) given.fields()[1].dataType();
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
    return inputTypes;
  }

  public DataType resultType() {
    return resultType;
  }

  public boolean equals(Object other) {
    if (!(other instanceof Scalar)) {
      return false;
    }
    Scalar that = (Scalar) other;
    return name.equals(that.name) && Arrays.equals(inputTypes, that.inputTypes);
  }

  public int hashCode() {
    return 31 * name.hashCode() + Arrays.hashCode(inputTypes);
  }
}
