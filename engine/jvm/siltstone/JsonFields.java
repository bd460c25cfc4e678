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

  private JsonFields(UTF8String text) throws Unsure {
    super(text);
  }

  /** The fields of the object in the text; null where this reader is not sure. */
  static JsonFields of(UTF8String text) {
    return read(text, true);
  }

  /** The names in an array, each once, without values; null where this reader is not sure. */
  static JsonFields ofNames(UTF8String text) {
    return read(text, false);
  }

  private static JsonFields read(UTF8String text, boolean isObject) {
    try {
      JsonFields fields = new JsonFields(text);
      fields.read(isObject);
      return fields;
    } catch (Unsure unsure) {
      return null;
    }
  }

  /** Which field is called so; -1 where none is. */
  int indexOf(byte[] name) {
    return indexOf(name, 0, name.length);
  }

  /** Whether each of the names of other fields is one of these. */
  boolean haveAllOf(JsonFields others) {
    for (int i = 0; i < others.size; i++) {
      if (indexOf(others.names[i]) < 0) {
        return false;
      }
    }
    return true;
  }

  /** Whether an object has a field of each of these names: looked at no further than to the last of them. False where not sure. */
  boolean areAllIn(UTF8String object) {
    try {
      return new JsonFields(object).begins(this);
    } catch (Unsure unsure) {
      return false;
    }
  }

  /** How many bytes they take at most: each with four quotes, a colon and a comma, or with the word null. */
  int mostBytes() {
    int bytes = 0;
    for (int i = 0; i < size; i++) {
      bytes += names[i].length + 8 + (values[i] == null ? 0 : values[i].length);
    }
    return bytes;
  }

  private void read(boolean isObject) throws Unsure {
    int last = isObject ? '}' : ']';
    blanks();
    int mark = opened(isObject ? '{' : '[', last);
    while (mark == ',') {
      blanks();
      int start = name();
      byte[] name = Arrays.copyOfRange(text, start, at - 1);
      boolean isNew = indexOf(name) < 0;
      byte[] value = null;
      blanks();
      if (isObject) {
        expect(':');
        blanks();
        value = value();
        blanks();
      }
      if (isNew) {
        add(name, value);
      } else if (isObject) {
        throw Unsure.UNSURE;
      }
      mark = take();
    }
    if (mark != last || !isAtEnd()) {
      throw Unsure.UNSURE;
    }
  }

  private boolean begins(JsonFields wanted) throws Unsure {
    int left = wanted.size;
    boolean[] isFound = new boolean[left];
    blanks();
    int mark = opened('{', '}');
    while (left > 0 && mark == ',') {
      blanks();
      int start = name();
      int which = wanted.indexOf(text, start, at - 1);
      if (which >= 0 && !isFound[which]) {
        isFound[which] = true;
        left--;
      }
      blanks();
      expect(':');
      blanks();
      copied(at, 0);
      blanks();
      mark = take();
    }
    return left == 0;
  }

  private int indexOf(byte[] bytes, int start, int end) {
    for (int i = 0; i < size; i++) {
      if (JsonType.same(names[i], bytes, start, end)) {
        return i;
      }
    }
    return -1;
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
        int kept = copiedNumber(start, true);
        write(kept, at);
        return Arrays.copyOf(out, written);
      }
    }
  }
}
