"""What happens where compiled code cannot be kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seminmf import _compile


def test_without_a_cache_folder_it_warns_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _compile.njit

    def refusing(cache: bool = False, **options: Any) -> Callable[..., Any]:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(_compile, "njit", refusing)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        double = _compile.compiled(lambda x: 2 * x)
    assert double(21) == 42
