"""Data sets with their folds, as the study sees them; moments of folds by subtraction."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from grople import datasets
from grople.errors import DataError
from grople.folds import published_folds
from grople.metrics import Counts
from grople.moments import Grid, MatrixMoments, Moments
from grople.optim import largest_eigenvalue
from grople.study.published import METRICS

__all__ = ["Data", "Split", "counted", "data", "label_count", "measured", "measures", "split"]

Array = NDArray[Any]

#: Folds of every experiment.
FOLDS = 5
#: Share of used rows below which leaving the others out of a product pays.
WORTH = 0.7
#: The ridge of the published starts of GroPLE's stage 3.
START_RIDGE = 0.01


@dataclass(frozen=True, eq=False)
class Data:
    """A data set, the fold in which each row is tested, and a fingerprint of both."""

    name: str
    X: Any
    B: Any
    folds: Array
    authors_folds: bool
    fingerprint: str

    @cached_property
    def grid(self) -> Grid:
        """The grid of the features."""
        return Grid.of(self.X)

    @cached_property
    def sums(self) -> Moments:
        """Exact moments of all rows."""
        return Moments.of(self.X, self.B, None, self.grid)

    def split(self, fold: int) -> Split:
        """Return the training and test rows of a fold, on the labels seen in training."""
        train, test = np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)
        if not len(test):
            raise DataError(f"{self.name} has no fold {fold}")
        held = Moments.of(self.X[test], self.B[test], None, self.grid)
        rest = (self.sums - held).real(self.grid, self.B.shape[1])
        seen = np.flatnonzero(rest.labels.counts)
        if len(seen) < self.B.shape[1]:
            rest = rest.select_labels(seen)
        return Split(
            self.X[train], self.B[train][:, seen], self.X[test], self.B[test][:, seen], rest
        )


@dataclass(frozen=True, eq=False)
class Split:
    """One fold: training rows with their moments, test rows; labels seen in training only."""

    X: Any
    B: Any
    X_test: Any
    B_test: Any
    moments: MatrixMoments

    @cached_property
    def gram_norm(self) -> float:
        """The largest eigenvalue of XᵀX, which all settings share."""
        return largest_eigenvalue(self.gram, self.moments.n_features)

    @cached_property
    def start_factor(self) -> Any:
        """The Cholesky factor of XᵀX + 0.01 I, which all settings share."""
        matrix = self.gram_matrix.copy()
        matrix[np.diag_indices_from(matrix)] += START_RIDGE
        return scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)

    @cached_property
    def gram_matrix(self) -> Array:
        """XᵀX, without an intercept as in all that was published."""
        return self.moments.gram_matrix(centre=False)

    def gram(self, Z: Array) -> Array:
        """Return XᵀXZ in the precision of Z, by the rows where they are so sparse that this pays.

        A large β empties most rows of Z; these need not be multiplied.
        """
        single = Z.dtype == np.float32
        if self._by_rows:
            X, transposed = self._single_rows if single else (self.X, self._transposed)
            return np.asarray(transposed @ (X @ Z))
        matrix = self._single_gram if single else self.gram_matrix
        used = np.flatnonzero(Z.any(axis=1))
        if len(used) < WORTH * len(Z):
            return np.asarray(matrix[used].T @ Z[used])  # symmetric: whole rows are faster to take
        return np.asarray(matrix @ Z)

    @cached_property
    def _by_rows(self) -> bool:
        # A sparse product does about a fifteenth as much a second as a dense one.
        return sp.issparse(self.X) and 2 * self.X.nnz * 15 < self.moments.n_features**2

    @cached_property
    def _transposed(self) -> Any:
        return self.X.T.tocsr()

    @cached_property
    def _single_rows(self) -> tuple[Any, Any]:
        return self.X.astype(np.float32), self._transposed.astype(np.float32)

    @cached_property
    def _single_gram(self) -> Array:
        return self.gram_matrix.astype(np.float32)


@functools.lru_cache(maxsize=2)
def data(name: str) -> Data:
    """Load a data set of the catalogue, or a file, with its folds.

    The folds are the authors' own where they are known, else a seeded split into five.

    Examples
    --------
    >>> found = data("debtags-mini")
    >>> found.B.shape, sorted(set(found.folds.tolist())), found.authors_folds
    ((3998, 169), [0, 1, 2, 3, 4], False)
    """
    bundle = datasets.read(name) if Path(name).is_file() else datasets.load(name, download=False)
    X = bundle.X if sp.issparse(bundle.X) else np.asarray(bundle.X, dtype=np.float64)
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else X
    folds = _authors_folds(bundle.name, bundle.n_rows)
    known = folds is not None
    if folds is None:
        folds = np.empty(bundle.n_rows, dtype=np.int64)
        splitter = KFold(FOLDS, shuffle=True, random_state=0)
        for number, (_, test) in enumerate(splitter.split(folds)):
            folds[test] = number
    return Data(name, X, bundle.Y, folds, known, _fingerprint(X, bundle.Y, folds))


@functools.cache
def label_count(name: str) -> int:
    """Return L of a data set, as the catalogue knows it: a report needs no data.

    Examples
    --------
    >>> label_count("medical")
    45
    """
    if Path(name).is_file():
        return int(data(name).B.shape[1])
    try:
        return datasets.find(name).labels
    except DataError:  # a file that has gone since
        return 0


@functools.lru_cache(maxsize=2)
def split(name: str, fold: int) -> Split:
    """Return a fold of a data set; the last two are kept."""
    return data(name).split(fold)


def measures(B: Any, blocks: Iterable[tuple[slice, Array]]) -> dict[str, float]:
    """Measure blocks of label decisions (0/1 or boolean arrays) against the truth, 0/0 being 0.

    Examples
    --------
    >>> B = sp.csr_array(np.array([[1, 0], [1, 1]]))
    >>> measures(B, [(slice(0, 2), np.array([[1, 0], [1, 0]]))])["accuracy"]
    0.75
    """
    return measured(counted(B, blocks))


def measured(counts: Counts) -> dict[str, float]:
    """Return the paper's four measures, 0/0 being 0."""
    return {metric: getattr(counts, metric)(0.0) for metric in METRICS}


def counted(B: Any, blocks: Iterable[tuple[slice, Array]]) -> Counts:
    """Count blocks of label decisions (0/1 or boolean arrays) against the truth."""
    total: Counts | None = None
    for rows, decided in blocks:
        found = _counts(sp.csr_array(B[rows]), decided)
        total = found if total is None else total + found
    assert total is not None
    return total


def _counts(true: Any, decided: Any) -> Counts:
    """Count like :func:`grople.metrics.counts`, without making dense decisions sparse."""
    if sp.issparse(decided):
        decided = decided.toarray()
    decided = np.asarray(decided, dtype=bool)
    row, column = true.nonzero()
    hit = decided[row, column]
    n, width = true.shape
    return Counts(
        np.bincount(row[hit], minlength=n),
        np.diff(true.indptr),
        decided.sum(axis=1),
        np.bincount(column[hit], minlength=width),
        np.bincount(column, minlength=width),
        decided.sum(axis=0),
    )


def _authors_folds(name: str, n_rows: int) -> Array | None:
    if not os.environ.get("GROPLE_DATA"):
        return None
    for known in (name, name.removesuffix("-repaired")):
        try:
            folds = published_folds(known)
        except DataError:
            continue
        if len(folds) == n_rows:
            return folds
    return None


def _fingerprint(X: Any, B: Any, folds: Array) -> str:
    digest = hashlib.sha256()
    for matrix in (X, B):
        parts = (
            (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64))
            if sp.issparse(matrix)
            else (np.ascontiguousarray(matrix),)
        )
        digest.update(repr(matrix.shape).encode())
        for part in parts:
            digest.update(part.tobytes())
    digest.update(np.asarray(folds, dtype=np.int64).tobytes())
    return digest.hexdigest()[:16]
