"""Odd and hostile tables, each with what a fit should make of it.

A case is a file to write and what comes of it: the shape of X, or a part of the one-line error;
and words that the command has to say about it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp

Shape = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A file by its name, and what should come of it."""

    file: str
    write: Callable[[Path], Any]
    shape: Shape | None = None
    error: str = ""
    says: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


CASES: dict[str, Case] = {}
ROWS = 12
_rng = np.random.default_rng(7)
VALUES = _rng.normal(size=(ROWS, 5)).round(3)


def lines(head: str | None = "a,b,c,d,e", body: Any = None, sep: str = ",", end: str = "\n") -> str:
    """A table as text."""
    rows = VALUES if body is None else body
    text = [head] if head is not None else []
    return end.join([*text, *(sep.join(map(str, row)) for row in rows)]) + end


def text_case(
    name: str,
    content: str | bytes,
    shape: Shape | None = None,
    error: str = "",
    says: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    file: str = "t.csv",
) -> None:
    data = content.encode() if isinstance(content, str) else content
    CASES[name] = Case(file, lambda path: path.write_bytes(data), shape, error, says, options)


def other_case(
    name: str,
    file: str,
    write: Callable[[Path], Any],
    shape: Shape | None = None,
    error: str = "",
    says: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> None:
    CASES[name] = Case(file, write, shape, error, says, options)


def beside(*columns: Any) -> list[tuple[Any, ...]]:
    """Columns before the numbers."""
    return [(*texts, *row) for *texts, row in zip(*columns, VALUES.tolist(), strict=True)]


N, M = ROWS, 5
NAMES = [f"s{i}" for i in range(N)]
COUNT = list(range(1, N + 1))
HEADER_SAID = ("Line 1 is taken as the header",)

# Headers.
text_case("plain", lines(), (N, M))
text_case("no header", lines(None), (N, M), says=("No header: the columns are called x0",))
text_case("header of numbers from 0", lines("0,1,2,3,4"), (N, M), says=HEADER_SAID)
text_case("header label, 0, 1, …", lines("label,0,1,2,3,4", beside([3, 1] * 6)), (N, M + 1),
          says=HEADER_SAID)  # fmt: skip
text_case("header country, 1990, …", lines("country,1990,1991,1992,1993,1994", beside(NAMES)),
          (N, M), says=HEADER_SAID)  # fmt: skip
CLASSES = [(*row, "ab"[i % 2]) for i, row in enumerate(VALUES)]
text_case("header 400, 405, …, cls", lines("400,405,410,415,420,cls", CLASSES), (N, M),
          says=HEADER_SAID)  # fmt: skip
text_case("header of two years", lines("country,1990,2005", [r[:3] for r in beside(NAMES)]),
          (N, 2), says=HEADER_SAID)  # fmt: skip
text_case("header that only rises", lines("1,2.5,7,8,20,21", beside([5, 2, 4] * 4)), (N, 6),
          says=HEADER_SAID)  # fmt: skip
text_case("numbers of a header that do not rise", lines("900,100,800,200,700"), (N + 1, M),
          says=("taken as a sample, though", "--header"))  # fmt: skip
text_case("such a header, said", lines("900,100,800,200,700"), (N, M), options=("--header",))
text_case("a header that is a sample", lines("0,1,2,3,4"), (N + 1, M), options=("--no-header",))
text_case("rows that all rise", lines(None, np.sort(_rng.normal(size=(N, 6)), axis=1)), (N, 6))
text_case("a gap in line 1", lines("1.5,?,2.5,0.5,1.0"), (N + 1, M), options=("--fill", "median"))
text_case("labels in a header of numbers", lines("1,2,3,cls", [(*r[:3], "xy"[i % 2]) for i, r in
          enumerate(VALUES)]), (N, 3), options=("--labels", "cls"))  # fmt: skip
text_case("labels in line 1 without header", lines("1,2,3,cls", [(*r[:3], "xy"[i % 2]) for i, r in
          enumerate(VALUES)]), error="stands in line 1, which was taken as a sample: say --header",
          options=("--labels", "cls", "--no-header"))  # fmt: skip
text_case("a name twice", lines("a,a,b,b,a"), (N, M))
text_case("a header and no rows", "a,b,c\n", error="has a header but no rows")
text_case("names of one row less", lines("a b c d e", beside(NAMES), " "), (N, M), file="t.txt")
text_case("an empty name", lines("a,,c,d,e"), (N, M))
text_case("names in quotes", lines('"a,1","b","c","d","e"'), (N, M))
text_case("one column", lines("a", VALUES[:, :1]), (N, 1), options=("--model", "semi"))
text_case("one row", lines(body=VALUES[:1]), error="-k 2 is more than there are rows")

# Columns that name or count samples.
for title in ("id", "ID", "sample", "index", "patient_id", "sampleId", "Unnamed: 0"):
    scrambled = [7, 3, 9, 4, 11, 1, 8, 2, 6, 12, 5, 10]
    text_case(f"numeric column {title}", lines(f"{title},a,b,c,d,e", beside(scrambled)), (N, M),
              says=("Columns not used", title, "--keep"))  # fmt: skip
text_case("a column that counts", lines("when,a,b,c,d,e", beside(COUNT)), (N, M),
          says=("'when': it counts the rows",))  # fmt: skip
text_case("a column that rises", lines("when,a,b,c,d,e", beside([i * i for i in COUNT])), (N, M),
          says=("'when': its whole numbers rise",))  # fmt: skip
text_case("a column that counts, kept", lines("when,a,b,c,d,e", beside(COUNT)), (N, M + 1),
          options=("--keep", "when"))  # fmt: skip
text_case("a kept column that is not there", lines(), error="no column 'z' for --keep",
          options=("--keep", "z"))  # fmt: skip
text_case("a huge constant", lines("f,a,b,c,d,e", beside([6.701941252062922e16] * N)), (N, M + 1))
text_case("an index of real numbers", lines("index,b,c,d,e"), (N, M))
text_case("nothing but a count", lines("n", [(i,) for i in COUNT]), (N, 1),
          options=("--model", "semi"))  # fmt: skip
text_case("ids of 40 digits", lines("id,a,b,c,d,e", beside(["9" * 39 + str(i % 10) for i in
          COUNT])), (N, M), says=("'id'",))  # fmt: skip
text_case("a name asked for", lines("id,a,b,c,d,e", beside(NAMES)), (N, M), options=("--id", "id"))
text_case("an id twice", lines("id,a,b,c,d,e", beside(["x"] * N)), error="more than once",
          options=("--id", "id"))  # fmt: skip

# Gaps and their marks.
GAPS = VALUES.astype(object)
GAPS[2, 1] = GAPS[5, 3] = "?"
text_case("question marks", lines(body=GAPS), error="2 values are missing or infinite")
text_case("question marks, filled", lines(body=GAPS), (N, M), options=("--fill", "median"),
          says=("Filled 2 missing values",))  # fmt: skip
text_case("question marks, dropped", lines(body=GAPS), (N - 2, M), options=("--drop-missing",))
for mark in ("-", "*", "missing"):
    marked = np.where(GAPS == "?", mark, GAPS)
    text_case(f"gaps marked {mark}", lines(body=marked), (N, 3), says=("has text in 1 row",))
    text_case(f"gaps marked {mark}, said", lines(body=marked), (N, M),
              options=("--na-values", mark, "--fill", "median"))  # fmt: skip
text_case("a number that is a gap", lines(body=np.where(GAPS == "?", "-999", GAPS)), (N, M),
          options=("--na-values", "-999", "--fill", "median"), says=("Filled 2",))  # fmt: skip
for word in ("NA", "N/A", "nan", "NULL", "#N/A", "#DIV/0!", "", "inf"):
    text_case(f"gaps called {word or 'nothing'}", lines(body=np.where(GAPS == "?", word, GAPS)),
              error="2 values are missing or infinite")  # fmt: skip
text_case("an empty column", lines("a,b,c,d,e,f", [(*r, "") for r in VALUES]), (N, M))
text_case("only gaps", lines("a,b", [("", "")] * 4), error="no numeric column")
text_case("-Infinity", lines(body=np.where(GAPS == "?", "-inf", GAPS)), (N - 2, M),
          options=("--drop-missing",))  # fmt: skip

# Marks, delimiters, lines.
GERMAN = [[f"{1000 * v:,.2f}".translate(str.maketrans(",.", ".,")) for v in r] for r in VALUES]
ENGLISH = [[f'"{1000 * v:,.2f}"' for v in row] for row in VALUES]
text_case("1.234,50", lines("a;b;c;d;e", GERMAN, ";"), (N, M), says=("between the thousands",))
text_case('"1,234.50"', lines(body=ENGLISH), (N, M), says=("between the thousands",))
text_case("decimal commas", lines("a;b;c;d;e", [[str(v).replace(".", ",") for v in r] for r in
          VALUES], ";"), (N, M))  # fmt: skip
text_case("decimal commas in quotes", lines(body=[[f'"{v}"'.replace(".", ",") for v in r] for r in
          VALUES]), error="--decimal ,")  # fmt: skip
text_case("the same, said", lines(body=[[f'"{v}"'.replace(".", ",") for v in r] for r in VALUES]),
          (N, M), options=("--decimal", ","))  # fmt: skip
text_case("a decimal mark of nobody", lines(), error="must be . or ,", options=("--decimal", "x"))
text_case("comments on top", "# made by hand\n# in 1999\n" + lines(), (N, M),
          says=("2 lines that begin with '#' left out",))  # fmt: skip
text_case("comments between", lines() + "#a,b\n" + lines(None), (2 * N, M), says=("1 line that",))
text_case("a header after #", "# note\n#" + lines(), (N, M))
text_case("comments with %", "% note\n" + lines(), (N, M), options=("--comment", "%"))
text_case("comments kept", "#a,b,c,d,e\n" + lines(None), (N, M), options=("--comment", ""))
text_case("nothing but comments", "# a\n# b\n", error="has comments but no rows")
text_case("sep=;", "sep=;\n" + lines("a;b;c;d;e", sep=";"), (N, M))
text_case("tabs", lines("a\tb\tc\td\te", sep="\t"), (N, M), file="t.tsv")
text_case("pipes", lines("a|b|c|d|e", sep="|"), (N, M))
text_case("spaces", lines("a b c d e", sep="   "), (N, M), file="t.txt")
text_case("a file .data", lines(None), (N, M), file="iris.data")
text_case("a file .dat of spaces", lines(None, sep=" "), (N, M), file="t.dat")
text_case("line ends of Windows", lines(end="\r\n"), (N, M))
text_case("a mark of bytes", "\ufeff" + lines(), (N, M))
text_case("UTF-16", lines().encode("utf-16"), (N, M))
text_case("Latin-1", lines("größe,b,c,d,e").encode("latin-1"), error="--encoding latin-1")
text_case("Latin-1, said", lines("größe,b,c,d,e").encode("latin-1"), (N, M),
          options=("--encoding", "latin-1"))  # fmt: skip
text_case("blank lines", "\n\n" + lines().replace("\n", "\n\n"), (N, M))
text_case("a short line", lines() + "1,2\n", error="line 14 has 2 values")
text_case("a long line", lines() + "1,2,3,4,5,6\n", error="line 14 has 6 values")
text_case("a short line below comments", "# a\n" + lines() + "1,2\n", error="line 15 has 2 values")
text_case("a quote that is not closed", lines() + '"1,2,3,4,5\n', error="t.csv")
text_case("empty", "", error="is empty")
text_case("zero bytes", b"a,b\n1,\0\n", error="not a text file")
text_case("a delimiter in the last place", lines("a,b,c,d,e,", [(*r, "") for r in VALUES]), (N, M))

# Lines that are neither names nor samples.
TITLE = "Results of 2020\n\n"
text_case("a title", TITLE + lines(), (N, M), says=("1 line above the table left out: 'Results",))
text_case("a title in cells", "Results of 2020,,,,\n" + lines(), (N, M), says=("1 line above",))
text_case("a title without names", TITLE + lines(None), (N, M), says=("1 line above", "No header"))
text_case("lines of an agency", '"Data Source","World"\n\n"Last Updated","2020"\n\n' + lines(
          "country,1990,1991,1992,1993,1994", beside(NAMES)), (N, M),
          says=("2 lines above",))  # fmt: skip
text_case("a title, names and units", TITLE + lines("a,b,c,d,e\nm,kg,s,V,A"), (N, M),
          says=("1 line above", "text above numbers: 'm'"))  # fmt: skip
text_case("units", lines("a,b,c,d,e\n[m],[kg],[s],[V],[-]"), (N, M), says=("below the header",))
text_case("units beside names", lines("id,a,b,c,d,e\n,m,kg,s,V,A", beside(NAMES)), (N, M),
          says=("below the header left out",))  # fmt: skip
text_case("two lines of names", lines("A,A,B,B,B\na,b,c,d,e"), (N, M), says=("'A' became 'A.1'",))
text_case("gaps that look like units", lines("a,b,c,d,e\n-,-,-,-,-"), (N, M),
          says=("--na-values '-' if that is a gap",))  # fmt: skip
text_case("such gaps, said", lines("a,b,c,d,e\n-,-,-,-,-"), (N + 1, M),
          options=("--na-values", "-", "--fill", "median"))  # fmt: skip
text_case("a comment of another kind", "// made by hand\n" + lines(), (N, M), says=("1 line",))
text_case("a comment that is indented", "  # made by hand\n" + lines(), (N, M), says=("1 line",))
text_case("a name too few", lines("a,b,c"), error="line 2 has 5 values, but there are 3 columns")
text_case("a note below", lines() + "!end\n", error="leave out lines that begin so with --comment "
          "'!'")  # fmt: skip
text_case("a note below, said", lines() + "!end\n", (N, M), options=("--comment", "!"))
text_case("ids after #", lines("id,a,b,c,d,e", beside([f"#{i}" for i in COUNT])),
          error="no rows; 12 lines that begin with '#' left out; --comment '' keeps")  # fmt: skip
text_case("ids after #, said", lines("id,a,b,c,d,e", beside([f"#{i}" for i in COUNT])), (N, M),
          options=("--comment", ""))  # fmt: skip
text_case(
    "a delimiter too many in one line", lines() + "1,2,3,4,5,\n", error="line 14 has 6 values"
)
text_case("names of rows in quotes", lines("a b c d e", beside([f'"row {i}"' for i in COUNT]), " "),
          (N, M), file="t.txt")  # fmt: skip
text_case("tabs and spaces", "a\tb c\td e\n" + "".join(f"{r[0]}\t{r[1]} {r[2]}\t{r[3]} {r[4]}\n"
          for r in VALUES), (N, M), file="t.txt")  # fmt: skip
text_case("UTF-32", lines().encode("utf-32"), (N, M))
text_case("UTF-16 without a mark", lines().encode("utf-16-le"), error="say --encoding utf-16-le")
text_case("the same of the other end", lines().encode("utf-16-be"), error="--encoding utf-16-be")
text_case("UTF-16 without a mark, said", lines().encode("utf-16-be"), (N, M),
          options=("--encoding", "utf-16-be"))  # fmt: skip
text_case("wavelengths that fall", lines("4000.5,3998.6,3996.7,3994.7,3992.8"), (N, M),
          says=("its numbers fall and are far from all others",))  # fmt: skip
text_case("wavenumbers that fall", lines("9,8,7,6,5"), (N, M), says=("it counts 9, 8, …",))

# Columns without a name.
SHUFFLED = [7, 3, 9, 4, 11, 1, 8, 2, 6, 12, 5, 10]
text_case("a shuffled index", lines(",a,b,c,d,e", beside(SHUFFLED)), (N, M),
          says=("row numbers without a name", "--keep 'column 1'"))  # fmt: skip
text_case("a shuffled index, kept", lines(",a,b,c,d,e", beside(SHUFFLED)), (N, M + 1),
          options=("--keep", "column 1"))  # fmt: skip
text_case("an index of text", lines(",a,b,c,d,e", beside(NAMES)), (N, M))
text_case("nothing but an id and text", lines("id,name", [(i, f"n{i}") for i in COUNT]), (N, 1),
          says=("'id' is a feature because nothing else is, though it counts the rows",),
          options=("--model", "semi"))  # fmt: skip

# Numbers as people write them.
MILLIONS = (1e6 * np.abs(VALUES) + 1e3).astype(int)


def thousands(mark: str, quote: str = "") -> list[list[str]]:
    """Whole numbers beside one with a decimal point."""
    return [[f"{quote}{a:,}{quote}".replace(",", mark), f"{v}"] for a, v in
            zip(MILLIONS[:, 0], VALUES[:, 1], strict=True)]  # fmt: skip


text_case("whole thousands in quotes", lines("a,b", thousands(",", '"')), (N, 2),
          says=("',' stands between the thousands",))  # fmt: skip
for mark in (" ", "\u00a0", "'"):
    text_case(f"thousands apart by {mark!r}", lines("a;b", thousands(mark), ";"), (N, 2),
              says=("between the thousands",))  # fmt: skip
text_case("whole thousands of Europe", lines("a;b", [[f"{v:,}".replace(",", ".") for v in row[:2]]
          for row in MILLIONS], ";"), (N, 2), says=("'.' stands between",))  # fmt: skip
text_case("2,041 between semicolons", lines("a;b", [[f"{1 + abs(v):.3f}".replace(".", ",") for v in
          row[:2]] for row in VALUES], ";"), (N, 2), says=("--decimal . if",))  # fmt: skip
text_case("one column of decimal commas", lines("a", [[f"{v}".replace(".", ",")] for v in
          VALUES[:, 0]]), error="--delimiter ';' if the comma is the decimal mark")  # fmt: skip
text_case("the same column, said", lines("a", [[f"{v}".replace(".", ",")] for v in VALUES[:, 0]]),
          (N, 1), options=("--delimiter", ";", "--model", "semi"))  # fmt: skip
text_case("decimal commas between spaces", lines("a b", [[f"{v}".replace(".", ",") for v in row[:2]]
          for row in VALUES], " "), (N, 2), file="t.txt")  # fmt: skip
text_case("the minus of typesetters", lines(body=[[f"{v}".replace("-", "\u2212") for v in row] for
          row in VALUES]), (N, M))  # fmt: skip
for name, written in (("money", "${:.2f}"), ("money after", "{:.2f} €"), ("brackets", "({:.2f})"),
                      ("units", "{:.2f} kg"), ("a bound", "<{:.2f}")):  # fmt: skip
    text_case(f"numbers with {name}", lines("a,b,c,d,e,f", [(*r, written.format(abs(r[0]))) for r in
              VALUES]), (N, M), says=("write it as plain numbers",))  # fmt: skip
for number in ("-999", "-9999", "9999"):
    text_case(f"{number} for none", lines(body=np.where(GAPS == "?", number, GAPS)), (N, M),
              says=(f"'b' has {number} in 1 row, far from all others; --na-values",))  # fmt: skip
text_case("999 as a price", lines(body=[[*r[:4], 900 + i * 9] for i, r in enumerate(VALUES)]),
          (N, M - 1))  # fmt: skip
for word in ("unknown", "(null)"):
    text_case(f"gaps called {word}", lines(body=np.where(GAPS == "?", word, GAPS)), (N, 3),
              says=(f"--na-values {word!r}",))  # fmt: skip

# Cells.
text_case("an exponent without end", lines("a,b,c,d,e,f", [(*r, "0.052021e897425988651" if i else
          "x") for i, r in enumerate(VALUES)]), (N, M), says=("'f': it has text",))  # fmt: skip
text_case("a number of 2,000 digits", lines("a,b,c,d,e,f", [(*r, "1" * 2000) for r in VALUES]),
          error="infinite")  # fmt: skip
text_case("hexadecimal", lines("a,b,c,d,e,f", [(*r, hex(i + 40)) for i, r in enumerate(VALUES)]),
          (N, M), says=("'f': it has text",))  # fmt: skip
text_case("1_000", lines("a,b,c,d,e,f", [(*r, f"{i}_0") for i, r in enumerate(VALUES)]), (N, M),
          says=("'f': it has text",))  # fmt: skip
text_case("true and false", lines("a,b,c,d,e,f", [(*r, ["true", "False"][i % 2]) for i, r in
          enumerate(VALUES)]), (N, M + 1))  # fmt: skip
text_case("dates", lines("a,b,c,d,e,f", [(*r, f"2020-01-{i + 10}") for i, r in enumerate(VALUES)]),
          (N, M))  # fmt: skip
text_case("percent", lines("a,b,c,d,e,f", [(*r, f"{i}%") for i, r in enumerate(VALUES)]), (N, M),
          says=("'f': it has text",))  # fmt: skip
text_case("formulas", lines("a,b,c,d,e,f", [(*r, "=1+1") for r in VALUES]), (N, M))
text_case("text only", lines("a,b", [("x", "y")] * 4), error="no numeric column")
text_case("constant", lines(body=np.ones((N, M))), error="constant")
text_case("scales that differ", lines(body=VALUES * [1, 1, 1, 1, 5000]), (N, M),
          says=("The scales of columns differ by a factor of", "--standardize scale"))  # fmt: skip
text_case("scales that are brought to one", lines(body=VALUES * [1, 1, 1, 1, 5000]), (N, M),
          options=("--standardize", "scale"))  # fmt: skip
GENES = lines("gene," + ",".join(NAMES), [(f"g{j}", *VALUES[:, j]) for j in range(M)])
text_case("genes in rows", GENES, (N, M), options=("--transpose",))
text_case("genes in rows with labels", GENES, error="labels",
          options=("--transpose", "--labels", "gene"))  # fmt: skip

text_case("genes with numbers for names", lines("entrez," + ",".join(NAMES), [(7157 + 13 * j % 7,
          *VALUES[:, j]) for j in range(M)]), (N, M), options=("--transpose",),
          says=("'entrez' names the features; --keep 'entrez' if it is a sample",))  # fmt: skip
text_case("such numbers kept", lines("entrez," + ",".join(NAMES), [(7157 + 13 * j % 7,
          *VALUES[:, j]) for j in range(M)]), (N + 1, M),
          options=("--transpose", "--keep", "entrez"))  # fmt: skip
text_case("a gene without a name", GENES.replace("g2,", ",", 1), (N, M), options=("--transpose",))

# Other kinds of files.
FRAME = pd.DataFrame(VALUES, columns=list("abcde"))


def write_10x(path: Path, n_genes: int = M) -> None:
    path.mkdir()
    with gzip.open(path / "matrix.mtx.gz", "wb") as stream:
        scipy.io.mmwrite(stream, sp.coo_array(VALUES.T))
    genes = "".join(f"ENS{j}\tgene{j}\tGene Expression\n" for j in range(n_genes))
    (path / "features.tsv.gz").write_bytes(gzip.compress(genes.encode()))
    (path / "barcodes.tsv.gz").write_bytes(gzip.compress("\n".join(NAMES).encode()))


def json_lines(path: Path, **more: Any) -> None:
    rows = [{**row, **more} for row in FRAME.to_dict("records")]
    path.write_text("\n".join(map(json.dumps, rows)))


other_case("Excel", "t.xlsx", lambda p: FRAME.to_excel(p, index=False), (N, M))
other_case("Excel, with its index", "t.xlsx", lambda p: FRAME.to_excel(p), (N, M))
other_case("Excel, a header of years", "t.xlsx", lambda p: FRAME.set_axis(
    range(1990, 1995), axis=1).to_excel(p, index=False), (N, M), says=HEADER_SAID)  # fmt: skip
other_case("Excel, another sheet", "t.xlsx", lambda p: FRAME.to_excel(p, sheet_name="x"),
           error="no sheet 'y'", options=("--key", "y"))  # fmt: skip
other_case("Excel, damaged", "t.xlsx", lambda p: p.write_bytes(b"PK\3\4 and so on"),
           error="not an Excel file")  # fmt: skip


def sheet(*above: list[Any], numbers: Any = VALUES) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        for row in (*above, *(list(map(cell, row)) for row in numbers)):
            book.active.append(row)
        book.save(path)

    def cell(value: Any) -> Any:
        return value if isinstance(value, str) else float(value)

    return write


def two_sheets(path: Path) -> None:
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["read me"]}).to_excel(book, sheet_name="About", index=False)
        FRAME.to_excel(book, sheet_name="Data", index=False)


TITLES = list("abcde")
COMMAS = [[f"{v}".replace(".", ",") for v in row] for row in VALUES]
other_case(
    "Excel, a title", "t.xlsx", sheet(["Report"], [], TITLES), (N, M), says=("1 line above",)
)
other_case("Excel, units", "t.xlsx", sheet(TITLES, ["kg"] * 5), (N, M), says=("below the header",))
other_case("Excel, names over names", "t.xlsx", sheet(["A", None, "B"], TITLES), (N, M),
           says=("1 line above the table left out: 'A B'",))  # fmt: skip
other_case("Excel, notes first", "t.xlsx", two_sheets, error="--key names another: 'Data'")
other_case("Excel, notes first, said", "t.xlsx", two_sheets, (N, M), options=("--key", "Data"))
other_case("Excel, decimal commas", "t.xlsx", sheet(TITLES, numbers=COMMAS), error="--decimal ,")
other_case("Excel, decimal commas, said", "t.xlsx", sheet(TITLES, numbers=COMMAS), (N, M),
           options=("--decimal", ","))  # fmt: skip
other_case("Excel, a shuffled index", "t.xlsx", lambda p: FRAME.set_axis(SHUFFLED).to_excel(p),
           (N, M), says=("row numbers without a name",))  # fmt: skip
other_case("Excel, gaps marked -", "t.xlsx", sheet(TITLES, ["1", "-", "3", "-", "5"]), (N + 1, M),
           options=("--na-values", "-", "--fill", "median"), says=("Filled 2",))  # fmt: skip
other_case("JSON lines with gaps", "t.jsonl", lambda p: p.write_text("".join(json.dumps(
    {"a": "n/a" if i == 3 else i % 5, **({"b": i * 7 % 4} if i % 2 else {})}) + "\n" for i in
    COUNT)), (N, 2), options=("--fill", "median"), says=("Filled 7",))  # fmt: skip
other_case("JSON lines with -999", "t.jsonl", lambda p: p.write_text("".join(json.dumps(
    {"a": -999 if i == 3 else i % 5, "b": i * 7 % 4}) + "\n" for i in COUNT)), (N - 1, 2),
    options=("--na-values", "-999", "--drop-missing"))  # fmt: skip
other_case("Feather with gaps", "t.feather", lambda p: FRAME.where(FRAME > -1).to_feather(p),
           (N, M), options=("--fill", "median"), says=("Filled",))  # fmt: skip
other_case("Feather", "t.feather", lambda p: FRAME.to_feather(p), (N, M))
other_case("Feather, damaged", "t.feather", lambda p: p.write_bytes(b"ARROW1"),
           error="not a Feather file")  # fmt: skip
other_case("JSON lines", "t.jsonl", json_lines, (N, M))
other_case("JSON lines, text", "t.jsonl", lambda p: json_lines(p, kind="x", list=[1]), (N, M),
           says=("'kind': it has text", "'list': it has values of type list"))  # fmt: skip
other_case("JSON lines, damaged", "t.jsonl", lambda p: p.write_text('{"a": 1}\n{"a": '),
           error="line 2 is not JSON")  # fmt: skip
other_case("JSON lines, numbers", "t.ndjson", lambda p: p.write_text("1\n2\n"),
           error="line 1 is not an object")  # fmt: skip
other_case("10x", "cells", write_10x, (N, M), says=("10x Genomics",))
other_case("10x, transposed", "cells", write_10x, (N, M), options=("--transpose",))
other_case("10x, damaged", "cells", lambda p: write_10x(p, 3), error="there are names of 3")
other_case("Parquet", "t.parquet", FRAME.to_parquet, (N, M))
other_case("Parquet, damaged", "t.parquet", lambda p: p.write_bytes(b"PAR1PAR1"), error="Parquet")
other_case("NPY", "t.npy", lambda p: np.save(p, VALUES), (N, M))
other_case("NPY, genes in rows", "t.npy", lambda p: np.save(p, VALUES.T), (N, M),
           options=("--transpose",))  # fmt: skip
other_case("NPY of objects", "t.npy", lambda p: np.save(p, np.array([{}]), allow_pickle=True),
           error="holds Python objects")  # fmt: skip
other_case("NPY of one dimension", "t.npy", lambda p: np.save(p, VALUES[0]), error="1 dimension")
other_case("NPZ", "t.npz", lambda p: np.savez(p, X=VALUES), (N, M))
other_case("MTX", "t.mtx", lambda p: scipy.io.mmwrite(p, sp.coo_array(VALUES)), (N, M))
for cell in ("0\0.5", "0.5x", "1_0", "1e"):
    other_case(f"MTX with {cell!r}", "t.mtx", lambda p, cell=cell: p.write_text(
        f"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 {cell}\n2 2 3\n"),
        error="line 3 has")  # fmt: skip
other_case("an unknown kind", "t.xyz", lambda p: p.write_text("1"), error="unknown kind of file")
other_case("NPY with --keep", "t.npy", lambda p: np.save(p, VALUES), error="drop --keep",
           options=("--keep", "a"))  # fmt: skip
other_case("NPY with --decimal", "t.npy", lambda p: np.save(p, VALUES),
           error="--decimal is for text files", options=("--decimal", ","))  # fmt: skip
PARTS = FRAME.assign(id=range(N, 0, -1))
other_case("Parquet in parts with ids", "t.parquet", PARTS.to_parquet, (N, M),
           says=("'id': by its name",), options=("--max-memory", "1GB"))  # fmt: skip
other_case("Parquet in parts, ids kept", "t.parquet", PARTS.to_parquet, (N, M + 1),
           options=("--max-memory", "1GB", "--keep", "id"))  # fmt: skip

# What a second round of strangers brought.
END = ",,,,\n"
PERCENT = [[f"{v}%" for v in row] for row in VALUES]
text_case(
    "names and cells in quotes between semicolons",
    lines(
        '"a;1";"b";"c";"d";"e"', [[f'"{v}"'.replace(".", ",") for v in row] for row in VALUES], ";"
    ),
    (N, M),
)
text_case(
    "a mark of bytes, units and decimal commas",
    "\ufeff"
    + lines(
        "t;p;T;q;v\n[s];[bar];[°C];[l/h];[m]",
        [[str(v).replace(".", ",") for v in row] for row in VALUES],
        ";",
    ),
    (N, M),
    says=("below the header left out",),
)
text_case(
    "dates of two kinds",
    lines(
        "when,a,b,c,d,e", beside([f"2020-01-{i + 9}" if i % 2 else f"{i}/01/2020" for i in COUNT])
    ),
    (N, M),
    says=("'when': it has text",),
)
text_case(
    "seconds since 1970",
    lines("time,a,b,c,d,e", beside([1_600_000_000 + 61 * i + i * i for i in COUNT])),
    (N, M),
    says=("'time': its whole numbers rise",),
)
text_case(
    "years that fall",
    lines("year,a,b,c,d,e", beside([2020 - i for i in COUNT])),
    (N, M),
    says=("'year': it counts the rows",),
)
for one, other in (("yes", "no"), ("T", "F")):
    text_case(
        f"{one} and {other}",
        lines("a,b,c,d,e,f", [(*r, [one, other][i % 2]) for i, r in enumerate(VALUES)]),
        (N, M),
        says=("'f': it has text",),
    )
text_case(
    "TRUE of spreadsheets with a gap",
    lines("a,b,c,d,e,f", [(*r, ["TRUE", "FALSE", ""][i % 3]) for i, r in enumerate(VALUES)]),
    error="4 values are missing",
)
text_case("nothing but percent", lines(body=PERCENT), error="write it as plain numbers")
text_case(
    "ids such as 1E5",
    lines("id,a,b,c,d,e", beside([f"{i}E5" for i in COUNT])),
    (N, M),
    options=("--id", "id"),
)
text_case(
    "classes such as 01",
    lines("c,a,b,d,e,f", beside([f"0{i % 3}" for i in COUNT])),
    (N, M),
    options=("--labels", "c"),
)
text_case("names that differ by case", lines("a,A,b,B,c"), (N, M))
text_case("names that numbers would repeat", lines("a,a.1,a,b,c"), (N, M), says=("became 'a.2'",))
text_case(
    "a delimiter in the last place of the lines alone",
    lines(body=[(*r, "") for r in VALUES]),
    (N, M),
)
text_case("a delimiter in the last place of the names alone", lines("a,b,c,d,e,"), (N, M))
text_case(
    "rows of nothing at the end",
    lines() + END + END,
    (N, M),
    says=("2 lines without any value at the end left out",),
)
text_case(
    "quoted nothing at the end", lines() + '"","","","",""\n', (N, M), says=("1 line without",)
)
text_case("names with spaces above nothing", "a b,c d\n,\n,\n,\n", error="no numeric column")
text_case("a row of nothing within", lines() + END + lines(None), error="5 values are missing")
text_case("a last value that is missing", lines() + "1,2,3,4,\n", error="1 value is missing")
TOTAL = [*VALUES.tolist(), VALUES.sum(axis=0).round(3).tolist()]
text_case("a total below", lines(body=TOTAL), (N + 1, M), says=("The last row is the sum of all",))
text_case(
    "a source below",
    lines() + "\nSource: an agency\n",
    error="line 15 has 1 value, but there are 5 columns; correct or remove this line",
)
text_case(
    "tables one behind the other",
    lines() + lines() + "\ufeff" + lines(),
    (3 * N, M),
    says=("2 lines that repeat the header left out",),
)
text_case("row numbers without a name above", lines(body=beside(COUNT)), (N, M))
text_case("names of 3,000 letters", lines(",".join(c * 3000 for c in "abcde")), (N, M))
text_case("names of pictures", lines("🍎,🍌,👩‍🔬,é,ß"), (N, M))
text_case("names of two lines", lines('"a\n1","b\n(kg)",c,d,e'), (N, M))
text_case(
    "names with brackets",
    lines("n[red],a,b,c,d,[/red]e", beside(NAMES)),
    (N, M),
    says=("'n[red]': it has text",),
)
text_case(
    "names between colons",
    lines("n:b:,a,b,c,d,e", beside(NAMES)),
    (N, M),
    says=("'n:b:': it has text",),
)
text_case("all but one constant", lines("a,b,c", [(1, 2, v) for v in VALUES[:, 0]]), (N, 3))
text_case("line ends of old Macs", lines(end="\r"), (N, M))
text_case(
    "Unicode text of spreadsheets",
    lines("a\tb\tc\td\te", sep="\t", end="\r\n").encode("utf-16"),
    (N, M),
    file="t.txt",
)
text_case("gzip by another name", gzip.compress(lines().encode()), (N, M))
text_case(
    "gaps marked . (SAS)",
    lines(body=np.where(GAPS == "?", ".", GAPS)),
    (N, 3),
    says=("--na-values '.'",),
)
text_case(
    "below what can be measured",
    lines(body=np.where(GAPS == "?", "<0.1", GAPS)),
    (N, 3),
    says=("the first '<0.1' in row 3",),
)
text_case(
    "genes in rows, not said", GENES, (M, N), says=("'gene' seems to name features; --transpose",)
)
text_case(
    "genes with descriptions",
    lines(
        "Name\tDescription\t" + "\t".join(NAMES),
        [(f"g{j}", f"a gene {j}", *VALUES[:, j]) for j in range(M)],
        "\t",
    ),
    (N, M),
    file="t.tsv",
    options=("--transpose",),
)
text_case(
    "expression as GCT",
    f"#1.2\n{M}\t{N}\n"
    + lines(
        "Name\tDescription\t" + "\t".join(NAMES),
        [(f"g{j}", f"gene {j}", *VALUES[:, j]) for j in range(M)],
        "\t",
    ),
    (N, M),
    file="t.txt",
    options=("--transpose",),
    says=("1 line above",),
)
text_case(
    "ARFF",
    "@relation x\n@attribute a real\n@data\n" + lines(None),
    (N, M),
    file="t.data",
    says=("3 lines above the table left out: '@relation x'",),
)
text_case(
    "columns of a width",
    "name  a      b\n"
    + "".join(f"{n:<4}{a:>7.3f}{b:>7.3f}\n" for n, (a, b, *_) in zip(NAMES, VALUES, strict=True)),
    (N, 2),
    file="t.txt",
)
text_case(
    "exponents of Fortran",
    lines("a,b,c,d,e,f", [(*r, f"{i}.5D+02") for i, r in enumerate(VALUES)]),
    (N, M),
    says=("'f': it has text, as '0.5D+02'",),
)
text_case("the end of DOS", lines() + "\x1a", error="correct or remove this line (is a text")
text_case(
    "numbers in single quotes",
    lines(body=[[f"'{v}'" for v in r] for r in VALUES]),
    error="write it as plain numbers",
)
text_case("signs before all numbers", lines(body=[[f"{v:+}" for v in r] for r in VALUES]), (N, M))
text_case("colons between", lines("a:b:c:d:e", sep=":"), error="'a:b:c:d:e': it has text")
text_case("colons between, said", lines("a:b:c:d:e", sep=":"), (N, M), options=("--delimiter", ":"))
for ending, cure in (
    (".xls", "save it as .xlsx"),
    (".ods", "save it as .xlsx"),
    (".json", "one object"),
    (".csv.xz", "unpack it"),
    (".zip", "unpack it"),
    (".rds", "export it"),
):
    text_case(f"a file {ending}", lines(), file=f"t{ending}", error=cure)
other_case(
    "Excel called CSV",
    "t.csv",
    lambda p: FRAME.to_excel(p.with_suffix(".xlsx")) or p.with_suffix(".xlsx").rename(p),
    error="begins like one of .xlsx",
)
other_case(
    "Excel, titles above names over names",
    "t.xlsx",
    sheet(["Experiment 5"], ["A", None, "B"], TITLES),
    (N, M),
    says=("2 lines above the table left out: 'Experiment 5'",),
)
other_case(
    "Excel, a total",
    "t.xlsx",
    sheet(TITLES, numbers=np.array(TOTAL)),
    (N + 1, M),
    says=("The last row is the sum",),
)
other_case("Excel, numbers as text", "t.xlsx", sheet(TITLES, numbers=VALUES.astype(str)), (N, M))
other_case(
    "JSON, an array",
    "t.jsonl",
    lambda p: p.write_text(FRAME.to_json(orient="records")),
    error="line 1 is not an object; write one in each line",
)
other_case(
    "JSON, an array of lines",
    "t.jsonl",
    lambda p: p.write_text('[\n{"a": 1},\n{"a": 2}\n]'),
    error="write one in each line",
)
other_case(
    "JSON lines, nested",
    "t.jsonl",
    lambda p: json_lines(p, more={"x": 1}),
    (N, M),
    says=("'more': it has values of type dict (write them as columns)",),
)
for title, values, columns in (
    ("whole numbers that may lack", pd.array([*COUNT[:6][::-1], *COUNT[:6]], dtype="Int64"), M + 1),
    ("truth that may lack", pd.array([True, False] * 6, dtype="boolean"), M + 1),
    ("decimals", [Decimal(f"{i % 5}.25") for i in COUNT], M + 1),
    ("numbers as text", [f"{i % 5}.25" for i in COUNT], M + 1),
    ("times", pd.date_range("2020", periods=N), M),
    ("spans of time", pd.to_timedelta(range(N), unit="s"), M),
    ("categories", pd.Categorical(["x", "y"] * 6), M),
):
    other_case(f"Parquet, {title}", "t.parquet", FRAME.assign(more=values).to_parquet, (N, columns))
other_case(
    "Parquet, an index twice",
    "t.parquet",
    FRAME.set_axis([i % 3 for i in COUNT]).to_parquet,
    (N, M),
    says=("'the index': it does not tell rows apart",),
)
other_case(
    "Parquet, an index of two levels",
    "t.parquet",
    FRAME.set_axis(
        pd.MultiIndex.from_product([range(3), range(4)], names=["plate", "well"])
    ).to_parquet,
    (N, M),
    says=("ids from 'plate, well'",),
)
other_case(
    "NPZ of several matrices",
    "t.npz",
    lambda p: np.savez(p, train=VALUES, test=VALUES[:3]),
    error="it has train (12, 5), test (3, 5). Save it as X=",
)
other_case(
    "NPZ with classes",
    "t.npz",
    lambda p: np.savez(p, X=VALUES, y=np.arange(N) % 2),
    (N, M),
    options=("--labels", "y"),
)
other_case(
    "NPY of half precision", "t.npy", lambda p: np.save(p, VALUES.astype(np.float16)), (N, M)
)
other_case("NPY of images", "t.npy", lambda p: np.save(p, np.ones((N, 3, 3))), error="3 dimensions")
other_case(
    "MTX with comments",
    "t.mtx",
    lambda p: p.write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n% by hand\n%\n3 3 4\n"
        "1 1 2.5\n2 2 -1\n3 3 4\n3 1 1\n"
    ),
    (3, 3),
)
