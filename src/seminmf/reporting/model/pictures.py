"""Arrays as small PNG images inside the page."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import FloatArray
from ..style import DIVERGING, GREY

Bytes = NDArray[np.uint8]


def _palette(stops: tuple[str, ...], steps: int) -> Bytes:
    """Colours between the stops, one row (red, green, blue) each."""
    colours = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    places = np.linspace(0, len(stops) - 1, steps)
    channels = [np.interp(places, np.arange(len(stops)), colours[:, c]) for c in range(3)]
    return np.rint(np.column_stack(channels)).astype(np.uint8)


class Scale:
    """From numbers to colours: white at zero, blue above and orange below; or white to black."""

    def __init__(self, largest: float, signed: bool) -> None:
        self.signed = signed
        self.largest = largest if largest > 0 else 1.0
        # An odd number of colours, so that zero has one of its own.
        self.palette = _palette(DIVERGING if signed else GREY, 255)

    @classmethod
    def of(cls, values: FloatArray) -> Scale:
        """The scale that some values need, with a robust end: single pixels do not set it."""
        magnitude = np.abs(values[np.isfinite(values)])
        largest = float(np.quantile(magnitude, 0.999)) if magnitude.size else 0.0
        signed = bool((values < 0).any())
        return cls(largest or float(magnitude.max(initial=0.0)), signed)

    def indices(self, values: FloatArray) -> Bytes:
        low = -self.largest if self.signed else 0.0
        share = (np.nan_to_num(values) - low) / (self.largest - low)
        return np.rint(254 * np.clip(share, 0, 1)).astype(np.uint8)

    def image(self, values: FloatArray) -> str:
        """Address of an image of a two-dimensional array."""
        return address(png(self.indices(values), self.palette))


def shrunk(values: FloatArray, longest: int) -> FloatArray:
    """Images (…, height, width) by means over squares, until no side is longer than this."""
    height, width = values.shape[-2:]
    step = -(-max(height, width) // longest)
    if step <= 1:
        return values
    rows, columns = np.arange(0, height, step), np.arange(0, width, step)
    sums = np.add.reduceat(np.add.reduceat(values, rows, axis=-2), columns, axis=-1)
    heights, widths = np.diff([*rows, height]), np.diff([*columns, width])
    return np.asarray(sums / np.outer(heights, widths))


def png(indices: Bytes, palette: Bytes) -> bytes:
    """A PNG with a palette of up to 256 colours."""
    height, width = indices.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with "not filtered"
    lines[:, 1:] = indices

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"PLTE", palette.tobytes())
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + chunk(b"IEND", b"")
    )


def address(image: bytes | Any) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")
