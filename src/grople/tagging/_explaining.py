"""Why a row got a label: exact shares of features and of other labels in its score.

Scores are linear, ``s = x Z V + c`` with c the scores of an empty row. So a label's score is c
plus one share a feature, ``x_j (Z V)_jl``. And ``s − c`` lies in the row space of V, onto which
``Π = V⁺V`` projects, so it is also c plus one share a label, ``(s − c)_m Π_ml``: what label m's own
evidence adds to label l through the dimensions that they share. Both sums are the score.

Joined scores of several experts are no such sums. There a feature's share is how much the score
falls when the feature alone is left out of the row; what interacts counts in several shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.solver import LinearScores

__all__ = ["Explainer", "Explanation"]

Array = NDArray[Any]
#: A name and its share of a score.
Share = tuple[str, float]


@dataclass(frozen=True)
class Explanation:
    """A score taken apart, twice; each time the parts add up to it.

    Attributes
    ----------
    label : str
        The label.
    score : float
        Its score.
    base : float
        Score of an empty row: ``score = base + Σ features + other_features``, and also
        ``score = base + own + Σ co_labels + other_labels``.
    features, co_labels : tuple of (str, float)
        The largest shares, largest first.
    other_features, other_labels : float
        The sum of all other shares.
    own : float
        The share of the label's own evidence.
    exact : bool
        Whether the shares are those of a sum; else features were left out one by one, and labels
        have no shares.
    """

    label: str
    score: float
    base: float
    features: tuple[Share, ...]
    other_features: float
    own: float
    co_labels: tuple[Share, ...]
    other_labels: float
    exact: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "score": self.score,
            "base": self.base,
            "features": dict(self.features),
            "other_features": self.other_features,
            "own": self.own,
            "co_labels": dict(self.co_labels),
            "other_labels": self.other_labels,
            "exact": self.exact,
        }


class Explainer:
    """Explains the scores of a fitted model: linear ones exactly, joined ones by leaving out.

    Parameters
    ----------
    model : estimator
        Fitted, with scores that are linear in the features or joined from several experts.
    feature_names, label_names : sequence of str
        Names.
    n_features, n_labels : int
        How many shares to name.

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> model = GroPLE(20, experts=["linear"]).fit(data.X[:1000], data.Y[:1000])
    >>> explainer = Explainer(model, data.feature_names, data.label_names)
    >>> why = explainer.explain(data.X[[1000]], [3])[0]
    >>> total = why.base + sum(share for _, share in why.features) + why.other_features
    >>> bool(abs(total - model.decision_function(data.X[[1000]])[0, 3]) < 1e-9)
    True
    """

    def __init__(
        self,
        model: Any,
        feature_names: Sequence[str],
        label_names: Sequence[str],
        *,
        n_features: int = 5,
        n_labels: int = 3,
    ) -> None:
        fitted = model.fitted_model_
        scores = fitted.linear
        if model._targets.kind == "binary":
            raise ValueError("a model of two classes has no labels to explain")
        if not isinstance(scores, LinearScores):
            raise ValueError(
                f"the scores of {type(model).__name__} are not linear in the features: there is "
                "no exact explanation"
            )
        #: Whether shares are those of a sum.
        self.is_exact = scores is fitted.scorer
        self._fitted = fitted
        self._scores = scores
        self._base = scores.intercepts()
        self._basis = _row_space(scores.V)
        self._feature_names = feature_names
        self._label_names = label_names
        self._n_features = n_features
        self._n_labels = n_labels

    def explain(self, row: Any, labels: Sequence[int]) -> list[Explanation]:
        """Explain the scores of some labels of one row (a matrix with a single row)."""
        columns, values = _non_zeros(row)
        if not self.is_exact:
            return self._left_out(columns, values, labels)
        Z, V = self._scores.Z[columns], self._scores.V
        evidence = values @ Z if V is None else (values @ Z) @ V
        chosen = np.asarray(labels, dtype=np.intp)
        shares = values[:, None] * (Z[:, chosen] if V is None else Z @ V[:, chosen])
        return [
            self._explanation(int(label), columns, shares[:, i], evidence)
            for i, label in enumerate(chosen)
        ]

    def _left_out(self, columns: Array, values: Array, labels: Sequence[int]) -> list[Explanation]:
        """Compare the row with rows that lack one of its features each, and with an empty one."""
        k = len(columns)
        entries = np.tile(values, (k + 2, 1))
        entries[np.arange(1, k + 1), np.arange(k)] = 0.0
        entries[k + 1] = 0.0
        starts = np.arange(k + 3) * k
        shape = k + 2, self._scores.n_features
        rows = sp.csr_array((entries.ravel(), np.tile(columns, k + 2), starts), shape=shape)
        rows.eliminate_zeros()
        found = self._fitted.scores(rows)
        names = [self._feature_names[int(j)] for j in columns]
        explanations = []
        for label in labels:
            score, base = float(found[0, label]), float(found[-1, label])
            shown, others = _largest(score - found[1:-1, label], names, self._n_features)
            explanations.append(
                Explanation(self._label_names[label], score, base, shown, others,
                            score - base, (), 0.0, exact=False)
            )  # fmt: skip
        return explanations

    def _explanation(
        self, label: int, columns: Array, shares: Array, evidence: Array
    ) -> Explanation:
        features, other_features = _largest(
            shares, [self._feature_names[int(j)] for j in columns], self._n_features
        )
        own = float(evidence[label])
        co_labels: tuple[Share, ...] = ()
        other_labels = 0.0
        if self._basis is not None:
            by_label = evidence * (self._basis @ self._basis[label])
            own = float(by_label[label])
            by_label[label] = 0.0
            co_labels, other_labels = _largest(by_label, self._label_names, self._n_labels)
        base = float(self._base[label])
        return Explanation(
            self._label_names[label],
            base + float(shares.sum()),
            base,
            features,
            other_features,
            own,
            co_labels,
            other_labels,
        )


def _row_space(V: Array | None) -> Array | None:
    """Return an orthonormal basis of the row space, one row a label."""
    if V is None:
        return None
    _, sizes, rows = np.linalg.svd(V, full_matrices=False)
    live = sizes > sizes.max(initial=0.0) * max(V.shape) * np.finfo(float).eps
    return rows[live].T


def _non_zeros(row: Any) -> tuple[Array, Array]:
    if sp.issparse(row):
        row = sp.csr_array(row)
        return row.indices, row.data
    values = np.asarray(row, dtype=np.float64).ravel()
    columns = np.flatnonzero(values)
    return columns, values[columns]


def _largest(shares: Array, names: Sequence[str], count: int) -> tuple[tuple[Share, ...], float]:
    """Return the shares that count most, for or against, and the sum of the others."""
    order = np.argsort(-np.abs(shares), kind="stable")[:count]
    order = order[shares[order] != 0]
    kept = tuple((str(names[int(i)]), float(shares[i])) for i in order)
    return kept, float(shares.sum() - shares[order].sum())
