"""Iterative stratification of multi-label rows, in time linear in the ones of the label matrix.

Sechidis, Tsoumakas and Vlahavas (ECML PKDD 2011) take the label with the fewest unplaced rows and
give each of them to the fold that still wants that label most, then to the one that wants most
rows. Three observations make that fast and better balanced:

* while one label's rows are placed, the wishes for other labels play no part, so the folds of all
  its rows follow from a merge of k falling sequences: no loop over rows;
* which of its rows goes where is left open, so rows with similar label sets are dealt one after
  the other, which spreads pairs of labels as well;
* at the end a few rows change folds: first until the sizes are exact, then in exchanges that lower
  ``Σ_fold Σ_label (found - wanted)² / frequency^1.5``. The power stands between absolute (1) and
  relative (2) imbalance: with 1, folds of dense data lost rare labels; with 2, less was gained.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["stratify"]

#: Rows are dealt in the order of their rarest labels; more than three changed nothing measurable.
LABELS_TO_ORDER_BY = 3
#: Each round lets every fold exchange rows with one other, of so many that suit best.
EXCHANGE_ROUNDS = 5
CANDIDATES = 50

Ints = NDArray[np.int64]


def stratify(Y: Any, n_folds: int, random: np.random.RandomState, *, shuffle: bool) -> Ints:
    """Return the fold of each row of a label matrix in CSR form, equal in size but for one row.

    Rows with the same labels are dealt in random order, or in theirs without ``shuffle``.
    """
    order, ordered = _dealing_order(Y, random, shuffle)
    folds = _Folds(ordered, _place(ordered, n_folds, random), n_folds)
    folds.make_sizes_equal()
    folds.exchange(random)
    result = np.empty(Y.shape[0], np.int64)
    result[order] = folds.of_row
    return result


def _dealing_order(Y: Any, random: np.random.RandomState, shuffle: bool) -> tuple[Ints, Any]:
    """Return the order of dealing, and Y in it, columns from the rarest label to the commonest."""
    n_rows, n_labels = Y.shape
    lengths = np.diff(Y.indptr)
    # Rows without labels share a label of their own, which spreads them like any other.
    indices = np.insert(Y.indices, Y.indptr[:-1][lengths == 0], n_labels)
    lengths = np.maximum(lengths, 1)
    indptr = np.append(0, np.cumsum(lengths))
    frequency = np.bincount(indices, minlength=n_labels + 1)
    rarest_first = np.lexsort((random.random_sample(n_labels + 1), frequency))
    rarest_first = rarest_first[np.count_nonzero(frequency == 0) :]  # without those of no row
    n_labels = len(rarest_first)
    rank = np.empty(len(frequency), np.int32)
    rank[rarest_first] = np.arange(n_labels)
    ones = np.ones(len(indices), np.int8)
    ranked = sp.csr_array((ones, rank[indices], indptr), (n_rows, n_labels))
    ranked = ranked.tocsc().tocsr()  # sorts the labels of each row, in linear time
    padded = np.append(ranked.indices, np.zeros(LABELS_TO_ORDER_BY, np.int32))
    keys = [random.random_sample(n_rows) if shuffle else np.arange(n_rows)]
    for place in reversed(range(LABELS_TO_ORDER_BY)):
        keys.append(np.where(lengths > place, padded[indptr[:-1] + place], n_labels))
    order = np.lexsort(keys)
    return order, ranked[order]


def _place(Y: Any, n_folds: int, random: np.random.RandomState) -> Ints:
    """Place every row by iterative stratification.

    Wishes are kept as integers, in units of ``1 / n_folds`` rows, so that ties are ties.
    """
    left = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
    done = np.iinfo(np.int64).max
    label_wish = np.tile(left, (n_folds, 1))
    row_wish = np.full(n_folds, Y.shape[0])
    by_label = Y.tocsc()
    fold = np.full(Y.shape[0], -1)
    while left[label := left.argmin()] != done:
        rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        rows = rows[fold[rows] < 0]
        fold[rows] = _deal(label_wish[:, label], row_wish, len(rows), random)
        row_wish -= n_folds * np.bincount(fold[rows], minlength=n_folds)
        labels, counts = _labels_of(Y, rows)
        cells = np.repeat(fold[rows] * Y.shape[1], counts) + labels
        np.subtract.at(label_wish.reshape(-1), cells, n_folds)
        np.subtract.at(left, labels, 1)
        left[left == 0] = done
    return fold


def _deal(label_wish: Ints, row_wish: Ints, n: int, random: np.random.RandomState) -> Ints:
    """Return the folds of n rows in turn, each the one with the largest wish at that moment.

    A fold's wish falls by one row with each row it gets, so its wishes are a falling sequence, and
    the choices are the n largest members of all k sequences.
    """
    unit = len(label_wish)
    # No fold falls below the level at which all would share the n rows: that bounds the length.
    level = (label_wish.sum() - n * unit) // unit
    length = min(n, int((label_wish.max() - level) // unit) + 2)
    fall = unit * np.arange(length)
    wishes = (label_wish[:, None] - fall).ravel()
    then = (row_wish[:, None] - fall).ravel()
    best = np.lexsort((random.random_sample(len(wishes)), -then, -wishes))[:n]
    return best // length


def _labels_of(Y: Any, rows: Ints) -> tuple[Ints, Ints]:
    """Return the labels of the rows, one row after the other, and how many each has."""
    # SciPy's Y[rows] takes four times as long for the few rows of a rare label.
    counts = (Y.indptr[rows + 1] - Y.indptr[rows]).astype(np.int64)
    ends = np.cumsum(counts)
    at = np.arange(ends[-1]) + np.repeat(Y.indptr[rows] - (ends - counts), counts)
    return Y.indices[at], counts


class _Folds:
    """Rows in folds, and how many rows too many with each label each fold has.

    To move a row lowers ``Σ weight · surplus²`` by twice the sum, over its labels, of
    ``weight · (surplus of the giver - surplus of the taker - 1)``: its gain.
    """

    def __init__(self, Y: Any, of_row: Ints, n_folds: int) -> None:
        self.Y, self.of_row, self.n_folds = Y.astype(np.float64), of_row, n_folds
        frequency = np.bincount(Y.indices, minlength=Y.shape[1])
        self.weight = frequency**-1.5
        cells = np.repeat(of_row * Y.shape[1], np.diff(Y.indptr)) + Y.indices
        found = np.bincount(cells, minlength=n_folds * Y.shape[1]).reshape(n_folds, -1)
        self.surplus = found - frequency * (1 / n_folds)
        self.row_weight = self.Y @ self.weight

    def make_sizes_equal(self) -> None:
        """Move the rows that suit best from folds that are too large to those too small."""
        sizes = np.bincount(self.of_row, minlength=self.n_folds)
        each, more = divmod(len(self.of_row), self.n_folds)
        excess = sizes - each
        excess[np.argsort(-sizes, kind="stable")[:more]] -= 1  # one row more where most are
        while excess.any():
            giver, taker = int(excess.argmax()), int(excess.argmin())
            n = min(excess[giver], -excess[taker])
            movers = self._candidates(giver, taker, CANDIDATES + n)
            for _ in range(n):
                self._move(self._best(movers, giver, taker)[0], giver, taker)
            excess[giver] -= n
            excess[taker] += n

    def exchange(self, random: np.random.RandomState) -> None:
        """Exchange rows between random pairs of folds while that lowers the imbalance."""
        for _ in range(EXCHANGE_ROUNDS):
            pairs = random.permutation(self.n_folds)[: self.n_folds // 2 * 2].reshape(-1, 2)
            for one, other in pairs:
                self._exchange_pair(one, other)

    def _exchange_pair(self, one: int, other: int) -> None:
        there = self._candidates(one, other, CANDIDATES)
        back = self._candidates(other, one, CANDIDATES)
        for _ in range(min(len(there[0]), len(back[0]))):
            row, gain = self._best(there, one, other)
            self._move(row, one, other)
            row_back, gain_back = self._best(back, other, one)
            if gain + gain_back < 1e-9 * self.weight[0]:  # below rounding: the first is the largest
                self._move(row, other, one)
                return
            self._move(row_back, other, one)

    def _candidates(self, giver: int, taker: int, n: int) -> tuple[Ints, Any]:
        """Return the rows of a fold whose move to another would help most, and their labels."""
        rows = np.flatnonzero(self.of_row == giver)
        if len(rows) > n:
            pull = self.Y @ (self.weight * (self.surplus[giver] - self.surplus[taker]))
            gains = (pull - self.row_weight)[rows]
            rows = rows[np.sort(np.argpartition(-gains, n - 1)[:n])]
        return rows, self.Y[rows]

    def _best(self, candidates: tuple[Ints, Any], giver: int, taker: int) -> tuple[int, float]:
        """Return the candidate that would now help most, and its gain."""
        rows, Y = candidates
        gains = Y @ (self.weight * (self.surplus[giver] - self.surplus[taker] - 1))
        gains[self.of_row[rows] != giver] = -np.inf  # moved already
        best = int(gains.argmax())
        return int(rows[best]), float(gains[best])

    def _move(self, row: int, giver: int, taker: int) -> None:
        labels = self.Y.indices[self.Y.indptr[row] : self.Y.indptr[row + 1]]
        self.surplus[giver, labels] -= 1
        self.surplus[taker, labels] += 1
        self.of_row[row] = taker
