"""Checks of what users pass, before any work: each error names argument, value and remedy."""

from __future__ import annotations

import re
import warnings
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._once import once
from .._types import FloatArray

DTYPES = (np.float64, np.float32)
SOLVERS = ("cd", "mu")
STARTS = ("auto", "random", "svd", "kmeans", "exemplar")
# Range of the largest entry in which neither objective nor lengths over- or underflow, by bytes per
# number.
_RANGE = {8: (1e-150, 1e150), 4: (1e-36, 1e36)}
# Squares of larger entries overflow.
_MOST_SQUARED = {8: 1e150, 4: 1e18}
# Weights of penalties outside of this range, beside the size of X, have no effect or leave nothing
# of the data, and would leave the range of numbers; by bytes per number.
MOST_APART = {8: (1e-100, 1e100), 4: (1e-30, 1e18)}


def check_integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_number(name: str, value: Any) -> float:
    """A finite number ≥ 0."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not valid or not isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a finite number, zero or positive, got {value!r}.")
    return float(value)


def check_number_or_auto(name: str, value: Any, auto_from: str) -> Any:
    if isinstance(value, str) and value == "auto":
        return value
    try:
        return check_number(name, value)
    except ValueError:
        raise ValueError(
            f'{name} must be "auto" or a finite number, zero or positive, got {value!r}. '
            f'"auto" sets it from {auto_from}.'
        ) from None


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def check_callback(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be None or a function of one argument, got {callback!r}.")


def check_estimator(name: str, value: Any, method: str) -> None:
    """Raise an error unless this is an object, not a class, with this method that can be cloned."""
    if isinstance(value, type) or not (hasattr(value, method) and hasattr(value, "get_params")):
        raise ValueError(
            f"{name} must be an estimator with {method}, such as "
            f"seminmf.L21SemiNMF(n_components=10), got {value!r}."
        )


def check_memory(max_memory: Any) -> int | None:
    """The number of bytes, which may be given as a text with a unit; None for None."""
    if max_memory is None:
        return None
    size: Any = max_memory
    if isinstance(max_memory, str):
        pattern = r"\s*(\d+\.?\d*|\.\d+)\s*(?:([kmgt])(i?))?b?\s*"
        found, size = re.fullmatch(pattern, max_memory.lower()), None
        if found is not None:
            base, power = 1024 if found[3] else 1000, " kmgt".index(found[2] or " ")
            size = float(found[1]) * base**power
    valid = isinstance(size, Real) and not isinstance(size, bool)
    if not valid or not 1 <= float(size) < 2**62:
        raise ValueError(
            'max_memory must be None, a number of bytes, or a text such as "500MB" or "2GB", got '
            f"{max_memory!r}."
        )
    return int(size)


class _Late:
    """A RandomState that is made on first use.

    Seeding takes 0.1 ms, and the default start draws no numbers.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @once
    def _state(self) -> np.random.RandomState:
        return np.random.RandomState(self._seed)

    def __getattr__(self, name: str) -> Any:
        if name in ("_seed", "_state"):  # an object without a seed, as in copying
            raise AttributeError(name)
        return getattr(self._state, name)

    def __reduce__(self) -> Any:
        """Copies, also by pickle, are plain RandomStates in the present state."""
        return self._state.__reduce__()


def drawn_seed(random_state: Any) -> int | None:
    """The seed of a fit, given or newly drawn; None if ``random_state`` is a RandomState."""
    if random_state is None:
        return int(check_random_state(None).randint(2**31 - 1))
    return int(random_state) if isinstance(random_state, Integral) else None


def check_seed(random_state: Any) -> Any:
    """A RandomState, by scikit-learn's rules."""
    if type(random_state) is int and 0 <= random_state < 2**32:
        return _Late(random_state)
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state: {error}. Pass None, an integer from 0 to 2**32 - 1 or a numpy.random."
            "RandomState; of a Generator rng, for example int(rng.integers(2**32))."
        ) from None


def check_sizes(shape: tuple[int, int], k: int, nonnegative: bool, which: str = "") -> None:
    """Raise an error if there are more components than the data can have.

    ``which`` says which samples these are, if not all.
    """
    n, m = shape
    if k > n or (nonnegative and k > m):
        what = "min(n_samples, n_features)" if nonnegative else "n_samples"
        raise ValueError(
            f"n_components={k} is larger than {what}, with n_samples = {n}{which} and "
            f"n_features = {m}. "
            f"A factorization of that rank is not unique and explains nothing: choose "
            f"n_components <= {min(n, m) if nonnegative else n}."
        )


def check_range(low: float, high: float, nonnegative: bool, dtype: Any) -> None:
    """Check sign, range and variation of data whose entries go from ``low`` to ``high``."""
    if low == high:
        raise ValueError(
            f"X is constant: all its entries are {low:g}, so there is nothing to factorize. "
            "Check how the data were loaded."
        )
    _check_sizes_and_signs(low, high, nonnegative, dtype, _RANGE[dtype.itemsize])


def check_batch(low: float, high: float, nonnegative: bool, dtype: Any, unit: float) -> None:
    """`check_range` for a batch in the unit of earlier ones; it may be constant, or small."""
    most = _MOST_SQUARED[dtype.itemsize] * unit
    _check_sizes_and_signs(low, high, nonnegative, dtype, (-1.0, most))


def _check_sizes_and_signs(
    low: float, high: float, nonnegative: bool, dtype: Any, sizes: tuple[float, float]
) -> None:
    if nonnegative and low < 0:
        raise ValueError(
            f"Negative values in data passed to X in NMF.fit: the smallest is {low:g}. "
            "Use SemiNMF or L21SemiNMF, which take mixed signs."
        )
    largest = max(abs(low), abs(high))
    if not sizes[0] < largest < sizes[1]:
        raise ValueError(
            f"X has entries up to {largest:g} in absolute value: sums of their squares would be "
            f"outside the range of {dtype}. Rescale X, for example X / {largest:g}."
        )


def check_proportion(name: str, value: Any, unit: float, dtype: Any) -> None:
    """Check the weight of a penalty against its ``unit``, which follows from the size of X."""
    if value == "auto" or value == 0:
        return
    least, most = MOST_APART[dtype.itemsize]
    if not least < value / unit < most:
        raise ValueError(
            f'{name}={value:g} is out of all proportion to X. Leave it at "auto", which sets it '
            "from `strength`, or rescale X."
        )


def check_strength_of_penalty(name: str, value: float, dtype: Any) -> None:
    """Check the strength of a penalty on the codes: it has no unit, and too small does no harm."""
    if value >= MOST_APART[dtype.itemsize][1]:
        raise ValueError(
            f"{name}={value:g} is out of all proportion: from 1 on, hardly any code is left. Take "
            "a smaller one."
        )


def check_range_of_parts(basis: FloatArray, unit: float) -> None:
    """Refuse parts of X / ``unit`` that are beyond the range of their type in the units of X."""
    if float(np.abs(basis).max()) * unit > float(np.finfo(basis.dtype).max):
        raise ValueError(
            f"components_ are beyond the range of {basis.dtype} in the units of X. Rescale X, for "
            f"example X / {unit:g}. Parts are that long if alpha and beta are far from each other, "
            "or if there are more parts than the samples need."
        )


def check_start_proportion(init: Any, size: float, dtype: Any) -> None:
    """Check given factors against entries of X of this size."""
    if isinstance(init, str):
        return
    for name, factor, unit in (("U0", init[0], size), ("V0", init[1], 1.0)):
        largest = float(np.abs(factor).max())
        if largest >= _MOST_SQUARED[dtype.itemsize] * unit:
            raise ValueError(
                f"init: {name} has entries up to {largest:g} in absolute value, which is out of "
                "all proportion to X. Rescale it."
            )


def check_start(init: Any, n: int, m: int, k: int, nonnegative: bool, dtype: Any) -> Any:
    """The name of a start, or a checked tuple (U0, V0)."""
    if isinstance(init, str):
        return check_choice("init", init, STARTS)
    if not isinstance(init, tuple) or len(init) != 2:
        raise ValueError(
            f"init must be one of {', '.join(map(repr, STARTS))} or a tuple (U0, V0), "
            f"got {type(init).__name__}."
        )
    factors: list[FloatArray] = []
    for name, factor, shape, signed in (
        ("U0", init[0], (m, k), not nonnegative),
        ("V0", init[1], (n, k), False),
    ):
        try:
            if np.iscomplexobj(factor):
                raise TypeError
            array = np.ascontiguousarray(factor, dtype=dtype)
        except (TypeError, ValueError):
            raise ValueError(
                f"init: {name} must be an array of numbers of shape {shape}, got "
                f"{type(factor).__name__}."
            ) from None
        if array.shape != shape:
            rows = "n_features" if name == "U0" else "n_samples"
            raise ValueError(
                f"init: {name} has shape {array.shape}, expected ({rows}, n_components) = {shape}."
            )
        if not np.isfinite(array).all():
            raise ValueError(f"init: {name} contains NaN or infinity; pass finite numbers.")
        if not signed and array.min() < 0:
            raise ValueError(
                f"init: {name} has negative entries (smallest {array.min():g}), but it must be "
                f"zero or positive; pass np.maximum({name}, 0), for example."
            )
        factors.append(array)
    return tuple(factors)


def check_before(
    before: tuple[FloatArray, FloatArray] | None, n: int, m: int, k: int, dtype: Any
) -> tuple[FloatArray, FloatArray] | None:
    """Basis and codes of the last fit, or an error if the shape of this one differs."""
    if before is None:
        return None
    basis, codes = before
    last = {"n_samples": len(codes), "n_features": len(basis), "n_components": codes.shape[1]}
    now = {"n_samples": n, "n_features": m, "n_components": k}
    told = " and ".join(
        f"{name} was {last[name]} and is {now[name]}" for name in now if last[name] != now[name]
    )
    if told:
        raise ValueError(
            f"warm_start=True goes on from the last fit, but {told}. Set warm_start=False for a "
            "fit from a new start, or pass samples and n_components as before."
        )
    return (
        np.array(basis, dtype=dtype, order="C"),
        np.array(codes, dtype=dtype, order="C"),
    )


def check_share(name: str, value: Any) -> float:
    """A number above 0 and up to 1."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not valid or not 0 < value <= 1:
        raise ValueError(f"{name} must be a number above 0 and not above 1, got {value!r}.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_neighbours(n_neighbors: Any, n_samples: int) -> int:
    count = check_integer("n_neighbors", n_neighbors, 1)
    if count >= n_samples:
        raise ValueError(
            f"n_neighbors={count} must be smaller than the number of samples, and "
            f"n_samples = {n_samples}. Choose n_neighbors <= {n_samples - 1}, or alpha=0 for a "
            "factorization without a graph."
        )
    return count


def warn_if_lopsided(alpha: float, beta: float, mu: float) -> None:
    """Warn if there is one penalty only, which a change of scale between U and V makes vanish."""
    if mu == 0 and (alpha > 0) != (beta > 0):
        present, absent = ("alpha", "beta") if alpha > 0 else ("beta", "alpha")
        warnings.warn(
            f"{present} is positive but {absent} is zero: scaling one factor up and the other "
            f"down makes the {present} penalty as small as one likes, so it only changes the "
            f"scale of the factors. Give both a positive value (only their product matters), "
            f'leave both at "auto", or set both to zero.',
            UserWarning,
            stacklevel=6,
        )
