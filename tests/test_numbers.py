"""What is a number, said before a parser sees it that guesses or crashes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seminmf.io import TableError, read_table
from seminmf.io._numbers import check_numbers, is_number, numbers_in

pd = pytest.importorskip("pandas")
# What crashed pandas.to_numeric.
LONG = "0.052021e897425988651"
GRAMMAR = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?0*[0-9]{1,4})?")


@given(st.text("019+-.eE", min_size=1, max_size=9))
@example("1e")
@example(LONG)
def test_tokens_of_the_characters_of_numbers(token: str) -> None:
    fine = GRAMMAR.fullmatch(token) is not None
    assert is_number(token) == fine
    body = f"1 {token}\n2 3.5e-3\n".encode()
    if fine:
        check_numbers(body, 1)
    else:
        with pytest.raises(ValueError, match=re.escape(f"line 7 has {token!r}, which is not a")):
            check_numbers(body, 7)


@pytest.mark.parametrize("text", ["nan", "-inf", " 1 ", "+Infinity", "1e-0000012", "7" * 40])
def test_words_and_long_numbers(text: str) -> None:
    assert is_number(text)
    check_numbers(f"{text}\n".encode(), 1)


@pytest.mark.parametrize("text", ["1_0", "0.5x", "0x1f", "1\0", "١٢", "½", "1,5", "infin", "1 2"])
def test_what_python_and_scipy_would_take(text: str) -> None:
    assert not is_number(text)
    if " " not in text:
        with pytest.raises(ValueError, match="line 3 has"):
            check_numbers(f"5\n\n{text} 4\n".encode(), 1)


def test_texts_and_numbers_in_a_column() -> None:
    values = np.array(["1", 2, 3.5, LONG, "x", "1", 10**400, "1e3"], dtype=object)
    numbers, odd = numbers_in(values)
    assert odd.tolist() == [False, False, False, True, True, False, False, False]
    assert numbers[[0, 1, 2, 5, 6, 7]].tolist() == [1, 2, 3.5, 1, np.inf, 1000]


def test_no_text_reaches_the_parser_of_pandas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise AssertionError("a segmentation fault in some versions of pandas")

    monkeypatch.setattr(pd, "to_numeric", crash)
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n1,2,{'4' * 40}\n{LONG},3,5\nx,4,6\n")
    table = read_table(path)
    assert table.X.tolist() == [[2, float("4" * 40)], [3, 5], [4, 6]]
    assert {s.name: s.reason for s in table.skipped} == {"a": f"it has text, as {LONG!r}"}


@pytest.mark.parametrize("cell", ["0\0.5", "0.5x", "1_0", "1e", LONG, "1..2", "--1", "0.5-"])
def test_matrix_market_cells_that_are_no_numbers(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "t.mtx"
    path.write_text(
        f"%%MatrixMarket matrix coordinate real general\n% a note\n2 2 2\n1 1 {cell}\n2 2 3\n"
    )
    with pytest.raises(TableError, match=r"damaged: line 4 has .* which is not a number"):
        read_table(path)


def test_numbers_that_matrix_market_has(tmp_path: Path) -> None:
    path = tmp_path / "t.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 -1.5e-3\r\n2 2 .5\n3 1 7.\n"
        "3 2 1E2\n"
    )
    assert read_table(path).X.toarray().tolist() == [[-1.5e-3, 0], [0, 0.5], [7, 100]]
