"""Model files: the same numbers come back, and what is not a whole file of ours is refused."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import decomposition
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seminmf
from helpers import CLASSES, KINDS, Array, cone, converging_or_not, make
from seminmf import (
    FactorKMeans,
    GraphSemiNMF,
    L21SemiNMF,
    ModelFileError,
    SemiNMF,
    Standardized,
)
from seminmf.models import container as _container
from seminmf.models.persistence import Saveable, load_with_notes
from seminmf.problem.term import Term

N, M, K = 40, 7, 3


def samples(seed: int = 0, n: int = N) -> Array:
    return cone(n, M, K, seed, nonnegative=True)


def stored(X: Array, form: str, tmp_path: Path) -> Any:
    """The same samples in another form."""
    if form == "csr_array":
        return sp.csr_array(X)
    if form == "csr_matrix":
        return sp.csr_matrix(X)
    if form == "float32":
        return X.astype(np.float32)
    if form == "fortran":
        return np.asfortranarray(X)
    if form == "memmap":
        np.save(tmp_path / "X.npy", X)
        return np.load(tmp_path / "X.npy", mmap_mode="r")
    return X


def fitted_attributes(model: Any) -> dict[str, Any]:
    return {n: v for n, v in vars(model).items() if n.endswith("_") and not n.startswith("_")}


def assert_same(a: Any, b: Any) -> None:
    """Equal to the last bit, in type and in value."""
    if isinstance(a, Saveable):
        assert type(a) is type(b)
        first, second = fitted_attributes(a), fitted_attributes(b)
        assert first.keys() == second.keys()
        for name in first:
            assert_same(first[name], second[name])
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    elif isinstance(a, Term):
        assert type(a) is type(b)
        assert a.get_params() == b.get_params()
    elif hasattr(a, "cluster_centers_"):
        assert a.get_params() == b.get_params()
        assert_same(a.cluster_centers_, b.cluster_centers_)
        assert_same(a.labels_, b.labels_)
    else:
        assert type(a) is type(b)
        assert a == b


@pytest.mark.parametrize(
    "form", ["dense", "csr_array", "csr_matrix", "float32", "fortran", "memmap"]
)
@pytest.mark.parametrize(("name", "penalised"), KINDS)
def test_the_same_numbers_come_back(name: str, penalised: bool, form: str, tmp_path: Path) -> None:
    X, new = stored(samples(), form, tmp_path), stored(samples(1), form, tmp_path)
    model = make(name, K, penalised=penalised, random_state=0).fit(X)
    model.save(tmp_path / "model.seminmf")
    loaded = seminmf.load(tmp_path / "model.seminmf")
    assert loaded.get_params() == model.get_params()
    assert_same(model, loaded)
    assert_same(model.transform(new), loaded.transform(new))
    assert_same(model.transform(X), loaded.transform(X))
    # Samples in another form than the model was fitted to.
    assert_same(model.transform(samples(2)), loaded.transform(samples(2)))
    assert_same(model.inverse_transform(model.codes_), loaded.inverse_transform(loaded.codes_))


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("form", ["dense", "csr_array", "float32"])
def test_clusters_come_back(name: str, form: str, tmp_path: Path) -> None:
    X, new = stored(samples(), form, tmp_path), stored(samples(1), form, tmp_path)
    model = FactorKMeans(CLASSES[name](K), n_clusters=4, random_state=0).fit(X)
    model.save(tmp_path / "model.seminmf")
    loaded = seminmf.load(tmp_path / "model.seminmf")
    assert_same(model, loaded)
    assert_same(model.predict(new), loaded.predict(new))
    assert loaded.fit(X).labels_.tolist() == model.labels_.tolist()  # a whole estimator


def test_equal_centres_come_back(tmp_path: Path) -> None:
    X = np.repeat(samples(n=3), 4, axis=0)
    model = FactorKMeans(SemiNMF(2), n_clusters=2, random_state=0).fit(X)
    model.kmeans_.cluster_centers_[1] = model.kmeans_.cluster_centers_[0]
    model.save(tmp_path / "m")
    assert_same(model.predict(X), seminmf.load(tmp_path / "m").predict(X))


@pytest.mark.parametrize("how", ["none", "center", "scale", "robust"])
def test_standardized_models_come_back(how: Any, tmp_path: Path) -> None:
    X = samples() * np.arange(1, M + 1) ** 3
    model = Standardized(FactorKMeans(L21SemiNMF(K), random_state=0), how).fit(X)
    model.save(tmp_path / "m")
    loaded = seminmf.load(tmp_path / "m")
    assert_same(model, loaded)
    new = samples(1) * np.arange(1, M + 1) ** 3
    assert_same(model.predict(new), loaded.predict(new))
    assert_same(model.standardize(new), loaded.standardize(new))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_standardization_is_what_it_says() -> None:
    X = samples() * np.arange(1, M + 1)
    X[:, 2] = 5.0  # no spread: centred, not divided
    for how, centre, spread in (
        ("center", np.mean, None),
        ("scale", np.mean, np.std),
        ("robust", np.median, lambda x, axis: np.subtract(*np.quantile(x, [0.75, 0.25], axis))),
    ):
        model = Standardized(SemiNMF(K), how).fit(X)  # type: ignore[arg-type]
        Z = model.standardize(X)
        assert np.abs(centre(Z, axis=0)).max() < 1e-12
        assert (Z[:, 2] == 0).all()
        if spread is not None:
            assert np.allclose(np.delete(spread(Z, axis=0), 2), 1)
        assert_same(model.transform(X), model.model_.transform(Z))
    sparse = Standardized(SemiNMF(K), "scale").fit(sp.csr_array(X))
    assert sp.issparse(sparse.standardize(sp.csr_array(X)))
    assert np.allclose(sparse.scale_, np.where(np.arange(M) == 2, 1, X.std(axis=0)))
    assert (sparse.center_ == 0).all()
    dense = Standardized(SemiNMF(K), "center").fit(X)
    assert np.allclose(dense.standardize(sp.csr_array(X)), dense.standardize(X))
    with pytest.raises(ValueError, match=r"how=\"robust\" would fill the zeros"):
        Standardized(SemiNMF(K), "robust").fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="how must be one of"):
        Standardized(SemiNMF(K), "both").fit(X)  # type: ignore[arg-type]
    assert not hasattr(dense, "predict")
    assert hasattr(Standardized(FactorKMeans(SemiNMF(K))), "predict")


def test_parameters_that_json_does_not_have(tmp_path: Path) -> None:
    X = samples()
    rng = np.random.default_rng(0)
    graph = sp.coo_array(np.triu(rng.random((N, N)) < 0.1, 1) * 1.0)
    graph = graph + graph.T
    init = (rng.uniform(-1, 1, (M, K)), rng.uniform(0, 1, (N, K)))
    seen = []
    model = L21SemiNMF(
        K, graph=graph, init=init, random_state=np.random.RandomState(4), callback=seen.append
    )
    with converging_or_not():
        model.fit(X)
    model.save(tmp_path / "m")
    loaded = seminmf.load(tmp_path / "m")
    assert loaded.callback is None
    assert (loaded.graph != graph).nnz == 0
    assert_same(loaded.init[0], init[0])
    assert_same(loaded.init[1], init[1])
    assert loaded.random_state.random_sample() == model.random_state.random_sample()
    assert_same(model.transform(samples(1)), loaded.transform(samples(1)))
    # A fit of the loaded estimator is a fit of the saved one.
    with converging_or_not():
        assert_same(
            model.set_params(random_state=0).fit(X), loaded.set_params(random_state=0).fit(X)
        )


def test_feature_names_come_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(samples(), columns=[f"größe {i}" for i in range(M)])
    model = L21SemiNMF(K).fit(frame)
    model.save(tmp_path / "m")
    loaded = seminmf.load(tmp_path / "m")
    assert_same(model, loaded)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"größe 0": "other"}))


def test_notes_come_back(tmp_path: Path) -> None:
    notes = {"names": ["a", "<b>"], "x": float("inf"), "deep": {"y": (1, None, True)}, "": {}}
    SemiNMF(K).fit(samples()).save(tmp_path / "m", notes=notes)
    assert load_with_notes(tmp_path / "m")[1] == notes


# Searches for neighbours.


class OwnSearch(KNeighborsTransformer):
    """As a user would write it."""


class OwnGraph(L21SemiNMF):
    """A class that makes a search of a word, and keeps the word."""

    def __init__(self, n_components: int = 2, *, graph: Any = "own", callback: Any = None) -> None:
        super().__init__(n_components, graph=graph, callback=callback)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        word, self.graph = self.graph, {"own": OwnSearch, "radius": radius_search}[self.graph]()
        try:
            return super().fit(X)
        finally:
            self.graph = word


def radius_search() -> RadiusNeighborsTransformer:
    X = samples()
    return RadiusNeighborsTransformer(radius=0.5 * float(np.linalg.norm(X, axis=1).mean()))


def city(a: Array, b: Array) -> float:
    return float(np.abs(a - b).sum())


SEARCHES = {
    "nearest": lambda: KNeighborsTransformer(n_neighbors=4),
    "cosine": lambda: KNeighborsTransformer(mode="connectivity", n_neighbors=4, metric="cosine"),
    "radius": radius_search,
}


@pytest.mark.parametrize("later", [None, "knn"])
@pytest.mark.parametrize("form", ["dense", "csr_array", "float32", "fortran"])
@pytest.mark.parametrize("search", SEARCHES)
def test_searches_for_neighbours_come_back(
    search: str, form: str, later: str | None, tmp_path: Path
) -> None:
    graph = SEARCHES[search]()
    X, new = stored(samples(), form, tmp_path), stored(samples(1), form, tmp_path)
    with converging_or_not():
        model = L21SemiNMF(K, graph=graph, random_state=0).fit(X)
    if later is not None:
        model.set_params(graph=later)
    model.save(tmp_path / "m")
    loaded = seminmf.load(tmp_path / "m")
    assert_same(model, loaded)
    assert_same(model.transform(new), loaded.transform(new))
    assert_same(model.transform(X), loaded.transform(X))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    if later is not None:
        assert loaded.graph == later
        return
    assert type(loaded.graph) is type(graph)
    assert loaded.graph.get_params() == graph.get_params()
    assert not hasattr(loaded.graph, "n_samples_fit_")
    with converging_or_not():
        assert_same(loaded.fit(X), model)  # a whole estimator


def test_searches_in_other_models_come_back(tmp_path: Path) -> None:
    X, new = np.repeat(samples(), 2, axis=0), samples(1)  # each sample twice: one vertex of two
    fitted_before = KNeighborsTransformer(n_neighbors=3).fit(X[:9])
    weighted = KNeighborsTransformer(
        n_neighbors=3, metric="seuclidean", metric_params={"V": np.arange(1.0, M + 1)}
    )
    for graph in (fitted_before, weighted):
        inner = FactorKMeans(GraphSemiNMF(K, graph=graph), random_state=0)
        with converging_or_not():
            model = Standardized(inner, "scale").fit(X)
        model.save(tmp_path / "m")
        loaded = seminmf.load(tmp_path / "m")
        assert_same(model, loaded)
        assert_same(model.predict(new), loaded.predict(new))
        Z = model.standardize(new)
        first, second = model.model_.factorizer_, loaded.model_.factorizer_
        assert_same(first.transform(Z), second.transform(Z))
    assert_same(loaded.model.factorizer.graph.metric_params["V"], weighted.metric_params["V"])


def test_a_search_made_of_a_word_comes_back(tmp_path: Path) -> None:
    with converging_or_not():
        model = OwnGraph(K, graph="radius").fit(samples())
    model.save(tmp_path / "m")
    loaded = seminmf.load(tmp_path / "m")
    assert loaded.graph == "radius"
    assert_same(model.transform(samples(1)), loaded.transform(samples(1)))


def after(model: Any, graph: str) -> Any:
    """The model with another graph set after it was fitted."""
    with converging_or_not():
        return model.fit(samples()).set_params(graph=graph)


@pytest.mark.parametrize(
    ("make_model", "message"),
    [
        (lambda: L21SemiNMF(K, graph=OwnSearch()), r"^graph: a OwnSearch.*knn"),
        (
            lambda: L21SemiNMF(K, graph=make_pipeline(StandardScaler(), KNeighborsTransformer())),
            "^graph: a Pipeline.*knn",
        ),
        (
            lambda: L21SemiNMF(K, graph=KNeighborsTransformer(metric=city)),
            "^graph.metric: a function.*knn",
        ),
        (
            lambda: L21SemiNMF(
                K, graph=KNeighborsTransformer(metric="pyfunc", metric_params={"func": city})
            ),
            r"^graph.metric_params\['func'\]: a function.*knn",
        ),
        (
            lambda: FactorKMeans(L21SemiNMF(K, graph=OwnSearch())),
            "^factorizer.graph: a OwnSearch.*knn",
        ),
        (lambda: OwnGraph(K), r"a OwnSearch cannot .* KNeighborsTransformer .*graph=\"knn\""),
        (
            lambda: after(L21SemiNMF(K, graph=OwnSearch()), "knn"),
            r"a OwnSearch cannot .* KNeighborsTransformer .*graph=\"knn\"",
        ),
        (
            lambda: after(L21SemiNMF(K, graph=KNeighborsTransformer(metric=city)), "knn"),
            r"\.metric: a function cannot .* no functions.*graph=\"knn\"",
        ),
        (
            lambda: FactorKMeans(decomposition.NMF(K, max_iter=2000)),
            "^factorizer: .* use one of seminmf's own",
        ),
    ],
)
def test_what_cannot_be_stored_is_named(make_model: Any, message: str, tmp_path: Path) -> None:
    model = make_model()
    if not hasattr(model, "codes_"):
        with converging_or_not():
            model.fit(samples())
    with pytest.raises(ValueError, match=message) as caught:
        model.save(tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_fitted_search_without_its_samples_is_refused(tmp_path: Path) -> None:
    class Keeping(SemiNMF):
        """As a user would write it."""

    model = Keeping(K).fit(samples())
    model.search_ = KNeighborsTransformer().fit(samples())
    with pytest.raises(ValueError, match=r"\['search_'\]: a fitted KNeighborsTransformer cannot"):
        model.save(tmp_path / "m")
    model.search_ = KNeighborsTransformer(n_neighbors=2)
    model.save(tmp_path / "m")
    assert seminmf.load(tmp_path / "m").search_.n_neighbors == 2


def test_only_fitted_models_are_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        L21SemiNMF(K).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SemiNMF(K).fit(samples())
    path = tmp_path / "model.seminmf"
    path.write_bytes(b"before")
    for target, name in ((np.lib.format, "write_array"), (Path, "replace")):
        for error in (OSError("No space left on device"), KeyboardInterrupt()):
            with monkeypatch.context() as patch:

                def refuse(*_: object, error: BaseException = error, **__: object) -> None:
                    raise error

                patch.setattr(target, name, refuse)
                with pytest.raises(type(error)):
                    model.save(path)
            assert path.read_bytes() == b"before"
            assert list(tmp_path.iterdir()) == [path]
    model.save(path)
    assert_same(model, seminmf.load(path))
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="create it first"):
        model.save(tmp_path / "nowhere" / "m")
    with pytest.raises(IsADirectoryError, match=r"of seminmf fit that is model\.seminmf"):
        seminmf.load(tmp_path)


def test_the_same_model_is_the_same_file(tmp_path: Path) -> None:
    model = L21SemiNMF(K).fit(samples())
    model.save(tmp_path / "a")
    seminmf.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("opening", ["seminmf.models.persistence", "seminmf"])
def test_a_file_can_be_the_first_thing_that_is_opened(file: Path, opening: str) -> None:
    code = (
        f"import sys; from {opening} import load\n"
        "assert 'seminmf.models.estimators' not in sys.modules\n"
        "model = load(sys.argv[1])\n"
        "assert type(model.factorizer_).__name__ == 'L21SemiNMF'\n"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)


# What is not a whole file of ours.


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "model.seminmf"
    FactorKMeans(L21SemiNMF(2), random_state=0).fit(samples(n=12)).save(path)
    return path


def refused(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        seminmf.load(path)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    return message


@given(st.data())
def test_any_changed_byte_is_noticed(file: Path, data: st.DataObject) -> None:
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    refused(bytes(content), file.with_name("changed"))


@given(st.data())
def test_any_cut_is_noticed(file: Path, data: st.DataObject) -> None:
    content = file.read_bytes()
    length = data.draw(st.integers(0, len(content) - 1))
    refused(content[:length], file.with_name("cut"))


def test_the_ends_of_a_file(file: Path) -> None:
    content, other = file.read_bytes(), file.with_name("other")
    for length in (*range(1, 120), *range(len(content) - 120, len(content))):
        assert "damaged" in refused(content[:length], other)
    assert "it is empty" in refused(b"", other)
    assert "damaged" in refused(content + b"x", other)
    assert "damaged" in refused(content + content, other)


def test_other_files(file: Path) -> None:
    other = file.with_name("other")
    assert "pickle" in refused(pickle.dumps({"a": 1}), other)
    assert "not a model file" in refused(b"a,b\n1,2\n", other)
    archive = io.BytesIO()
    np.savez(archive, X=np.eye(2))
    assert "not a model file" in refused(archive.getvalue(), other)
    with pytest.raises(FileNotFoundError):
        seminmf.load(file.with_name("nothing"))
    with pytest.raises(IsADirectoryError):
        seminmf.load(file.parent)


# Files with valid checksums, made by hand.

Members = dict[str, bytes]


def forged(
    file: Path,
    change: Callable[[dict[str, Any], Members], None],
    compression: int = zipfile.ZIP_STORED,
    twice: str | None = None,
) -> bytes:
    """The file with other members, sealed anew."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop(_container.HEADER))
    change(header, members)
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.comment = b" " * _container._SEAL_LENGTH
        archive.writestr(_container.HEADER, members.pop(_container.HEADER, text))
        for name, content in members.items():
            archive.writestr(name, content)
        if twice is not None:
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr(twice, b"")
    content = stream.getvalue()[: -_container._SEAL_LENGTH]
    return content + _container._seal(io.BytesIO(content), len(content))


def test_a_forged_file_is_what_the_tests_below_think(file: Path) -> None:
    other = file.with_name("forged")
    other.write_bytes(forged(file, lambda header, members: None))
    assert_same(seminmf.load(other), seminmf.load(file))


def first_array(header: dict[str, Any]) -> dict[str, Any]:
    return header["arrays"]["arrays/0.npy"]


def state(header: dict[str, Any]) -> dict[str, Any]:
    return header["model"]["state"]["$dict"]


def factorizer(header: dict[str, Any]) -> dict[str, Any]:
    return state(header)["factorizer_"]["$model"]


def with_version(header: dict[str, Any], members: Members) -> None:
    header |= {"format_version": 3, "seminmf": "9.9"}


def with_other_content(header: dict[str, Any], members: Members) -> None:
    members["arrays/0.npy"] = members["arrays/0.npy"][:-1] + b"\x07"


def with_short_content(header: dict[str, Any], members: Members) -> None:
    members["arrays/0.npy"] = members["arrays/0.npy"][:-8]


def with_huge_shape(header: dict[str, Any], members: Members) -> None:
    stream = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)}
    np.lib.format.write_array_header_2_0(stream, description)
    members["arrays/0.npy"] = stream.getvalue()
    first_array(header).update(shape=[2**40, 2**20], dtype="<f8", fortran_order=False)


def with_objects(header: dict[str, Any], members: Members) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([{}]), version=(2, 0), allow_pickle=True)
    members["arrays/0.npy"] = stream.getvalue()
    first_array(header).update(shape=[1], dtype="|O", fortran_order=False)


def with_other_npy(header: dict[str, Any], members: Members) -> None:
    stream = io.BytesIO()
    np.save(stream, np.eye(2))
    members["arrays/0.npy"] = stream.getvalue()


def projector(header: dict[str, Any]) -> dict[str, Any]:
    return factorizer(header)["state"]["$dict"]["projector"]["$dict"]


def with_array(array: Any, name: str) -> Callable[[dict[str, Any], Members], None]:
    """Another array in the place of one of the projector, with a right checksum."""

    def change(header: dict[str, Any], members: Members) -> None:
        place = projector(header)[name]["$array"]
        content = np.ascontiguousarray(array)
        entry = {"shape": list(array.shape), "dtype": array.dtype.str, "fortran_order": False}
        entry["sha256"] = hashlib.sha256(content.tobytes()).hexdigest()
        stream = io.BytesIO()
        np.lib.format.write_array(stream, content, version=(2, 0), allow_pickle=False)
        header["arrays"][place], members[place] = entry, stream.getvalue()

    return change


def with_a_place_before_the_file(header: dict[str, Any], members: Members) -> None:
    members["arrays/0.npy"] = b"PK\x05\x06" + b"\xff" * 18 + members["arrays/0.npy"]


CHANGES: list[tuple[Callable[[dict[str, Any], Members], object], str]] = [
    (with_version, r"format version 3, written by seminmf 9\.9.*upgrade"),
    (with_other_content, "arrays/0.npy: its checksum does not match"),
    (with_short_content, r"arrays/0.npy: has \d+ bytes for shape"),
    (with_huge_shape, "arrays/0.npy: has 0 bytes for shape"),
    (with_objects, "arrays of type object are not opened"),
    (with_other_npy, "version .* of .npy is not used here"),
    (lambda h, m: m.update({"arrays/0.npy": b""}), "arrays/0.npy"),
    (lambda h, m: first_array(h).update(shape=[1, 1]), r"but the header says \S+ \(1, 1\)"),
    (lambda h, m: m.pop("arrays/1.npy"), "'arrays/1.npy' is missing"),
    (lambda h, m: m.update(odd=b"?"), "'odd' does not belong there"),
    (lambda h, m: h.update(format="other"), "format is 'other'"),
    (lambda h, m: h.update(format_version="1"), "format_version is '1'"),
    (lambda h, m: h.update(arrays=[]), "arrays are not listed"),
    (lambda h, m: h.pop("format"), "its header: KeyError"),
    (lambda h, m: m.update({_container.HEADER: b"{"}), "its header: JSONDecodeError"),
    (lambda h, m: m.update({_container.HEADER: b"[" * 10**6}), "its header: RecursionError"),
    (lambda h, m: m.update({_container.HEADER: b"\xff"}), "its header: UnicodeDecodeError"),
    (lambda h, m: h["model"].update({"class": "Forest"}), "a Forest, which this version"),
    (lambda h, m: h["model"].update({"class": 7}), "a 7, which this version"),
    (lambda h, m: h["model"]["parameters"].update(trees=3), "unexpected keyword argument 'trees'"),
    (lambda h, m: state(h).update(fit=3), "'fit' is not the name of a fitted attribute"),
    (lambda h, m: state(h).update(__class__=3), "'__class__' is not the name"),
    (lambda h, m: state(h).pop("factorizer_"), "factorizer_"),
    (lambda h, m: state(h).update(n_={"$code": "1"}), "is not a kind of value"),
    (lambda h, m: h.update(notes=[]), "notes are not a dict"),
    # What compiled code would have called at the address zero, or read beyond its end.
    (lambda h, m: projector(h).update(mu=1.0), "penalty None is none"),
    (lambda h, m: projector(h).update(alpha=10**400), "OverflowError"),
    (lambda h, m: projector(h).update(alpha={"$float": "nan"}), "alpha must be a finite number"),
    (lambda h, m: projector(h)["recipe"]["$dict"].update(approximate=[1]), "must be True or False"),
    (with_array(np.zeros((7, 2), complex), "basis"), "arrays of type complex128 are not opened"),
    (with_array(np.zeros((7, 2), int), "basis"), "basis is not made of finite numbers"),
    (with_array(np.full((7, 2), np.nan), "basis"), "basis is not made of finite numbers"),
    (with_array(np.zeros(7), "basis"), "ValueError"),
    (with_a_place_before_the_file, "not a valid model file"),
    (lambda h, m: h.pop("model"), "KeyError: 'model'"),
    (
        lambda h, m: factorizer(h)["state"]["$dict"].update(n_features_in_=9),
        r"components_ .* do not fit 7 features",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=lambda value: str(value)[:30])
def test_checksums_alone_are_not_trusted(file: Path, change: Any, message: str) -> None:
    assert re.search(message, refused(forged(file, change), file.with_name("forged")))


def test_numbers_of_other_machines_are_those_of_this_one(file: Path) -> None:
    basis = np.arange(14, dtype=">f8").reshape(7, 2)
    other = file.with_name("forged")
    other.write_bytes(forged(file, with_array(basis, "basis")))
    found = seminmf.load(other).factorizer_._projector.basis
    assert found.dtype.isnative
    assert found.tolist() == basis.tolist()


def test_complex_numbers_are_not_stored(tmp_path: Path) -> None:
    model = L21SemiNMF(2).fit(samples(n=12))
    with pytest.raises(ValueError, match="An array of type complex128 cannot be stored"):
        model.save(tmp_path / "m", notes={"z": np.zeros(2, complex)})
    assert list(tmp_path.iterdir()) == []


def swap(name: str) -> Callable[[dict[str, Any], Members], None]:
    """One array of the projector stands in the place of another."""

    def change(header: dict[str, Any], members: Members) -> None:
        projector = factorizer(header)["state"]["$dict"]["projector"]["$dict"]
        projector[name] = projector["basis" if name != "basis" else "training"]

    return change


@pytest.mark.parametrize("name", ["basis", "training", "training_codes"])
def test_shapes_that_do_not_fit_are_refused(file: Path, name: str) -> None:
    assert "not fit" in refused(forged(file, swap(name)), file.with_name("forged"))


def test_too_many_neighbours_are_refused(file: Path) -> None:
    def change(header: dict[str, Any], members: Members) -> None:
        factorizer(header)["state"]["$dict"]["projector"]["$dict"]["n_neighbors"] = 10**6

    assert "n_neighbors is 1000000" in refused(forged(file, change), file.with_name("forged"))


def test_members_that_unpack_to_more_than_the_file_are_refused(file: Path) -> None:
    def bomb(header: dict[str, Any], members: Members) -> None:
        members["arrays/0.npy"] = b"\0" * 10**7

    other = file.with_name("forged")
    packed = forged(file, bomb, zipfile.ZIP_DEFLATED)
    assert len(packed) < 10**6
    assert "claim more than the file holds" in refused(packed, other)
    double = forged(file, lambda header, members: None, twice="arrays/0.npy")
    assert "a name twice" in refused(double, other)


def test_a_zip_without_its_directory_is_refused(file: Path) -> None:
    content = file.read_bytes()[:2000]
    sealed = content + _container._seal(io.BytesIO(content), len(content))
    assert "not a valid model file" in refused(sealed, file.with_name("forged"))


def searching(header: dict[str, Any]) -> dict[str, Any]:
    return header["model"]["state"]["$dict"]["projector"]["$dict"]["transformer"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: searching(h).update({"$neighbours": "Forest"}), "a Forest, which this version"),
        (lambda h: searching(h)["parameters"].update(trees=3), "argument 'trees'"),
        (lambda h: searching(h)["parameters"].update(metric="none"), "'metric' parameter"),
        (lambda h: searching(h).update(fitted_to="nothing"), "KeyError: 'nothing'"),
        (lambda h: searching(h).update(parameters=[]), "AttributeError"),
    ],
)
def test_searches_that_cannot_be_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    with converging_or_not():
        L21SemiNMF(K, graph=KNeighborsTransformer()).fit(samples()).save(path)
    content = forged(path, lambda header, members: change(header))
    assert re.search(message, refused(content, path.with_name("forged")))


def test_a_sparse_graph_out_of_its_bounds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    L21SemiNMF(K).fit(sp.csr_array(samples())).save(path)

    def change(header: dict[str, Any], members: Members) -> None:
        training = header["model"]["state"]["$dict"]["projector"]["$dict"]["training"]
        training["shape"] = [N, M - 1]

    assert "not a valid model file" in refused(forged(path, change), path.with_name("forged"))


def test_a_new_estimator_needs_no_change_elsewhere(tmp_path: Path) -> None:
    class Wider(L21SemiNMF):
        """As a user would write it."""

    model = Wider(K).fit(samples())
    model.save(tmp_path / "m")
    loaded = seminmf.load(tmp_path / "m")
    assert type(loaded) is Wider
    assert_same(loaded.transform(samples(1)), model.transform(samples(1)))


def test_an_estimator_of_the_same_name_as_ours_does_not_take_its_place(tmp_path: Path) -> None:
    """Before, it took the place of ours in every file; and its own was opened as one of ours."""
    ours = seminmf.SemiNMF(K).fit(samples())
    ours.save(tmp_path / "ours")
    name = ours.__class__.__name__
    own = type(name, (L21SemiNMF,), {"__module__": "strange", "__doc__": "As a user would."})
    own(K).fit(samples()).save(tmp_path / "own")
    assert type(seminmf.load(tmp_path / "ours")) is type(ours)
    assert type(seminmf.load(tmp_path / "own")) is own
    code = (
        "import sys, seminmf\n"
        "try:\n"
        "    seminmf.load(sys.argv[1])\n"
        "except seminmf.ModelFileError as error:\n"
        "    assert 'a strange.SemiNMF, which is not one of seminmf' in str(error), error\n"
        "    assert 'import the module that defines it' in str(error)\n"
        "else:\n"
        "    raise AssertionError('opened as another model')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "own")], check=True)


# Files of earlier versions.

EARLIER = Path(__file__).with_name("data")
# What the version of the files did not have, and what it stands for.
NEW_PARAMETERS = {"l1": 0.0}


def factorization(model: Any) -> Any:
    """The model itself, or the one inside."""
    for name in ("model_", "factorizer_"):
        model = getattr(model, name, model)
    return model


@pytest.mark.parametrize("path", sorted(EARLIER.glob("*.seminmf")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_open(path: Path, tmp_path: Path) -> None:
    """They compute what they did, and are whole models of this version."""
    with np.load(EARLIER / "expected.npz") as expected:
        new = expected["new"]
        answers = {
            name.split("/")[1]: expected[name]
            for name in expected
            if name.startswith(f"{path.stem}/")
        }
    assert answers
    model = seminmf.load(path)
    for method, answer in answers.items():
        found = getattr(model, method)(new)
        assert found.dtype == answer.dtype
        precision = 1e-5 if found.dtype == np.float32 else 1e-7
        np.testing.assert_allclose(found, answer, rtol=precision, atol=precision * answer.max())
    inner = factorization(model)
    assert inner.transform(np.zeros((1, 5))).shape == (1, 2)
    # Saved again and opened again it is the same.
    model.save(tmp_path / "again")
    again = seminmf.load(tmp_path / "again")
    assert_same(again, model)
    for method in answers:
        assert_same(getattr(again, method)(new), getattr(model, method)(new))
    # It can be fitted again, with what is new switched off.
    for name, value in NEW_PARAMETERS.items():
        assert getattr(inner, name, value) == value
    codes, fit = inner.codes_, inner.codes_ @ inner.components_
    if path.stem not in ("clusters", "standardized"):
        X, value = samples_of_earlier_files(), inner.objective_
        inner.fit(X.astype(np.float32) if codes.dtype == np.float32 else X)
        precision = 1e-3 if codes.dtype == np.float32 else 1e-6
        assert inner.objective_ <= value * (1 + precision)
        if inner.objective_ > value * (1 - precision):  # else it was frozen then
            # Codes had the unit of X then where nothing gave them a scale.
            found = inner.codes_ @ inner.components_
            np.testing.assert_allclose(found, fit, atol=3 * precision * np.abs(fit).max())


def samples_of_earlier_files() -> Array:
    """As in ``data/write.py``."""
    rng = np.random.default_rng(0)
    V, U = rng.integers(0, 9, (12, 2)), rng.integers(0, 9, (5, 2))
    return (V @ U.T + rng.integers(0, 4, (12, 5))) / 8.0


@pytest.mark.parametrize("path", sorted(EARLIER.glob("*.seminmf")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_have_every_attribute(path: Path) -> None:
    """What is new in a fitted model is there, too: the loss that its class stands for, no L1."""
    inner = factorization(seminmf.load(path))
    fresh = type(inner)(2).fit(samples_of_earlier_files())
    assert fitted_attributes(inner).keys() == fitted_attributes(fresh).keys()
    assert_same(inner.loss_, fresh.loss_)
    assert inner.l1_ == 0


def test_files_of_earlier_versions_are_there() -> None:
    assert len(list(EARLIER.glob("*.seminmf"))) == 10
    assert max(path.stat().st_size for path in EARLIER.iterdir()) < 10_000
