"""What PLST, CPLST, FaIE and LEML share: points between features and labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from grople.baselines._design import Design
from grople.baselines._linear import (
    RIDGE_PARAMETERS,
    LinearBaseline,
    PublishedSettings,
    Report,
    Setting,
)
from grople.errors import Parameter, Portion
from grople.estimators import encode
from grople.estimators._base import row_by_row
from grople.moments import LabelMoments, RealMoments
from grople.solver import LinearScores, automatic_components

__all__ = ["CodeEmbedding", "LabelEmbedding", "embedding_size"]

Array = NDArray[Any]


def embedding_size(size: int | float | str, labels: LabelMoments) -> int:
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


class LabelEmbedding(
    PublishedSettings, ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearBaseline
):
    """Base of the label embeddings; parameters as in :class:`PLST`."""

    _parameters: ClassVar[dict[str, Parameter]] = RIDGE_PARAMETERS | {
        "n_components": Portion(words=("auto",)),
    }

    def __init__(
        self,
        n_components: int | float | str = 100,
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

    def _size(self, labels: LabelMoments) -> int:
        return embedding_size(self.n_components, labels)


class CodeEmbedding(LabelEmbedding):
    """Base of those that code the labels, then map features to the code by a ridge regression.

    Fewer dimensions are the leading ones of more. A subclass defines :meth:`_embed`.
    """

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        """Return the scores with so many dimensions."""
        raise NotImplementedError

    def _learn(self, design: Design, weight: float) -> tuple[LinearScores, Report]:
        return self._embed(design, self._size(design.moments.labels), weight), {}

    def _along(
        self, settings: Sequence[Setting], moments: RealMoments
    ) -> Iterator[tuple[Setting, LinearScores]]:
        """Yield settings with their scores: the most dimensions are computed, fewer cut off."""
        labels = moments.labels.select(moments.labels.varying)
        alike: dict[Any, list[tuple[int, Setting]]] = {}
        for setting in settings:
            size = embedding_size(setting.get("n_components", self.n_components), labels)
            others = tuple(sorted(item for item in setting.items() if item[0] != "n_components"))
            alike.setdefault(others, []).append((size, setting))
        largest = [max(part, key=lambda each: each[0])[1] for part in alike.values()]
        found = super()._along(largest, moments)
        for part, (_, scores) in zip(alike.values(), found, strict=True):
            assert scores.V is not None
            for size, setting in part:
                yield (
                    setting,
                    replace(scores, Z=scores.Z[:, :size], b=scores.b[:size], V=scores.V[:size]),
                )

    def _code(self, X: Any, Y: Array) -> Array:
        """Return the code of rows: here the labels, centred, along the rows of the decoder."""
        scores = self.fitted_model_.scorer
        return (Y - scores.offset) @ scores.V.T

    def approximate(self, X: Any, y: Any) -> Array:
        """Return the scores that the code of the labels themselves decodes to.

        They say how much of the labels the embedding keeps, before any regression.

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
