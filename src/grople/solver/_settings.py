"""What a model is solved with: plain values, checked by the estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grople.errors import Choice, Flag, Number, Parameter, Whole, check_parameters

__all__ = ["CORRELATIONS", "EXPERTS", "Settings", "Solver"]

#: Forms of the correlation term.
CORRELATIONS = ("laplacian", "psd", None)
#: Maps from features to the latent space; the linear one is always there.
EXPERTS = ("linear", "kernel", "forest")
#: What each choice may be.
PARAMETERS: dict[str, Parameter] = {
    "tol": Number(),
    "max_iter": Whole(),
    "init": Choice(("spectral", "published")),
    "correlation": Choice(CORRELATIONS),
    "feature_weight": Number(high=1.0),
    "group_components": Whole(0),
    "fit_intercept": Flag(),
}


@dataclass(frozen=True)
class Solver:
    """How :class:`grople.GroPLE` is solved: what researchers turn and users do not.

    Parameters
    ----------
    tol : float
        Certified relative accuracy at which the mapping stops; the embedding, and maps of kept
        rows, whose last tenths of a per cent change no prediction, stop at ten times as much.
    max_iter : int
        The most outer iterations of the embedding (ten times as many steps of the mapping).
    init : {"spectral", "published"}
        ``"published"`` is the scheme behind the paper's tables, for all three stages.
    correlation : {"laplacian", "psd", None}
        Form of the correlation term R; the published scheme has its own.
    feature_weight : float in [0, 1]
        How much the embedding prefers what the features can predict of the labels.
    group_components : int
        Further latent dimensions that each group has for itself.
    fit_intercept : bool
        Whether the mapping has an intercept, which carries no penalty.

    Examples
    --------
    >>> from grople import GroPLE, Solver
    >>> GroPLE(solver=Solver(feature_weight=0.5)).solver.feature_weight
    0.5
    """

    tol: float = 1e-4
    max_iter: int = 100
    init: str = "spectral"
    correlation: str | None = "laplacian"
    feature_weight: float = 0.0
    group_components: int = 0
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        check_parameters("Solver", PARAMETERS, vars(self))


@dataclass(frozen=True)
class Settings:
    """The parameters of :class:`grople.GroPLE` that a model follows from.

    ``evidence`` says whether the decision is fitted on held-out rows, without which there is only
    the linear expert; ``seed`` is that of k-means, of the re-ranker and of the forest.
    """

    n_components: int | str = "auto"
    n_groups: int | str = 10
    grouping: Any = "spectral"
    lambda_1: float = 1e-3
    lambda_2: float = 1.0
    alpha: float = 0.1
    beta: float = 0.0
    gamma: float | str = "auto"
    margin: float = 0.0
    experts: tuple[str, ...] = EXPERTS
    evidence: bool = True
    context: bool | str = "auto"
    seed: int = 0
    solver: Solver = field(default_factory=Solver)
