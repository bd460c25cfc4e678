package siltstone;

import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The functions, as a catalog of Spark's. */
public final class Functions implements FunctionCatalog {
  private static final UnboundFunction[] FUNCTIONS = {
    new ReadJson(ReadJson.OBJECT, null),
    new ReadJson(ReadJson.OBJECT_OR_TEXT, null),
    new ReadJson(ReadJson.LINE, null),
    new ReadJson(ReadJson.EXACT_LINE, null),
    new ReadJson(ReadJson.UNCUT_LINE, null),
    new ReadJson(ReadJson.QUOTED_LINE, null),
    new FromJson(null),
    new ReadRow(null),
    new WriteJson(null),
    new AvroJson(),
    new AvroStruct(null),
    new DtsRow(),
    new LineValue(),
    new NoJsonReason(),
    new BrokenReason(),
    new FirstAt(),
    new HeaderValue(),
    new FirstField(null),
    new ObjectSize(),
    new MayHaveWord(),
    new AreObjects(),
    new KeyNames(),
    new LaidOver(),
    new Joined(),
    new CanalMessage(null, null),
    new CanalContent(null, null),
    new CanalRows(),
    new SpannerMods(null, null),
    new WrittenMicros(),
    new InstantMicros(),
    new WholeNumber(),
    new NumberAtEnd(),
    new NumberInPair(),
    new NumberSegment(),
    new PlainNumber(),
    new HexDigits(),
    new MomentText(),
    new DecimalText(),
    new Base64Bytes(),
    new FrameNumber(),
    new FileName(),
    new Apart(),
    new ResentMessages(ResentMessages.OF_PIECE),
    new ResentMessages(ResentMessages.OF_LANE)
  };
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public Identifier[] listFunctions(String[] namespace) {
    Identifier[] found = new Identifier[FUNCTIONS.length];
    for (int i = 0; i < FUNCTIONS.length; i++) {
      found[i] = Identifier.of(new String[0], FUNCTIONS[i].name());
    }
    return found;
  }

  public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
    for (int i = 0; i < FUNCTIONS.length; i++) {
      if (identifier.namespace().length == 0 && FUNCTIONS[i].name().equals(identifier.name())) {
        return FUNCTIONS[i];
      }
    }
    throw new NoSuchFunctionException(identifier);
  }
}
