"""Every estimator of the library, small enough to fit in a moment."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from grople import GroPLE, GroPLECV
from grople.baselines import BSVM, CPLST, LEML, LLSF, MLSF, PLST, FaIE, Ridge

#: Checks of scikit-learn that cannot hold, with the reason.
DECISIONS = {
    "check_classifier_multioutput": (
        "demands predict(X) == (decision_function(X) > 0) == (predict_proba(X) > ½) for label "
        "matrices; a decision that maximises a measure takes other labels, and a calibrated "
        "probability of ½ need not lie at a score of zero"
    )
}


def moment_estimators() -> list[Any]:
    """Return estimators that learn from moments: they stream and forget."""
    return [
        GroPLE(random_state=0),
        GroPLE(decision="sign", random_state=0),
        GroPLE(
            form="implicit", gamma=1.0, beta=0.1, scale=True, decision="micro_f1", random_state=0
        ),
        GroPLE(margin=1.0, scale=True, decision="accuracy", random_state=0),
        PLST(5),
        CPLST(5),
        FaIE(5),
        LLSF(),
        LEML(5, random_state=0),
        Ridge(),
        *on_devices(),
    ]


def on_devices() -> list[Any]:
    """Return an estimator that computes through PyTorch, where that is installed."""
    if not all(map(find_spec, ("torch", "array_api_compat"))):
        return []
    return [GroPLE(decision=0.0, random_state=0, device="cpu")]


def all_estimators() -> list[Any]:
    """Return every estimator."""
    search = GroPLECV(alpha=[0.0, 1.0], beta=0.0, gamma=1.0, cv=2, decision="sign", random_state=0)
    # The SVMs' default tolerance leaves open in the third digit what the contract compares to 1e-7.
    rows = [BSVM(tol=1e-10), MLSF(2, tol=1e-12, max_iter=20_000, random_state=0)]
    return [*moment_estimators(), search, *rows]


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks that this estimator is known not to pass."""
    return DECISIONS


def name_of(estimator: Any) -> str:
    """Return a short name for test reports."""
    return f"{type(estimator).__name__}-{getattr(estimator, 'form', 'rows')}-{estimator.decision}"
