"""GroPLE: groups → embedding → mapping → decision, on second moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from grople.base import row_by_row
from grople.groups import group_stability
from grople.parameters import Anything, Choice, Flag, Number, Parameter, Whole
from grople.published import PUBLISHED_SETTINGS
from grople.relation import CORRELATIONS
from grople.stages import ThreeStages

__all__ = ["GroPLE"]

Array = NDArray[Any]


class GroPLE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ThreeStages):
    """Group-preserving label embedding for multi-label classification.

    Labels are grouped, embedded in a latent space whose dimensions each group shares, and the
    features are mapped to that space; a score for each label follows. All of it is learnt from
    second moments of features and labels, so rows can be added and removed exactly.

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
    margin : float, default=0.0
        How far kept rows may move the map to widen margins: where squares draw scores back that
        are beyond ±1, a squared hinge loss lets them be, and the way from the map of the moments
        costs γ/margin times its square (:mod:`grople.margins`). Zero keeps to the moments; .3 is a
        good start. Takes up to six times as long and pays on texts with clear topics; on others
        it changes little (the guide has a table). Every weight moves, so what β made zero is not
        zero any more.
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels: above zero, above a number, so that ``"accuracy"``,
        ``"example_f1"``, ``"macro_f1"`` or ``"micro_f1"`` is as large as possible, or by another
        rule of :class:`grople.decision.Rule`, which also says how probabilities are made. May be
        changed on a fitted model with ``set_params``. A 1-d target is decided by sign or largest
        score.
    reservoir_size : int, default=20000
        Rows kept, at most, to fit such a decision on out-of-fold scores (and for `margin`); zero
        keeps none and uses the means and spreads of scores that the moments imply. Scores are
        exact either way, but for `margin`.
    row_check : bool, default=False
        Whether to keep a fingerprint of every row, so that ``forget`` refuses rows never added.
    form : {"auto", "explicit", "implicit"}, default="auto"
        Form of the moments: matrices, or the sparse rows themselves. ``auto`` keeps the rows where
        matrices would exceed 2 GiB, and (with β = 0 and more than 1,000 features) as long as they
        have less than a fifth of the values of the matrix: then they take less time and memory.
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
        "margin": Number(),
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
        margin: float = 0.0,
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
        self.margin = margin
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
