"""Standard output whose reader can close the pipe: further output is dropped, and the command ends normally."""

import errno
import io
import sys
from typing import Any, Final

from siltstone.engine.errors import SpecError

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def install() -> None:
    """Replace standard output with this one. A stream that already replaced standard output stays."""
    current = sys.stdout
    if isinstance(current, io.TextIOWrapper) and current is sys.__stdout__:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_StandardOutput(current.fileno(), "wb", closefd=False)),
            current.encoding,
            current.errors,
            line_buffering=current.line_buffering,
            write_through=current.write_through,
        )


def finish() -> None:
    """Flush the output now, because an error after the end of the command could not be reported."""
    if sys.stdout:
        sys.stdout.flush()


def is_read() -> bool:
    """Whether the reader of the output is still there, as far as known."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return not (isinstance(raw, _StandardOutput) and raw.is_left)


def no_room(what: str, error: OSError) -> SpecError:
    """The error if a disk, a quota or a file size is exhausted."""
    return SpecError(f"Cannot write {what}: {error.strerror}.", "free some space, or write to another place")


class _StandardOutput(io.FileIO):
    is_left = False

    def write(self, data: Any) -> int:
        if self.is_left:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            self.is_left = True
            return len(data)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self.is_left = True
            raise no_room("to standard output", error) from error
