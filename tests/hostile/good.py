"""Good files of every kind, small, to be changed."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def make_models(folder: Path) -> None:
    """Model files of every kind, small; and a state of a fit that was stopped."""
    from sklearn.neighbors import KNeighborsTransformer

    from seminmf import FactorKMeans, L21SemiNMF, RobustSemiNMF, SemiNMF, Standardized

    X = samples()
    models = {
        "clusters": FactorKMeans(L21SemiNMF(2, max_iter=20), random_state=0),
        "plain": SemiNMF(3, max_iter=20, random_state=0),
        "standardized": Standardized(L21SemiNMF(2, max_iter=20)),
        "searching": L21SemiNMF(2, max_iter=20, graph=KNeighborsTransformer(n_neighbors=3)),
        "penalised": RobustSemiNMF(2, max_iter=20, l1=1e-3, loss="cauchy"),
    }
    for name, model in models.items():
        model.fit(X).save(folder / f"{name}.model")
    L21SemiNMF(2, max_iter=20).fit(sp.csr_array(np.maximum(X, 0))).save(folder / "sparse.model")
    stream = SemiNMF(2, random_state=0)
    for _ in range(2):
        stream.partial_fit(X)
    stream.save(folder / "stream.model")
    state = folder / "state"
    L21SemiNMF(2, random_state=0, callback=lambda p: p.iteration == 3, checkpoint=state).fit(X)
    (state / "state.npz").rename(folder / "fit.state")
    state.rmdir()


def samples() -> Any:
    return np.random.default_rng(0).normal(size=(30, 5))


def make_tables(folder: Path) -> None:
    """Tables in every format, and rows of an experiment."""
    import h5py
    import pandas as pd
    import scipy.io

    X = samples().round(3)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(5)])
    frame.insert(0, "name", [f"s{i}" for i in range(30)])
    text = frame.to_csv(index=False).encode()
    (folder / "a.csv").write_bytes(text)
    (folder / "semicolons.csv").write_bytes(text.replace(b",", b";").replace(b".", b","))
    (folder / "b.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "c.txt").write_bytes(text.replace(b",", b" "))
    frame.to_parquet(folder / "d.parquet")
    frame.to_feather(folder / "m.feather", compression="uncompressed")
    frame.to_excel(folder / "n.xlsx", index=False)
    np.save(folder / "e.npy", X)
    np.savez(folder / "f.npz", X=X, feature_names=list(frame.columns[1:]))
    np.savez_compressed(folder / "g.npz", X=X)
    sparse = sp.csr_array(X * (np.abs(X) > 1))
    sp.save_npz(folder / "h.npz", sparse)
    for name, matrix in {"i": sparse, "j": X}.items():
        stream = io.BytesIO()
        scipy.io.mmwrite(stream, matrix)
        (folder / f"{name}.mtx").write_bytes(stream.getvalue())
    for name in ("k", "l"):
        with h5py.File(folder / f"{name}.h5ad", "w") as file:
            if name == "k":
                file["X"] = X
            else:
                group = file.create_group("X")
                group.attrs.update({"encoding-type": "csr_matrix", "shape": sparse.shape})
                for part in ("data", "indices", "indptr"):
                    group[part] = getattr(sparse, part)
            for axis, length in (("obs", 30), ("var", 5)):
                group = file.create_group(axis)
                group.attrs["_index"] = "_index"
                group["_index"] = [f"{axis}{i}".encode() for i in range(length)]
    lines = [{"key": f"k{i}", "rows": [{"model": "m", "value": i / 7}]} for i in range(8)]
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
