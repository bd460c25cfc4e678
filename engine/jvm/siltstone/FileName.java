package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function (file, folder with its slash) that gives the file's name below the folder; all of it where it is not there. The
 * rows of a file stand together: what was found for the last one is kept.
 */
public final class FileName extends Scalar {
  static final String NAME = "file_name";

  private transient Found last;

  FileName() {
    super(NAME, new DataType[] {DataTypes.StringType, DataTypes.StringType}, DataTypes.StringType);
  }

  public UTF8String invoke(UTF8String file, UTF8String folder) {
    if (file == null || folder == null) {
      return null;
    }
    Found now = last;
    if (now == null || !now.file.equals(file) || !now.folder.equals(folder)) {
      now = new Found(file.clone(), folder.clone());
      last = now;
    }
    return now.name;
  }

  /** A file and its name, in one: whoever else asks the function at the same time sees both or neither. */
  private static final class Found {
    final UTF8String file;
    final UTF8String folder;
    final UTF8String name;

    Found(UTF8String file, UTF8String folder) {
      this.file = file;
      this.folder = folder;
      int at = file.toString().indexOf(folder.toString());
      this.name = at < 0 ? file : UTF8String.fromString(file.toString().substring(at + folder.toString().length()));
    }
  }
}
