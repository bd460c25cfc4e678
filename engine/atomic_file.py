"""Write files atomically: a file appears complete under its name, or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write. It gets its name at the end of the block. After an error, nothing is left.

    Raises: OSError: its folder is not writable.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        part.chmod(0o644)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
