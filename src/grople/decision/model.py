"""A fitted decision: plain arrays, no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from grople.decision.calibration import log_odds
from grople.decision.context import ContextDecoder
from grople.decision.evidence import top_labels
from grople.decision.expected import best_prefix
from grople.decision.rules import marks_of

__all__ = ["Decision"]

Array = NDArray[Any]

#: Labels of a row that sets are chosen from at first; where a row takes all of them, from all.
MOST_LABELS = 512


@dataclass(frozen=True)
class Decision:
    """A fitted decision.

    Attributes
    ----------
    rule : str or float
        What turns scores into labels.
    curve_scores, curve_probabilities : ndarray
        Knots of the monotone curve from scores to probabilities.
    thresholds : float or ndarray of shape (L,)
        What a label must exceed to be given (rules by threshold); infinite if none ever was. In
        units of the score, or of log-odds where labels bend the curve or a decoder corrects it.
    bend_intercept, bend_slope : ndarray of shape (L,), optional
        How each label bends the curve, in log-odds.
    decoder : ContextDecoder, optional
        The second look at the candidates of each row.
    n_candidates : int
        Candidates that the decoder looks at.
    n_top : int
        Labels given by ``"top_k"``.
    """

    rule: str | float
    curve_scores: Array
    curve_probabilities: Array
    thresholds: Any = 0.0
    bend_intercept: Array | None = None
    bend_slope: Array | None = None
    decoder: ContextDecoder | None = None
    n_candidates: int = 0
    n_top: int = 0

    @property
    def by_score(self) -> bool:
        """Whether probabilities follow the scores alone, so that thresholds are scores."""
        return self.decoder is None and self.bend_slope is None

    @property
    def asks_rows(self) -> bool:
        """Whether the features of a row count beside its scores."""
        return self.decoder is not None and self.decoder.affinity is not None

    def probabilities(self, scores: Array, X: Any = None) -> Array:
        """Return the probability of each label.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, L)
            The scores of a block of rows.
        X : array or sparse array of shape (n_rows, D), optional
            The rows themselves, where :attr:`asks_rows`.
        """
        found = self._calibrated(scores)
        if self.decoder is not None and scores.size:
            labels, corrected, _ = self._decoded(scores, found, X)
            np.put_along_axis(found, labels, corrected, axis=1)
        return found

    def labels(self, scores: Array, X: Any = None) -> Any:
        """Return the labels of a block of rows as a CSR array of ones.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, L)
            The scores of a block of rows.
        X : array or sparse array of shape (n_rows, D), optional
            The rows themselves, where :attr:`asks_rows`.
        """
        if self.rule in ("accuracy", "example_f1") and np.all(np.isfinite(self.thresholds)):
            return self._best_sets(scores, X)
        if self.rule == "top_k" and np.all(np.isfinite(self.thresholds)):
            return self._top(scores, X)
        values = scores
        if not self.by_score and not self.is_given:
            values = log_odds(self.probabilities(scores, X))
        return sp.csr_array((values > self.thresholds).astype(np.int64))

    @property
    def is_given(self) -> bool:
        """Whether the rule is a threshold that was given, not fitted."""
        return self.rule == "sign" or isinstance(self.rule, float)

    def _calibrated(self, scores: Array) -> Array:
        flat = np.interp(scores.ravel(), self.curve_scores, self.curve_probabilities)
        found = flat.reshape(scores.shape)
        if self.bend_slope is None:
            return found
        return np.asarray(expit(self.bend_intercept + self.bend_slope * log_odds(found)))

    def _decoded(self, scores: Array, calibrated: Array, X: Any) -> tuple[Array, Array, Array]:
        """Return the candidates, their corrected probabilities, and what to expect beside them."""
        assert self.decoder is not None
        labels, top = top_labels(scores, self.n_candidates)
        chances = np.take_along_axis(calibrated, labels, axis=1)
        rest = np.maximum(calibrated.sum(axis=1) - chances.sum(axis=1), 0.0)
        return labels, self.decoder(labels, top, chances, self._affinities(X, labels)), rest

    def _affinities(self, X: Any, labels: Array) -> Array | None:
        if not self.asks_rows:
            return None
        if X is None:
            raise ValueError("this decision looks at the rows too: pass X beside the scores")
        assert self.decoder is not None
        assert self.decoder.affinity is not None
        return np.take_along_axis(self.decoder.affinity(X), labels, axis=1)

    def _ranked(self, scores: Array, X: Any, most: int) -> tuple[Array, Array, Array]:
        """Return the likeliest labels of each row in order, their probabilities, and Σp.

        They are ``most``, or with a decoder its candidates where these are enough.
        """
        n_labels = scores.shape[1]
        if self.decoder is not None and most <= self.n_candidates:
            labels, chances, rest = self._decoded(scores, self._calibrated(scores), X)
            order = np.argsort(-chances, axis=1, kind="stable")
            labels = np.take_along_axis(labels, order, axis=1)
            expected = chances.sum(axis=1) + rest
            return labels, np.take_along_axis(chances, order, axis=1), expected
        if not self.by_score:
            found = self.probabilities(scores, X)
            labels, chances = top_labels(found, most)
            return labels, chances, found.sum(axis=1)
        # The curve is monotone, so the order of scores is an order of probabilities.
        labels, top = top_labels(scores, most)
        chances = self._calibrated(top)
        every = labels.shape[1] == n_labels
        return labels, chances, (chances if every else self._calibrated(scores)).sum(axis=1)

    def _best_sets(self, scores: Array, X: Any, most: int | None = None) -> Any:
        if most is None:
            most = MOST_LABELS if self.decoder is None else self.n_candidates
        labels, chances, expected = self._ranked(scores, X, most)
        sizes = best_prefix(chances, expected, str(self.rule))
        marks = marks_of(labels, sizes, scores.shape[1])
        full = np.flatnonzero(sizes == labels.shape[1])
        if labels.shape[1] == scores.shape[1] or not len(full):
            return marks
        # These rows would have more labels, if there were more to choose from.
        more = self._best_sets(scores[full], None if X is None else X[full], scores.shape[1])
        others = np.flatnonzero(sizes < labels.shape[1])
        back = np.argsort(np.concatenate([others, full]))
        return sp.vstack([marks[others], more], format="csr")[back]

    def _top(self, scores: Array, X: Any) -> Any:
        labels, *_ = self._ranked(scores, X, self.n_top)
        sizes = np.full(len(scores), min(self.n_top, labels.shape[1]))
        return marks_of(labels, sizes, scores.shape[1])
