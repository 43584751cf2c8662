"""Model files: arrays and JSON in one zip container, never pickle, so that they are safe to open.

A file holds ``seminmf-model.json`` and the arrays it refers to as ``arrays/….npy``, all stored and
not compressed, and ends with a SHA-256 of everything before it. A class takes part by inheriting
from `Saveable`, which stores its parameters and its fitted attributes; one with more to store
overrides `_saved_state` and `_restore_state`. A neighbour search of scikit-learn's is stored as its
class and parameters. A fitted one is fitted again when the file is opened, to the samples stored
beside it in the state under the name `_TRAINING`, and finds the same neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from importlib import import_module, metadata
from textwrap import shorten
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .._files import PathLike
from ..problem import losses, penalties  # noqa: F401 - so that their classes are known
from ..problem.term import Term, name_in_files
from .container import (
    FORMAT_VERSION,
    Arrays,
    ModelFileError,
    read_container,
    write_container,
)
from .validation import check_choice, check_integer

_CLASSES: dict[str, type[Saveable]] = {}
# Modules of the package with classes that can be saved. They import this one, and are imported
# before a file is unpacked, since opening one may be the first thing a program does.
_DEFINING = (".estimators", ".clustering", ".preparation")
# Name of the samples to which a neighbour search was fitted.
_TRAINING = "training"
# How many training samples a file keeps, by the name of the choice; None: all.
LANDMARKS = 500
_KEPT: dict[str, int | None] = {"all": None, "landmarks": LANDMARKS, "none": 0}


# The remedy for another kind of neighbour search, or for a parameter that is a function.
REMEDY = (
    "; of the searches for neighbours only scikit-learn's KNeighborsTransformer and "
    "RadiusNeighborsTransformer can be, with parameters that are no functions: fit with one of "
    'these, with graph="auto" or graph="knn", or with the matrix graph=transformer.fit_transform(X)'
)


def _searches() -> dict[str, type]:
    from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

    return {cls.__name__: cls for cls in (KNeighborsTransformer, RadiusNeighborsTransformer)}


def _is_search(value: Any) -> bool:
    """Whether this is one of those classes itself: a subclass may do anything."""
    return type(value) in _searches().values()


class Saveable:
    """An estimator that can be saved: its parameters and its fitted attributes, ``…_``."""

    # Parameters that are not part of a model: they come back as None.
    _dropped: ClassVar[frozenset[str]] = frozenset({"callback", "checkpoint"})
    # The remedies for parameters whose values cannot be stored.
    _remedies: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__name__.startswith("_"):
            _CLASSES[name_in_files(cls)] = cls
            # Earlier files have names without modules; classes of this package keep theirs.
            _CLASSES.setdefault(cls.__name__, cls)

    def save(
        self,
        path: PathLike,
        *,
        training: Literal["all", "landmarks", "none"] = "all",
        notes: dict[str, Any] | None = None,
    ) -> None:
        """Write the fitted model to a file that `seminmf.load` reads.

        The file holds arrays and JSON, no code, and it appears whole or not at all. What the
        loaded model computes is the same to the last bit. ``callback`` and ``checkpoint`` are not
        stored.

        The file of a model with a graph holds a copy of the training samples, which new samples
        are tied to, unless ``training`` says otherwise.

        Parameters
        ----------
        path : path
            File to write; one that exists is replaced.
        training : {"all", "landmarks", "none"}, default="all"
            Which of the training samples are stored: all, some hundred, or none; the loaded model
            is then that of ``without_training(500)`` or ``without_training()``.
        notes : dict, optional
            Anything of numbers, strings, lists and dicts to keep beside the model.
        """
        check_is_fitted(self)
        check_choice("training", training, tuple(_KEPT))
        kept = _KEPT[training]
        model = self if kept is None else self.without_training(kept)
        arrays = Arrays()
        header = {
            "seminmf": package_version(),
            "class": name_in_files(type(self)),
            "model": _pack_model(model, arrays, ""),
            "notes": _pack(notes or {}, arrays, "notes"),
        }
        write_container(path, header, arrays)

    def without_training(self, landmarks: int = 0) -> Self:
        """A copy of the fitted model that does not hold the training samples.

        A model with a graph holds them, because `transform` and `predict` tie a new sample to the
        nearest of them. The copy ties it to the nearest of some landmarks, or to none: its code is
        then that of non-negative least squares. Training samples that are no landmarks are new to
        it. Fitted attributes, as ``codes_``, are those of the model. What is lost is measured in
        the documentation.

        Parameters
        ----------
        landmarks : int, default=0
            How many training samples the copy holds, chosen at random but the same each time.

        Returns
        -------
        model : estimator
            This one is not changed.
        """
        check_is_fitted(self)
        check_integer("landmarks", landmarks, 0)
        small = copy(self)
        small._forget(landmarks)
        return small

    def _forget(self, landmarks: int) -> None:
        """Keep at most so many training samples, in models inside this one, too."""
        for name, value in vars(self).items():
            if isinstance(value, Saveable) and _is_fitted_name(name):
                setattr(self, name, value.without_training(landmarks))

    def _saved_state(self) -> dict[str, Any]:
        """Fitted attributes by name."""
        return {name: value for name, value in vars(self).items() if _is_fitted_name(name)}

    def _restore_state(self, state: dict[str, Any]) -> None:
        """The inverse of `_saved_state`; raises ValueError or KeyError for an invalid state."""
        for name, value in state.items():
            if not _is_fitted_name(name):
                raise ValueError(f"{name!r} is not the name of a fitted attribute")
            setattr(self, name, value)


def load(path: PathLike) -> Any:
    """Open a model that was saved with ``estimator.save(path)``.

    Parameters
    ----------
    path : path

    Returns
    -------
    model : estimator
        Fitted; what it computes is what the saved one computes, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is not a model file, was damaged or changed, or was written by a newer version.
    """
    return load_with_notes(path)[0]


def load_with_notes(path: PathLike) -> tuple[Any, dict[str, Any]]:
    """The model of a file, and the notes that were saved with it."""
    header, arrays = read_container(path)
    try:
        model = _unpack_model(header["model"], arrays)
        notes = _unpack(header["notes"], arrays)
        if not isinstance(notes, dict):
            raise ValueError("notes are not a dict")
    except _UnknownError as error:
        what, name = error.args
        reason = (
            "which is not one of seminmf's own: import the module that defines it before you load "
            "the model."
            if "." in str(name)
            else "which this version of seminmf does not know; it was written by seminmf "
            f"{header.get('seminmf', '?')}: upgrade seminmf."
        )
        raise ModelFileError(f"{path} holds {what} {name}, {reason}") from None
    except Exception as error:  # whatever a hostile file makes us raise
        raise ModelFileError(
            f"{path} is not a valid model file of format {FORMAT_VERSION}: "
            f"{type(error).__name__}: {shorten(str(error), 300)}"
        ) from error
    return model, notes


class _UnknownError(Exception):
    """A class that is not known here; its arguments are what has that class, and its name."""


def _found(name: str, known: Mapping[str, type], what: str) -> Any:
    """The class of this name, or `_UnknownError`."""
    if name not in known:
        raise _UnknownError(what, name)
    return known[name]


def package_version(package: str = "seminmf") -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # pragma: no cover
        return "unknown"


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


# Values that JSON has are stored as such; all others as a dict with one key "$kind".


def _pack(value: Any, arrays: Arrays, where: str, remedy: str = "") -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.dtype != object):
        return {"$array": arrays.add(np.asarray(value)), "scalar": isinstance(value, np.generic)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray) and all(isinstance(item, str) for item in value.ravel()):
        return {"$strings": value.tolist()}
    if isinstance(value, tuple):
        return {"$tuple": [_pack(item, arrays, where, remedy) for item in value]}
    if isinstance(value, list):
        return [_pack(item, arrays, where, remedy) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        packed = {
            key: _pack(item, arrays, f"{where}[{key!r}]", remedy) for key, item in value.items()
        }
        return {"$dict": _with_fits(value, packed, where)}
    if sp.issparse(value) and value.ndim == 2:
        rows = value.tocsr()
        parts = [arrays.add(part) for part in (rows.data, rows.indices, rows.indptr)]
        matrix = isinstance(value, sp.spmatrix)
        return {"$csr": parts, "shape": list(value.shape), "matrix": matrix}
    if isinstance(value, np.random.RandomState):
        return {"$random": _pack(value.get_state(legacy=False), arrays, where)}
    if isinstance(value, Saveable):
        return {"$model": _pack_model(value, arrays, f"{where}.")}
    if not remedy and hasattr(value, "fit_transform"):
        remedy = REMEDY
    if isinstance(value, Term) or _is_search(value):
        kind, name = "$neighbours", type(value).__name__
        if isinstance(value, Term):
            kind, name = "$part", name_in_files(type(value))  # as earlier versions read it
        parameters = {
            name: _pack(item, arrays, f"{where}.{name}", remedy)
            for name, item in value.get_params(deep=False).items()
        }
        return {kind: name, "parameters": parameters}
    raise ValueError(
        f"{where}: a {type(value).__name__} cannot be stored in a model file"
        f"{remedy or ', which holds numbers, strings, arrays and sparse matrices only'}."
    )


def _with_fits(values: dict[str, Any], packed: dict[str, Any], where: str) -> dict[str, Any]:
    """Note, for fitted neighbour searches among packed values, what they were fitted to."""
    for key, value in values.items():
        if _is_search(value) and hasattr(value, "n_samples_fit_"):
            if _TRAINING not in values:
                raise ValueError(
                    f"{where}[{key!r}]: a fitted {type(value).__name__} cannot be stored without "
                    f"the samples it was fitted to; store them beside it as {_TRAINING!r}."
                )
            packed[key]["fitted_to"] = _TRAINING
    return packed


def _pack_model(model: Any, arrays: Arrays, where: str) -> dict[str, Any]:
    parameters = {
        name: None
        if name in model._dropped
        else _pack(value, arrays, where + name, model._remedies.get(name, ""))
        for name, value in model.get_params(deep=False).items()
    }
    state = None
    if any(_is_fitted_name(name) for name in vars(model)):
        state = _pack(model._saved_state(), arrays, where + "state")
    return {"class": name_in_files(type(model)), "parameters": parameters, "state": state}


def _unpack(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    content = value[kind]
    if kind == "$array":
        return arrays[content][()] if value["scalar"] else arrays[content]
    if kind == "$float":
        return float(content)
    if kind == "$strings":
        return np.array(content, dtype=object)
    if kind == "$tuple":
        return tuple(_unpack(item, arrays) for item in content)
    if kind == "$dict":
        return _fitted({key: _unpack(item, arrays) for key, item in content.items()}, content)
    if kind == "$csr":
        cls = sp.csr_matrix if value["matrix"] else sp.csr_array
        matrix = cls(tuple(arrays[part] for part in content), shape=tuple(value["shape"]))
        matrix.check_format(full_check=True)
        return matrix
    if kind == "$random":
        state = np.random.RandomState()
        state.set_state(_unpack(content, arrays))
        return state
    if kind == "$model":
        return _unpack_model(content, arrays)
    if kind in ("$part", "$neighbours"):
        if kind == "$part":
            cls = _found(content, Term.known, "a model with the loss or penalty")
        else:
            cls = _found(content, _searches(), "a")
        return cls(**{name: _unpack(item, arrays) for name, item in value["parameters"].items()})
    raise ValueError(f"{kind!r} is not a kind of value")


def _fitted(values: dict[str, Any], packed: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `_with_fits`: fit those neighbour searches again."""
    for key, item in packed.items():
        if isinstance(item, dict) and "fitted_to" in item and _is_search(values[key]):
            values[key].fit(values[item["fitted_to"]])
    return values


def _unpack_model(packed: dict[str, Any], arrays: dict[str, Any]) -> Any:
    for module in _DEFINING:
        import_module(module, __package__)
    cls = _found(packed["class"], _CLASSES, "a")
    parameters = {name: _unpack(value, arrays) for name, value in packed["parameters"].items()}
    model = cls(**parameters)
    if packed["state"] is not None:
        model._restore_state(_unpack(packed["state"], arrays))
    return model
