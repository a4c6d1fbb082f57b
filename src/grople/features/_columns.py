"""Columns of numbers as they are, or with rows of unit length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from grople.errors import DataError
from grople.features._checks import canonical_rows, check_names

__all__ = ["PlainFeatures", "plain_columns"]

Array = NDArray[Any]


@dataclass(frozen=True)
class PlainFeatures:
    """Columns of numbers; make one with :func:`plain_columns`.

    Parameters
    ----------
    columns : ndarray of str
        The names of the columns.
    unit_rows : bool
        Whether rows are divided by their length.
    """

    #: Whether records are texts.
    texts: ClassVar[bool] = False

    columns: Array
    unit_rows: bool = False

    def __post_init__(self) -> None:
        check_names(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> Array:
        """The names of the columns."""
        return self.columns

    def transform(self, records: Any, names: Sequence[str] | None = None) -> Any:
        """Return the rows of records, to the last bit the same whether dense or sparse.

        Parameters
        ----------
        records : array or sparse array of shape (n_rows, n_columns)
            Numbers.
        names : sequence of str, optional
            The names of the columns, where they may stand in another order or be among others.

        Returns
        -------
        array or csr_array
        """
        X = sp.csr_array(records) if sp.issparse(records) else np.asarray(records)
        if names is not None and list(names) != self.columns.tolist():
            X = X[:, self._places_among(names)]
        if X.ndim != 2 or X.shape[1] != len(self):
            raise DataError(
                f"rows have {X.shape[-1]} features, but the model was fitted on {len(self)}"
            )
        return _unit_rows(X) if self.unit_rows else X

    def _places_among(self, names: Sequence[str]) -> NDArray[np.intp]:
        place = {name: i for i, name in enumerate(names)}
        if len(place) < len(names) or len(set(self.columns)) < len(self):
            raise DataError("two columns have the same name, so they cannot be told by name")
        missing = [name for name in self.columns if name not in place]
        if missing:
            others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            raise DataError(f"no column {missing[0]!r}{others}, which the model was fitted on")
        return np.array([place[name] for name in self.columns], dtype=np.intp)


def plain_columns(names: Sequence[str] | Array, *, unit_rows: bool = False) -> PlainFeatures:
    """Return the feature map of records that are numbers already.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    unit_rows : bool, default=False
        Whether rows are divided by their length.

    Examples
    --------
    >>> features = plain_columns(["x", "y"], unit_rows=True)
    >>> features.transform(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    >>> features.transform(np.array([[4.0, 7.0, 3.0]]), names=["y", "other", "x"])
    array([[0.6, 0.8]])
    """
    return PlainFeatures(np.array([str(name) for name in names], dtype=object), unit_rows)


def _unit_rows(X: Any) -> Any:
    if not X.shape[0]:
        return X
    # Dense and sparse sums round differently, so there is one way for both.
    rows = normalize(canonical_rows(X))
    return rows if sp.issparse(X) else rows.toarray()
