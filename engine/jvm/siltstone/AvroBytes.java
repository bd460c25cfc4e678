package siltstone;

/** A place in an Avro record, and what is read there. What no writer of Avro writes is `Unsure`. */
final class AvroBytes {
  private static final int MOST_OF_INT = 5;
  private static final int MOST_OF_LONG = 10;

  final byte[] bytes;
  int at = 0;

  AvroBytes(byte[] bytes) {
    this.bytes = bytes;
  }

  boolean isAtEnd() {
    return at == bytes.length;
  }

  int number() throws Unsure {
    int start = at;
    long number = count();
    if (at - start > MOST_OF_INT || number != (int) number) {
      throw Unsure.UNSURE;
    }
    return (int) number;
  }

  long count() throws Unsure {
    long bits = 0;
    int start = at;
    while (true) {
      if (at >= bytes.length || at - start == MOST_OF_LONG) {
        throw Unsure.UNSURE;
      }
      int next = bytes[at];
      bits |= (next & 0x7FL) << 7 * (at - start);
      at++;
      if (next >= 0) {
        return bits >>> 1 ^ -(bits & 1);
      }
    }
  }

  /** A number that counts from zero up to, not including, `end`: a branch of a union, a symbol of an enum. */
  int index(int end) throws Unsure {
    int index = number();
    if (index < 0 || index >= end) {
      throw Unsure.UNSURE;
    }
    return index;
  }

  boolean flag() throws Unsure {
    int start = skip(1);
    if (bytes[start] != 0 && bytes[start] != 1) {
      throw Unsure.UNSURE;
    }
    return bytes[start] == 1;
  }

  float single() throws Unsure {
    return Float.intBitsToFloat((int) little(4));
  }

  double fraction() throws Unsure {
    return Double.longBitsToDouble(little(8));
  }

  private long little(int size) throws Unsure {
    int start = skip(size);
    long bits = 0;
    for (int i = size - 1; i >= 0; i--) {
      bits = bits << 8 | bytes[start + i] & 0xFFL;
    }
    return bits;
  }

  /** Goes behind a text, or bytes; gives where they start. They end where this is then. */
  int sized() throws Unsure {
    long size = count();
    if (size < 0 || size > bytes.length - at) {
      throw Unsure.UNSURE;
    }
    return skip((int) size);
  }

  int skip(int size) throws Unsure {
    if (size > bytes.length - at) {
      throw Unsure.UNSURE;
    }
    int start = at;
    at += size;
    return start;
  }

  /** How many items the next block of an array or a map has; 0 behind the last one. */
  int block() throws Unsure {
    long items = count();
    if (items < 0) {
      items = -items;
      count(); // how many bytes they take
    }
    if (items < 0 || items > bytes.length - at) {
      throw Unsure.UNSURE;
    }
    return (int) items;
  }
}
