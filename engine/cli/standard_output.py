"""Standard output that a reader may leave: what nobody reads is dropped, and a command ends as it would have ended."""

import errno
import io
import sys
from typing import Any, Final

from siltstone.engine.errors import SpecError

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def install() -> None:
    """Let what this process prints go through here. A stream that took the place of standard output stays."""
    there = sys.stdout
    if isinstance(there, io.TextIOWrapper) and there is sys.__stdout__:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_StandardOutput(there.fileno(), "wb", closefd=False)),
            there.encoding,
            there.errors,
            line_buffering=there.line_buffering,
            write_through=there.write_through,
        )


def finish() -> None:
    """Write what is left: when the process has ended, an error can no longer be told."""
    if sys.stdout:
        sys.stdout.flush()


def is_read() -> bool:
    """Whether nobody has seen the reader leave."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return not (isinstance(raw, _StandardOutput) and raw.is_left)


def no_room(what: str, error: OSError) -> SpecError:
    """What to say where a disk, a quota or a size is used up."""
    return SpecError(f"Cannot write {what}: {error.strerror}.", "make room, or write to another place")


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
