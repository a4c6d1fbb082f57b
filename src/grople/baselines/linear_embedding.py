"""What PLST, CPLST and FaIE share: a code of the labels, a ridge regression onto it, a decoder.

Each method is a function that yields its scores for several weights from one design, and the
scores of fewer dimensions are the leading part of those of more. So a single fit and a search of
a grid are the same code, and what settings have in common is decomposed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackContext

from grople.active import active_labels, learn_active_labels
from grople.base import row_by_row
from grople.baselines.design import Design
from grople.baselines.settings import published_setting
from grople.embedding import automatic_components
from grople.linear import LinearScores
from grople.moments import LabelMoments, Moments
from grople.parameters import Flag, Number, Parameter, Portion
from grople.streaming import MomentClassifier
from grople.targets import encode

__all__ = [
    "CodeEmbedding",
    "EmbeddingModel",
    "LinearEmbedding",
    "Path",
    "Size",
    "active_path",
    "embedding_path",
    "ridge_weight",
    "step",
]

Array = NDArray[Any]
#: Latent dimensions: a number, a share of the labels, or ``"auto"``.
Size = int | float | str
#: Settings (parameters of an estimator) with the scores they lead to.
Path = Iterator[tuple[dict[str, Any], LinearScores]]


@contextmanager
def step(owner: Any, context: CallbackContext | None, name: str) -> Iterator[None]:
    """Tell the callbacks, if there are any, when a step of an estimator's fit begins and ends."""
    task = None if context is None else context.subcontext(name)
    if task is not None:
        task.call_on_fit_task_begin(estimator=owner)
    yield
    if task is not None:
        task.call_on_fit_task_end(estimator=owner)


def embedding_size(size: Size, labels: LabelMoments) -> int:
    """Return the number of latent dimensions that a size means for these labels.

    Examples
    --------
    >>> import numpy as np
    >>> labels = LabelMoments.from_labels(np.eye(10))
    >>> [embedding_size(size, labels) for size in (3, 0.25, 100)]
    [3, 3, 10]
    """
    if isinstance(size, str):
        return automatic_components(labels)
    if isinstance(size, float | np.floating):
        size = math.ceil(size * labels.n_labels - 1e-9)  # 0.7 · 10 is 7, whatever its last bit
    return max(1, min(int(size), labels.n_labels))


def active_path(moments: Moments, solve: Callable[[Moments], Path]) -> Path:
    """Yield what ``solve`` yields for the labels that vary, as scores of all labels.

    Labels that never or always occur have constant scores, as in a fit.
    """
    active, constants = active_labels(moments)
    if not len(active):
        raise ValueError("no label varies over these rows: there is nothing to search")
    whole = len(active) == moments.n_labels
    for setting, scores in solve(moments if whole else moments.select_labels(active)):
        yield setting, scores if whole else scores.expanded(active, constants)


def embedding_path(
    moments: Moments,
    sizes: Sequence[Size],
    fit_intercept: bool | str,
    scale: bool,
    method: Callable[[Design, int], Path],
) -> Path:
    """Yield the scores of a method for each of its weights and each size."""

    def solve(active: Moments) -> Path:
        numbers = [embedding_size(size, active.labels) for size in sizes]
        for weights, scores in method(Design(active, fit_intercept, scale), max(numbers)):
            for size, number in zip(sizes, numbers, strict=True):
                yield {"n_components": size} | weights, _leading(scores, number)

    yield from active_path(moments, solve)


def _leading(scores: LinearScores, size: int) -> LinearScores:
    assert scores.V is not None
    return LinearScores(scores.Z[:, :size], scores.b[:size], scores.V[:size], scores.offset)


@dataclass(frozen=True)
class EmbeddingModel:
    """Scores, and the ridge weight that they were learnt with."""

    scores: LinearScores
    ridge: float


def ridge_weight(
    design: Design, ridge: float | str, reference: EmbeddingModel | None, W: Callable[[], Array]
) -> float:
    """Return λ: as given, or as chosen for the reference, or the best one for targets YW."""
    if not isinstance(ridge, str):
        return float(ridge)
    return design.best_ridge(W()) if reference is None else reference.ridge


class LinearEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MomentClassifier):
    """Base of the label embeddings that end in a ridge regression."""

    _shared_parameters: ClassVar[dict[str, Parameter]] = MomentClassifier._shared_parameters | {
        "n_components": Portion(words=("auto",)),
        "ridge": Number(words=("auto",)),
        "fit_intercept": Flag(words=("penalised",)),
    }
    #: Parameters by data set that lead to the published numbers.
    _published: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(
        self,
        n_components: Size = 100,
        ridge: float | str = "auto",
        *,
        fit_intercept: bool | str = True,
        scale: bool = False,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.decision = decision
        self.reservoir_size = reservoir_size
        self.row_check = row_check
        self.form = form

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the setting behind the published table for a data set.

        The intercept is penalised and a label is given where its score is above zero.

        Parameters
        ----------
        name : str
            One of the paper's data sets (a suffix as in ``"genbase-authors"`` is fine).
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> from grople.baselines import PLST
        >>> PLST.published("medical")
        PLST(decision='sign', fit_intercept='penalised', n_components=0.7, ridge=1.0)
        """
        reference = {"fit_intercept": "penalised", "decision": "sign"}
        return cls(**(reference | published_setting(cls._published, name) | parameters))

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        """Return the scores for labels that all vary."""
        raise NotImplementedError

    def _ridge_targets(self, labels: LabelMoments, size: int) -> Array:
        """Return W of the targets YW for which a ridge weight is chosen: here every label."""
        return np.eye(labels.n_labels)

    @row_by_row
    def transform(self, X: Any) -> Array:
        """Return the rows as points of the latent space, shape (n_rows, d).

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        X = self._validate_rows(X)
        return self._model().scores.points(X)

    @property
    def components_(self) -> Array:
        """The decoder from points to labels, shape (d, n_labels)."""
        return self._model().scores.V

    @property
    def mapping_(self) -> Array:
        """The map from features to points, shape (n_features, d)."""
        return self._model().scores.Z

    @property
    def ridge_(self) -> float:
        """The λ used."""
        return self._model().ridge

    @property
    def _n_features_out(self) -> int:
        return len(self._model().scores.b)

    def _learn(
        self,
        moments: Moments,
        reference: EmbeddingModel | None = None,
        context: CallbackContext | None = None,
    ) -> EmbeddingModel:
        def embed(active: Moments) -> tuple[float, LinearScores]:
            if active.n_labels == 0:
                return 0.0, _no_scores(active)
            design = Design(active, self.fit_intercept, self.scale)
            size = embedding_size(self.n_components, active.labels)
            with step(self, context, "ridge weight"):
                ridge = ridge_weight(
                    design, self.ridge, reference, lambda: self._ridge_targets(active.labels, size)
                )
            with step(self, context, "embedding"):
                return ridge, self._embed(design, size, ridge)

        ridge, scores, _ = learn_active_labels(moments, embed)
        return EmbeddingModel(scores, ridge)


class CodeEmbedding(LinearEmbedding):
    """Base of the label embeddings whose code is made before the regression sees it."""

    def _code(self, X: Any, Y: Array) -> Array:
        """Return the code of rows: here the labels, centred, along the rows of the decoder."""
        scores = self._model().scores
        return (Y - scores.offset) @ scores.V.T

    def approximate(self, X: Any, y: Any) -> Array:
        """Return the scores that the code of the labels themselves decodes to.

        They tell how much of the labels the embedding keeps, before any regression.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        y : array, sparse array or DataFrame of shape (n_rows, n_labels)
            Labels.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from grople.baselines import PLST
        >>> X, Y = np.eye(4), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
        >>> model = PLST(3).fit(X, Y)
        >>> np.array_equal(model.approximate(X, Y) > 0, Y)
        True
        """
        X = self._validate_rows(X)
        B, _ = encode(y, self._targets)
        scores = self._model().scores
        decoded = self._code(X, 2.0 * B.toarray() - 1.0) @ scores.V
        return decoded if scores.offset is None else decoded + scores.offset


def _no_scores(moments: Moments) -> LinearScores:
    return LinearScores(np.zeros((moments.n_features, 0)), np.zeros(0), np.zeros((0, 0)))
