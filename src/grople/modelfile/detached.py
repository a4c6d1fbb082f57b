"""What is left of moments in a model that was stored without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never, Self

from numpy.typing import NDArray

from grople.moments import Moments

__all__ = ["DetachedMoments", "detached"]

Array = NDArray[Any]


@dataclass(frozen=True)
class DetachedMoments(Moments):
    """Counts of labels and sums of features: enough to describe a model, not to learn again."""

    @property
    def form(self) -> Never:  # type: ignore[override]
        """Refuse: adding and removing rows ask for the form first."""
        raise _no_moments()

    @classmethod
    def _of_rows(cls, *_: Any) -> Never:
        raise _no_moments()

    def gram(self, Z: Array) -> Array:
        """Refuse."""
        raise _no_moments()

    def cross(self, W: Array) -> Array:
        """Refuse."""
        raise _no_moments()

    def cross_transposed(self, Z: Array) -> Array:
        """Refuse."""
        raise _no_moments()

    def cross_diagonal(self, Z: Array) -> Array:
        """Refuse."""
        raise _no_moments()

    def occurrences(self) -> Never:
        """Refuse."""
        raise _no_moments()

    def gram_matrix(self) -> Array:
        """Refuse."""
        raise _no_moments()

    def in_matrices(self) -> Never:
        """Refuse."""
        raise _no_moments()

    def select_labels(self, columns: Array) -> Self:
        """Refuse."""
        raise _no_moments()

    def padded(self, n_labels: int) -> Self:
        """Refuse."""
        raise _no_moments()

    def _plus(self, other: Any) -> Self:
        raise _no_moments()

    def _minus(self, other: Any) -> Self:
        raise _no_moments()


def detached(moments: Moments) -> DetachedMoments:
    """Return moments without their matrices or rows."""
    return DetachedMoments(moments.labels, moments.feature_sum, moments.feature_squares)


def _no_moments() -> ValueError:
    return ValueError(
        "this model was stored or loaded without its moments, so it can predict but not learn: "
        "save and load it with moments, or fit it again"
    )
