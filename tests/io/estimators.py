"""Every estimator that has a model file, small enough to fit in a moment."""

from __future__ import annotations

from typing import Any

from grople import GroPLE, GroPLECV, Solver
from grople.baselines import BSVM, CPLST, LEML, LLSF, MLSF, PLST, FaIE, Ridge


def summary_estimators() -> list[Any]:
    """Return estimators that learn from a summary of rows: they learn on and forget."""
    return [
        GroPLE(),
        GroPLE(decision="sign"),
        GroPLE(gamma=1.0, beta=0.1, decision="micro_f1", solver=Solver(tol=1e-3)),
        GroPLE(margin=1.0, decision="accuracy"),
        GroPLE.published("medical", n_components=5, n_groups=3),
        PLST(5),
        CPLST(5),
        FaIE(5),
        LLSF(),
        LEML(5),
        Ridge(),
    ]


def all_estimators() -> list[Any]:
    """Return every estimator."""
    search = GroPLECV(alpha=[0.0, 1.0], gamma=1.0, cv=2, decision="sign")
    return [*summary_estimators(), search, BSVM(), MLSF(2)]


def name_of(estimator: Any) -> str:
    """Return a short name for test reports."""
    return f"{type(estimator).__name__}-{estimator.decision}"
