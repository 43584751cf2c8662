"""Load the data sets of the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ._fetch import PathLike, fetch
from ._formats import read_dataset
from ._registry import DatasetInfo, dataset_info

Table = tuple[NDArray[Any], NDArray[np.int64]]
_USPST_VARIANTS = {"libsvm": "uspst", "zip": "uspst_zip"}
_Loader = TypeVar("_Loader", bound=Callable[..., Any])
_DOC = """{told}

The file is looked for in `data_home`, then in the folder named by the environment variable
``SEMINMF_DATA``, then in the user's cache, and downloaded otherwise.

Parameters
----------
{parameters}data_home : path, optional
    Folder to look in first, and to download to.
return_X_y : bool, default=False
    Whether to return ``(data, target)`` only.

Returns
-------
bunch : Bunch
    ``data`` ({data}), ``target`` ({target}), ``target_names``, ``feature_names``, ``DESCR``,
    ``name``, ``filename``.
(X, y) : tuple
    If `return_X_y`.
{more}"""


def _documented(
    data: str, target: str, parameters: str = "", more: str = ""
) -> Callable[[_Loader], _Loader]:
    """Add to a docstring what all loaders have in common."""

    def write(loader: _Loader) -> _Loader:
        loader.__doc__ = _DOC.format(
            told=cleandoc(loader.__doc__ or ""), parameters=parameters, data=data, target=target,
            more=more,
        )  # fmt: skip
        return loader

    return write


@overload
def load_ionosphere(
    *, data_home: PathLike | None = None, return_X_y: Literal[False] = False
) -> Bunch: ...
@overload
def load_ionosphere(*, data_home: PathLike | None = None, return_X_y: Literal[True]) -> Table: ...
@_documented("351 x 34, float64, in [-1, 1]", 'int64; 0 is "b", 1 is "g"')
def load_ionosphere(
    *, data_home: PathLike | None = None, return_X_y: bool = False
) -> Bunch | Table:
    """Load the Ionosphere radar data: 351 samples, 34 features, 2 classes."""
    features = [f"pulse{i:02d}_{part}" for i in range(17) for part in ("real", "imag")]
    return _load("ionosphere", features, data_home, return_X_y)


@overload
def load_waveform(
    *, data_home: PathLike | None = None, return_X_y: Literal[False] = False
) -> Bunch: ...
@overload
def load_waveform(*, data_home: PathLike | None = None, return_X_y: Literal[True]) -> Table: ...
@_documented(
    "5000 x 21, float64",
    "int64; 0, 1, 2",
    more="""
See Also
--------
make_waveform : Draw samples of the same kind, without a download.
""",
)
def load_waveform(*, data_home: PathLike | None = None, return_X_y: bool = False) -> Bunch | Table:
    """Load the Waveform data, version 1: 5000 samples, 21 features, 3 classes."""
    return _load("waveform", [f"x{i:02d}" for i in range(1, 22)], data_home, return_X_y)


@overload
def load_uspst(
    variant: Literal["libsvm", "zip"] = "libsvm",
    *,
    data_home: PathLike | None = None,
    return_X_y: Literal[False] = False,
) -> Bunch: ...
@overload
def load_uspst(
    variant: Literal["libsvm", "zip"] = "libsvm",
    *,
    data_home: PathLike | None = None,
    return_X_y: Literal[True],
) -> Table: ...
@_documented(
    "2007 x 256, float64, in [-1, 1]; 16 x 16 images row by row", "int64; the digit",
    """variant : {"libsvm", "zip"}, default="libsvm"
    Two preparations of the same images in the same order are in use, and their grey values
    differ: LIBSVM's ``usps.t`` (smoother; with it the paper's USPST results are reproduced)
    and ``zip.test`` of *The Elements of Statistical Learning* (58 % of the entries are -1).
""",
)  # fmt: skip
def load_uspst(
    variant: Literal["libsvm", "zip"] = "libsvm",
    *,
    data_home: PathLike | None = None,
    return_X_y: bool = False,
) -> Bunch | Table:
    """Load USPST, the test images of the USPS digits: 2007 samples, 256 features, 10 classes."""
    if variant not in _USPST_VARIANTS:
        raise ValueError(f"variant={variant!r} is unknown; use 'libsvm' or 'zip'.")
    features = [f"pixel_{row}_{column}" for row in range(16) for column in range(16)]
    return _load(_USPST_VARIANTS[variant], features, data_home, return_X_y)


@overload
def load_cifar10_test(
    *,
    as_float: bool = False,
    data_home: PathLike | None = None,
    return_X_y: Literal[False] = False,
) -> Bunch: ...
@overload
def load_cifar10_test(
    *, as_float: bool = False, data_home: PathLike | None = None, return_X_y: Literal[True]
) -> Table: ...
@_documented(
    "10000 x 3072; the red, the green, the blue plane of 32 x 32 pixels row by row", "int64",
    """as_float : bool, default=False
    False gives the bytes 0 to 255 (uint8, 31 MB), True float64 in [0, 1] (246 MB).
""",
)  # fmt: skip
def load_cifar10_test(
    *, as_float: bool = False, data_home: PathLike | None = None, return_X_y: bool = False
) -> Bunch | Table:
    """Load the test images of CIFAR-10: 10000 samples, 3072 features, 10 classes.

    The download has 162 MB, of which the 31 MB of the test images are kept.
    """
    features = [
        f"{colour}_{row}_{column}"
        for colour in ("red", "green", "blue")
        for row in range(32)
        for column in range(32)
    ]
    bunch = _load("cifar10_test", features, data_home, return_X_y=False)
    if as_float:
        bunch.data = bunch.data / 255.0
    return (bunch.data, bunch.target) if return_X_y else bunch


def _load(name: str, feature_names: list[str], data_home: PathLike | None, return_X_y: bool) -> Any:
    """Find, read and check a data set."""
    info = dataset_info(name)
    path = fetch(name, data_home)
    X, y = read_dataset(info, path)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        target_names=np.array(info.class_names),
        feature_names=feature_names,
        DESCR=_describe(info, path),
        name=name,
        filename=str(path),
    )


def _describe(info: DatasetInfo, path: Path) -> str:
    """Return a short text about a data set."""
    classes = ", ".join(
        f"{name} ({count})" for name, count in zip(info.class_names, info.class_counts, strict=True)
    )
    return (
        f"{info.name}: {info.n_samples} samples, {info.n_features} features, "
        f"{len(info.class_names)} classes\n\n{info.description}\n\n"
        f"Classes: {classes}\nLicence: {info.licence}\nHome: {info.homepage}\nFile: {path}\n"
    )
