"""What is known of rows that repeat each other: the labels of a row's copies.

A new row that equals m training rows, k of them with a label, gets the probability

    p = (k + c p₀) / (m + c)

where p₀ is what the model says of it: the mean of a Beta distribution around p₀, of the strength of
c rows, after it has seen the copies. The strength follows from the copies among the training rows
themselves: it maximises the (Beta-binomial) likelihood of how many copies of a row have each label,
given p₀ of a model that has seen none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from grople.decision._context import LEAST_PROBABILITY
from grople.decision._evidence import HeldOut
from grople.moments._keys import row_keys

__all__ = ["Copies", "fit_copies"]

Array = NDArray[Any]

#: Strengths tried.
STRENGTHS = np.geomspace(0.01, 1000.0, 21)
#: Groups of copies that the strength is learnt from at most: those with the smallest keys.
MOST_GROUPS = 2000
#: By how much the log likelihood must rise for copies to count: so much, and so many standard
#: errors over groups of copies.
LEAST_GAIN, CLEARLY = 5.0, 2.0
#: Probabilities of the model are kept this far from 0 and 1.
LEAST = 1e-9


@dataclass(frozen=True)
class Copies:
    """Labels of the distinct training rows.

    Attributes
    ----------
    keys : ndarray of uint64 of shape (n_distinct,)
        Content keys of their features, ascending.
    times : ndarray of shape (n_distinct,)
        How many rows each stands for (m).
    counts : csr_array of shape (n_distinct, L)
        How many of those have each label (k).
    strength : float
        How many rows the model's probability is worth (c).
    """

    keys: NDArray[np.uint64]
    times: Array
    counts: Any
    strength: float

    def find(self, X: Any) -> tuple[Array, Array]:
        """Return which rows are copies of known ones, and of which."""
        keys = row_keys(X)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        rows = np.flatnonzero(self.keys[at] == keys)
        return rows, at[rows]

    def corrected(self, probabilities: Array, which: Array) -> Array:
        """Return the probabilities of rows that are copies of known ones."""
        times = self.times[which, None]
        given = self.counts[which].toarray() + self.strength * probabilities
        return np.asarray(given / (times + self.strength))


def fit_copies(held_out: HeldOut, probabilities: Array) -> Copies | None:
    """Return what is known of copies; None where there are none, or where they do not agree.

    Parameters
    ----------
    held_out : HeldOut
        Held-out rows; copies of a row were held out together.
    probabilities : ndarray of shape (n_rows, T)
        Held-out probabilities of the candidates.
    """
    rows = held_out.candidates
    keys, first, which = np.unique(rows.keys, return_index=True, return_inverse=True)
    times = np.bincount(which, rows.weights, len(keys))
    if not held_out.keyed or not (times >= 2.0).any():
        return None
    member = sp.csr_array((rows.weights, (which, np.arange(len(which)))))
    counts = sp.csr_array(member @ held_out.labels)
    counts.sort_indices()
    groups = np.flatnonzero(times >= 2.0)[:MOST_GROUPS]
    at = first[groups]
    group, k, p0 = _judged_pairs(rows.labels[at], probabilities[at], counts[groups])
    m = times[groups][group]

    def of_groups(values: Array) -> Array:
        return np.bincount(group, values, len(groups))

    # The binomial coefficient is the same for every strength, and for the model alone.
    plain = of_groups(xlogy(k, p0) + xlog1py(m - k, -p0))
    best, gain = None, np.zeros(len(groups))
    for strength in STRENGTHS:
        found = of_groups(_log_likelihood(k, m, p0, strength)) - plain
        if found.sum() > gain.sum():
            best, gain = float(strength), found
    error = gain.std() * np.sqrt(len(gain))
    if best is None or gain.sum() < max(LEAST_GAIN, CLEARLY * error):
        return None
    return Copies(keys, times, counts, best)


def _judged_pairs(labels: Array, probabilities: Array, counts: Any) -> tuple[Array, Array, Array]:
    """Return pairs of a group of copies and a label: the group, its copies with the label, p₀.

    They are the candidates that are not too improbable to tell anything, and the true labels. A
    true label that is no candidate is taken for as probable as the last of these.
    """
    n_groups, n_labels = counts.shape
    true_group = np.repeat(np.arange(n_groups), np.diff(counts.indptr))
    true_pair = true_group * n_labels + counts.indices
    pair = np.arange(n_groups)[:, None] * n_labels + labels
    place = np.minimum(np.searchsorted(true_pair, pair), max(len(true_pair) - 1, 0))
    k = np.zeros(pair.shape)
    if len(true_pair):
        k = np.where(true_pair[place] == pair, counts.data[place], 0.0)
    missed = ~np.isin(true_pair, pair)
    seen = (probabilities > LEAST_PROBABILITY) | (k > 0)
    last = probabilities.min(axis=1)[true_group[missed]]
    return (
        np.concatenate([np.nonzero(seen)[0], true_group[missed]]),
        np.concatenate([k[seen], counts.data[missed]]),
        np.clip(np.concatenate([probabilities[seen], last]), LEAST, 1.0 - LEAST),
    )


def _log_likelihood(k: Array, m: Array, p0: Array, strength: float) -> Array:
    """Return the logarithm of the Beta-binomial likelihood, less its binomial coefficient."""
    a, b = strength * p0, strength * (1.0 - p0)
    with_label = gammaln(a + k) - gammaln(a) + gammaln(b + m - k) - gammaln(b)
    return np.asarray(with_label + gammaln(strength) - gammaln(strength + m))
