"""Output to terminals that lack some characters."""

from __future__ import annotations

import codecs
import sys

_HANDLER = "seminmf.plain"
_PLAIN = str.maketrans(
    {"…": "...", "×": "x", "−": "-", "–": "-", "→": "->", "≥": ">=", "‖": "|", "’": "'"}
)


def _in_plain_characters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    encodable = text.encode("ascii", "replace").decode("ascii")
    return encodable, error.end


def speak_plainly() -> None:
    """Have standard output and error write ``...`` or ``?`` for characters that they lack.

    File names may be bytes that are no characters at all, which UTF-8 lacks, too.
    """
    codecs.register_error(_HANDLER, _in_plain_characters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            unicode = "utf" in (stream.encoding or "").lower()
            stream.reconfigure(errors="backslashreplace" if unicode else _HANDLER)
