"""The experiments of the paper, and some of our own, as data that can be made again.

A `Spec` stands for one table or figure and plans independent runs. Each finished run is at once
some tidy rows on disk, with its parameters, seed, scores, time and environment; a run whose rows
are there is not done again.

>>> from seminmf.experiments import names
>>> names()[:3]
['table-ionosphere', 'table-waveform', 'table-uspst']
"""

from __future__ import annotations

from collections.abc import Iterable

from .clustering_specs import CLUSTERING_SPECS
from .data import prepare
from .execute import Outcome, execute, missing, perform
from .own_specs import OWN_SPECS
from .runs import Run, Size, Spec
from .store import Store, read_csv, read_rows, write_csv
from .trace_specs import TRACE_SPECS

__all__ = [
    "SPECS",
    "Outcome",
    "Run",
    "Size",
    "Spec",
    "Store",
    "execute",
    "missing",
    "names",
    "perform",
    "plan",
    "prepare",
    "read_csv",
    "read_rows",
    "write_csv",
]

SPECS: dict[str, Spec] = {spec.name: spec for spec in (*CLUSTERING_SPECS, *TRACE_SPECS, *OWN_SPECS)}


def names() -> list[str]:
    """Names of all experiments, in the order in which they are done."""
    return list(SPECS)


def plan(chosen: Iterable[str], size: Size) -> list[Run]:
    """The runs of the named experiments; "all" stands for every one.

    Raises ValueError for a name that is not known.
    """
    wanted = list(chosen)
    unknown = [name for name in wanted if name not in SPECS and name != "all"]
    if unknown:
        known = ", ".join(SPECS)
        raise ValueError(f"no experiment is called {', '.join(unknown)}; there are: all, {known}.")
    if "all" in wanted:
        wanted = names()
    order = [name for name in SPECS if name in wanted]
    return [run for name in order for run in SPECS[name].plan(size)]
