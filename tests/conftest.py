"""Fixtures shared by the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings

from seminmf import datasets

# The first example of a test may compile a kernel, so that no example has a deadline; the same
# examples in every run; and they are small already, so that none is made smaller after a failure.
settings.register_profile(
    "seminmf", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("seminmf")

# A run in the background has Ctrl-C switched off, and tests that press it would wait for it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def paper_data() -> Callable[[str], np.ndarray[Any, Any]]:
    """Samples of one of the paper's data sets from the folder SEMINMF_DATA, or a skipped test."""
    folder = os.environ.get("SEMINMF_DATA")

    def load(name: str) -> np.ndarray[Any, Any]:
        if not folder or not Path(folder).is_dir():
            pytest.skip("SEMINMF_DATA names no folder with data sets")
        if datasets.locate(name) is None:
            pytest.skip(f"SEMINMF_DATA has no {name}")
        return np.asarray(getattr(datasets, f"load_{name}")().data, dtype=np.float64)

    return load
