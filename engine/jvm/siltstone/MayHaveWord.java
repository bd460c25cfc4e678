package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text of JSON, word of small letters of ASCII): whether the word may be in it, in letters of any case, or as an
 * escape of some.
 */
public final class MayHaveWord extends Scalar {
  static final String NAME = "may_have_word";

  MayHaveWord() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.BooleanType);
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean invoke(UTF8String text, UTF8String word) {
    if (text == null || word == null) {
      return false;
    }
    byte[] bytes = text.getBytes();
    byte[] wanted = word.getBytes();
    int first = wanted[0];
    int last = bytes.length - wanted.length;
    for (int i = 0; i < bytes.length; i++) {
      int c = bytes[i];
      if (c == '\\' && i + 1 < bytes.length && bytes[i + 1] == 'u') {
        return true;
      }
      if ((c | 0x20) == first && i <= last && startsAt(bytes, i, wanted)) {
        return true;
      }
    }
    return false;
  }

  private static boolean startsAt(byte[] bytes, int start, byte[] wanted) {
    for (int i = 1; i < wanted.length; i++) {
      if ((bytes[start + i] | 0x20) != wanted[i]) {
        return false;
      }
    }
    return true;
  }
}
