package siltstone;

import java.util.regex.Pattern;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of two JSON objects: one with the fields of the first and behind them those of the second, as they stand. Of
 * texts that do not begin and end with the braces of an object nothing better is made.
 */
public final class Joined extends Scalar {
  static final String NAME = "joined";
  private static final Pattern EMPTY = Pattern.compile("^\\{\\s*\\}$");
  private static final UTF8String COMMA = UTF8String.fromString(",");

  Joined() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String under, UTF8String over) {
    return under == null || over == null ? null : of(under, over);
  }

  static UTF8String of(UTF8String under, UTF8String over) {
    byte[] first = under.getBytes();
    byte[] second = over.getBytes();
    if (!isBraced(first) || !isBraced(second)) {
      return ofOthers(under, over);
    }
    if (isEmpty(second)) {
      return under;
    }
    if (isEmpty(first)) {
      return over;
    }
    int end = first.length - 1;
    while (first[end - 1] == ' ') {
      end--;
    }
    byte[] both = new byte[end + second.length];
    System.arraycopy(first, 0, both, 0, end);
    System.arraycopy(second, 0, both, end, second.length);
    both[end] = ',';
    return UTF8String.fromBytes(both);
  }

  private static UTF8String ofOthers(UTF8String under, UTF8String over) {
    if (EMPTY.matcher(over.toString()).find()) {
      return under;
    }
    if (EMPTY.matcher(under.toString()).find()) {
      return over;
    }
    UTF8String first = under.substring(0, under.numChars() - 1).trimRight();
    return UTF8String.concat(new UTF8String[] {first, COMMA, over.substring(1, Integer.MAX_VALUE)});
  }

  static boolean isBraced(byte[] text) {
    return text.length > 1 && text[0] == '{' && text[text.length - 1] == '}';
  }

  private static boolean isEmpty(byte[] text) {
    for (int i = 1; i < text.length - 1; i++) {
      if (text[i] != ' ' && (text[i] < '\t' || text[i] > '\r')) {
        return false;
      }
    }
    return true;
  }
}
