"""Samples and arguments of odd kinds: the right result, or one clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import converging_or_not, data
from seminmf import FactorKMeans, L21SemiNMF, SemiNMF, Standardized
from seminmf.models.preparation import _measure

K = 3


def model(**parameters: Any) -> L21SemiNMF:
    return L21SemiNMF(K, random_state=0, max_iter=3, tol=0, **parameters)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_what_is_behind_a_mask_does_not_count(dtype: Any) -> None:
    """The hidden numbers were used."""
    X = (8 * data(40, 6)).astype(dtype)
    whole = model().fit(np.ma.masked_array(X))
    np.testing.assert_array_equal(whole.codes_, model().fit(X).codes_)
    hidden = np.ma.masked_array(X.copy(), mask=np.zeros(X.shape, bool))
    hidden[5, 2] = 1000
    hidden[5, 2] = np.ma.masked
    for method in (model().fit, whole.transform, whole.outlier_scores):
        with pytest.raises(ValueError, match="NaN or infinity, the first in row 5, column 2"):
            method(hidden)
    gap = X.astype(np.float32 if dtype is np.float32 else np.float64)
    gap[5, 2] = np.nan
    filled = [Standardized(model(), fill="median").fit(table) for table in (hidden, gap)]
    np.testing.assert_array_equal(filled[0].model_.codes_, filled[1].model_.codes_)


def damaged(kind: str) -> Any:
    """A sparse matrix of 40 × 40 of which one index points elsewhere."""
    X: Any = sp.csr_array(np.round(data(40, 40), 1))
    X = X.asformat(kind.split()[0])
    if kind.endswith("negative"):
        (X.coords[0] if kind.startswith("coo") else X.indices)[50] = -5
    elif kind.endswith("beyond"):
        (X.coords[1] if kind.startswith("coo") else X.indices)[50] = 10**8
    else:
        X.indptr[7] = X.indptr[-1] + 3
    return X


@pytest.mark.parametrize(
    "kind",
    [f"{form} {what}" for form in ("csr", "csc", "coo", "bsr") for what in ("negative", "beyond")]
    + ["csr starts", "csc starts"],
)
def test_a_damaged_sparse_matrix(kind: str) -> None:
    """A negative index broke the memory of the process."""
    message = "X is a damaged sparse matrix: its indices point outside of its shape"
    with pytest.raises(ValueError, match=message):
        SemiNMF(K).fit(damaged(kind))
    with pytest.raises(ValueError, match=message):
        SemiNMF(K, random_state=0).fit(data(50, 40)).transform(damaged(kind))
    with pytest.raises(ValueError, match=message.replace("X", "graph")):
        model(graph=damaged(kind)).fit(data(40, 6))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_sparse_matrices_of_all_kinds(form: str) -> None:
    X = np.round(data(40, 6), 1)
    expected = model().fit(sp.csr_array(X))
    for kind in (sp.csr_array, sp.csr_matrix):
        found = model().fit(kind(X).asformat(form))
        np.testing.assert_array_equal(found.codes_, expected.codes_)
        np.testing.assert_array_equal(found.transform(kind(X).asformat(form)), found.codes_)


def test_a_graph_of_complex_numbers() -> None:
    """Their imaginary parts were dropped."""
    with pytest.raises(ValueError, match="graph has entries of complex128; pass real"):
        model(graph=sp.eye_array(40, k=1, dtype=complex, format="csr")).fit(data(40, 6))


TABLE = pd.DataFrame(data(40, 3), columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["x", "y"] * 20, ValueError),
        (pd.date_range("2020", periods=40), TypeError),
        (pd.to_timedelta(range(40), "s"), TypeError),
        (pd.Categorical(["x", "y"] * 20), ValueError),
    ],
)
def test_a_column_that_is_not_made_of_numbers(column: Any, kind: type[Exception]) -> None:
    message = "X has to be made of numbers, and is not, in column 'b': .* Leave out what is not"
    with pytest.raises(kind, match=message):
        model().fit(TABLE.assign(b=column))
    with pytest.raises(kind, match=message):
        model().fit(TABLE).transform(TABLE.assign(b=column))


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        ([[1.0, 2.0], [3.0]], ValueError),
        ({"a": 1}, TypeError),
        ("text", ValueError),
        (iter([1, 2]), TypeError),
        (np.array([["a", 1], [2, 3]], dtype=object), ValueError),
        (np.array([[1j, 1], [2, 3]], dtype=object), TypeError),
    ],
)
def test_what_is_no_table_of_numbers(X: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="X has to be made of numbers, and is not: "):
        SemiNMF(1).fit(X)


def test_weights_that_are_no_numbers() -> None:
    for wrong in ("balanced", ["a"] * 40):
        with pytest.raises(ValueError, match="sample_weight has to be made of numbers"):
            model().fit(data(40, 6), sample_weight=wrong)


@pytest.mark.parametrize("seed", [1.0, -1, 2**32, "a", np.random.default_rng(0), [1]])
def test_seeds_that_are_none(seed: Any) -> None:
    for wrong in (SemiNMF(K, random_state=seed), FactorKMeans(SemiNMF(K), random_state=seed)):
        with pytest.raises(ValueError, match=r"random_state: .* Pass None, an integer from"):
            wrong.fit(data(40, 6))


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("alpha", ["auto", 0])
def test_new_samples_whose_squares_are_out_of_range(alpha: Any, single: bool) -> None:
    """Their codes were any numbers, and their scores NaN."""
    X = data(40, 6).astype(np.float32 if single else np.float64)
    new = X[:2] * X.dtype.type(1e30 if single else 1e200)
    with converging_or_not():
        fitted = FactorKMeans(model(alpha=alpha, beta=alpha), random_state=0).fit(X)
        known = fitted.factorizer_
        for use in (
            known.transform, known.outlier_scores, known.score, known.partial_fit,
            fitted.predict, fitted.transform, fitted.outlier_scores,
        ):  # fmt: skip
            with pytest.raises(
                ValueError, match="sums of their squares would be outside the range"
            ):
                use(new)
        if single:  # another fit is about other samples
            known.fit(X * X.dtype.type(1e30))


def test_batches_with_another_number_of_parts() -> None:
    """It was ignored."""
    started = SemiNMF(K, random_state=0).partial_fit(data(40, 6))
    with pytest.raises(ValueError, match="n_components is 4, and partial_fit goes on with 3 parts"):
        started.set_params(n_components=4).partial_fit(data(40, 6))
    started.set_params(n_components=K).partial_fit(data(40, 6))


def test_times_are_no_numbers() -> None:
    """They were taken for days, or seconds, since 1970."""
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    days = pl.Series("b", range(40)).cast(pl.Date)
    for column in (days, days.cast(pl.Datetime), days.cast(pl.Int64).cast(pl.Duration)):
        with pytest.raises(TypeError, match="and is not, in column 'b': it has values of type D"):
            model().fit(pl.from_pandas(TABLE).with_columns(column))
    table = pa.table({"a": range(40), "b": pa.array(range(40), pa.timestamp("s"))})
    with pytest.raises(TypeError, match="and is not, in column 'b': it has values of type time"):
        model().fit(table)
    for kind in ("datetime64[s]", "timedelta64[s]"):
        times = np.arange(80).reshape(40, 2).astype(kind)
        with pytest.raises(TypeError, match="X has to be made of numbers, and is not: it has val"):
            model().fit(times)
        with pytest.raises(TypeError, match="X has to be made of numbers, and is not: it has val"):
            SemiNMF(1).fit(data(40, 2)).transform(times)


def test_a_column_of_arrow_that_is_text_is_named() -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="and is not, in column 'b'"):
        model().fit(pa.table({"a": range(40), "b": ["x"] * 40}))


def test_tables_that_are_none_yet_or_of_another_shape() -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"X is a LazyFrame, .*: pass X.collect\(\)"):
        model().fit(pl.from_pandas(TABLE).lazy())
    with pytest.raises(ValueError, match="structured_to_unstructured makes of it"):
        model().fit(TABLE.to_records())
    with pytest.raises(ValueError, match="X is a table without columns"):
        model().fit(pd.DataFrame(index=range(40)))
    with pytest.raises(ValueError, match=r"several columns of the name 'a'\. Rename them"):
        model().fit(TABLE.set_axis(list("aba"), axis=1))
    cube = sp.coo_array(np.ones((40, 4, 5)))
    with pytest.raises(ValueError, match=r"X has shape \(40, 4, 5\); pass a matrix of two dim"):
        model().fit(cube)
    with pytest.raises(ValueError, match=r"graph has shape \(40, 4, 5\); pass a matrix of two"):
        model(graph=cube).fit(data(40, 6))


@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns found")
def test_sparse_tables() -> None:
    """pandas said something of a COO matrix."""
    zeros = TABLE.where(TABLE > 0, 0.0)
    sparse = zeros.astype(pd.SparseDtype(float, 0))
    np.testing.assert_allclose(model().fit(sparse).codes_, model().fit(zeros).codes_, atol=1e-9)
    for fill in (np.nan, 1.0):
        other = zeros.astype(pd.SparseDtype(float, fill))
        message = rf"column 'a' has {fill} instead of 0 where nothing is .*X\.sparse\.to_dense\(\)"
        with pytest.raises(ValueError, match=message):
            model().fit(other)
        one = zeros.assign(a=other["a"])
        np.testing.assert_array_equal(model().fit(one).codes_, model().fit(zeros).codes_)


def test_numbers_beyond_double_precision() -> None:
    """One was an OverflowError, the other a warning of NumPy."""
    whole = [[10**400, 2], [3, 4], [5, 7]]
    with pytest.raises(ValueError, match="X has to be made of numbers, and is not: int too large"):
        SemiNMF(1).fit(whole)
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        with pytest.raises(ValueError, match="X has 240 values that are NaN or infinity"):
            model().fit(data(40, 6).astype(np.longdouble) * np.longdouble("1e400"))


@pytest.mark.parametrize("answer", [np.array([1, 2]), pd.NA, "stop", 0.5])
def test_an_answer_of_a_callback_that_is_neither_yes_nor_no(answer: Any) -> None:
    """It stopped the fit, or ended it in an error that did not name it."""
    with pytest.raises(TypeError, match=r"callback returned .*; let it return True to stop"):
        model(callback=lambda progress: answer).fit(data(40, 6))


def test_classes_are_no_estimators() -> None:
    for estimator, name in (
        (FactorKMeans(SemiNMF), "factorizer"), (Standardized(SemiNMF), "model"),
        (Standardized(3), "model"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name} must be an estimator with fit"):
            estimator.fit(data(40, 6))
    with pytest.raises(ValueError, match=r"graph must be .* or a scikit-learn neighbours"):
        model(graph=KNeighborsTransformer).fit(data(40, 6))
    pipeline = make_pipeline(StandardScaler(), SemiNMF(K))
    with pytest.raises(ValueError, match="a Pipeline has none: say how many clusters"):
        FactorKMeans(pipeline).fit(data(40, 6))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_columns_of_any_unit_are_standardized(store: Any) -> None:
    """Squares left the range of numbers: large columns became zero, small ones stayed as small."""
    X, units = data(40, 6), 2.0 ** np.array([-700, -300, 0, 300, 600, 1000])
    found = [Standardized(model()).fit(store(table)) for table in (X, X * units)]
    np.testing.assert_array_equal(found[1].scale_, found[0].scale_ * units)
    np.testing.assert_array_equal(found[1].center_, found[0].center_ * units)
    np.testing.assert_array_equal(found[1].model_.codes_, found[0].model_.codes_)


def test_many_numbers_in_single_precision_are_summed_in_double() -> None:
    """Of 500,000 rows around 1000 the scale was 3.8 times what it is, and the centre 4 off."""
    X = np.random.default_rng(0).normal((0, 1000), size=(500_000, 2)).astype(np.float32)
    for table in (X, sp.csr_array(X)):
        centre, scale = _measure(table, "scale")
        np.testing.assert_allclose(scale, X.std(axis=0, dtype=np.float64), rtol=1e-2)
        if table is X:
            np.testing.assert_allclose(centre, X.mean(axis=0, dtype=np.float64), rtol=1e-6)
