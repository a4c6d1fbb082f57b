"""GroPLE: groups → embedding → experts → decision, from a summary of rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from grople.decision import context_of
from grople.errors import Number, Parameter, Whole
from grople.estimators._base import row_by_row, seed_of
from grople.estimators._summary_classifier import SummaryClassifier
from grople.experts import solve_experts
from grople.moments import RowSummary
from grople.published import published_setting, solve_published
from grople.solver import EXPERTS, FittedModel, Settings, Solver
from grople.solver._solve import Progress

__all__ = ["GroPLE"]

Array = NDArray[Any]


class GroPLE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SummaryClassifier):
    """Group-preserving label embedding for multi-label classification.

    Labels are grouped, embedded in a latent space whose dimensions each group shares, and the
    features are mapped to that space; a score for each label follows. All of it is learnt from
    second moments of features and labels, so rows can be added and removed exactly: the model is
    a function of the set of rows it knows.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Latent dimensions (d), clipped to the number of labels. ``"auto"`` takes as many as hold
        the spread of the labels; of more than 1,000 labels 98 % of it, with at most 1,500
        dimensions of 3,000 labels, fewer of more, and 500 of 9,000 and beyond. The paper
        takes 100.
    n_groups : int or "auto", default=10
        Label groups (K), clipped to the number of labels. ``"auto"`` finds K from the spectrum of
        the label graph.
    grouping : str or partition, default="spectral"
        ``"spectral"``, ``"cosine"``, ``"kmeans"``, ``"hierarchical"``, ``"single"``,
        ``"singletons"``, the group of each label, or a list of lists of label numbers.
    lambda_1 : float, default=1e-3
        Weight of ‖U‖² in the embedding (λ1).
    lambda_2 : float, default=1.0
        Weight of the row norms of V inside groups (λ2). As U and V are balanced, the two act only
        through λ1·λ2²; the paper has both.
    alpha : float, default=0.1
        Weight of the correlation between dimensions in the mapping (α).
    beta : float, default=0.0
        Weight of ‖Z‖₁ in the mapping (β); zero has a closed form.
    gamma : float or "auto", default="auto"
        Weight of ‖Z‖² in the mapping (γ); ``"auto"`` by the error expected on unseen rows.
    margin : float, default=0.0
        How far kept rows may move the map to widen margins: where squares draw scores back that
        are beyond ±1, a squared hinge loss lets them be. Zero keeps to the moments; .3 is a good
        start. Takes up to six times as long and pays on texts with clear topics. Every weight
        moves, so what β made zero is not zero any more.
    experts : "auto" or sequence of str, default="auto"
        Maps from features to the latent space whose scores are joined, learnt from the kept rows:
        ``"linear"`` (always there, from the moments of all rows), ``"kernel"`` (similarities to
        landmarks) and ``"forest"``. ``"auto"`` tries all; those that pay on held-out rows stay.
        ``["linear"]`` keeps to the paper's map. With a decision that needs no held-out scores, or
        without kept rows, there is only the linear one.
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels: above zero, above a number, so that ``"accuracy"``,
        ``"example_f1"``, ``"macro_f1"`` or ``"micro_f1"`` is as large as possible, or by another
        rule of :class:`grople.decision.Rule`. May be changed on a fitted model with
        ``set_params``. A 1-d target is decided by sign or largest score.
    max_kept_rows : int, default=20000
        Distinct rows kept, at most, to fit such a decision on held-out scores (and for `experts`
        and `margin`),
        and as many in reserve, so that rows can be forgotten; zero keeps none and uses the means
        and spreads of scores that the moments imply. Of sparse rows with many features all are
        kept, in place of matrices.
    random_state : int, RandomState or None, default=None
        Seed of k-means, of the forest and of the re-ranker. None is a seed too, always the same,
        so that equal rows make equal models.
    solver : Solver, optional
        Tolerances, and choices that researchers make (:class:`grople.Solver`).

    Attributes
    ----------
    label_groups_ : ndarray of shape (n_labels,)
        The group of each label (−1 for a label that never or always occurs).
    components_ : ndarray of shape (d, n_labels)
        V, the hyperplanes.
    mapping_ : ndarray of shape (n_features, d)
        Z, the map from features to points.
    objective_path_ : ndarray
        The objective of the embedding after each outer iteration.
    n_iter_ : int
        Outer iterations of the embedding.
    gamma_ : float
        The γ used.
    coef_, intercept_ : ndarray
        The scores of the linear expert as a linear function of the features.
    selection_ : list of dict
        The experts tried: log loss on held-out rows, weight in the joined scores (0: left out),
        seconds.
    summary_ : RowSummary
        What the model was learnt from.
    fitted_model_ : FittedModel
        Scores and decision as plain values.
    exactness_ : str
        What holds of this model beside a fresh fit of the same rows.
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> model = GroPLE().fit(data.X[:3000], data.Y[:3000])
    >>> example_f1(data.Y[3000:], model.predict(data.X[3000:])) > 0.5
    True
    """

    _parameters: ClassVar[dict[str, Parameter]] = {
        "n_components": Whole(1, words=("auto",)),
        "n_groups": Whole(1, words=("auto",)),
        "lambda_1": Number(),
        "lambda_2": Number(),
        "alpha": Number(),
        "beta": Number(),
        "gamma": Number(words=("auto",)),
        "margin": Number(),
        "max_kept_rows": Whole(0),
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        n_groups: int | str = 10,
        *,
        grouping: Any = "spectral",
        lambda_1: float = 1e-3,
        lambda_2: float = 1.0,
        alpha: float = 0.1,
        beta: float = 0.0,
        gamma: float | str = "auto",
        margin: float = 0.0,
        experts: Any = "auto",
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
        random_state: Any = None,
        solver: Solver | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_groups = n_groups
        self.grouping = grouping
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.margin = margin
        self.experts = experts
        self.decision = decision
        self.max_kept_rows = max_kept_rows
        self.random_state = random_state
        self.solver = solver

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the paper's setting for a data set, with its reference behaviour.

        Parameters
        ----------
        name : str
            One of the paper's data sets (a suffix as in ``"genbase-authors"`` is fine).
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> GroPLE.published("corel5k").alpha
        1000.0
        """
        reference: dict[str, Any] = {
            "n_components": 100,
            "n_groups": 10,
            "gamma": 0.0,
            "decision": "sign",
            "solver": Solver(init="published", fit_intercept=False),
        }
        return cls(**(reference | published_setting("GroPLE", name) | parameters))

    @row_by_row
    def transform(self, X: Any) -> Array:
        """Return the rows as points of the latent space, shape (n_rows, d).

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        return self.fitted_model_.points(self._validate_rows(X))

    @property
    def label_groups_(self) -> Array:
        """The group of each label."""
        groups = self.fitted_model_.groups
        assert groups is not None
        return groups

    @property
    def components_(self) -> Array:
        """V, shape (d, n_labels)."""
        V = self.fitted_model_.linear.V
        assert V is not None
        return V

    @property
    def mapping_(self) -> Array:
        """Z, shape (n_features, d)."""
        return self.fitted_model_.linear.Z

    @property
    def objective_path_(self) -> Array:
        """The objective of the embedding after each outer iteration."""
        return self.fitted_model_.report["objective_path"]

    @property
    def n_iter_(self) -> int:
        """Outer iterations of the embedding, at least one."""
        return max(1, self.fitted_model_.report["n_iter"])

    @property
    def gamma_(self) -> float:
        """The γ used."""
        return self.fitted_model_.report["gamma"]

    @property
    def selection_(self) -> list[dict[str, Any]]:
        """The experts tried, what they are worth, and how much they count."""
        return self.fitted_model_.report.get("selection", [{"expert": "linear", "weight": 1.0}])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _solve(self, summary: RowSummary, progress: Progress) -> FittedModel:
        settings = self._settings()
        if settings.solver.init == "published":
            return solve_published(summary, settings)
        return solve_experts(summary, settings, progress)

    def _settings(self, **chosen: Any) -> Settings:
        names = ("n_components", "n_groups", "grouping", "lambda_1", "lambda_2", "alpha", "beta",
                 "gamma", "margin")  # fmt: skip
        values = {name: getattr(self, name) for name in names} | chosen
        return Settings(
            **values,
            experts=EXPERTS if isinstance(self.experts, str) else tuple(self.experts),
            evidence=self._needs_evidence and self.max_kept_rows > 0,
            context=context_of(self.decision),
            seed=seed_of(self.random_state),
            solver=self.solver or Solver(),
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_random_state(self.random_state)
        if not isinstance(self.solver, Solver | None):
            raise ValueError(f"GroPLE: solver must be a Solver or None; got {self.solver!r}")
        named = () if isinstance(self.experts, str) else self.experts
        if self.experts != "auto" and not (isinstance(named, list | tuple) and named
                                           and set(named) <= set(EXPERTS)):  # fmt: skip
            raise ValueError(
                f"{type(self).__name__}: experts must be 'auto' or some of {', '.join(EXPERTS)}; "
                f"got {self.experts!r}"
            )
        gammas = self.gamma if isinstance(self.gamma, list | tuple | np.ndarray) else [self.gamma]
        if self.margin and any(gamma == 0 for gamma in gammas):
            raise ValueError(f"margin={self.margin:g} needs a ridge weight: set gamma above zero")
