package siltstone;

import org.apache.spark.unsafe.types.UTF8String;

/** An object of texts, as it is written. */
final class JsonWriter {
  private static final byte[] NULL = {'n', 'u', 'l', 'l'};
  private final byte[] out;
  private int size = 0;

  /** `most`: how many bytes the fields take at most. */
  JsonWriter(int most) {
    this.out = new byte[most + 2];
  }

  /** `name`, `value`: what is to stand between quotes; a value can be null. */
  void field(byte[] name, byte[] value) {
    out[size] = (byte) (size == 0 ? '{' : ',');
    size++;
    quoted(name);
    out[size++] = ':';
    if (value == null) {
      put(NULL);
    } else {
      quoted(value);
    }
  }

  UTF8String object() {
    if (size == 0) {
      out[size++] = '{';
    }
    out[size++] = '}';
    return UTF8String.fromBytes(out, 0, size);
  }

  private void quoted(byte[] text) {
    out[size++] = '"';
    put(text);
    out[size++] = '"';
  }

  private void put(byte[] bytes) {
    System.arraycopy(bytes, 0, out, size, bytes.length);
    size += bytes.length;
  }
}
