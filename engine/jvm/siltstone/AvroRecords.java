package siltstone;

import java.io.IOException;
import java.io.UncheckedIOException;

import org.apache.avro.file.SeekableInput;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.errors.QueryExecutionErrors;
import org.apache.spark.util.TaskCompletionListener;

import scala.collection.AbstractIterator;

/** The records in a piece of an Avro file, as rows of one column of text; as rows of none, where they are only counted. */
final class AvroRecords extends AbstractIterator implements TaskCompletionListener {
  private static final int LIKELY = 1 << 10; // bytes of a text

  private final String path;
  private final SeekableInput input;
  private final AvroBlocks blocks;
  private final AvroType type;
  private final JsonWriter text = new JsonWriter(LIKELY);
  private final Object[] values;
  private final InternalRow row; // one for all: who takes it copies it
  private AvroBytes block;
  private long left = 0;

  /** `type`: null where the records are only counted. The file is closed at its end, or with the task. */
  AvroRecords(String path, SeekableInput input, long start, long end, AvroType type) throws IOException {
    this.path = path;
    this.input = input;
    this.type = type;
    this.values = new Object[type == null ? 0 : 1];
    this.row = new GenericInternalRow(values);
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
    if (type == null) {
      return row;
    }
    try {
      text.backTo(0);
      type.write(block, text);
      values[0] = text.text();
      if (left == 0 && !block.isAtEnd()) {
        throw damaged(new IOException("a block has more in it than its records"));
      }
      return row;
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
