"""What PLST, CPLST, FaIE and LEML share: points between features and labels.

Each method is a function that yields its scores for several weights from one design, and the
scores of fewer dimensions are the leading part of those of more. So a single fit and a search of
a grid are the same code, and what settings have in common is decomposed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from grople.baselines._design import Design
from grople.baselines._linear import RIDGE_PARAMETERS, LinearBaseline, Path, Report, varying_path
from grople.errors import Parameter, Portion
from grople.estimators import encode
from grople.estimators._base import row_by_row
from grople.moments import LabelMoments, RealMoments
from grople.published import published_setting
from grople.solver import LinearScores, automatic_components

__all__ = ["CodeEmbedding", "LabelEmbedding", "Size", "embedding_path", "embedding_size"]

Array = NDArray[Any]
#: Latent dimensions: a number, a share of the labels, or ``"auto"``.
Size = int | float | str


def embedding_size(size: Size, labels: LabelMoments) -> int:
    """Return the number of latent dimensions that a size means for these labels.

    Examples
    --------
    >>> labels = LabelMoments.of(np.eye(10))
    >>> [embedding_size(size, labels) for size in (3, 0.25, 100)]
    [3, 3, 10]
    """
    if isinstance(size, str):
        return max(1, automatic_components(labels))
    if isinstance(size, float | np.floating):
        size = math.ceil(size * labels.n_labels - 1e-9)  # 0.7 · 10 is 7, whatever its last bit
    return max(1, min(int(size), labels.n_labels))


def embedding_path(
    moments: RealMoments,
    sizes: Sequence[Size],
    fit_intercept: bool | str,
    method: Callable[[Design, int], Path],
) -> Path:
    """Yield the scores of a method for each of its weights and each size."""

    def solve(varying: RealMoments) -> Path:
        numbers = [embedding_size(size, varying.labels) for size in sizes]
        for weights, scores in method(Design(varying, fit_intercept), max(numbers)):
            assert scores.V is not None
            for size, number in zip(sizes, numbers, strict=True):
                yield (
                    {"n_components": size} | weights,
                    LinearScores(
                        scores.Z[:, :number], scores.b[:number], scores.V[:number], scores.offset
                    ),
                )

    yield from varying_path(moments, solve)


class LabelEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearBaseline):
    """Base of the label embeddings that end in a ridge regression; parameters as in PLST."""

    _parameters: ClassVar[dict[str, Parameter]] = RIDGE_PARAMETERS | {
        "n_components": Portion(words=("auto",)),
    }

    def __init__(
        self,
        n_components: Size = 100,
        ridge: float | str = "auto",
        *,
        fit_intercept: bool | str = True,
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.decision = decision
        self.max_kept_rows = max_kept_rows

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
        return cls(**(reference | published_setting(cls.__name__, name) | parameters))

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
    def components_(self) -> Array:
        """The decoder from points to labels, shape (d, n_labels)."""
        return self.fitted_model_.scorer.V

    @property
    def mapping_(self) -> Array:
        """The map from features to points, shape (n_features, d)."""
        return self.fitted_model_.scorer.Z

    @property
    def ridge_(self) -> float:
        """The λ used."""
        return self.fitted_model_.report.get("ridge", 0.0)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class CodeEmbedding(LabelEmbedding):
    """Base of those whose code is made before the regression sees it."""

    def _path(self, design: Design, size: int, ridges: Sequence[float]) -> Path:
        """Yield the scores for each ridge weight."""
        raise NotImplementedError

    def _ridge_targets(self, labels: LabelMoments, size: int) -> Array:
        """Return W of the targets YW for which a ridge weight is chosen: here every label."""
        return np.eye(labels.n_labels)

    def _learn(self, moments: RealMoments, chosen: Report | None) -> tuple[LinearScores, Report]:
        design = Design(moments, self.fit_intercept)
        size = embedding_size(self.n_components, moments.labels)
        ridge = chosen["ridge"] if chosen else self.ridge
        if isinstance(ridge, str):
            ridge = design.best_ridge(self._ridge_targets(moments.labels, size))
        ((_, scores),) = self._path(design, size, [float(ridge)])
        return scores, {"ridge": float(ridge)}

    def _code(self, X: Any, Y: Array) -> Array:
        """Return the code of rows: here the labels, centred, along the rows of the decoder."""
        scores = self.fitted_model_.scorer
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
        scores = self.fitted_model_.scorer
        decoded = self._code(X, 2.0 * B.toarray() - 1.0) @ scores.V
        return decoded if scores.offset is None else decoded + scores.offset
