package siltstone;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text of JSON, words of small letters of ASCII with blanks between them): whether one of the words may be in it,
 * in letters of any case, or as an escape of some.
 */
public final class MayHaveWord extends Scalar {
  static final String NAME = "may_have_word";

  private transient UTF8String last;
  private transient byte[][] words;
  private transient boolean[] looksLikeOne;

  MayHaveWord() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.BooleanType);
  }

  /** One for each place where it is asked: the words are taken apart once for all rows. */
  public BoundFunction bind(StructType given) {
    return new MayHaveWord();
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean invoke(UTF8String text, UTF8String wanted) {
    if (text == null || wanted == null) {
      return false;
    }
    if (words == null || (wanted != last && !wanted.equals(last))) {
      takeApart(wanted);
    }
    byte[] bytes = text.getBytes();
    for (int i = 0; i < bytes.length; i++) {
      if (looksLikeOne[bytes[i] & 0xff] && isOne(bytes, i)) {
        return true;
      }
    }
    return false;
  }

  private void takeApart(UTF8String wanted) {
    String[] told = wanted.toString().split(" ");
    words = new byte[told.length][];
    looksLikeOne = new boolean[256];
    looksLikeOne['\\'] = true;
    for (int i = 0; i < told.length; i++) {
      words[i] = UTF8String.fromString(told[i]).getBytes();
      looksLikeOne[words[i][0]] = true;
      looksLikeOne[words[i][0] & ~0x20] = true;
    }
    last = wanted;
  }

  private boolean isOne(byte[] bytes, int start) {
    if (bytes[start] == '\\') {
      return start + 1 < bytes.length && bytes[start + 1] == 'u';
    }
    for (int i = 0; i < words.length; i++) {
      if (startsAt(bytes, start, words[i])) {
        return true;
      }
    }
    return false;
  }

  private static boolean startsAt(byte[] bytes, int start, byte[] word) {
    if (start > bytes.length - word.length) {
      return false;
    }
    for (int i = 0; i < word.length; i++) {
      if ((bytes[start + i] | 0x20) != word[i]) {
        return false;
      }
    }
    return true;
  }
}
