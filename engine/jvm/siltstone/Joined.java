package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of two JSON objects: one with the fields of the first and behind them those of the second, as they stand; null
 * of texts that do not begin and end with the braces of an object.
 */
public final class Joined extends Scalar {
  static final String NAME = "joined";

  Joined() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String under, UTF8String over) {
    if (under == null || over == null) {
      return null;
    }
    byte[] first = under.getBytes();
    byte[] second = over.getBytes();
    if (!isBraced(first) || !isBraced(second)) {
      return null;
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
