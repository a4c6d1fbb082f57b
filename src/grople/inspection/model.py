"""A fitted model as plain values: what a page, a terminal or a program shows of it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from grople.decision import ScoreCounts
from grople.estimators import LabelClassifier
from grople.inspection.counted import LabelQuality, Reliability, label_quality, reliability
from grople.inspection.groups import GroupPortrait, group_portraits, row_lengths
from grople.inspection.together import labels_seen_together
from grople.inspection.weights import Weights
from grople.moments import LabelMoments
from grople.solver import FittedModel, LinearScores

__all__ = ["Inspection", "inspect_model"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Inspection:
    """What a fitted model shows. Labels and features are meant by their numbers.

    Attributes
    ----------
    kind : str
        Class of the model.
    parameters : dict
        Its parameters.
    n_rows : float or None
        Rows (or their weight) it was learnt from, where known.
    label_names, feature_names : tuple of str
        Names.
    frequencies : ndarray of shape (L,) or None
        Rows that carry each label, where known.
    label_groups : ndarray of int of shape (L,)
        The group of each label, −1 for none.
    groups : tuple of GroupPortrait
        The groups, the largest first.
    row_lengths : ndarray of shape (d, K) or None
        Lengths of the rows of V^k.
    top_features, feature_effects : ndarray of shape (L, T)
        The features with the largest effects on each label (weight times spread of the feature).
    nearest, nearest_cosines : ndarray of shape (L, T)
        Labels with the most alike effects.
    together, together_shares : ndarray of shape (L, T) or None
        Labels most correlated with each, by the share of its rows that carry them.
    quality : LabelQuality or None
        How well each label is ranked.
    reliability : tuple of Reliability
        Probabilities and what happened.
    held_out : bool
        Whether those two come from held-out rows (else from what the moments imply).
    reranked : bool
        Whether a re-ranker corrects these probabilities in the context of each row.
    label_moments : LabelMoments or None
        Counts of labels and pairs of labels.
    """

    kind: str
    parameters: dict[str, Any]
    n_rows: float | None
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    frequencies: Array | None
    label_groups: Array
    groups: tuple[GroupPortrait, ...]
    row_lengths: Array | None
    top_features: Array
    feature_effects: Array
    nearest: Array
    nearest_cosines: Array
    together: Array | None
    together_shares: Array | None
    quality: LabelQuality | None
    reliability: tuple[Reliability, ...]
    held_out: bool
    reranked: bool
    label_moments: LabelMoments | None
    weights: Weights

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return len(self.label_names)

    @cached_property
    def label_map(self) -> Array:
        """A place in the unit square for each label, shape (L, 2); computed when asked for."""
        return self.weights.label_map()

    @property
    def order(self) -> Array:
        """The labels by group, the most frequent of a group first."""
        rest = np.flatnonzero(self.label_groups < 0)
        return np.concatenate([*(group.labels for group in self.groups), rest]).astype(np.intp)

    def number_of(self, label: str) -> int:
        """Return the number of a label, or say which names are close to the one given."""
        try:
            return self.label_names.index(label)
        except ValueError:
            close = difflib.get_close_matches(label, self.label_names, n=3, cutoff=0.4)
            hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise ValueError(f"the model has no label {label!r}{hint}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""

        def named(numbers: Array, values: Array, names: Sequence[str]) -> list[list[Any]]:
            # Pairs, not a dictionary: names need not differ, and the order matters.
            return [[names[i], _plain(v)] for i, v in zip(numbers, values, strict=True)]

        labels = []
        for i, name in enumerate(self.label_names):
            entry: dict[str, Any] = {"name": name, "group": int(self.label_groups[i])}
            if self.frequencies is not None:
                entry["rows"] = _plain(self.frequencies[i])
            if self.quality is not None:
                entry["average_precision"] = _plain(self.quality.average_precision[i])
                entry["auc"] = _plain(self.quality.auc[i])
            entry["features"] = named(
                self.top_features[i], self.feature_effects[i], self.feature_names
            )
            entry["nearest"] = named(self.nearest[i], self.nearest_cosines[i], self.label_names)
            if self.together is not None and self.together_shares is not None:
                entry["together"] = named(
                    self.together[i], self.together_shares[i], self.label_names
                )
            labels.append(entry)
        groups = [
            {
                "number": group.number,
                "labels": [self.label_names[i] for i in group.labels],
                "features": [list(pair) for pair in group.features],
                "n_dimensions": group.n_dimensions,
                "dimensions": [
                    {
                        "number": d.number,
                        "share": d.share,
                        "features": [list(pair) for pair in d.features],
                    }
                    for d in group.dimensions
                ],
            }
            for group in self.groups
        ]
        return {
            "model": self.kind,
            "parameters": {name: _plain(value) for name, value in self.parameters.items()},
            "rows": _plain(self.n_rows),
            "features": len(self.feature_names),
            "groups": groups,
            "labels": labels,
            "reliability": [
                {
                    "labels": curve.name,
                    "predicted": curve.predicted.tolist(),
                    "observed": curve.observed.tolist(),
                    "pairs": curve.pairs.tolist(),
                    "expected": curve.expected,
                    "happened": curve.happened,
                }
                for curve in self.reliability
            ],
        }


def inspect_model(
    model: Any, feature_names: Sequence[str] | None = None, *, n_top: int = 10
) -> Inspection:
    """Return what a fitted model shows.

    Parameters
    ----------
    model : estimator
        A fitted GroPLE, or any other estimator of this library whose scores are linear in the
        features.
    feature_names : sequence of str, optional
        Names of the features; else those the model was fitted with, else their numbers.
    n_top : int
        Features and labels kept for each label.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, 20, 8, n_groups=2, random_state=0)
    >>> model = GroPLE(n_groups=2, random_state=0).fit(data.X, data.Y)
    >>> seen = inspect_model(model, data.feature_names)
    >>> [len(group.labels) for group in seen.groups]
    [4, 4]
    >>> seen.feature_names[seen.top_features[0, 0]] in data.feature_names
    True
    """
    if not isinstance(model, LabelClassifier):
        raise TypeError(
            f"{type(model).__name__} is not an estimator of this library; of a pipeline, pass the "
            "last step and the names of the features that reach it"
        )
    check_is_fitted(model)
    fitted = model.fitted_model_
    weights = _weights(model, fitted)
    names = _feature_names(model, feature_names, len(weights.Z))
    counts = _counts(model, fitted)
    labels = None if fitted.outline is None else fitted.outline.labels
    quality = None if counts is None else label_quality(counts)
    frequencies = None
    if labels is not None:
        frequencies = labels.counts
    elif quality is not None:
        frequencies = quality.positives
    membership = np.full(weights.n_labels, -1) if fitted.groups is None else fitted.groups
    lengths = None
    if weights.V is not None and (membership >= 0).any():
        lengths = row_lengths(weights.V, membership)
    together, shares = (None, None) if labels is None else labels_seen_together(labels, n_top)
    top, effects = weights.top_features(n_top)
    nearest, cosines = weights.nearest_labels(n_top)
    return Inspection(
        kind=type(model).__name__,
        parameters=model.get_params(deep=False),
        n_rows=None if labels is None else float(labels.n),
        label_names=_label_names(model, weights.n_labels),
        feature_names=names,
        frequencies=frequencies,
        label_groups=membership,
        groups=group_portraits(membership, frequencies, weights, lengths, names),
        row_lengths=lengths,
        top_features=top,
        feature_effects=effects,
        nearest=nearest,
        nearest_cosines=cosines,
        together=together,
        together_shares=shares,
        quality=quality,
        reliability=() if counts is None else reliability(counts, fitted.decision),
        held_out=isinstance(fitted.evidence, ScoreCounts),
        reranked=fitted.decision.reranker is not None,
        label_moments=labels,
        weights=weights,
    )


def _weights(model: Any, fitted: FittedModel) -> Weights:
    scorer = fitted.linear
    if not isinstance(scorer, LinearScores):
        raise ValueError(
            f"{type(model).__name__} has no weights of features to inspect: its scores are not "
            "linear in them"
        )
    if fitted.outline is None:
        return Weights(scorer.Z, scorer.V)
    return Weights(scorer.Z * fitted.outline.feature_spread[:, None], scorer.V)


def _counts(model: Any, fitted: FittedModel) -> ScoreCounts | None:
    """Return counts of scores: of held-out rows, else as the moments imply."""
    if model._targets.kind != "multilabel" or fitted.evidence is None:
        return None
    if isinstance(fitted.evidence, ScoreCounts):
        return fitted.evidence
    return ScoreCounts.from_moments(fitted.evidence)


def _label_names(model: Any, n_labels: int) -> tuple[str, ...]:
    classes = model.classes_[-1:] if n_labels == 1 else model.classes_
    named = model._targets.named or model._targets.kind != "multilabel"
    return tuple(str(c) if named else f"label {c}" for c in classes)


def _feature_names(model: Any, given: Sequence[str] | None, n: int) -> tuple[str, ...]:
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if names is None:
        return tuple(f"feature {i}" for i in range(n))
    if len(names) != n:
        raise ValueError(f"{len(names)} feature names for a model of {n} features")
    return tuple(map(str, names))


def _plain(value: Any) -> Any:
    """Return a value for JSON: NaN and infinities are missing, anything odd is its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
