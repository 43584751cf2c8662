"""One case: is it fitted, and does everything hold that is promised?"""

from __future__ import annotations

from sklearn.base import clone

from fuzz.cases import Case
from fuzz.checks import Fitted, again, hold, listening, refusal
from fuzz.uses import USES, new_samples


def check(case: Case) -> str:
    """Fit, and raise a `FailureError` for what does not hold; "fitted", or why it was refused."""
    model = clone(case.estimator)
    with listening():
        try:
            model.fit(case.X, sample_weight=case.weights)
        except Exception as error:
            return "refused: " + refusal(case, error)
        fitted = Fitted(case, model)
        hold(fitted)
        new_samples(fitted)
        try:
            USES[case.use](fitted)
        except ValueError as error:
            refusal(case, error)
    again(case, model)
    return "fitted"
