"""The Python that makes the same model again, with the parameters it had."""

from __future__ import annotations

import inspect
import json
from numbers import Integral, Number
from typing import Any

import numpy as np

from .findings import Findings
from .markup import count, plain

__all__ = ["parameters", "recipe", "value_text"]

# Parameters that say how a fit is watched, not what it finds.
_WATCHING = ("callback", "verbose")


def _writable(value: Any) -> bool:
    """Whether a value can be written in a program as it prints."""
    if isinstance(value, tuple | list):
        return all(_writable(inner) for inner in value)
    return value is None or isinstance(value, str | bool | Number)


def _literal(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    return json.dumps(value) if isinstance(value, str) else plain(repr(value))


def value_text(value: Any) -> str:
    """A parameter's value in a table: short, whatever it is."""
    if _writable(value):
        return _literal(value)
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    if isinstance(value, tuple):
        return "(" + ", ".join(value_text(inner) for inner in value) + ")"
    return getattr(value, "__name__", None) or type(value).__name__


def parameters(estimator: Any) -> dict[str, Any]:
    """Names and values in the order of the signature, not of the alphabet."""
    values = estimator.get_params(deep=False)
    order = list(inspect.signature(type(estimator)).parameters)
    return {name: values[name] for name in order if name in values}


def _call(estimator: Any, indent: str) -> tuple[str, list[str]]:
    """The expression that makes a factorization, and the names that have to be given."""
    lines, missing = [], []
    for name, value in parameters(estimator).items():
        if name in _WATCHING:
            continue
        if _writable(value):
            lines.append(f"{indent}    {name}={_literal(value)},")
        else:
            lines.append(f"{indent}    {name}={name},")
            missing.append(f"# {name}: the {value_text(value)} that was given to the fit")
    return f"{type(estimator).__name__}(\n" + "\n".join(lines) + f"\n{indent})", missing


def recipe(found: Findings) -> str:
    """A program; X, and what is not a plain value, has to be there."""
    about = found.subject
    model, factorizer = about.model, about.factorizer
    n, m, _ = found.shape
    wrapped = model is not factorizer
    # A FactorKMeans with a seed draws that of its factorization; without one the seed that was
    # drawn is only known to the fitted copy.
    seeded = wrapped and isinstance(model.random_state, Integral)
    made_from = model.factorizer if seeded else factorizer
    expression, missing = _call(made_from, "    " if wrapped else "")
    names = sorted({type(factorizer).__name__, *(["FactorKMeans"] if wrapped else []), "report"})
    notes = [f"# X: the table of {count(n)} samples × {count(m)} features", *missing]
    options = ""
    for name, given in (
        ("labels", about.labels is not None),
        ("ids", about.ids is not None),
        ("feature_names", about.named),
    ):
        if given:
            notes.append(f"# {name}: as on this page")
            options += f", {name}={name}"
    if about.image_shape is not None:
        options += f", image_shape={about.image_shape}"
    if wrapped:
        expression = (
            f"FactorKMeans(\n    {expression},\n    n_clusters={_literal(model.n_clusters)},\n"
            f"    random_state={_literal(model.random_state) if seeded else None},\n"
            f"    metric={_literal(model.metric)},\n    refine={_literal(model.refine)},\n)"
        )
    return "\n".join(
        [
            f"from seminmf import {', '.join(names)}",
            "",
            *notes,
            f"model = {expression}.fit(X)",
            f'report(model, X{options}).save("report.html")',
        ]
    )
