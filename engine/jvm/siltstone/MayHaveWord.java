package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (text of JSON, words of small letters of ASCII with blanks between them): whether one of the words may be in it,
 * in letters of any case, or as an escape of some.
 */
public final class MayHaveWord extends Planned {
  static final String NAME = "may_have_word";

  MayHaveWord() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.BooleanType);
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean invoke(UTF8String text, UTF8String wanted) {
    if (text == null || wanted == null) {
      return false;
    }
    Words words = (Words) madeOf(wanted);
    byte[] bytes = text.getBytes();
    for (int i = 0; i < bytes.length; i++) {
      if (words.canBegin[bytes[i] & 0xff] && words.isOne(bytes, i)) {
        return true;
      }
    }
    return false;
  }

  Object madeOut(String wanted) {
    return new Words(wanted.split(" "));
  }

  private static final class Words {
    final byte[][] words;
    final boolean[] canBegin = new boolean[256]; // a word, or an escape

    Words(String[] told) {
      words = new byte[told.length][];
      canBegin['\\'] = true;
      for (int i = 0; i < told.length; i++) {
        words[i] = UTF8String.fromString(told[i]).getBytes();
        canBegin[words[i][0]] = true;
        canBegin[words[i][0] & ~0x20] = true;
      }
    }

    boolean isOne(byte[] bytes, int start) {
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
