"""A fitted model as plain values: what a page, a terminal or a program shows of it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from grople.decision import ScoreCounts
from grople.estimators import LabelClassifier
from grople.inspection._groups import GroupPortrait, group_portraits, row_lengths
from grople.inspection._quality import (
    GivenLabels,
    LabelQuality,
    given_labels,
    label_quality,
    reliability,
)
from grople.inspection._weights import Ranked, Weights, labels_seen_together, linear_weights
from grople.metrics import ReliabilityCurve
from grople.moments import LabelMoments
from grople.solver import FittedModel

__all__ = ["ModelReport", "inspect_model"]

Array = NDArray[Any]


@dataclass(frozen=True)
class ModelReport:
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
    weights : Weights or None
        Effects of features on labels, of the linear expert; None where there is none, and then
        the next two are too.
    top_features : Ranked or None
        The features with the largest effects on each label (weight times spread of the feature).
    nearest : Ranked or None
        Labels with the most alike effects, by the cosine.
    together : Ranked or None
        Labels most correlated with each, by the share of its rows that carry them.
    experts : tuple of dict
        The experts that were tried, where there were several: name, weight in the joined scores
        (0: left out), log loss on held-out rows, seconds.
    quality : LabelQuality or None
        How well each label is ranked.
    given : GivenLabels or None
        What giving every label above one score leads to.
    reliability : dict of str to ReliabilityCurve
        Probabilities and what happened: for all labels, and frequent to rare ones.
    held_out : bool
        Whether these three come from held-out rows (else from what the moments imply).
    reranked : bool
        Whether a re-ranker corrects these probabilities in the context of each row.
    cross_validated : dict of str to dict
        For each method that was cross-validated when the model was fitted (the model's is the
        last) the means of the measures.
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
    weights: Weights | None
    top_features: Ranked | None
    nearest: Ranked | None
    together: Ranked | None
    experts: tuple[dict[str, Any], ...]
    quality: LabelQuality | None
    given: GivenLabels | None
    reliability: dict[str, ReliabilityCurve]
    held_out: bool
    reranked: bool
    cross_validated: dict[str, dict[str, float]]
    label_moments: LabelMoments | None

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return len(self.label_names)

    @cached_property
    def label_map(self) -> Array | None:
        """A place in the unit square for each label, shape (L, 2); computed when asked for."""
        return None if self.weights is None else self.weights.label_map()

    @property
    def order(self) -> Array:
        """The labels by group, the most frequent of a group first."""
        rest = np.flatnonzero(self.label_groups < 0)
        return np.concatenate([*(group.labels for group in self.groups), rest]).astype(np.intp)

    @property
    def summary(self) -> str:
        """Its size in a line."""
        groups = f", in {len(self.groups)} groups" if self.groups else ""
        rows = f", learnt from {self.n_rows:,.0f} rows" if self.n_rows is not None else ""
        return f"{self.n_labels:,} labels{groups}, {len(self.feature_names):,} features{rows}"

    @property
    def mean_precision(self) -> float | None:
        """Mean over labels of the average precision, where any is known."""
        known = () if self.quality is None else self.quality.average_precision
        return float(np.nanmean(known)) if np.isfinite(known).any() else None

    @property
    def source(self) -> str:
        """What quality was measured on."""
        return "on held-out rows" if self.held_out else "as the moments imply"

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
        groups = [
            asdict(group) | {"labels": [self.label_names[i] for i in group.labels]}
            for group in self.groups
        ]
        curves = {
            name: {key: values.tolist() for key, values in vars(curve).items()}
            for name, curve in self.reliability.items()
        }
        return {
            "model": self.kind,
            "parameters": {name: _plain(value) for name, value in self.parameters.items()},
            "rows": _plain(self.n_rows),
            "features": len(self.feature_names),
            "experts": [{k: _plain(v) for k, v in each.items()} for each in self.experts],
            "cross_validated": self.cross_validated,
            "held_out": self.held_out,
            "precision": None if self.given is None else self.given.precision,
            "recall": None if self.given is None else self.given.recall,
            "groups": groups,
            "labels": [self._label_dict(i) for i in range(self.n_labels)],
            "reliability": curves,
        }

    def _label_dict(self, i: int) -> dict[str, Any]:
        rankings = {
            "features": (self.top_features, self.feature_names),
            "nearest": (self.nearest, self.label_names),
            "together": (self.together, self.label_names),
        }
        quality = self.quality
        return {
            "name": self.label_names[i],
            "group": int(self.label_groups[i]),
            "rows": None if self.frequencies is None else _plain(self.frequencies[i]),
            "average_precision": None if quality is None else _plain(quality.average_precision[i]),
            "auc": None if quality is None else _plain(quality.auc[i]),
        } | {
            # Pairs, not a dictionary: names need not differ, and the order matters.
            key: None if ranked is None else ranked.of(i, names)
            for key, (ranked, names) in rankings.items()
        }


def inspect_model(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    comparison: Any = None,
    n_top: int = 10,
) -> ModelReport:
    """Return what a fitted model shows.

    Parameters
    ----------
    model : estimator
        A fitted GroPLE, or any other estimator of this library.
    feature_names : sequence of str, optional
        Names of the features; else those the model was fitted with, else their numbers.
    comparison : dict, optional
        What cross-validation measured when the model was fitted, as plain values
        (:meth:`grople.baselines.Comparison.to_dict`).
    n_top : int
        Features and labels kept for each label.

    Returns
    -------
    ModelReport

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, 20, 8, n_groups=2, random_state=0)
    >>> model = GroPLE(n_groups=2, random_state=0).fit(data.X, data.Y)
    >>> report = inspect_model(model, data.feature_names)
    >>> [len(group.labels) for group in report.groups]
    [4, 4]
    >>> report.feature_names[report.top_features.numbers[0, 0]] in data.feature_names
    True
    """
    if not isinstance(model, LabelClassifier):
        raise TypeError(
            f"{type(model).__name__} is not an estimator of this library; of a pipeline, pass the "
            "last step and the names of the features that reach it"
        )
    check_is_fitted(model)
    fitted = model.fitted_model_
    weights = linear_weights(fitted)
    names = _feature_names(model, feature_names)
    label_names = _label_names(model, fitted.n_labels)
    counts = _counts(model, fitted)
    labels = None if fitted.outline is None else fitted.outline.labels
    quality = None if counts is None else label_quality(counts)
    frequencies = None
    if labels is not None:
        frequencies = labels.counts
    elif quality is not None:
        frequencies = quality.positives
    membership = np.full(len(label_names), -1) if fitted.groups is None else fitted.groups
    lengths = None
    if weights is not None and weights.V is not None and (membership >= 0).any():
        lengths = row_lengths(weights.V, membership)
    return ModelReport(
        kind=type(model).__name__,
        parameters=model.get_params(deep=False),
        n_rows=None if labels is None else float(labels.n),
        label_names=label_names,
        feature_names=names,
        frequencies=frequencies,
        label_groups=membership,
        groups=group_portraits(membership, frequencies, weights, lengths, label_names, names),
        row_lengths=lengths,
        weights=weights,
        top_features=None if weights is None else weights.top_features(n_top),
        nearest=None if weights is None else weights.nearest_labels(n_top),
        together=None if labels is None else labels_seen_together(labels, n_top),
        experts=tuple(fitted.report.get("selection", ())),
        quality=quality,
        given=None if counts is None else given_labels(counts),
        reliability={} if counts is None else reliability(counts, fitted.decision),
        held_out=isinstance(fitted.evidence, ScoreCounts),
        reranked=fitted.decision.reranker is not None,
        cross_validated=_cross_validated(comparison),
        label_moments=labels,
    )


def _counts(model: Any, fitted: FittedModel) -> ScoreCounts | None:
    """Return counts of scores: of held-out rows, else as the moments imply."""
    if model._targets.kind != "multilabel" or fitted.evidence is None:
        return None
    if isinstance(fitted.evidence, ScoreCounts):
        return fitted.evidence
    return ScoreCounts.from_moments(fitted.evidence)


def _cross_validated(comparison: Any) -> dict[str, dict[str, float]]:
    """Return the means of the measures of each method; nothing of what is no comparison."""
    methods = comparison.get("methods") if isinstance(comparison, Mapping) else None
    found = {}
    for method in methods if isinstance(methods, list | tuple) else ():
        means = method.get("mean") if isinstance(method, Mapping) else None
        if isinstance(means, Mapping):
            known = {str(k): v for k, v in means.items() if isinstance(v, float) and isfinite(v)}
            found[str(method.get("method", ""))] = known
    return {name: means for name, means in found.items() if means}


def _label_names(model: Any, n_labels: int) -> tuple[str, ...]:
    classes = model.classes_[-1:] if n_labels == 1 else model.classes_
    named = model._targets.named or model._targets.kind != "multilabel"
    return tuple(str(c) if named else f"label {c}" for c in classes)


def _feature_names(model: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    n = int(model.n_features_in_)
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
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
