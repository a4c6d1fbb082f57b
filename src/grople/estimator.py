"""GroPLE: groups → embedding → mapping → decision, on second moments."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackContext
from sklearn.exceptions import ConvergenceWarning

from grople.affinity import Affinity, fit_affinity
from grople.base import DECISION_FOLDS, row_by_row
from grople.decision import ScoredBlock
from grople.embedding import Embedding, fit_embedding, predictable_gram
from grople.fingerprints import row_fingerprints
from grople.grid import fits_device, solve_grid
from grople.groups import Groups, fit_groups, given_partition, group_stability
from grople.linear import LinearScores, row_blocks
from grople.mapping import Mapping, MappingProblem
from grople.moments import Moments
from grople.optim import Weights
from grople.parameters import Anything, Choice, Flag, Number, Parameter, Whole
from grople.published import PUBLISHED_SETTINGS
from grople.relation import CORRELATIONS
from grople.reservoir import Reservoir, fold_of
from grople.ridge import choose_ridge
from grople.shifted import ENOUGH, ROUNDING
from grople.streaming import MomentClassifier, active_labels, learn_active_labels

__all__ = ["GroPLE", "GroPLEModel"]

Array = NDArray[Any]


@dataclass(frozen=True)
class GroPLEModel:
    """What the three stages found."""

    groups: Groups
    embedding: Embedding
    mapping: Mapping
    gamma: float
    active: Array
    scores: LinearScores

    def components(self, labels: Array) -> Array:
        """Return the hyperplanes of some labels."""
        assert self.scores.V is not None
        return self.scores.V[:, labels]


class GroPLE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MomentClassifier):
    """Group-preserving label embedding for multi-label classification.

    Labels are grouped, embedded in a latent space whose dimensions each group shares, and the
    features are mapped to that space; a score for each label follows. All of it is learnt from
    second moments of features and labels, so rows can be added and removed exactly.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Latent dimensions (d), clipped to the number of labels. ``"auto"`` takes as many as hold
        the spread of the labels; of more than 1,000 labels 98 % of it, at most 500. The paper
        takes 100.
    n_groups : int or "auto", default=10
        Label groups (K), clipped to the number of labels. ``"auto"`` finds K from the spectrum of
        the label graph.
    lambda_1 : float, default=1e-3
        Weight of ‖U‖² in the embedding (λ1).
    lambda_2 : float, default=1.0
        Weight of the row norms of V inside groups (λ2); larger lets groups share fewer dimensions.
    alpha : float, default=0.1
        Weight of the correlation between dimensions in the mapping (α).
    beta : float, default=0.0
        Weight of ‖Z‖₁ in the mapping (β); zero has a closed form.
    gamma : float or "auto", default="auto"
        Weight of ‖Z‖² in the mapping (γ); ``"auto"`` by generalised cross-validation.
    grouping : str or partition, default="spectral"
        ``"spectral"``, ``"cosine"``, ``"kmeans"``, ``"hierarchical"``, ``"single"``,
        ``"singletons"``, ``"published"``, the group of each label, or a list of lists of label
        numbers.
    correlation : {"laplacian", "psd", "published", None}, default="laplacian"
        Form of the correlation term. ``"published"`` is the paper's, unbounded below.
    init : {"spectral", "published"}, default="spectral"
        Start and scheme of the embedding.
    feature_weight : float in [0, 1], default=0.0
        How much the embedding prefers what the features can predict of the labels.
    group_components : int, default=0
        Further latent dimensions that each group has for itself.
    fit_intercept : bool, default=True
        Whether the mapping has an intercept, which carries no penalty.
    scale : bool, default=False
        Whether features are divided by their standard deviation (from moments, training rows only).
    affinity : bool, default=True
        Whether the decision gets a second opinion on the likeliest labels of a row: which features
        occur with which labels (:mod:`grople.affinity`). Without effect where features are no
        amounts (some negative), and on decisions that do not look at rows twice.
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels: above zero, above a number, so that ``"accuracy"``,
        ``"example_f1"``, ``"macro_f1"`` or ``"micro_f1"`` is as large as possible, or by another
        rule of :class:`grople.decision.Rule`, which also says how probabilities are made. May be
        changed on a fitted model with ``set_params``. A 1-d target is decided by sign or largest
        score.
    reservoir_size : int, default=20000
        Rows kept, at most, to fit such a decision on out-of-fold scores; zero keeps none and uses
        the means and spreads of scores that the moments imply. Scores are exact either way.
    row_check : bool, default=False
        Whether to keep a fingerprint of every row, so that ``forget`` refuses rows never added.
    form : {"auto", "explicit", "implicit"}, default="auto"
        Form of the moments: matrices, or (for many features) the sparse rows themselves.
    tol : float, default=1e-4
        Certified relative accuracy at which the mapping stops; the embedding, and maps too large
        for a closed form, whose last tenths of a per cent change no prediction, stop at ten times
        as much.
    max_iter : int, default=100
        The most outer iterations of the embedding (ten times as many steps of the mapping).
    random_state : int, RandomState or None, default=None
        Seed of the grouping (and of the published start).
    device : str or torch.device, default=None
        Where PyTorch multiplies and solves the large matrices (``"cuda"``, ``"cpu"``). None: at
        home in NumPy or, for rows in an array of another library, where they lie.

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
        The scores as a linear function of the features.
    moments_ : Moments
        What the model was learnt from.
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> model = GroPLE(random_state=0).fit(data.X[:3000], data.Y[:3000])
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
        "grouping": Anything(),
        "correlation": Choice(CORRELATIONS),
        "init": Choice(("spectral", "published")),
        "feature_weight": Number(high=1.0),
        "group_components": Whole(0),
        "affinity": Flag(),
        "tol": Number(),
        "max_iter": Whole(1),
        "device": Anything(),
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        n_groups: int | str = 10,
        lambda_1: float = 1e-3,
        lambda_2: float = 1.0,
        alpha: float = 0.1,
        beta: float = 0.0,
        gamma: float | str = "auto",
        *,
        grouping: Any = "spectral",
        correlation: str | None = "laplacian",
        init: str = "spectral",
        feature_weight: float = 0.0,
        group_components: int = 0,
        fit_intercept: bool = True,
        scale: bool = False,
        affinity: bool = True,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_groups = n_groups
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.grouping = grouping
        self.correlation = correlation
        self.init = init
        self.feature_weight = feature_weight
        self.group_components = group_components
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.affinity = affinity
        self.decision = decision
        self.reservoir_size = reservoir_size
        self.row_check = row_check
        self.form = form
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device

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
        settings = {key.lower(): value for key, value in PUBLISHED_SETTINGS.items()}
        key = name.lower()
        key = key if key in settings else key.partition("-")[0]
        if key not in settings:
            raise ValueError(
                f"the paper has no setting for {name!r}; it has {', '.join(PUBLISHED_SETTINGS)}"
            )
        alpha, beta = settings[key]
        reference: dict[str, Any] = {
            "n_components": 100,
            "n_groups": 10,
            "lambda_1": 1e-3,
            "lambda_2": 1.0,
            "alpha": alpha,
            "beta": beta,
            "gamma": 0.0,
            "grouping": "published",
            "correlation": "published",
            "init": "published",
            "fit_intercept": False,
            "decision": "sign",
        }
        return cls(**(reference | parameters))

    @row_by_row
    def transform(self, X: Any) -> Array:
        """Return the rows as points of the latent space, shape (n_rows, d).

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        X = self._validate_rows(X)
        return self._placed(self._model().scores, X).points(X)

    def group_stability(self, seeds: Sequence[int] = range(10)) -> float:
        """Return how alike the label groups of different seeds are (1: always the same).

        Parameters
        ----------
        seeds : sequence of int
            Seeds to compare.
        """
        labels = self.moments_.labels.select(self._model().active)
        return group_stability(labels, self.grouping, self.n_groups, seeds)

    @property
    def label_groups_(self) -> Array:
        """The group of each label."""
        model = self._model()
        groups = np.full(self.moments_.n_labels, -1)
        groups[model.active] = model.groups.membership
        return groups

    @property
    def components_(self) -> Array:
        """V, shape (d, n_labels)."""
        return self._model().scores.V

    @property
    def mapping_(self) -> Array:
        """Z, shape (n_features, d)."""
        return self._model().mapping.Z

    @property
    def objective_path_(self) -> Array:
        """The objective of the embedding after each outer iteration."""
        return self._model().embedding.objective_path

    @property
    def n_iter_(self) -> int:
        """Outer iterations of the embedding, at least one."""
        return max(1, self._model().embedding.n_iter)

    @property
    def gamma_(self) -> float:
        """The γ used."""
        return self._model().gamma

    @property
    def _n_features_out(self) -> int:
        return self._model().embedding.n_components

    def _learn(
        self,
        moments: Moments,
        reference: GroPLEModel | None = None,
        context: CallbackContext | None = None,
    ) -> GroPLEModel:
        if reference is not None and not self.feature_weight:
            return self._mapped_again(moments, reference)
        varying, _ = active_labels(moments)

        def stages(active: Moments) -> tuple[Any, LinearScores]:
            groups = self._stage(context, "groups", lambda: self._groups(moments, varying))
            nearby = None if reference is None else reference.components(varying)
            embedding = self._stage(
                context, "embedding", lambda: self._embedding(active, groups, nearby=nearby)
            )
            if not embedding.converged and reference is None:
                warnings.warn(
                    f"the embedding stopped after {embedding.n_iter} iterations while it still "
                    f"improved by more than 10·tol={10 * self.tol:g} each: raise max_iter or tol",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            mapping, gamma = self._stage(
                context, "mapping", lambda: self._mapping(active, embedding, reference, varying)
            )
            scores = LinearScores(mapping.Z, mapping.intercept, embedding.V)
            return (groups, embedding, mapping, gamma), scores

        details, scores, active = learn_active_labels(moments, stages)
        groups, embedding, mapping, gamma = details
        return GroPLEModel(groups, embedding, mapping, gamma, active, scores)

    def _mapped_again(self, moments: Moments, reference: GroPLEModel) -> GroPLEModel:
        """Learn the map of a part of the rows into the space of all of them.

        That space is made of labels alone and says nothing of which features they go with; to
        find it again in every fold takes longer than all the rest and changes no decision.
        """
        active, embedding = reference.active, reference.embedding
        _, constants = active_labels(self.moments_)
        mapping, gamma = self._mapping(moments.select_labels(active), embedding, reference, active)
        scores = LinearScores(mapping.Z, mapping.intercept, embedding.V)
        if len(active) < moments.n_labels:
            scores = scores.expanded(active, constants)
        return GroPLEModel(reference.groups, embedding, mapping, gamma, active, scores)

    def _stage(self, context: CallbackContext | None, name: str, work: Any) -> Any:
        step = None if context is None else context.subcontext(name)
        if step is not None:
            step.call_on_fit_task_begin(estimator=self)
        result = work()
        if step is not None:
            step.call_on_fit_task_end(estimator=self)
        return result

    def _evidence_groups(self) -> Array | None:
        return self.label_groups_

    def _affinity(self, moments: Moments) -> Affinity | None:
        return fit_affinity(moments) if self.affinity else None

    def _out_of_fold(
        self, rows: Reservoir, context: CallbackContext | None
    ) -> Iterator[ScoredBlock]:
        model = self._model()
        problem = self._problem(self.moments_.select_labels(model.active), model.embedding)
        setting = self._chosen("alpha"), self._chosen("beta"), model.gamma
        points = problem.left_out(model.mapping, *setting)
        if points is None:
            yield from super()._out_of_fold(rows, context)
            return
        del problem  # and with it the rows and eigenvectors that it works on
        X, B = self.moments_.rows, self.moments_.marks  # type: ignore[attr-defined]
        keys = row_fingerprints(X)
        folds = np.where(keys <= rows.keys.max(), fold_of(keys, DECISION_FOLDS), DECISION_FOLDS)
        for fold in range(DECISION_FOLDS):
            held, rest = np.flatnonzero(folds == fold), folds != fold
            affinity = self._affinity(Moments.from_data(X[rest], B[rest], form="implicit"))
            for block in row_blocks(len(held), self.moments_.n_labels):
                at = held[block]
                second = None if affinity is None else affinity(X[at])
                yield model.scores.of_points(points[at]), B[at], None, second

    def _chosen(self, name: str) -> Any:
        """Return the value of a hyper-parameter (a search overrides this)."""
        return getattr(self, name)

    def _groups(self, moments: Moments, active: Array, **other: Any) -> Groups:
        """Group the labels that vary; a partition of the user's own is of all labels."""
        grouping = self.grouping
        if isinstance(grouping, Sized) and not isinstance(grouping, str):
            grouping = given_partition(grouping, moments.n_labels)[active]
        n_groups = other.get("n_groups") or self._chosen("n_groups")
        return fit_groups(moments.labels.select(active), grouping, n_groups, self.random_state)

    def _embedding(self, moments: Moments, groups: Groups, **other: Any) -> Embedding:
        d, lambda_2, gamma = (
            other[name] if name in other else self._chosen(name)
            for name in ("n_components", "lambda_2", "gamma")
        )
        ridge = 1.0 if gamma == "auto" else max(float(gamma), 1e-6)
        embedding = fit_embedding(
            moments.labels,
            groups,
            n_components=d if d == "auto" else int(d),
            group_components=self.group_components,
            lambda_1=self.lambda_1,
            lambda_2=lambda_2,
            init=self.init,
            predictable=predictable_gram(moments, ridge, centre=self.fit_intercept)
            if self.feature_weight
            else None,
            feature_weight=self.feature_weight,
            tol=10 * self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            nearby=other.get("nearby"),
        )
        if moments.n_labels and not embedding.n_components:
            warnings.warn(
                f"lambda_2={lambda_2:g} shrinks every latent dimension to nothing, so all "
                "rows score alike: lower lambda_2",
                UserWarning,
                stacklevel=2,
            )
        return embedding

    def _problem(self, moments: Moments, embedding: Embedding) -> MappingProblem:
        return MappingProblem(moments, embedding, self.correlation, self.fit_intercept, self.scale)

    def _mapping(
        self,
        moments: Moments,
        embedding: Embedding,
        reference: GroPLEModel | None,
        active: Array,
    ) -> tuple[Mapping, float]:
        problem = self._problem(moments, embedding)
        gamma = self._chosen("gamma")
        if gamma == "auto":
            gamma = choose_ridge(problem) if reference is None else reference.gamma
        weights = self._chosen("alpha"), self._chosen("beta"), float(gamma)
        bounds: dict[str, Any] = {"tol": self.tol, "max_iter": 10 * self.max_iter}
        if self._place is not None and fits_device(problem):
            mapping = solve_grid(problem, Weights.of([weights]), self._place, **bounds).mapping(0)
        else:
            start = _start(reference, problem, active)
            residual = ROUNDING if reference is None else ENOUGH
            mapping = problem.solve(*weights, start=start, residual=residual, **bounds)
        if not mapping.converged:
            warnings.warn(
                f"the mapping stopped after {mapping.n_iter} steps at a relative gap of "
                f"{mapping.gap:.1e} (tol={self.tol:g}): raise max_iter, gamma, or scale features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return mapping, float(gamma)


def _start(reference: GroPLEModel | None, problem: MappingProblem, active: Array) -> Array | None:
    """Start a part of the rows from the map of all of them, which is near its own.

    The dimensions of the two embeddings may be turned against each other; the scores are not, so
    the start is the map whose scores come nearest to those of the reference.
    """
    if reference is None or reference.mapping.viewed.shape[1] == 0:
        return None
    V = reference.components(active)
    viewed = reference.mapping.viewed
    turned = V @ np.linalg.pinv(problem.embedding.V)
    return np.asarray(viewed @ turned.astype(viewed.dtype, copy=False))
