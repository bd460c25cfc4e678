package siltstone;

import org.apache.spark.unsafe.types.UTF8String;

/** Dates, moments and times of day of the years 1 to 9999, from counts and from the usual ways to write them. */
final class Times {
  /** What a written moment may say: no zone; that it is UTC; more digits than microseconds have, which are left out. */
  static final int LOCAL = 1;
  static final int ZONED = 2;
  static final int CUT = 4;

  static final long SECOND = 1000000;
  static final long DAY = 86400 * SECOND;
  static final long FIRST_DAY = -719162;
  static final long LAST_DAY = 2932896;
  private static final long INFINITE = 9223372036825200000L; // to PostgreSQL's driver, whatever the unit
  private static final long MINUS_INFINITE = -9223372036832400000L;
  private static final int UP_TO_SECONDS = 19; // signs
  private static final int MOST_DIGITS = 9; // of a second
  private static final int CLOCK = 16; // signs of a usual one
  private static final long DAYS_OF_400_YEARS = 146097;
  private static final long TO_MARCH_OF_YEAR_0 = 719468; // days from there to 1970
  private static final int[] DAYS_OF_MONTHS = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

  private Times() {}

  static Integer days(long number) throws Unsure {
    if (number < FIRST_DAY || number > LAST_DAY) {
      throw Unsure.UNSURE;
    }
    return Integer.valueOf((int) number);
  }

  static Integer date(UTF8String text) throws Unsure {
    if (text.numBytes() != 10) {
      throw Unsure.UNSURE;
    }
    return Integer.valueOf((int) dayOf(text));
  }

  /** The day of a count; `size`: how many of its units a second has. */
  static Integer dayOf(long number, long size) throws Unsure {
    return Integer.valueOf((int) Math.floorDiv(counted(number, size), DAY));
  }

  /** Microseconds since 1970; `size`: how many units of the count a second has; 0 where a number says nothing. */
  static long counted(long number, long size) throws Unsure {
    if (size == 0) {
      throw Unsure.UNSURE;
    }
    long micros;
    if (size > SECOND) {
      if (number == INFINITE || number == MINUS_INFINITE) {
        throw Unsure.UNSURE;
      }
      micros = Math.floorDiv(number, size / SECOND);
    } else {
      long factor = SECOND / size;
      micros = number * factor;
      if (micros / factor != number) {
        throw Unsure.UNSURE;
      }
    }
    if (micros < FIRST_DAY * DAY || micros >= (LAST_DAY + 1) * DAY) {
      throw Unsure.UNSURE;
    }
    return micros;
  }

  /** Microseconds since 1970. `more`: what the text may say. */
  static long written(UTF8String text, int more) throws Unsure {
    int length = text.numBytes();
    boolean utc = length > 0 && text.getByte(length - 1) == 'Z';
    int end = utc ? length - 1 : length;
    int digits = end - UP_TO_SECONDS - 1;
    if ((more & (utc ? ZONED : LOCAL)) == 0 || digits < -1 || digits == 0 || digits > MOST_DIGITS) {
      throw Unsure.UNSURE;
    }
    if (digits > 6 && (more & CUT) == 0) {
      throw Unsure.UNSURE;
    }
    int between = text.getByte(10);
    if ((between != 'T' && between != ' ') || text.getByte(13) != ':' || text.getByte(16) != ':') {
      throw Unsure.UNSURE;
    }
    int hour = few(text, 11, 13);
    int minute = few(text, 14, 16);
    int second = few(text, 17, 19);
    if (hour > 23 || minute > 59 || second > 59) {
      throw Unsure.UNSURE;
    }
    long micros = 0;
    if (digits > 0) {
      if (text.getByte(UP_TO_SECONDS) != '.') {
        throw Unsure.UNSURE;
      }
      micros = number(text, UP_TO_SECONDS + 1, end);
      for (int i = digits; i < 6; i++) {
        micros *= 10;
      }
      for (int i = digits; i > 6; i--) {
        micros /= 10;
      }
    }
    return dayOf(text) * DAY + ((hour * 60L + minute) * 60 + second) * SECOND + micros;
  }

  /** The day of a text that begins with a date of the years 2 to 9998, far from where the calendar ends. */
  private static long dayOf(UTF8String text) throws Unsure {
    int year = few(text, 0, 4);
    int month = few(text, 5, 7);
    int day = few(text, 8, 10);
    boolean leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (text.getByte(4) != '-' || text.getByte(7) != '-' || year < 2 || year > 9998 || month < 1 || month > 12) {
      throw Unsure.UNSURE;
    }
    if (day < 1 || day > DAYS_OF_MONTHS[month - 1] || (month == 2 && day == 29 && !leaps)) {
      throw Unsure.UNSURE;
    }
    // Years that begin with March: the day that a leap year has more is the last one.
    long years = month > 2 ? year : year - 1;
    long era = years / 400;
    long yearOfEra = years - era * 400;
    long dayOfYear = (153L * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * DAYS_OF_400_YEARS + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - TO_MARCH_OF_YEAR_0;
  }

  private static int few(UTF8String text, int start, int end) throws Unsure {
    return (int) number(text, start, end);
  }

  /** The number of at most 18 digits that stands here. */
  static long number(UTF8String text, int start, int end) throws Unsure {
    long number = 0;
    for (int i = start; i < end; i++) {
      int digit = text.getByte(i) - '0';
      if (digit < 0 || digit > 9) {
        throw Unsure.UNSURE;
      }
      number = number * 10 + digit;
    }
    return number;
  }

  /** A count as HH:MM:SS.ffffff; `size`: as of `counted`. */
  static UTF8String clock(long number, long size) throws Unsure {
    long count = Math.abs(number);
    if (size == 0 || count < 0 || (size < SECOND && count > Long.MAX_VALUE / SECOND)) {
      throw Unsure.UNSURE;
    }
    long micros = size > SECOND ? count / (size / SECOND) : count * (SECOND / size);
    JsonWriter text = new JsonWriter(CLOCK);
    if (number < 0) {
      text.put('-');
    }
    timeOfDay(text, micros / SECOND);
    text.put('.');
    text.padded(micros % SECOND, 6);
    return text.text();
  }

  /** Microseconds since 1970 as a date, a blank and a time, with as many digits of the second as say something. */
  static void moment(JsonWriter to, long micros) {
    long day = Math.floorDiv(micros, DAY);
    long ofDay = micros - day * DAY;
    date(to, day);
    to.put(' ');
    timeOfDay(to, ofDay / SECOND);
    long fraction = ofDay % SECOND;
    if (fraction > 0) {
      int width = 6;
      while (fraction % 10 == 0) {
        fraction /= 10;
        width--;
      }
      to.put('.');
      to.padded(fraction, width);
    }
  }

  /** Days since 1970 as a date. */
  static void date(JsonWriter to, long day) {
    // Years that begin with March: the day that a leap year has more is the last one.
    long days = day + TO_MARCH_OF_YEAR_0;
    long era = Math.floorDiv(days, DAYS_OF_400_YEARS);
    long ofEra = days - era * DAYS_OF_400_YEARS;
    long years = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
    long ofYear = ofEra - (365 * years + years / 4 - years / 100);
    long month = (5 * ofYear + 2) / 153;
    date(to, era * 400 + years + (month > 9 ? 1 : 0), month > 9 ? month - 9 : month + 3, ofYear - (153 * month + 2) / 5 + 1);
  }

  static void date(JsonWriter to, long year, long month, long day) {
    to.padded(year, 4);
    to.put('-');
    to.padded(month, 2);
    to.put('-');
    to.padded(day, 2);
  }

  private static void timeOfDay(JsonWriter to, long seconds) {
    timeOfDay(to, seconds / 3600, seconds / 60 % 60, seconds % 60);
  }

  static void timeOfDay(JsonWriter to, long hour, long minute, long second) {
    to.padded(hour, 2);
    to.put(':');
    to.padded(minute, 2);
    to.put(':');
    to.padded(second, 2);
  }
}
