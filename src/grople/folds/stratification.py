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

# Rows are dealt in the order of their rarest labels; more than three changed nothing measurable.
LABELS_TO_ORDER_BY = 3
# Rounds of exchanges between pairs of folds, and the rows of each that are tried. On 20,000 random
# rows twice as many rounds would halve what imbalance is left, for half as much time again.
EXCHANGE_ROUNDS = 5
CANDIDATES = 50

Ints = NDArray[np.int64]


def stratify(
    Y: Any,
    shares: Ints,
    random: np.random.RandomState,
    *,
    sizes: Ints | None = None,
    shuffle: bool = True,
) -> Ints:
    """Return the fold of every row so that each fold has its share of every label.

    Parameters
    ----------
    Y : csr_array of shape (n_rows, n_labels)
        Labels, see :func:`grople.metrics.inputs.label_indicator`.
    shares : ndarray of int of shape (n_folds,)
        How much of everything each fold wants, relative to the others.
    random : RandomState
        Breaks ties.
    sizes : ndarray of int of shape (n_folds,), optional
        Rows each fold gets, n_rows in all. By default the sizes are equal, or differ by one.
    shuffle : bool
        Whether rows with the same labels are dealt in random order or in theirs.

    Returns
    -------
    ndarray of shape (n_rows,)
        Fold numbers.

    Examples
    --------
    >>> from grople.metrics.inputs import label_indicator
    >>> Y = label_indicator([[1, 0], [1, 0], [1, 1], [1, 1]])
    >>> folds = stratify(Y, np.array([1, 1]), np.random.RandomState(0))
    >>> sorted(folds[:2].tolist()), sorted(folds[2:].tolist())
    ([0, 1], [0, 1])
    """
    order, ordered = _dealing_order(Y, random, shuffle)
    folds = _Folds(ordered, _place(ordered, shares, random), shares)
    folds.settle(_equal_sizes(folds.sizes()) if sizes is None else sizes)
    folds.exchange(random)
    result = np.empty(Y.shape[0], np.int64)
    result[order] = folds.of_row
    return result


def _equal_sizes(found: Ints) -> Ints:
    """Return sizes that differ by one at most, the larger ones where most rows are already."""
    each, more = divmod(int(found.sum()), len(found))
    sizes = np.full(len(found), each)
    sizes[np.argsort(-found, kind="stable")[:more]] += 1
    return sizes


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


def _place(Y: Any, shares: Ints, random: np.random.RandomState) -> Ints:
    """Place every row by iterative stratification.

    Wishes are kept as integers, in units of ``1 / shares.sum()`` rows, so that ties are ties.
    """
    unit = shares.sum()
    left = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
    done = np.iinfo(np.int64).max
    label_wish = np.outer(shares, left)
    row_wish = shares * Y.shape[0]
    by_label = Y.tocsc()
    fold = np.full(Y.shape[0], -1)
    while left[label := left.argmin()] != done:
        rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        rows = rows[fold[rows] < 0]
        fold[rows] = _deal(label_wish[:, label], row_wish, len(rows), unit, random)
        row_wish -= unit * np.bincount(fold[rows], minlength=len(shares))
        labels, counts = _labels_of(Y, rows)
        cells = np.repeat(fold[rows] * Y.shape[1], counts) + labels
        np.subtract.at(label_wish.reshape(-1), cells, unit)
        np.subtract.at(left, labels, 1)
        left[left == 0] = done
    return fold


def _deal(
    label_wish: Ints, row_wish: Ints, n: int, unit: int, random: np.random.RandomState
) -> Ints:
    """Return the folds of n rows in turn, each the one with the largest wish at that moment.

    A fold's wish falls by one row with each row it gets, so its wishes are a falling sequence, and
    the choices are the n largest members of all k sequences.
    """
    # No fold falls below the level at which all would share the n rows: that bounds the length.
    level = (label_wish.sum() - n * unit) // len(label_wish)
    length = min(n, int((label_wish.max() - level) // unit) + 2)
    fall = unit * np.arange(length)
    wishes = (label_wish[:, None] - fall).ravel()
    then = (row_wish[:, None] - fall).ravel()
    best = np.lexsort((random.random_sample(len(wishes)), -then, -wishes))[:n]
    return best // length


def _labels_of(Y: Any, rows: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the labels of the rows, one row after the other, and how many each has."""
    counts = (Y.indptr[rows + 1] - Y.indptr[rows]).astype(np.int64)
    ends = np.cumsum(counts)
    at = np.arange(ends[-1]) + np.repeat(Y.indptr[rows] - (ends - counts), counts)
    return Y.indices[at], counts


class _Folds:
    """Rows in folds, and what each fold has too much of."""

    def __init__(self, Y: Any, of_row: Ints, shares: Ints) -> None:
        self.Y, self.of_row = Y.astype(np.float64), of_row
        frequency = np.bincount(Y.indices, minlength=Y.shape[1])
        self.weight = frequency**-1.5
        cells = np.repeat(of_row * Y.shape[1], np.diff(Y.indptr)) + Y.indices
        found = np.bincount(cells, minlength=len(shares) * Y.shape[1]).reshape(len(shares), -1)
        self.surplus = found - np.outer(shares / shares.sum(), frequency)
        self.row_weight = self.Y @ self.weight

    def sizes(self) -> Ints:
        """Return the rows of each fold."""
        return np.bincount(self.of_row, minlength=len(self.surplus))

    def settle(self, sizes: Ints) -> None:
        """Move the rows that suit best from folds that are too large to those too small."""
        excess = self.sizes() - sizes
        while excess.any():
            giver, taker = int(excess.argmax()), int(excess.argmin())
            n = min(excess[giver], -excess[taker])
            movers = _Movers(self, giver, taker, self._pull(giver, taker), CANDIDATES + n)
            for _ in range(n):
                movers.move(movers.best()[0])
            excess[giver] -= n
            excess[taker] += n

    def exchange(self, random: np.random.RandomState) -> None:
        """Exchange rows between random pairs of folds while that lowers the imbalance."""
        n_folds = len(self.surplus)
        for _ in range(EXCHANGE_ROUNDS):
            for one, other in random.permutation(n_folds)[: n_folds // 2 * 2].reshape(-1, 2):
                self._exchange_pair(one, other)

    def _exchange_pair(self, one: int, other: int) -> None:
        pull = self._pull(one, other)
        there = _Movers(self, one, other, pull, CANDIDATES)
        back = _Movers(self, other, one, -pull, CANDIDATES)
        for _ in range(min(len(there.rows), len(back.rows))):
            row, gain = there.best()
            there.move(row)
            row_back, gain_back = back.best()
            if gain + gain_back < 1e-9 * self.weight[0]:  # below rounding: the first is the largest
                there.move(row, undo=True)
                return
            back.move(row_back)

    def _pull(self, giver: int, taker: int) -> NDArray[np.float64]:
        """Return for each row how much more its labels are in surplus with the giver."""
        return self.Y @ (self.weight * (self.surplus[giver] - self.surplus[taker]))


class _Movers:
    """The rows of one fold whose move to another would help most.

    A row's move lowers ``Σ weight · surplus²`` by ``2 (pull - row_weight)``.
    """

    def __init__(
        self, folds: _Folds, giver: int, taker: int, pull: NDArray[np.float64], n: int
    ) -> None:
        self.folds, self.giver, self.taker = folds, giver, taker
        rows = np.flatnonzero(folds.of_row == giver)
        if len(rows) > n:
            gains = (pull - folds.row_weight)[rows]
            rows = rows[np.sort(np.argpartition(-gains, n - 1)[:n])]
        self.rows = rows
        self.Y = folds.Y[rows]
        self.moved = np.zeros(len(rows), bool)

    def best(self) -> tuple[int, float]:
        """Return the row, by its place among these, that would now help most, and how much."""
        surplus = self.folds.surplus
        label_gains = self.folds.weight * (surplus[self.giver] - surplus[self.taker] - 1)
        gains = self.Y @ label_gains
        gains[self.moved] = -np.inf
        row = int(gains.argmax())
        return row, float(gains[row])

    def move(self, row: int, undo: bool = False) -> None:
        """Move a row to the other fold, or take it back."""
        labels = self.Y.indices[self.Y.indptr[row] : self.Y.indptr[row + 1]]
        self.folds.surplus[self.giver, labels] += 1 if undo else -1
        self.folds.surplus[self.taker, labels] -= 1 if undo else -1
        self.folds.of_row[self.rows[row]] = self.giver if undo else self.taker
        self.moved[row] = not undo
