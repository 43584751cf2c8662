"""AnnData objects: what is read, what is written, and that files can hold it."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers import cone
from seminmf import FactorKMeans, L21SemiNMF, SemiNMF, outlier_threshold
from seminmf.anndata import factorize


@pytest.fixture
def adata() -> anndata.AnnData:
    X = cone(80, 12, 3, noise=0.1)
    # Plain objects as names: not every anndata can write the string type of pandas 3.
    cells, genes = ([f"{what}{i}" for i in range(n)] for what, n in (("cell", 80), ("gene", 12)))
    found = anndata.AnnData(
        X,
        obs=pd.DataFrame(index=pd.Index(cells, dtype=object)),
        var=pd.DataFrame(index=pd.Index(genes, dtype=object)),
    )
    found.layers["shifted"] = X + 1
    return found


def test_what_is_written(adata: Any) -> None:
    before = adata.X.copy()
    assert factorize(adata, 3) is None
    model = FactorKMeans(L21SemiNMF(3, random_state=0), random_state=0).fit(before)
    factorization = model.factorizer_
    assert np.array_equal(adata.X, before)
    assert np.array_equal(adata.obsm["X_seminmf"], factorization.codes_)
    assert np.array_equal(adata.varm["seminmf_parts"], factorization.components_.T)
    assert np.array_equal(adata.obs["seminmf_outlier"], factorization.outlier_scores(before))
    assert adata.obs["seminmf_cluster"].dtype == "category"
    assert adata.obs["seminmf_cluster"].astype(int).tolist() == model.labels_.tolist()
    found = adata.uns["seminmf"]
    assert np.array_equal(found["objective_history"], factorization.objective_history_)
    assert found["objective"] == factorization.objective_
    assert found["outlier_threshold"] == outlier_threshold(adata.obs["seminmf_outlier"])
    assert found["params"]["model"] == "l21"
    assert found["params"]["strength"] == "auto"


def test_a_round_trip_through_a_file(adata: Any, tmp_path: Path) -> None:
    factorize(adata, 3, n_clusters=2, callback=lambda progress: None, alpha=np.float32(0.1))
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert np.array_equal(back.obsm["X_seminmf"], adata.obsm["X_seminmf"])
    assert np.array_equal(back.varm["seminmf_parts"], adata.varm["seminmf_parts"])
    assert back.obs["seminmf_cluster"].tolist() == adata.obs["seminmf_cluster"].tolist()
    assert set(back.obs["seminmf_cluster"].cat.categories) == {"0", "1"}
    for name, value in adata.uns["seminmf"].items():
        if name == "params":
            assert back.uns["seminmf"]["params"] == value
        else:
            assert np.array_equal(back.uns["seminmf"][name], value)
    assert back.uns["seminmf"]["params"]["callback"] == "function"


def test_copies_leave_the_original_alone(adata: Any) -> None:
    changed = factorize(adata, 2, copy=True, cluster=False)
    assert "X_seminmf" in changed.obsm
    assert "seminmf_cluster" not in changed.obs
    assert not adata.obsm
    assert not adata.uns


def test_views_become_objects_of_their_own(adata: Any) -> None:
    view = adata[adata.obs_names[:50], adata.var_names[:9]]
    assert view.is_view
    factorize(view, 2)
    assert not view.is_view
    assert view.obsm["X_seminmf"].shape == (50, 2)
    assert view.varm["seminmf_parts"].shape == (9, 2)
    assert not adata.obsm
    alone = adata[:50, :9].copy()
    factorize(alone, 2)
    assert np.array_equal(view.obsm["X_seminmf"], alone.obsm["X_seminmf"])


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_sparse_stays_sparse(adata: Any, form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = np.where(np.abs(adata.X) > 0.5, adata.X, 0)
    sparse = anndata.AnnData(form(dense.astype(np.float32)))
    monkeypatch.setattr(anndata.AnnData, "to_df", lambda *a: pytest.fail("made dense"))
    factorize(sparse, 3, cluster=False)
    expected = L21SemiNMF(3, random_state=0).fit(sp.csr_array(dense.astype(np.float32)))
    assert np.allclose(sparse.obsm["X_seminmf"], expected.codes_, atol=1e-5)
    assert sparse.obsm["X_seminmf"].dtype == np.float32


def test_layers_and_integers(adata: Any) -> None:
    factorize(adata, 2, model="semi", layer="shifted", cluster=False)
    expected = SemiNMF(2, random_state=0).fit(adata.layers["shifted"])
    assert np.array_equal(adata.obsm["X_seminmf"], expected.codes_)
    assert adata.uns["seminmf"]["params"]["layer"] == "shifted"
    adata.layers["counts"] = np.random.default_rng(0).poisson(3, adata.shape)
    factorize(adata, 2, model="nmf", layer="counts", key_added="counts_nmf")
    assert (adata.varm["counts_nmf_parts"] >= 0).all()
    assert {"counts_nmf_cluster", "counts_nmf_outlier"} <= set(adata.obs)
    assert "X_counts_nmf" in adata.obsm


def test_highly_variable_genes(adata: Any) -> None:
    chosen = np.arange(12) % 3 != 0
    adata.var["highly_variable"] = chosen
    factorize(adata, 3, cluster=False)
    expected = L21SemiNMF(3, random_state=0).fit(adata.X[:, chosen])
    parts = adata.varm["seminmf_parts"]
    assert np.array_equal(parts[chosen], expected.components_.T)
    assert not parts[~chosen].any()
    assert adata.uns["seminmf"]["params"]["mask_var"] == "highly_variable"
    for mask in (chosen, chosen.tolist()):
        factorize(adata, 3, cluster=False, mask_var=mask, key_added="b")
        assert np.array_equal(adata.varm["b_parts"], parts)
    factorize(adata, 3, cluster=False, mask_var=None)
    assert adata.varm["seminmf_parts"].all()
    assert "mask_var" not in adata.uns["seminmf"]["params"]


def test_a_graph_that_is_there_already(adata: Any) -> None:
    ring = sp.diags_array([0.5, 0.5], offsets=[1, -1], shape=(80, 80)).tocsr()
    adata.obsp["connectivities"] = sp.csr_matrix(ring)
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    factorize(adata, 3, neighbors_key="neighbors", cluster=False, strength=1e-2)
    expected = L21SemiNMF(3, graph=ring, strength=1e-2, random_state=0).fit(adata.X)
    assert np.array_equal(adata.obsm["X_seminmf"], expected.codes_)
    factorize(adata, 3, neighbors_key="connectivities", cluster=False, key_added="b", strength=1e-2)
    assert np.array_equal(adata.obsm["X_b"], expected.codes_)


def test_the_same_seed_gives_the_same_numbers(adata: Any) -> None:
    first = factorize(adata, 3, init="random", random_state=3, copy=True)
    second = factorize(adata, 3, init="random", random_state=3, copy=True)
    assert np.array_equal(first.obsm["X_seminmf"], second.obsm["X_seminmf"])
    assert first.obs["seminmf_cluster"].tolist() == second.obs["seminmf_cluster"].tolist()


def test_bad_requests(adata: Any) -> None:
    adata.obsp["ring"] = sp.eye_array(80, format="csr")
    for arguments, message in (
        ({"model": "pca"}, "model must be one of 'l21'"),
        ({"layer": "counts"}, "layer='counts' is not in adata.layers; there are 'shifted'"),
        ({"mask_var": "hvg"}, "mask_var='hvg' is not a column of adata.var; there are none"),
        ({"mask_var": np.ones(3, bool)}, r"one bool per gene, shape \(12,\)"),
        ({"mask_var": np.ones(12)}, "array of float64"),
        ({"mask_var": np.zeros(12, bool)}, "selects no gene"),
        ({"neighbors_key": "neighbors"}, "'neighbors' is not in adata.obsp, there are 'ring'"),
        ({"neighbors_key": "ring", "model": "semi"}, "needs a model with a graph"),
        ({"neighbors_key": "ring", "graph": "knn"}, "both given"),
        ({"key_added": ""}, "key_added must be a name"),
        ({"n_components": 0}, "n_components must be an integer"),
    ):
        with pytest.raises(ValueError, match=message):
            factorize(adata, **arguments)
    with pytest.raises(TypeError, match=r"'strenght'.*Parameters of L21SemiNMF are .*strength"):
        factorize(adata, strenght=1)
    assert not adata.obsm
    assert not adata.uns


def test_bad_data(adata: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"AnnData object, got ndarray.*L21SemiNMF"):
        factorize(np.ones((3, 3)))  # type: ignore[arg-type]
    spoilt = adata.copy()
    spoilt.X[4, 7] = np.nan
    with pytest.raises(ValueError, match=r"adata\.X has 1 entry that is NaN.*in gene 'gene7'"):
        factorize(spoilt)
    factorize(spoilt, 2, mask_var=np.arange(12) != 7)  # the gene takes no part
    spoilt.X = sp.csr_matrix(spoilt.X)
    with pytest.raises(ValueError, match="in gene 'gene7'"):
        factorize(spoilt)
    with pytest.raises(ValueError, match="1 cell and 12 genes"):
        factorize(adata[:1])
    with pytest.raises(ValueError, match=r"adata\.X is empty"):
        factorize(anndata.AnnData(obs=adata.obs, var=adata.var))
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"a\.h5ad; load it with adata = adata\.to_memory"):
        factorize(backed)
    backed.file.close()


def test_other_kinds_of_arrays_are_refused(adata: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anndata.AnnData, "X", property(lambda self: memoryview(b"12")))
    with pytest.raises(TypeError, match=r"adata\.X is a memoryview"):
        factorize(adata)


def test_without_anndata_there_is_a_word_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name == "anndata":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ImportError, match=r'pip install "seminmf\[anndata\]"'):
        factorize(object())  # type: ignore[arg-type]


def test_a_representation_instead_of_genes(adata: Any, tmp_path: Path) -> None:
    adata.obsm["X_pca"] = np.asarray(adata.X)[:, :4] * 2.0
    model = factorize(adata, 3, use_rep="X_pca", return_model=True)
    assert isinstance(model, FactorKMeans)
    assert np.array_equal(model.factorizer_.codes_, adata.obsm["X_seminmf"])
    assert "seminmf_parts" not in adata.varm
    assert np.array_equal(adata.uns["seminmf"]["parts"], model.factorizer_.components_.T)
    assert adata.uns["seminmf"]["params"]["use_rep"] == "X_pca"
    adata.write_h5ad(tmp_path / "a.h5ad")
    assert anndata.read_h5ad(tmp_path / "a.h5ad").uns["seminmf"]["parts"].shape == (4, 3)
    with pytest.raises(ValueError, match=r"use_rep='X_umap' is not in adata.obsm; there are 'X_p"):
        factorize(adata, 3, use_rep="X_umap")
    with pytest.raises(ValueError, match="layer and mask_var have no part"):
        factorize(adata, 3, use_rep="X_pca", layer="counts")
    adata.obsm["text"] = pd.DataFrame({"a": ["x"] * adata.n_obs}, index=adata.obs_names)
    with pytest.raises(ValueError, match="must be a matrix of numbers"):
        factorize(adata, 3, use_rep="text")


def test_the_model_is_returned_on_request(adata: Any) -> None:
    other, model = factorize(adata, 3, copy=True, cluster=False, return_model=True)
    assert isinstance(model, L21SemiNMF)
    assert np.array_equal(model.codes_, other.obsm["X_seminmf"])
    assert "X_seminmf" not in adata.obsm
