package siltstone;

import java.util.Arrays;

import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The functions, as a catalog of Spark's. */
public final class Functions implements FunctionCatalog {
  private static final String[] NAMES = {ReadJson.OBJECT, ReadJson.OBJECT_OR_TEXT, ReadJson.LINE, ReadRow.NAME};
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public Identifier[] listFunctions(String[] namespace) {
    Identifier[] found = new Identifier[NAMES.length];
    for (int i = 0; i < NAMES.length; i++) {
      found[i] = Identifier.of(new String[0], NAMES[i]);
    }
    return found;
  }

  public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
    if (identifier.namespace().length > 0 || !Arrays.asList(NAMES).contains(identifier.name())) {
      throw new NoSuchFunctionException(identifier);
    }
    return identifier.name().equals(ReadRow.NAME) ? new ReadRow(null) : new ReadJson(identifier.name(), null);
  }
}
