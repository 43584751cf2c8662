"""scikit-learn's own checks of an estimator, all of them, for all six."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import converging_or_not
from seminmf import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.losses import Cauchy

ESTIMATORS = [
    NMF(),
    SemiNMF(),
    GraphSemiNMF(),
    L21SemiNMF(),
    L21SemiNMF(alpha=0, beta=0),
    L21SemiNMF(l1=1e-4),
    RobustSemiNMF(),
    RobustSemiNMF(loss=Cauchy(), alpha=0, beta=0),
    FactorKMeans(L21SemiNMF()),
    FactorKMeans(SemiNMF(3), n_clusters=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    with converging_or_not():
        check(estimator)
