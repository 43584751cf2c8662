"""The first of the generated cases; `make fuzz` goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fuzz.cases import make
from fuzz.checks import FailureError
from fuzz.trial import check

_CASES, _TOGETHER = 150, 50


@pytest.mark.parametrize("first", range(0, _CASES, _TOGETHER))
@pytest.mark.filterwarnings("default")
def test_cases(first: int, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(first, first + _TOGETHER):
        case = make(number, tmp_path)
        try:
            outcomes[check(case)] += 1
        except FailureError as error:
            raise AssertionError(f"{case}: {error}") from error
    assert outcomes["fitted"] > _TOGETHER / 2, outcomes


def test_a_case_follows_from_its_number(tmp_path: Path) -> None:
    for number in range(40):
        one, other = make(number, tmp_path), make(number, tmp_path)
        assert str(one) == str(other)
        np.testing.assert_array_equal(one.dense, other.dense)


@pytest.mark.parametrize(
    ("attribute", "change", "kind"),
    [
        ("codes_", lambda model: model.codes_ * 1.001, "objective"),
        ("codes_", lambda model: -model.codes_, "negative codes"),
        ("kkt_residual_", lambda model: np.nan, "not finite"),
        ("residuals_", lambda model: model.residuals_ * 1.001, "residuals"),
        (
            "objective_history_",
            lambda model: np.append(model.objective_history_[0] * 0.9, model.objective_history_),
            "rise by cd",
        ),
    ],
)
def test_a_promise_that_is_not_kept_is_noticed(
    attribute: str, change: object, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(
        case
        for case in (make(number, tmp_path) for number in range(1000))
        if type(case.estimator).__name__ == "SemiNMF"
        and case.estimator.solver == "cd"
        and case.words[0] == "gauss"
        and case.words[-1] == "scale 1"
        and min(case.dense.shape) > case.estimator.n_components
    )
    kind_of = type(case.estimator)
    fit = kind_of.fit

    def spoilt(self: object, *arguments: object, **more: object) -> object:
        model = fit(self, *arguments, **more)
        setattr(model, attribute, change(model))  # type: ignore[operator]
        return model

    assert check(case) == "fitted"
    monkeypatch.setattr(kind_of, "fit", spoilt)
    with pytest.raises(FailureError, match=kind):
        check(case)
