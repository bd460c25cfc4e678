package siltstone;

import java.util.ArrayList;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (operation, whether the message has rows, `data`, `old`, key columns, whether `old` holds them as they are now)
 * that gives the changes of a message of Canal: where the row stands in it, the operation, the images before and after, and
 * those of another key. An update that changes the key is a delete of the old one, with the image of the new one, and an
 * insert of the new one, with that of the old one. One change without images where the message has no rows.
 */
public final class CanalRows extends OfImages {
  static final String NAME = "canal_rows";
  private static final UTF8String UPDATE = UTF8String.fromString("update");
  private static final UTF8String DELETE = UTF8String.fromString("delete");
  private static final UTF8String INSERT = UTF8String.fromString("insert");
  private static final DataType TEXTS = DataTypes.createArrayType(DataTypes.StringType);
  private static final StructType CHANGE =
      new StructType()
          .add("at", DataTypes.IntegerType)
          .add("op", DataTypes.StringType)
          .add("before", DataTypes.StringType)
          .add("after", DataTypes.StringType)
          .add("old_key", DataTypes.StringType)
          .add("new_key", DataTypes.StringType);

  CanalRows() {
    super(
        NAME,
        new DataType[] {
          DataTypes.StringType, DataTypes.BooleanType, TEXTS, TEXTS, TEXTS, DataTypes.BooleanType
        },
        DataTypes.createArrayType(CHANGE));
  }

  public ArrayData invoke(
      UTF8String op, boolean hasRows, ArrayData data, ArrayData old, ArrayData keys, boolean swapped) {
    ArrayList changes = new ArrayList();
    boolean isUpdate = UPDATE.equals(op);
    ArrayData only = swapped ? (isEmpty(old) ? data : old) : isEmpty(data) ? old : data;
    ArrayData images = isUpdate ? data : only;
    if (!hasRows || isEmpty(images)) {
      add(changes, 0, op, null, null, null, null);
    } else {
      for (int at = 0; at < images.numElements(); at++) {
        UTF8String image = text(images, at);
        if (isUpdate) {
          addUpdate(changes, at, image, old == null ? null : text(old, at), keys, swapped);
        } else if (DELETE.equals(op)) {
          add(changes, at, op, image, null, null, null);
        } else {
          add(changes, at, op, null, image, null, null);
        }
      }
    }
    return new GenericArrayData(changes.toArray());
  }

  /** `other`: the columns that changed, as they were before; of swapped images, as they are after. */
  private void addUpdate(
      ArrayList changes, int at, UTF8String image, UTF8String other, ArrayData keys, boolean swapped) {
    if (other == null) {
      add(changes, at, UPDATE, swapped ? image : null, image, null, null);
      return;
    }
    boolean moves = changesKey(keys, image, other);
    UTF8String whole = swapped || moves ? overlaid(image, other) : null;
    // A column may stand twice in what is joined, which takes no time; whoever reads it into a type takes the second.
    UTF8String before = swapped ? image : Joined.of(image, other);
    UTF8String after = swapped && whole != null ? whole : image;
    if (moves) {
      add(changes, at, DELETE, swapped || whole == null ? before : whole, null, null, after);
      add(changes, at, INSERT, null, after, before, null);
    } else {
      add(changes, at, UPDATE, before, after, null, null);
    }
  }

  private static void add(
      ArrayList changes, int at, UTF8String op, UTF8String before, UTF8String after, UTF8String oldKey, UTF8String newKey) {
    changes.add(new GenericInternalRow(new Object[] {Integer.valueOf(at), op, before, after, oldKey, newKey}));
  }

  private static boolean isEmpty(ArrayData images) {
    return images == null || images.numElements() == 0;
  }

  private static UTF8String text(ArrayData texts, int at) {
    return at >= texts.numElements() || texts.isNullAt(at) ? null : texts.getUTF8String(at);
  }
}
