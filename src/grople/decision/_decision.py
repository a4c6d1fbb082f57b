"""A fitted decision: from scores to probabilities to labels, by any rule. Plain arrays, no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.decision._calibration import log_odds
from grople.decision._copies import Copies
from grople.decision._evidence import top_labels
from grople.decision._expected import best_prefix
from grople.decision._reranker import Reranker
from grople.decision._rules import Rule, check_rule, first_labels

__all__ = ["Decision"]

Array = NDArray[Any]

#: Labels of a row that sets are chosen from at first; where a row takes all of them, from all.
MOST_LABELS = 512
#: Rules that choose a set for each row.
ROW_RULES = ("accuracy", "example_f1")


@dataclass(frozen=True)
class Decision:
    """A fitted decision: it answers every rule.

    The answer for a row does not depend on the rows around it, to the bit.

    Attributes
    ----------
    curve_scores, curve_probabilities : ndarray
        Knots of the monotone curve from scores to probabilities.
    micro_threshold, hamming_threshold : float
        What a label must exceed to be given; infinite for micro-F1 if no label ever was. In units
        of the score, or of log-odds where a re-ranker corrects probabilities.
    macro_thresholds : ndarray of shape (L,)
        The same for macro-F1.
    n_top : int
        Labels given by ``"top_k"``.
    signed_rules : tuple of str
        Rules that choose a set for each row, but held-out rows worse than the sign of the scores:
        they take the sign.
    reranker : Reranker, optional
        What corrects the probabilities of the candidates of each row.
    copies : Copies, optional
        Labels of the training rows, where they repeat each other.
    """

    curve_scores: Array
    curve_probabilities: Array
    micro_threshold: float
    macro_thresholds: Array
    hamming_threshold: float
    n_top: int
    signed_rules: tuple[str, ...] = ()
    reranker: Reranker | None = None
    copies: Copies | None = None

    @property
    def needs_features(self) -> bool:
        """Whether the features of a row count as well as its scores."""
        cooccurrence = self.reranker is not None and self.reranker.cooccurrence is not None
        return cooccurrence or self.copies is not None

    def probabilities(self, scores: Array, X: Any = None) -> Array:
        """Return the probability of each label.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, L)
            The scores of a block of rows.
        X : array or sparse array of shape (n_rows, D), optional
            The rows themselves, where :attr:`needs_features`.
        """
        scores, X = self._checked(scores, X)
        found = self._of_model(scores, X)
        rows, which = self._find_copies(X)
        if self.copies is not None and len(rows):
            found[rows] = self.copies.corrected(found[rows], which)
        return found

    def labels(self, scores: Array, X: Any = None, rule: Any = "example_f1") -> Any:
        """Return the labels of a block of rows as a CSR array of ones.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, L)
            The scores of a block of rows.
        X : array or sparse array of shape (n_rows, D), optional
            The rows themselves, where :attr:`needs_features`.
        rule : str, float or Rule
            What turns probabilities into labels; a number is a threshold of the scores, and
            ``"sign"`` is zero. These two take no features.
        """
        rule = check_rule(rule)
        if rule == "sign" or isinstance(rule, float):
            return _marks(scores > (0.0 if rule == "sign" else rule))
        spelt = rule if isinstance(rule, Rule) else Rule(rule)
        scores, X = self._checked(scores, X)
        if self.micro_threshold == np.inf:  # of labels that no row had, none is given
            return sp.csr_array(scores.shape, dtype=np.int64)
        copied, which = self._find_copies(X)
        if self.copies is None or not len(copied):
            return self._labels_of_model(scores, X, spelt)
        new = np.setdiff1d(np.arange(len(scores)), copied)
        parts = [self._labels_of_model(scores[new], None if X is None else X[new], spelt)]
        found = self._of_model(scores[copied], None if X is None else X[copied])
        found = self.copies.corrected(found, which)
        parts.append(self._labels_of_copies(found, spelt))
        back = np.argsort(np.concatenate([new, copied]))
        return sp.vstack(parts, format="csr")[back]

    def _checked(self, scores: Array, X: Any) -> tuple[Array, Any]:
        if self.needs_features and X is None:
            raise ValueError("this decision looks at the features too: pass X with the scores")
        if X is not None:
            X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
        return np.ascontiguousarray(scores, dtype=np.float64), X

    def _find_copies(self, X: Any) -> tuple[Array, Array]:
        if self.copies is None:
            none = np.zeros(0, dtype=np.intp)
            return none, none
        return self.copies.find(X)

    def _calibrated(self, scores: Array) -> Array:
        flat = np.interp(scores.ravel(), self.curve_scores, self.curve_probabilities)
        return flat.reshape(scores.shape)

    def _of_model(self, scores: Array, X: Any) -> Array:
        """Return the probabilities of rows, taken for new ones."""
        found = self._calibrated(scores)
        if self.reranker is not None and scores.size:
            labels, corrected, _ = self._reranked(scores, found, X)
            np.put_along_axis(found, labels, corrected, axis=1)
        return found

    def _reranked(self, scores: Array, calibrated: Array, X: Any) -> tuple[Array, Array, Array]:
        """Return the candidates, their corrected probabilities, and Σp of the other labels."""
        assert self.reranker is not None
        labels, top = top_labels(scores, self.reranker.n_candidates)
        probabilities = np.take_along_axis(calibrated, labels, axis=1)
        rest = np.maximum(calibrated.sum(axis=1) - probabilities.sum(axis=1), 0.0)
        cooccurrence = None
        if self.reranker.cooccurrence is not None:
            cooccurrence = np.take_along_axis(self.reranker.cooccurrence(X), labels, axis=1)
        return labels, self.reranker(labels, top, probabilities, cooccurrence), rest

    def _labels_of_model(self, scores: Array, X: Any, rule: Rule) -> Any:
        """Return the labels of rows, taken for new ones."""
        if rule.name in self.signed_rules:
            return _marks(scores > 0.0)
        if rule.name in ROW_RULES:
            return self._best_sets(scores, X, rule.name)
        if rule.name == "top_k":
            most = rule.k or self.n_top
            labels, *_ = self._ranked(scores, X, most)
            return first_labels(labels, _same_size(labels, most), scores.shape[1])
        values = scores if self.reranker is None else log_odds(self._of_model(scores, X))
        return _marks(values > self._thresholds(rule.name))

    def _labels_of_copies(self, probabilities: Array, rule: Rule) -> Any:
        """Return the labels of rows whose probabilities are not those of the model."""
        n_labels = probabilities.shape[1]
        if rule.name in ROW_RULES or rule.name == "top_k":
            labels, ranked = top_labels(probabilities, n_labels)
            sizes = _same_size(labels, rule.k or self.n_top)
            if rule.name in ROW_RULES:
                sizes = best_prefix(ranked, ranked.sum(axis=1), rule.name)
            return first_labels(labels, sizes, n_labels)
        if rule.name == "hamming":
            return _marks(probabilities > 0.5)
        thresholds = np.asarray(self._thresholds(rule.name))
        if self.reranker is None:  # they are scores: in log-odds, like the probabilities
            known = np.isfinite(thresholds)
            found = log_odds(self._calibrated(np.where(known, thresholds, 0.0)))
            thresholds = np.where(known, found, thresholds)
        return _marks(log_odds(probabilities) > thresholds)

    def _thresholds(self, name: str) -> Any:
        if name == "macro_f1":
            return self.macro_thresholds
        return self.micro_threshold if name == "micro_f1" else self.hamming_threshold

    def _ranked(self, scores: Array, X: Any, most: int) -> tuple[Array, Array, Array]:
        """Return the most probable labels of each row in order, their probabilities, and Σp.

        They are ``most``, or with a re-ranker its candidates where these are enough.
        """
        n_labels = scores.shape[1]
        if self.reranker is not None and most <= self.reranker.n_candidates:
            labels, probabilities, rest = self._reranked(scores, self._calibrated(scores), X)
            order = np.argsort(-probabilities, axis=1, kind="stable")
            labels = np.take_along_axis(labels, order, axis=1)
            expected = probabilities.sum(axis=1) + rest
            return labels, np.take_along_axis(probabilities, order, axis=1), expected
        if self.reranker is not None:
            found = self._of_model(scores, X)
            labels, probabilities = top_labels(found, most)
            return labels, probabilities, found.sum(axis=1)
        # The curve is monotone, so the order of scores is an order of probabilities.
        labels, top = top_labels(scores, most)
        probabilities = self._calibrated(top)
        every = labels.shape[1] == n_labels
        return labels, probabilities, (probabilities if every else self._calibrated(scores)).sum(1)

    def _best_sets(self, scores: Array, X: Any, rule: str, most: int | None = None) -> Any:
        if most is None:
            most = MOST_LABELS if self.reranker is None else self.reranker.n_candidates
        labels, probabilities, expected = self._ranked(scores, X, most)
        sizes = best_prefix(probabilities, expected, rule)
        marks = first_labels(labels, sizes, scores.shape[1])
        full = np.flatnonzero(sizes == labels.shape[1])
        if labels.shape[1] == scores.shape[1] or not len(full):
            return marks
        # These rows would have more labels, if there were more to choose from.
        more = self._best_sets(scores[full], None if X is None else X[full], rule, scores.shape[1])
        others = np.flatnonzero(sizes < labels.shape[1])
        back = np.argsort(np.concatenate([others, full]))
        return sp.vstack([marks[others], more], format="csr")[back]


def _marks(given: Array) -> Any:
    return sp.csr_array(np.asarray(given).astype(np.int64))


def _same_size(labels: Array, most: int) -> Array:
    return np.full(len(labels), min(most, labels.shape[1]))
