"""Every estimator of the library, small enough to fit in a moment."""

from __future__ import annotations

from typing import Any

from grople import GroPLE, GroPLECV, Solver
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
        GroPLE(),
        GroPLE(decision="sign"),
        GroPLE(gamma=1.0, beta=0.1, decision="micro_f1"),
        GroPLE(gamma=1.0, margin=1.0, decision="accuracy"),
        GroPLE(solver=Solver(init="published", fit_intercept=False), n_components=5, decision=0.0),
        PLST(5),
        CPLST(5),
        FaIE(5),
        LLSF(),
        LEML(5),
        Ridge(),
        Ridge(fit_intercept="penalised", decision="macro_f1"),
    ]


def row_estimators() -> list[Any]:
    """Return estimators that learn from the rows themselves."""
    return [BSVM(tol=1e-10), MLSF(2, tol=1e-12, max_iter=20_000)]


def all_estimators() -> list[Any]:
    """Return every estimator."""
    search = GroPLECV(alpha=[0.0, 1.0], beta=0.0, gamma=1.0, cv=2, decision="sign")
    return [*moment_estimators(), search, *row_estimators()]


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks that this estimator is known not to pass."""
    return DECISIONS


def name_of(estimator: Any) -> str:
    """Return a short name for test reports."""
    margin = "-margin" if getattr(estimator, "margin", 0.0) else ""
    return f"{type(estimator).__name__}-{estimator.decision}{margin}"
