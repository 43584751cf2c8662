"""The Python that makes the same model again: file, parameters and seeds."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from numbers import Number
from typing import Any

import numpy as np

from ..._words import counted
from .findings import Findings
from .markup import plain

# Parameters that say how a fit is watched, not what it finds.
WATCHING = ("callback", "verbose", "progress", "checkpoint")
# Where public names are, beside the packages of their classes.
_PUBLIC = ("seminmf", "seminmf.losses", "seminmf.penalties")


def _writable(value: Any) -> bool:
    """Whether a value can be written in a program as it prints."""
    if isinstance(value, tuple | list):
        return all(_writable(inner) for inner in value)
    return value is None or isinstance(value, str | bool | Number)


def _literal(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple | list):
        inner = ", ".join(_literal(item) for item in value)
        comma = "," * (isinstance(value, tuple) and len(value) == 1)
        return f"({inner}{comma})" if isinstance(value, tuple) else f"[{inner}]"
    return plain(repr(value))


def _home(kind: type) -> str | None:
    """The public module of a class, or None for one that cannot be imported again."""
    parts = kind.__module__.split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    own = ".".join(parts[:private])
    for module in (*_PUBLIC, own) if own and own != "builtins" else _PUBLIC:
        try:
            if getattr(import_module(module), kind.__name__, None) is kind:
                return module
        except ImportError:
            continue
    return None


def parameters(estimator: Any) -> dict[str, Any]:
    """Names and values in the order of the signature, without how the fit is watched.

    The seed is the one that the fit had, also if it had to draw it.
    """
    values = estimator.get_params(deep=False)
    if "random_state" in values:
        values["random_state"] = _seed(estimator)
    order = list(inspect.signature(type(estimator)).parameters)
    return {name: values[name] for name in order if name in values and name not in WATCHING}


def value_text(value: Any) -> str:
    """A parameter's value in a table: short, whatever it is."""
    if _writable(value):
        return _literal(value)
    shape = None if isinstance(value, type) else getattr(value, "shape", None)
    if shape is not None:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    if isinstance(value, tuple):
        return "(" + ", ".join(value_text(inner) for inner in value) + ")"
    if hasattr(value, "get_params") and not isinstance(value, type):
        told = ", ".join(f"{name}={value_text(v)}" for name, v in parameters(value).items())
        return f"{type(value).__name__}({told})"
    return getattr(value, "__name__", None) or type(value).__name__


def _seed(estimator: Any) -> Any:
    """The seed that a fit had: the one that was given, or the one that it drew itself."""
    given = getattr(estimator, "random_state", None)
    return getattr(estimator, "seed_", None) if given is None else given


class _Program:
    """Expressions, and what has to be imported or given for them."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {"seminmf": {"report"}}
        self.missing: dict[str, str] = {}

    def expression(self, value: Any, name: str, indent: str = "") -> str:
        if _writable(value):
            return _literal(value)
        home = None if isinstance(value, type) else _home(type(value))
        if home is None or not hasattr(value, "get_params"):
            self.missing[name] = value_text(value)
            return name
        self.imports.setdefault(home, set()).add(type(value).__name__)
        lines, signature = [], inspect.signature(type(value)).parameters
        for key, inner in parameters(value).items():
            if not _writable(inner) and inner is signature[key].default:
                continue
            if key == "steps":
                steps = [
                    f"{indent}        ({_literal(title)}, "
                    f"{self.expression(step, title, indent + '        ')}),\n"
                    for title, step in inner
                ]
                lines.append(f"{indent}    steps=[\n{''.join(steps)}{indent}    ],\n")
                continue
            if key == "model":
                inner = getattr(value, "model_", inner)  # it knows the seed that it drew
            told = self.expression(inner, key, indent + "    ")
            lines.append(f"{indent}    {key}={told},\n")
        body = f"\n{''.join(lines)}{indent}" if lines else ""
        return f"{type(value).__name__}({body})"


def seed_known(found: Findings) -> bool:
    """Whether the program draws the same random numbers as the fit did."""
    about = found.subject
    outer = about.factorizer if about.clusters is None else about.clusters
    return _seed(outer) is not None


def goes_on(found: Findings) -> bool:
    """Whether the fit went on from an earlier one, which a program would have to make first."""
    fitted = found.subject.factorizer
    return bool(getattr(fitted, "warm_start", False)) or (
        getattr(fitted, "_memory", None) is not None
    )


def recipe(found: Findings) -> str:
    """A program; what is not a plain value, and X where it is of no file, has to be there."""
    about, program = found.subject, _Program()
    expression = program.expression(about.model, "model")
    origin, (n, m) = about.origin, about.raw.shape
    options, notes = "", []
    if origin.record is None:
        notes.append(f"# X: the table of {counted(n, 'sample')} × {counted(m, 'feature')}")
        for name in origin.given:
            notes.append(f"# {name}: as on this page")
            options += f", {name}={name}"
    else:
        program.imports["seminmf.io"] = {origin.record.call().partition("(")[0]}
        if origin.command is not None:
            notes.append(f"# {plain(origin.command)}")
        if origin.record.sha256 is not None:
            notes.append(f"# SHA-256 of the file: {origin.record.sha256}")
        notes.append(f"table = {plain(origin.record.call())}")
    notes += [
        f"# {name}: the {told} that was given to the fit" for name, told in program.missing.items()
    ]
    data = "X" if origin.record is None else "table.X"
    if getattr(about.factorizer, "_sample_weight", None) is not None:
        notes.append("# sample_weight: as in the fit")
        data += ", sample_weight=sample_weight"
    if about.image_shape is not None:
        options += f", image_shape={about.image_shape}"
    if origin.title is not None:
        options += f", title={_literal(plain(origin.title))}"
    shown = "X" if origin.record is None else "table"
    return "\n".join(
        [
            *(
                f"from {module} import {', '.join(sorted(names))}"
                for module, names in sorted(program.imports.items())
            ),
            "",
            *notes,
            f"model = {expression}",
            f"model.fit({data})",
            f'report(model, {shown}{options}).save("report.html")',
        ]
    )
