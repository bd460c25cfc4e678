package siltstone;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

import org.apache.avro.file.DataFileConstants;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.SeekableInput;
import org.apache.avro.generic.GenericDatumReader;

/**
 * The blocks of an Avro file behind the markers that begin in a piece of it. Avro's own reader finds the first one and unpacks
 * them; each belongs to one piece.
 */
final class AvroBlocks {
  private static final int LONGEST_HEAD = 20; // two numbers: how many records, how many bytes
  private static final String CUT_SHORT = "a block of records was cut short";

  private final SeekableInput input;
  private final DataFileReader reader;
  private final long length;
  private final long end;
  private long at;

  AvroBlocks(SeekableInput input, long start, long end) throws IOException {
    this.input = input;
    this.length = input.length();
    this.end = end;
    this.reader = new DataFileReader(input, new GenericDatumReader());
    reader.sync(start);
    this.at = reader.previousSync();
  }

  boolean isAtEnd() {
    return at >= length || at >= end + DataFileConstants.SYNC_SIZE;
  }

  /** The next block; null of one that has no records. */
  AvroBytes unpacked() throws IOException {
    if (!reader.hasNext()) {
      // To Avro's reader, a block that has none is the end of the file, and so is one that was cut short.
      if (counted() > 0) {
        throw new EOFException(CUT_SHORT);
      }
      reader.seek(at);
      return null;
    }
    ByteBuffer found = reader.nextBlock();
    byte[] bytes = new byte[found.remaining()];
    found.get(bytes);
    at = reader.previousSync();
    return new AvroBytes(bytes);
  }

  /** How many records the block has that was unpacked last. */
  long size() {
    return reader.getBlockCount();
  }

  /** How many records the next block has, which is passed over as it is. */
  long counted() throws IOException {
    byte[] head = new byte[LONGEST_HEAD];
    input.seek(at);
    int known = 0;
    for (int read = 0; read >= 0 && known < head.length; read = input.read(head, known, head.length - known)) {
      known += read;
    }
    try {
      AvroBytes from = new AvroBytes(Arrays.copyOf(head, known));
      long records = from.count();
      long bytes = from.count();
      long left = length - at - from.at - DataFileConstants.SYNC_SIZE;
      if (records < 0 || bytes < 0 || bytes > left) {
        throw new EOFException(CUT_SHORT);
      }
      at = length - left + bytes;
      return records;
    } catch (Unsure unsure) {
      throw new EOFException(CUT_SHORT);
    }
  }
}
