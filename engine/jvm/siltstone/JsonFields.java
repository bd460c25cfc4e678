package siltstone;

import java.util.Arrays;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * The fields of an object as from_json gives them in a map of texts, where each has a name of its own and no value has
 * parts. What stands between the quotes of a text is kept as it stands there: the way Spark writes it, too.
 */
final class JsonFields extends JsonCopy {
  private static final int MOST = 128; // fields: each is compared with all before it

  byte[][] names = new byte[16][];
  /** What would stand between quotes; null of null. */
  byte[][] values = new byte[16][];
  int size = 0;

  private JsonFields(byte[] text) {
    super(text);
  }

  /** The fields of the object in the text; null where this reader is not sure. */
  static JsonFields of(UTF8String text) {
    try {
      JsonFields fields = new JsonFields(bytesOf(text));
      fields.read();
      return fields;
    } catch (Unsure unsure) {
      return null;
    }
  }

  /** The names in an array, each once, without values; null where this reader is not sure. */
  static JsonFields ofNames(UTF8String text) {
    try {
      JsonFields fields = new JsonFields(bytesOf(text));
      fields.readNames();
      return fields;
    } catch (Unsure unsure) {
      return null;
    }
  }

  private static byte[] bytesOf(UTF8String text) throws Unsure {
    if (text.numBytes() > Json.LONGEST_TEXT) {
      throw Unsure.UNSURE;
    }
    return text.getBytes();
  }

  /** Which field is called so; -1 where none is. */
  int indexOf(byte[] name) {
    for (int i = 0; i < size; i++) {
      if (Arrays.equals(names[i], name)) {
        return i;
      }
    }
    return -1;
  }

  /** How many bytes they take at most: each with four quotes, a colon and a comma, or with the word null. */
  int mostBytes() {
    int bytes = 0;
    for (int i = 0; i < size; i++) {
      bytes += names[i].length + 8 + (values[i] == null ? 0 : values[i].length);
    }
    return bytes;
  }

  private void read() throws Unsure {
    int mark = opened('{', '}');
    while (mark == ',') {
      blanks();
      byte[] name = name();
      if (indexOf(name) >= 0) {
        throw Unsure.UNSURE;
      }
      blanks();
      expect(':');
      blanks();
      add(name, value());
      blanks();
      mark = take();
    }
    ended(mark, '}');
  }

  private void readNames() throws Unsure {
    int mark = opened('[', ']');
    while (mark == ',') {
      blanks();
      byte[] name = name();
      if (indexOf(name) < 0) {
        add(name, null);
      }
      blanks();
      mark = take();
    }
    ended(mark, ']');
  }

  /** Goes behind the first mark; gives the last one where nothing is in between, and then is behind that. */
  private int opened(int first, int last) throws Unsure {
    blanks();
    expect(first);
    blanks();
    if (peek() == last) {
      return take();
    }
    return ',';
  }

  private void ended(int mark, int last) throws Unsure {
    blanks();
    if (mark != last || at < text.length) {
      throw Unsure.UNSURE;
    }
  }

  private void add(byte[] name, byte[] value) throws Unsure {
    if (size == MOST) {
      throw Unsure.UNSURE;
    }
    if (size == names.length) {
      names = (byte[][]) Arrays.copyOf(names, 2 * size);
      values = (byte[][]) Arrays.copyOf(values, 2 * size);
    }
    names[size] = name;
    values[size] = value;
    size++;
  }

  private byte[] name() throws Unsure {
    expect('"');
    int start = at;
    if (!plain() || at - start > LONGEST_NAME) {
      throw Unsure.UNSURE;
    }
    return Arrays.copyOfRange(text, start, at - 1);
  }

  private byte[] value() throws Unsure {
    int start = at;
    switch (peek()) {
      case 'n':
        word("null");
        return null;
      case 't':
        word("true");
        return Arrays.copyOfRange(text, start, at);
      case 'f':
        word("false");
        return Arrays.copyOfRange(text, start, at);
      case '"':
        at++;
        while (!plain()) {
          int escaped = take();
          if (escaped == 'u' || escaped == '/') {
            throw Unsure.UNSURE; // Spark writes it in another way
          }
          at--;
          escape();
        }
        return Arrays.copyOfRange(text, start + 1, at - 1);
      case '{':
      case '[':
        throw Unsure.UNSURE;
      default: {
        written = 0;
        int kept = copiedNumber(start, 0);
        write(kept, at);
        return Arrays.copyOf(out, written);
      }
    }
  }
}
