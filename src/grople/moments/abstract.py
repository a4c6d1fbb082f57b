"""Moments of features and labels, whatever their form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import Place
from grople.moments.labels import ROUNDING, LabelMoments
from grople.moments.view import FeatureView

__all__ = ["MEMORY_BUDGET", "Moments", "matrix_bytes"]

Array = NDArray[Any]

#: Bytes that the explicit matrices may take before the implicit form is chosen.
MEMORY_BUDGET = 2 * 2**30


def matrix_bytes(n_features: int, n_labels: int) -> int:
    """Return the bytes of XᵀX and XᵀB."""
    return 8 * n_features * (n_features + n_labels)


@dataclass(frozen=True)
class Moments(ABC):
    """Moments of features and labels: add them, subtract them, learn from them.

    Build them with :meth:`from_data`.

    Attributes
    ----------
    labels : LabelMoments
        n, Bᵀ1 and BᵀB.
    feature_sum : ndarray of shape (D,)
        Σx.
    feature_squares : ndarray of shape (D,)
        Σx², the diagonal of XᵀX.

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.arange(8.0).reshape(4, 2), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> whole = Moments.from_data(X, B)
    >>> parts = Moments.from_data(X[:1], B[:1]) + Moments.from_data(X[1:], B[1:])
    >>> np.array_equal(whole.gram(np.eye(2)), parts.gram(np.eye(2)))
    True
    """

    labels: LabelMoments
    feature_sum: Array
    feature_squares: Array

    form = "abstract"
    #: The forms by name.
    _forms: ClassVar[dict[str, type[Moments]]] = {}

    def __init_subclass__(cls, form: str | None = None) -> None:
        super().__init_subclass__()
        if form is not None:
            cls.form = form
            Moments._forms[form] = cls

    @staticmethod
    def from_data(
        X: Any,
        B: Any,
        sample_weight: Array | None = None,
        *,
        form: str = "auto",
        memory_budget: int = MEMORY_BUDGET,
        place: Place | None = None,
    ) -> Moments:
        """Compute the moments of rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, D)
            Features, any real dtype; products are accumulated in float64, X is never copied whole.
        B : array or sparse array of shape (n_rows, L)
            Labels, zeros and ones.
        sample_weight : ndarray of shape (n_rows,), optional
            Non-negative weights.
        form : {"auto", "explicit", "implicit"}
            ``auto`` takes the implicit form for sparse X whose matrices would exceed the budget.
        memory_budget : int
            Bytes that the explicit matrices may take.
        place : Place, optional
            Where to multiply the matrices of the explicit form; where X lies unless given.
        """
        if X.shape[0] != B.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but the labels have {B.shape[0]}")
        if form == "auto":
            too_large = matrix_bytes(X.shape[1], B.shape[1]) > memory_budget
            form = "implicit" if sp.issparse(X) and too_large else "explicit"
        if form not in Moments._forms:
            raise ValueError(f"form must be 'auto', 'explicit' or 'implicit', not {form!r}")
        with np.errstate(over="ignore", invalid="ignore"):
            found = Moments._forms[form]._of_rows(X, B, sample_weight, place)
        if not np.isfinite(found.feature_squares).all():
            feature = int(np.argmin(np.isfinite(found.feature_squares)))
            raise ValueError(
                f"feature {feature} has values too large to be squared (beyond 1e150, infinite or "
                "not a number): scale it, or mark such values as missing and fill them in"
            )
        return found

    @classmethod
    @abstractmethod
    def _of_rows(
        cls, X: Any, B: Any, weights: Array | None, place: Place | None = None
    ) -> Moments: ...

    @property
    def n(self) -> int | float:
        """Rows, or their total weight."""
        return self.labels.n

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return len(self.feature_sum)

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return self.labels.n_labels

    @abstractmethod
    def gram(self, Z: Array) -> Array:
        """Return XᵀX Z."""

    @abstractmethod
    def cross(self, W: Array) -> Array:
        """Return XᵀB W."""

    @abstractmethod
    def cross_transposed(self, Z: Array) -> Array:
        """Return BᵀX Z."""

    @abstractmethod
    def cross_diagonal(self, Z: Array) -> Array:
        """Return the diagonal of BᵀX Z for a Z with a column a label."""

    @abstractmethod
    def occurrences(self) -> Any:
        """Return XᵀB as a CSR array of shape (D, L)."""

    @abstractmethod
    def gram_matrix(self) -> Array | None:
        """Return XᵀX, or None where it is not to be formed."""

    @abstractmethod
    def in_matrices(self) -> Moments:
        """Return the explicit form."""

    @property
    def bounded(self) -> bool:
        """Whether what is kept of rows stops growing with their number, if need be as matrices."""
        return True

    @property
    def outgrown(self) -> bool:
        """Whether matrices would take less time and memory than the rows that are kept."""
        return False

    @abstractmethod
    def select_labels(self, columns: Array) -> Self:
        """Keep the given labels, in the given order."""

    @abstractmethod
    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""

    @abstractmethod
    def _plus(self, other: Any) -> Self: ...

    @abstractmethod
    def _minus(self, other: Any) -> Self: ...

    def signed_cross(self, W: Array) -> Array:
        """Return XᵀY W = 2XᵀB W − Σx (1ᵀW)."""
        return 2.0 * self.cross(W) - np.multiply.outer(self.feature_sum, W.sum(axis=0))

    def view(self, *, centre: bool = False, scale: bool = False) -> FeatureView:
        """Return the moments of centred and scaled features, without forming them."""
        return FeatureView(self, centre, scale)

    def __add__(self, other: Moments) -> Self:
        self._check_alike(other)
        return self._plus(other)

    def __sub__(self, other: Moments) -> Self:
        self._check_alike(other)
        squares = self.feature_squares - other.feature_squares
        # Not relative to each feature: of one whose rows all went before, rounding may be left.
        if np.any(squares < -ROUNDING * self.feature_squares.max(initial=0.0)):
            feature = int(np.argmin(squares))
            raise ValueError(
                f"cannot remove these rows: feature {feature} would be left with a negative sum "
                "of squares; they were not all added before"
            )
        return self._minus(other)

    def _check_alike(self, other: Moments) -> None:
        if self.form != other.form:
            raise ValueError(f"cannot combine {self.form} with {other.form} moments")
        mine, theirs = (self.n_features, self.n_labels), (other.n_features, other.n_labels)
        if mine != theirs:
            raise ValueError(f"cannot combine moments of shapes (D, L) = {mine} and {theirs}")
