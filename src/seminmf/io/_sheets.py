"""Tables of other programs: Excel, Feather, JSON lines, and folders of 10x Genomics."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._optional import need
from ._binary import frame_columns, read_mtx
from ._header import beside_table, has_header
from ._layout import SAMPLE_LINES, named, unique
from ._marks import MISSING, POINT
from ._strangers import check_room, guarded, unzipped
from ._table import Format, Raw, TableError, nearest, pandas_for, told_by


@guarded("a Feather file")
def read_feather(path: str, format: Format) -> Raw:
    """Columns of a Feather file, whose offsets Arrow follows unseen unless it is asked to look."""
    pandas_for("Feather files")
    table = need("pyarrow.feather", "Feather files").read_table(path, memory_map=False)
    table.validate(full=True)
    return frame_columns(table.to_pandas(), format)


@guarded("a file of JSON lines in UTF-8")
def read_json_lines(path: str, format: Format) -> Raw:
    """One object in each line; what an object lacks is missing."""
    content = Path(path).read_bytes()
    if format.gzip:
        content = unzipped(path, content)
    text = content.decode("utf-8-sig")
    rows: list[dict[str, Any]] = []
    cure = 'write one in each line, as in {"a": 1, "b": 2}.'
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TableError(
                f"{path}: line {number} is not JSON: {told_by(error)}; {cure}"
            ) from None
        if not isinstance(row, dict):
            raise TableError(f"{path}: line {number} is not an object; {cure}")
        rows.append(row)
    if not rows:
        raise TableError(f"{path} is empty.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _objects([row.get(name) for row in rows]) for name in names}
    return Raw(replace(format, kind="jsonl"), columns)


def _objects(values: list[Any]) -> Any:
    """A column; pandas makes numbers of it where all are."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return pandas_for().Series(column).infer_objects()


@guarded()
def read_excel(path: str, format: Format, sheet: str | None, header: bool | None) -> Raw:
    """A sheet of an Excel file: its first, or the one that is named."""
    openpyxl = need("openpyxl", "Excel files")
    try:
        with zipfile.ZipFile(path) as packed:
            check_room(path, sum(member.file_size for member in packed.infolist()))
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise TableError(
            f"{path} is not an Excel file in the present format, or is damaged ({told_by(error)}); "
            "save it as .xlsx or .csv."
        ) from None
    try:
        titles = [page.title for page in book.worksheets]
        if sheet is not None and sheet not in titles:
            raise TableError(f"{path} has no sheet {sheet!r} (--key); {nearest(sheet, titles)}")
        title = titles[0] if sheet is None else sheet
        lines = [list(row) for row in book[title].iter_rows(values_only=True)]
    finally:
        book.close()
    lines = [row for row in lines if any(value is not None for value in row)]
    lines = [row + [None] * (_width(lines) - len(row)) for row in lines]
    used = [any(row[place] is not None for row in lines) for place in range(_width(lines))]
    lines = [[value for value, some in zip(row, used, strict=False) if some] for row in lines]
    if not lines:
        raise TableError(f"{path}: sheet {title!r} is empty.")
    remarks = []
    if sheet is None and len(titles) > 1:
        others = ", ".join(map(repr, titles[1:6])) + (" …" if len(titles) > 6 else "")
        remarks.append(
            f"sheet {title!r}, the first of {len(titles)}; --key names another: {others}"
        )
    texts = [["" if v is None else str(v).strip() for v in row] for row in lines[:SAMPLE_LINES]]
    outside, more = beside_table(texts, POINT)
    remarks += more
    texts = [row for place, row in enumerate(texts) if place not in outside]
    lines = [row for place, row in enumerate(lines) if place not in outside]
    if header is None:
        header, why = has_header(texts, POINT, ())
        remarks += [why] if why else []
    names = [f"x{i}" for i in range(_width(lines))]
    nameless = None
    if header:
        names, again = named(texts[0])
        remarks += again
        nameless = names[0] if not texts[0][0] else None
        lines = lines[1:]
    if not lines:
        raise TableError(f"{path}: sheet {title!r} has a header but no rows.")
    columns = {
        name: _objects([_cell(row[place]) for row in lines]) for place, name in enumerate(names)
    }
    found = {"header": header, "key": sheet}
    return Raw(format, columns, found=found, remarks=remarks, nameless=nameless)


def _width(lines: list[list[Any]]) -> int:
    return max((len(row) for row in lines), default=0)


def _cell(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() in MISSING else value


_MATRIX, _GENES, _CELLS = "matrix.mtx", ("features.tsv", "genes.tsv"), "barcodes.tsv"


def is_10x(path: str) -> bool:
    """Whether a folder is one of 10x Genomics: a matrix with names of genes and cells beside."""
    folder = Path(path)
    return folder.is_dir() and _part(folder, _MATRIX) is not None


def _part(folder: Path, *names: str) -> Path | None:
    """A file of a folder, also one that is compressed."""
    places = (folder / f"{name}{end}" for name in names for end in ("", ".gz"))
    return next((place for place in places if place.is_file()), None)


@guarded()
def read_10x(path: str) -> Raw:
    """Cells as samples, genes as features; the matrix of the folder has them the other way."""
    folder = Path(path)
    matrix_file = _part(folder, _MATRIX)
    assert matrix_file is not None
    zipped = matrix_file.suffix == ".gz"
    raw = read_mtx(str(matrix_file), Format("mtx", ".mtx", zipped))
    matrix = raw.matrix.T.tocsr() if hasattr(raw.matrix, "tocsr") else raw.matrix.T
    names, ids = _listed(folder, *_GENES), _listed(folder, _CELLS)
    for what, found, length in (("genes", names, 1), ("barcodes", ids, 0)):
        if found is not None and len(found) != matrix.shape[length]:
            raise TableError(
                f"{path} is damaged: {matrix_file.name} is for {matrix.shape[length]} {what}, but "
                f"there are names of {len(found)}."
            )
    raw = Raw(Format("mtx", ".mtx"), {}, matrix)
    raw.names = None if names is None else unique(names)
    raw.ids, raw.id_name = ids, "barcode"
    raw.remarks = ["a folder of 10x Genomics: its cells, which are columns there, are the samples"]
    return raw


def _listed(folder: Path, *names: str) -> list[str] | None:
    """Names from a list: of genes their symbols, which come second."""
    place = _part(folder, *names)
    if place is None:
        return None
    content = place.read_bytes()
    try:
        text = (unzipped(str(place), content) if place.suffix == ".gz" else content).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise TableError(f"{place} cannot be read: {told_by(error)}") from None
    rows = [line.split("\t") for line in text.splitlines() if line]
    return [row[1] if len(row) > 1 and names[0] != _CELLS else row[0] for row in rows]
