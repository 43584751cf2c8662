"""Changes of files: of their bytes, and of what these mean."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Random = np.random.Generator

# Changes of bytes.

NUMBERS = [
    b"1000000000000", b"-1", b"0", b"18446744073709551616", b"1e999", b"-1e-999", b"nan", b"1_0",
    b"0.052021e897425988651", b"1\x005", b"0.5x", b"9" * 40, b"1e", b"+", b"0x10", b"\xc2\xb2",
]  # fmt: skip


def flip(content: bytearray, rng: Random) -> None:
    for _ in range(rng.integers(1, 9)):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))


def overwrite(content: bytearray, rng: Random) -> None:
    first, length = int(rng.integers(len(content))), int(rng.integers(1, 9))
    content[first : first + length] = bytes([rng.choice([0, 255, 127, 48, 57, 10])]) * length


def cut(content: bytearray, rng: Random) -> None:
    del content[int(rng.integers(len(content))) :]


def drop(content: bytearray, rng: Random) -> None:
    first = int(rng.integers(len(content)))
    del content[first : first + int(rng.integers(1, 200))]


def repeat(content: bytearray, rng: Random) -> None:
    first = int(rng.integers(len(content)))
    content[first:first] = content[first : first + int(rng.integers(1, 200))] * int(
        rng.integers(1, 20)
    )


def insert(content: bytearray, rng: Random) -> None:
    first = int(rng.integers(len(content)))
    content[first:first] = rng.bytes(int(rng.integers(1, 30)))


def number(content: bytearray, rng: Random) -> None:
    """A run of digits becomes a number that nobody expects."""
    digits = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return flip(content, rng)
    first = last = digits[rng.integers(len(digits))]
    while last < len(content) and 48 <= content[last] <= 57:
        last += 1
    content[first:last] = NUMBERS[rng.integers(len(NUMBERS))]
    return None


CHANGES: list[Callable[[bytearray, Random], None]] = [
    flip, overwrite, cut, drop, repeat, insert, number,
]  # fmt: skip


def changed(content: bytes, rng: Random) -> tuple[str, bytes]:
    """One or two changes of the bytes, and their names."""
    new, names = bytearray(content), []
    for _ in range(rng.integers(1, 3)):
        change = CHANGES[rng.integers(len(CHANGES))]
        names.append(change.__name__)
        if new:
            change(new, rng)
    return "+".join(names), bytes(new)


# Changes of what the bytes mean. Each file is sealed anew, so that all checksums are right.

VALUES: list[Any] = [
    None, True, -1, 0, 1, 10**12, 2**63, 10**400, -1.5, 1e308, "", "x", "arrays/0.npy", [], {},
    [1, 2], {"$array": "arrays/1.npy", "scalar": False}, {"$float": "nan"}, {"$float": "inf"},
    {"$tuple": []}, {"$dict": {}}, {"$strings": ["a"]}, {"$csr": ["arrays/0.npy"] * 3},
    {"$random": {}}, {"$part": "Norm", "parameters": {}}, {"$model": {"class": "SemiNMF"}},
    {"$neighbours": "KNeighborsTransformer", "parameters": {"n_jobs": 10**6}},
]  # fmt: skip


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All (container, key) of a JSON tree."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in list(keys):
        yield tree, key
        yield from places(tree[key])


def change_header(header: Any, rng: Random) -> str:
    """Values of the header are replaced by others, by each other, or taken away."""
    found = list(places({"model": header["model"], "notes": header["notes"]}))
    holder, key = found[rng.integers(len(found))]
    how = rng.integers(4)
    if how == 0:
        del holder[key]
        return "delete"
    if how == 1:
        other, name = found[rng.integers(len(found))]
        value = json.loads(json.dumps(other[name] if _has(other, name) else None))
    elif how == 2 and isinstance(holder, dict):
        holder[str(rng.choice(["__class__", "__dict__", "fit", "x", "$array"]))] = holder.pop(key)
        return "rename"
    else:
        value = VALUES[rng.integers(len(VALUES))]
    holder[key] = value
    return "replace"


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def change_array(header: Any, members: dict[str, bytes], rng: Random) -> str:
    """An array becomes another one, whose checksum is right."""
    from seminmf.models.container import Arrays

    name = sorted(header["arrays"])[rng.integers(len(header["arrays"]))]
    array = np.load(io.BytesIO(members[name]))
    how = int(rng.integers(6))
    if how == 0:
        array = array.ravel()[: array.size // 2]
    elif how == 1:
        array = np.array([array, array])
    elif how == 2 and array.dtype.kind in "iu":
        array = rng.choice([-1, 0, 2**31 - 1, 2**62, 10**12], array.shape).astype(array.dtype)
    elif how == 3 and array.dtype.kind == "f":
        array = array.copy()
        array.flat[rng.integers(max(array.size, 1)) :] = rng.choice([np.nan, np.inf, -1, 1e308])
    elif how == 4:
        array = array.astype(rng.choice(["S3", "<U5", "c16", "?", "<i8", ">f4"]))
    else:
        array = array[:0]
    # By its bytes: we store no array of complex numbers, but a stranger may.
    array, pack, stream = np.ascontiguousarray(array), Arrays(), io.BytesIO()
    _, entry = pack.members[pack.add(array.reshape(-1).view(np.uint8))]
    entry.update(shape=list(array.shape), dtype=array.dtype.str)
    np.lib.format.write_array(stream, array, version=(2, 0), allow_pickle=False)
    header["arrays"][name], members[name] = entry, stream.getvalue()
    return f"array {how}"


def change_npy(header: Any, members: dict[str, bytes], rng: Random) -> str:
    """The head of an array lies, and the list of arrays lies with it; or it holds an object."""
    name = sorted(header["arrays"])[rng.integers(len(header["arrays"]))]
    shape = [(10**12, 10), (2**62, 4), (-1,), (0, 10**18), (2**31,) * 3][rng.integers(5)]
    descr = str(rng.choice(["<f8", "|O", "|V0", "<U0", "|S1000000000"]))
    stream = io.BytesIO()
    np.lib.format.write_array_header_2_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    members[name] = stream.getvalue() + b"\0" * int(rng.integers(0, 64))
    header["arrays"][name] |= {"shape": list(shape), "dtype": descr, "fortran_order": False}
    return "lying array"


def change_zip(header: Any, members: dict[str, bytes], rng: Random) -> str:
    """Names that lead elsewhere, and members that unpack to much."""
    how = int(rng.integers(3))
    name = sorted(header["arrays"])[rng.integers(len(header["arrays"]))]
    if how == 0:
        escape = str(
            rng.choice(["../../escaped.npy", "/tmp/escaped.npy", "a\\..\\b", "arrays/", "C:"])
        )
        members[escape] = members.pop(name)
        header["arrays"][escape] = header["arrays"].pop(name)
        return "escape"
    if how == 1:
        members[name] = b"\0" * 2**24
        return "bomb"
    header["deep"] = json.loads("[" * 900 + "]" * 900)
    return "deep"


def forged(content: bytes, rng: Random) -> tuple[str, bytes]:
    """A model file with another content, sealed anew."""
    from seminmf.models import container

    if rng.random() < 0.2:
        name, body = changed(content[: -container._SEAL_LENGTH], rng)
        return f"sealed {name}", body + container._seal(io.BytesIO(body), len(body))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop(container.HEADER))
    kind = rng.random()
    if kind < 0.6:
        name = change_header(header, rng)
    elif kind < 0.8:
        name = change_array(header, members, rng)
    else:
        name = (change_npy if kind < 0.9 else change_zip)(header, members, rng)
    stream = io.BytesIO()
    packing = zipfile.ZIP_DEFLATED if name == "bomb" else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", packing) as archive:
        warnings.simplefilter("ignore")
        archive.comment = b" " * container._SEAL_LENGTH
        archive.writestr(container.HEADER, json.dumps(header))
        for member, data in members.items():
            archive.writestr(member, data)
    body = stream.getvalue()[: -container._SEAL_LENGTH]
    return f"forged {name}", body + container._seal(io.BytesIO(body), len(body))
