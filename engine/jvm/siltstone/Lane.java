package siltstone;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The messages of a lane of Canal's, or of a piece of one, as they were delivered; and, in the order of the lane, which of
 * them were sent before.
 *
 * A message is: offset (0 where it stands by its file and line), in_file (whether it does), file, line, after_gap (whether
 * its file follows one that was not read), id (of its batch; null where it is of none), es (null where nothing is asked of
 * it), content (a hash of what is the same when it is sent again), beginning (what is known of how it begins, as one of a border: null, or FOLLOWS,
 * CUT, APART). What stands at one place is one message, the least of what was delivered for it. Messages of one id that
 * follow each other are a batch; a batch that begins with all of the one before it has sent these again.
 *
 * It crosses from one process to another as bytes: what Spark reads them with knows no classes of added jars.
 */
final class Lane implements Serializable {
  private static final int FOLLOWS = 0;
  /** What is before it is not known: nobody knows all of a batch that begins so, nor of what the one before went on with. */
  private static final int CUT = 1;
  /** Its batch is whole, and so was the one before, which is not here: the two have been compared. */
  private static final int APART = 2;

  private static final int BEGINNING = 3;
  private static final int KNOWN = 4;
  private static final int IN_FILE = 8;
  private static final int AFTER_GAP = 16;
  private static final int WITH_ES = 32;
  private static final int WITH_ID = 64;
  private static final int LONGS = 5;
  private static final int BYTES = LONGS * 8 + 4 + 1;
  /** So many batches at each end of a piece are judged by what is beside the piece. */
  private static final int AT_AN_END = 2;

  private int size;
  private long[] offsets = new long[16];
  private long[] lines = new long[16];
  private long[] ids = new long[16];
  private long[] times = new long[16];
  private long[] contents = new long[16];
  private int[] files = new int[16];
  private byte[] flags = new byte[16];
  private final ArrayList names = new ArrayList();
  private final HashMap numbers = new HashMap();
  private int lastFile = -1;
  /** Where each file stands in the order of their names. */
  private int[] ranks;
  /** The deliveries in the order of the lane, and those of one place by what they hold. */
  private int[] order;
  /** Where in the order the deliveries of each place begin; and behind the last ones, the end. */
  private int[] places;
  /** The places of the messages that are of a batch, and how each of these begins. */
  private int[] batched;
  private int[] beginnings;

  void add(InternalRow message) {
    grow(size + 1);
    offsets[size] = message.getLong(0);
    files[size] = numberOf(message.getUTF8String(2));
    lines[size] = message.getLong(3);
    ids[size] = message.isNullAt(5) ? Long.MIN_VALUE : message.getLong(5);
    times[size] = message.isNullAt(6) ? Long.MIN_VALUE : message.getLong(6);
    contents[size] = message.getLong(7);
    int told = message.isNullAt(8) ? 0 : KNOWN | message.getInt(8);
    told |= message.getBoolean(1) ? IN_FILE : 0;
    told |= message.getBoolean(4) ? AFTER_GAP : 0;
    told |= message.isNullAt(5) ? 0 : WITH_ID;
    told |= message.isNullAt(6) ? 0 : WITH_ES;
    flags[size] = (byte) told;
    size++;
  }

  void add(Lane other) {
    grow(size + other.size);
    System.arraycopy(other.offsets, 0, offsets, size, other.size);
    System.arraycopy(other.lines, 0, lines, size, other.size);
    System.arraycopy(other.ids, 0, ids, size, other.size);
    System.arraycopy(other.times, 0, times, size, other.size);
    System.arraycopy(other.contents, 0, contents, size, other.size);
    System.arraycopy(other.flags, 0, flags, size, other.size);
    int[] here = new int[other.names.size()];
    for (int i = 0; i < here.length; i++) {
      here[i] = numberOf((UTF8String) other.names.get(i));
    }
    for (int i = 0; i < other.size; i++) {
      files[size + i] = here[other.files[i]];
    }
    size += other.size;
  }

  private int numberOf(UTF8String file) {
    if (lastFile < 0 || !names.get(lastFile).equals(file)) {
      Integer known = (Integer) numbers.get(file);
      if (known == null) {
        known = Integer.valueOf(names.size());
        UTF8String kept = file.clone();
        names.add(kept);
        numbers.put(kept, known);
      }
      lastFile = known.intValue();
    }
    return lastFile;
  }

  private void grow(int wanted) {
    if (wanted <= offsets.length) {
      return;
    }
    int room = Math.max(wanted, (int) Math.min(Integer.MAX_VALUE - 16, 2L * offsets.length));
    offsets = Arrays.copyOf(offsets, room);
    lines = Arrays.copyOf(lines, room);
    ids = Arrays.copyOf(ids, room);
    times = Arrays.copyOf(times, room);
    contents = Arrays.copyOf(contents, room);
    files = Arrays.copyOf(files, room);
    flags = Arrays.copyOf(flags, room);
  }

  Object writeReplace() {
    int room = 8 + size * BYTES;
    for (int i = 0; i < names.size(); i++) {
      room += 4 + ((UTF8String) names.get(i)).numBytes();
    }
    ByteBuffer out = ByteBuffer.allocate(room);
    out.putInt(size).putInt(names.size());
    for (int i = 0; i < names.size(); i++) {
      byte[] name = ((UTF8String) names.get(i)).getBytes();
      out.putInt(name.length).put(name);
    }
    LongBuffer longs = out.asLongBuffer();
    longs.put(offsets, 0, size).put(lines, 0, size).put(ids, 0, size).put(times, 0, size).put(contents, 0, size);
    out.position(out.position() + size * LONGS * 8);
    out.asIntBuffer().put(files, 0, size);
    out.position(out.position() + size * 4);
    out.put(flags, 0, size);
    return out.array();
  }

  static Lane of(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    Lane made = new Lane();
    int size = in.getInt();
    int many = in.getInt();
    for (int i = 0; i < many; i++) {
      byte[] name = new byte[in.getInt()];
      in.get(name);
      made.numberOf(UTF8String.fromBytes(name));
    }
    made.grow(size);
    LongBuffer longs = in.asLongBuffer();
    longs.get(made.offsets, 0, size).get(made.lines, 0, size).get(made.ids, 0, size);
    longs.get(made.times, 0, size).get(made.contents, 0, size);
    in.position(in.position() + size * LONGS * 8);
    in.asIntBuffer().get(made.files, 0, size);
    in.position(in.position() + size * 4);
    in.get(made.flags, 0, size);
    made.size = size;
    return made;
  }

  /** What `ResentMessages` gives. `isPiece`: the batches at its ends are of the border, and not judged. */
  InternalRow judged(boolean isPiece) {
    ranks = ranks();
    order = order();
    places = places();
    batched = batched();
    int messages = batched.length;
    beginnings = new int[messages];
    int[] batches = new int[messages + 1];
    int many = 0;
    for (int i = 0; i < messages; i++) {
      beginnings[i] = beginning(i);
      if (i == 0 || beginnings[i] != FOLLOWS || ids[first(i)] != ids[first(i - 1)]) {
        batches[many++] = i;
      }
    }
    batches[many] = messages;
    boolean[] resent = new boolean[places.length - 1];
    int behind = isPiece ? many - 1 : many;
    for (int batch = isPiece ? AT_AN_END : 1; batch < behind; batch++) {
      mark(batches, batch, resent);
    }
    boolean isShort = many <= 2 * AT_AN_END;
    ArrayList border = new ArrayList();
    if (isPiece) {
      copy(0, isShort ? messages : batches[AT_AN_END], false, border);
      if (!isShort) {
        copy(batches[many - AT_AN_END], messages, true, border);
      }
    }
    return result(resent, isPiece, border, many);
  }

  private int[] order() {
    int[] sorted = new int[size];
    boolean isSorted = true;
    for (int i = 0; i < size; i++) {
      sorted[i] = i;
      isSorted = isSorted && (i == 0 || compared(i - 1, i) <= 0);
    }
    if (isSorted) {
      return sorted;
    }
    Integer[] boxed = new Integer[size];
    for (int i = 0; i < size; i++) {
      boxed[i] = Integer.valueOf(i);
    }
    Arrays.sort(boxed, new ByPlace(this));
    for (int i = 0; i < size; i++) {
      sorted[i] = boxed[i].intValue();
    }
    return sorted;
  }

  private int[] ranks() {
    Object[] sorted = names.toArray();
    Arrays.sort(sorted);
    int[] ranks = new int[sorted.length];
    for (int i = 0; i < ranks.length; i++) {
      ranks[i] = Arrays.binarySearch(sorted, names.get(i));
    }
    return ranks;
  }

  private int compared(int one, int other) {
    int found = comparedByPlace(one, other);
    if (found == 0) {
      found = Integer.compare(flags[one] & AFTER_GAP, flags[other] & AFTER_GAP);
    }
    if (found == 0) {
      found = Integer.compare(ranks[files[one]], ranks[files[other]]);
    }
    if (found == 0) {
      found = Long.compare(ids[one], ids[other]);
    }
    if (found == 0) {
      found = Long.compare(times[one], times[other]);
    }
    return found == 0 ? Long.compare(contents[one], contents[other]) : found;
  }

  private int comparedByPlace(int one, int other) {
    int found = Long.compare(offsets[one], offsets[other]);
    if (found == 0) {
      found = Integer.compare(flags[one] & IN_FILE, flags[other] & IN_FILE);
    }
    if (found == 0 && (flags[one] & IN_FILE) != 0) {
      found = Integer.compare(ranks[files[one]], ranks[files[other]]);
      return found == 0 ? Long.compare(lines[one], lines[other]) : found;
    }
    return found;
  }

  private int[] places() {
    int[] begin = new int[size + 1];
    int many = 0;
    for (int i = 0; i < size; i++) {
      if (i == 0 || comparedByPlace(order[i - 1], order[i]) != 0) {
        begin[many++] = i;
      }
    }
    begin[many] = size;
    return Arrays.copyOf(begin, many + 1);
  }

  private int[] batched() {
    int[] found = new int[places.length - 1];
    int many = 0;
    for (int place = 0; place < found.length; place++) {
      if ((flags[order[places[place]]] & WITH_ID) != 0) {
        found[many++] = place;
      }
    }
    return Arrays.copyOf(found, many);
  }

  /** What counts of a message of a batch: the first of what was delivered for its place. */
  private int first(int message) {
    return order[places[batched[message]]];
  }

  private int beginning(int message) {
    int at = first(message);
    if ((flags[at] & KNOWN) != 0) {
      return flags[at] & BEGINNING;
    }
    boolean isOther = message == 0 || files[at] != files[first(message - 1)];
    return (flags[at] & AFTER_GAP) != 0 && isOther ? CUT : FOLLOWS;
  }

  private void mark(int[] batches, int batch, boolean[] resent) {
    int from = batches[batch];
    int before = batches[batch - 1];
    int many = from - before;
    if (beginnings[from] != FOLLOWS || beginnings[before] == CUT || batches[batch + 1] - from < many) {
      return;
    }
    for (int i = 0; i < many; i++) {
      if (contents[first(before + i)] != contents[first(from + i)]) {
        return;
      }
    }
    for (int i = 0; i < many; i++) {
      resent[batched[from + i]] = true;
    }
  }

  /** `isApart`: the batch at which it begins has been compared with the one before it. */
  private void copy(int from, int to, boolean isApart, ArrayList border) {
    for (int message = from; message < to; message++) {
      int beginning = isApart && message == from && beginnings[message] == FOLLOWS ? APART : beginnings[message];
      for (int i = places[batched[message]]; i < places[batched[message] + 1]; i++) {
        int at = order[i];
        Object known = message == 0 ? null : Integer.valueOf(beginning); // what is before a piece, the lane knows
        border.add(
            new GenericInternalRow(
                new Object[] {
                  Long.valueOf(offsets[at]),
                  Boolean.valueOf((flags[at] & IN_FILE) != 0),
                  names.get(files[at]),
                  Long.valueOf(lines[at]),
                  Boolean.valueOf((flags[at] & AFTER_GAP) != 0),
                  (flags[at] & WITH_ID) == 0 ? null : Long.valueOf(ids[at]),
                  timeOf(at),
                  Long.valueOf(contents[at]),
                  known
                }));
      }
    }
  }

  private Object timeOf(int at) {
    return (flags[at] & WITH_ES) == 0 ? null : Long.valueOf(times[at]);
  }

  private InternalRow result(boolean[] resent, boolean isPiece, ArrayList border, int batches) {
    ArrayList told = new ArrayList();
    Long least = null;
    Long greatest = null;
    for (int place = 0; place < resent.length; place++) {
      Long time = isPiece ? (Long) timeOf(order[places[place]]) : null;
      if (time != null && (least == null || time.longValue() < least.longValue())) {
        least = time;
      }
      if (time != null && (greatest == null || time.longValue() > greatest.longValue())) {
        greatest = time;
      }
      Long reached = time != null && greatest.longValue() > time.longValue() ? greatest : null;
      if (!resent[place] && reached == null) {
        continue;
      }
      for (int i = places[place]; i < places[place + 1]; i++) {
        int at = order[i];
        Object[] line = {names.get(files[at]), Long.valueOf(lines[at]), Boolean.valueOf(resent[place]), reached};
        told.add(new GenericInternalRow(line));
      }
    }
    return new GenericInternalRow(
        new Object[] {
          new GenericArrayData(told.toArray()),
          new GenericArrayData(border.toArray()),
          Long.valueOf(batches),
          least,
          greatest
        });
  }

  private static final class ByPlace implements Comparator {
    private final Lane lane;

    ByPlace(Lane lane) {
      this.lane = lane;
    }

    public int compare(Object one, Object other) {
      return lane.compared(((Integer) one).intValue(), ((Integer) other).intValue());
    }
  }
}
