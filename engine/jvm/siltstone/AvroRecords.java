package siltstone;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

import org.apache.avro.file.SeekableInput;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.errors.QueryExecutionErrors;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;

import scala.collection.AbstractIterator;

/** The records in a piece of an Avro file, as rows of the columns that are asked for; as rows of none, where they are only counted. */
final class AvroRecords extends AbstractIterator implements TaskCompletionListener {
  private static final int LIKELY = 1 << 10; // bytes of a text

  private final String path;
  private final SeekableInput input;
  private final AvroBlocks blocks;
  private final AvroType type;
  private final AvroPiece piece;
  private final JsonWriter text = new JsonWriter(LIKELY);
  private final Object[] values;
  private final InternalRow row; // one for all: who takes it copies it
  private final int textAt;
  private final int lineAt;
  private final int lastAt;
  private AvroBytes block;
  private long left = 0;
  private long read = 0;

  /**
   * `type`: null where no text is asked for. `piece`: what was counted of it; that it has other records by now is an error, as
   * far as it is read. The file is closed at its end, or with the task.
   */
  AvroRecords(
      String path, SeekableInput input, long start, long end, AvroType type, String[] columns, AvroPiece piece)
      throws IOException {
    this.path = path;
    this.input = input;
    this.type = type;
    this.piece = piece;
    this.values = new Object[columns.length];
    this.row = new GenericInternalRow(values);
    this.textAt = Arrays.asList(columns).indexOf(AvroTexts.TEXT);
    this.lineAt = Arrays.asList(columns).indexOf(AvroTexts.LINE);
    this.lastAt = Arrays.asList(columns).indexOf(AvroTexts.IS_LAST);
    int fileAt = Arrays.asList(columns).indexOf(AvroTexts.FILE);
    if (fileAt >= 0) {
      values[fileAt] = piece.file();
    }
    if (TaskContext.get() != null) {
      TaskContext.get().addTaskCompletionListener(this);
    }
    this.blocks = new AvroBlocks(input, start, end);
  }

  public boolean hasNext() {
    try {
      while (left == 0 && !blocks.isAtEnd()) {
        takeBlock();
      }
      if (left == 0) {
        input.close();
      }
      if (values.length > 0 && (left == 0 ? read != piece.records : read + left > piece.records)) {
        throw new IOException("it has changed since its records were counted");
      }
      return left > 0;
    } catch (IOException unread) {
      throw damaged(unread);
    } catch (RuntimeException unread) { // of Avro, and of what unpacks a block
      throw damaged(unread);
    }
  }

  /** Spark says which file it is only of what fails before the first record. */
  private RuntimeException damaged(Exception why) {
    return new IllegalStateException(QueryExecutionErrors.cannotReadFilesError(why, path));
  }

  private void takeBlock() throws IOException {
    if (type == null) {
      left = blocks.counted();
      return;
    }
    block = blocks.unpacked();
    left = block == null ? 0 : blocks.size();
  }

  public Object next() {
    left--;
    long line = piece.first + read;
    read++;
    if (lineAt >= 0) {
      values[lineAt] = Long.valueOf(line);
    }
    if (lastAt >= 0) {
      values[lastAt] = Boolean.valueOf(line == piece.ofFile);
    }
    if (type != null) {
      values[textAt] = written();
    }
    return row;
  }

  private UTF8String written() {
    try {
      text.backTo(0);
      type.write(block, text);
      if (left == 0 && !block.isAtEnd()) {
        throw damaged(new IOException("a block has more in it than its records"));
      }
      return text.text();
    } catch (Unsure unsure) {
      throw damaged(new IOException("a record is none of its file's schema"));
    }
  }

  public void onTaskCompletion(TaskContext context) {
    try {
      input.close();
    } catch (IOException unclosed) {
      throw new UncheckedIOException(unclosed);
    }
  }
}
