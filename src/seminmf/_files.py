"""Writing of files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PathLike = str | os.PathLike[str]


def beside(path: Path) -> Path:
    """An unused hidden name in the same folder, from which a rename is atomic."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


@contextmanager
def atomic(path: PathLike) -> Iterator[IO[bytes]]:
    """A stream whose content appears at ``path`` when the block ends without an error.

    It is written beside the target, flushed to the disk and then renamed. After an error or an
    interruption the target is as before, and nothing else remains.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is not a folder; create it first.")
    temporary = beside(target)
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is None:
            # The error of a full disk does not name the file.
            reason = error.strerror or str(error)
            raise OSError(error.errno or errno.EIO, reason, str(target)) from error
        raise
