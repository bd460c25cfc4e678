package siltstone;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of a text that gives the digits of the number that it is, with one at least on each side of its point: of .5, 5.
 * and 5e-1, too, with blanks around them. Of infinity in any of Spark's spellings it gives the word that `NumberSegment`
 * knows. Null of every other text, also of NaN, and of a number for which that has no room.
 */
public final class PlainNumber extends Scalar {
  static final String NAME = "plain_number";
  private static final int LONGEST_WORD = 16; // signs; times with digits of a second are longer
  private static final Pattern NUMBER =
      Pattern.compile("([+-]?)(?=[.]?[0-9])([0-9]*+)(?:[.]([0-9]*+))?(?:[eE]([+-]?)(?=[0-9])0*+([0-9]{0,3}))?");

  PlainNumber() {
    super(NAME, new DataType[] {DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String text) {
    if (text == null || NumberSegment.isPlain(text)) {
      return text;
    }
    if (!isOfNumbersSigns(text)) {
      return infinite(text); // most texts that are no numbers are times, and the pattern looks long at each
    }
    String told = text.toString();
    Matcher parts = NUMBER.matcher(told.trim()); // of signs of control, too, as Spark's casts do
    if (!parts.matches()) {
      return null;
    }
    UTF8String number = UTF8String.fromString(written(parts));
    return NumberSegment.isPlain(number) ? number : null;
  }

  /** What Spark's cast to a double takes for infinity. */
  private static UTF8String infinite(UTF8String text) {
    byte first = text.getByte(0);
    if (text.numBytes() > LONGEST_WORD || first >= '0' && first <= '9') {
      return null;
    }
    switch (text.toString().trim().toLowerCase(Locale.ROOT)) {
      case "inf":
      case "+inf":
      case "infinity":
      case "+infinity":
        return NumberSegment.ABOVE_ALL;
      case "-inf":
      case "-infinity":
        return NumberSegment.BELOW_ALL;
      default:
        return null;
    }
  }

  /** Whether all its signs can stand in a number, or around one. */
  private static boolean isOfNumbersSigns(UTF8String text) {
    for (int i = 0; i < text.numBytes(); i++) {
      byte sign = text.getByte(i);
      boolean isKnown = sign >= '0' && sign <= '9' || sign >= 0 && sign <= ' ';
      if (!isKnown && sign != '.' && sign != '-' && sign != '+' && sign != 'e' && sign != 'E') {
        return false;
      }
    }
    return true;
  }

  private static String written(Matcher parts) {
    String sign = parts.group(1);
    String whole = parts.group(2).isEmpty() ? "0" : parts.group(2);
    String behind = parts.group(3) == null ? "" : parts.group(3);
    if (parts.group(4) == null) {
      return sign + whole + (behind.isEmpty() ? "" : "." + behind);
    }
    String power = parts.group(5); // zeros are taken from its beginning, so that of none but zeros nothing is left
    int exponent = power.isEmpty() ? 0 : Integer.parseInt(power);
    return pointed(
        sign.equals("-") ? sign : "",
        withoutZeros(whole + behind),
        behind.length() - (parts.group(4).equals("-") ? -exponent : exponent));
  }

  private static String withoutZeros(String digits) {
    int start = 0;
    while (start < digits.length() - 1 && digits.charAt(start) == '0') {
      start++;
    }
    return digits.substring(start);
  }

  /** Digits with the point `places` from their end; where that is behind it, with zeros. */
  private static String pointed(String sign, String digits, int places) {
    StringBuilder made = new StringBuilder(sign);
    if (places <= 0) {
      made.append(digits);
      for (int i = digits.equals("0") ? 0 : places; i < 0; i++) {
        made.append('0');
      }
      return made.toString();
    }
    for (int i = digits.length(); i <= places; i++) {
      made.append('0');
    }
    made.append(digits);
    return made.insert(made.length() - places, '.').toString();
  }
}
