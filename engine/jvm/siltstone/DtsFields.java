package siltstone;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** The columns that a record of DTS names, and what is the same for all records that name them so. */
final class DtsFields {
  private static final long SEED = 42; // of xxhash64
  private static final int[] DECIMALS = {0, 2, 246, 1700};

  /** What a character set is to the bytes of a text. */
  static final int NONE = 0; // they are bytes
  static final int OF_UTF8 = 1;
  static final int LIKE_ASCII = 2; // where they are those of ASCII
  static final int OTHER = 3;
  private static final List UTF8 = Arrays.asList(new String[] {"utf8mb4", "utf8", "utf8mb3", "utf-8", "al32utf8", "ascii",
    "us-ascii", "us7ascii", "unicode", "utf8mb4_bin", "ansi_x3.4-1968"});
  private static final List ASCII = Arrays.asList(new String[] {"latin1", "cp1252", "gbk", "gb2312", "gb18030",
    "zhs16gbk"});

  final int[] numbers;
  /** The names as JSON, each with a colon behind it. */
  final byte[][] labels;
  /** As to_json writes them. */
  final byte[] json;
  /** xxhash64 of the source's name and these. */
  final long hash;
  private final byte[][] names;
  private final byte[] source;
  private final byte[] bytes;
  private Charset lastCharset;

  /** `bytes`: the array of fields, as it stands in the record. */
  DtsFields(byte[] bytes, byte[] source) throws Unsure {
    this.bytes = bytes;
    this.source = source;
    AvroBytes from = new AvroBytes(bytes);
    JsonWriter to = new JsonWriter(4 * bytes.length);
    byte[][] found = new byte[8][];
    int[] kinds = new int[8];
    int size = 0;
    to.put('[');
    for (int items = from.block(); items > 0; items = from.block()) {
      for (int i = 0; i < items; i++) {
        if (size == found.length) {
          found = (byte[][]) Arrays.copyOf(found, 2 * size);
          kinds = Arrays.copyOf(kinds, 2 * size);
        }
        int start = from.sized();
        found[size] = Arrays.copyOfRange(bytes, start, from.at);
        kinds[size] = from.number();
        if (size > 0) {
          to.put(',');
        }
        to.raw("{\"name\":");
        to.quoted(found[size], 0, found[size].length);
        to.raw(",\"dataTypeNumber\":");
        to.number(kinds[size]);
        to.put('}');
        size++;
      }
    }
    to.put(']');
    names = (byte[][]) Arrays.copyOf(found, size);
    numbers = Arrays.copyOf(kinds, size);
    json = to.text().getBytes();
    labels = new byte[size][];
    long code = hashed(source, SEED);
    for (int i = 0; i < size; i++) {
      if (indexOf(names[i]) < i) {
        throw Unsure.UNSURE; // two of one name
      }
      labels[i] = JsonWriter.label(names[i]);
      code = XXH64.hashInt(numbers[i], hashed(names[i], code));
    }
    hash = code;
  }

  private static long hashed(byte[] text, long seed) {
    return XXH64.hashUnsafeBytes(text, Platform.BYTE_ARRAY_OFFSET, text.length, seed);
  }

  /** Whether these are the fields that stand there. */
  boolean are(byte[] record, int start, int end, byte[] from) {
    return source == from && Arrays.equals(bytes, 0, bytes.length, record, start, end);
  }

  int size() {
    return numbers.length;
  }

  /** Which one is called so; -1 where none is. */
  int indexOf(byte[] name) {
    for (int i = 0; i < names.length; i++) {
      if (Arrays.equals(names[i], name)) {
        return i;
      }
    }
    return -1;
  }

  /** What the character set is that is named there: most often the one of the last text. */
  int charset(byte[] from, int start, int end) {
    Charset last = lastCharset;
    if (last == null || !Arrays.equals(last.name, 0, last.name.length, from, start, end)) {
      last = new Charset(Arrays.copyOfRange(from, start, end));
      lastCharset = last;
    }
    return last.kind;
  }

  private static final class Charset {
    final byte[] name;
    final int kind;

    Charset(byte[] name) {
      this.name = name;
      String told = new String(name, StandardCharsets.UTF_8);
      String small = told.toLowerCase();
      boolean isNone = told.isEmpty() || told.equals("binary");
      this.kind = isNone ? NONE : UTF8.contains(small) ? OF_UTF8 : ASCII.contains(small) ? LIKE_ASCII : OTHER;
    }
  }

  /** Whether a type's number is that of decimals, in any source. */
  boolean isDecimal(int number) {
    for (int i = 0; i < DECIMALS.length; i++) {
      if (DECIMALS[i] == number) {
        return true;
      }
    }
    return false;
  }
}
