"""The data card: what to know about a data set before learning from it."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.datasets._bundle import Bundle
from grople.datasets._halves import Halves, compare_halves
from grople.datasets._leaks import find_leaks
from grople.moments import row_keys

__all__ = ["FrequencyBin", "Summary", "describe"]


@dataclass(frozen=True)
class FrequencyBin:
    """How many labels occur in between ``low`` and ``high`` rows (both included)."""

    low: int
    high: int
    labels: int


@dataclass(frozen=True)
class Summary:
    """What a data card says; see :func:`describe`.

    Parameters
    ----------
    name, source : str
        As in the bundle.
    instances, features, labels : int
        Rows and columns.
    sparse : bool
        Whether the features are stored sparse.
    feature_density : float
        Share of the features that is not zero.
    cardinality, density : float
        Labels a row, and the same divided by the number of labels.
    max_labels_in_row : int
        The most labels of one row.
    label_sets : int
        Distinct combinations of labels.
    rows_without_labels, labels_never : int
        Rows without any label, labels without any row.
    duplicate_rows : int
        Rows whose features and labels both equal an earlier row's.
    conflicting_rows : int
        Rows whose features equal an earlier row's, with labels that no such earlier row has.
    imbalance_mean, imbalance_max : float
        Rows of the most frequent label divided by rows of a label (IRLbl), over occurring labels.
    frequencies : tuple of FrequencyBin
        Histogram of the labels' frequencies.
    leaks : tuple of (str, str)
        Features that are non-zero, with one value, in exactly the rows that carry a label (or
        in exactly those that do not), each with that label.
    halves : Halves
        Whether the first and the second half of the rows agree about the labels' frequencies.
    notes : tuple of str
        What the reader noted.
    warnings : tuple of str
        What may make results on these data misleading, in sentences.
    """

    name: str
    source: str
    instances: int
    features: int
    labels: int
    sparse: bool
    feature_density: float
    cardinality: float
    density: float
    max_labels_in_row: int
    label_sets: int
    rows_without_labels: int
    labels_never: int
    duplicate_rows: int
    conflicting_rows: int
    imbalance_mean: float
    imbalance_max: float
    frequencies: tuple[FrequencyBin, ...]
    leaks: tuple[tuple[str, str], ...]
    halves: Halves
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values for JSON; a figure that does not exist is None."""
        card = dataclasses.asdict(self)
        card["halves"]["verdict"] = self.halves.verdict
        return _without_nan(card)


def describe(bundle: Bundle) -> Summary:
    """Return the data card of a bundle.

    Costs a few passes over the stored elements; nothing dense of the size of ``Y`` is made.

    Parameters
    ----------
    bundle : Bundle
        The data set.

    Returns
    -------
    Summary
        The card.

    Examples
    --------
    >>> from grople.datasets import load
    >>> card = describe(load("debtags-mini"))
    >>> card.instances, card.labels, round(card.cardinality, 3), card.rows_without_labels
    (3998, 169, 4.632, 0)
    """
    X, Y = bundle.X, bundle.Y
    counts = np.bincount(Y.indices, minlength=bundle.n_labels)
    per_row = np.diff(Y.indptr)
    occurring = counts[counts > 0]
    imbalance = counts.max(initial=0) / occurring
    duplicates, conflicts = _repeated_rows(X, Y)
    nonzero = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    card = Summary(
        name=bundle.name,
        source=bundle.source,
        instances=bundle.n_rows,
        features=bundle.n_features,
        labels=bundle.n_labels,
        sparse=sp.issparse(X),
        feature_density=float(nonzero / max(X.shape[0] * X.shape[1], 1)),
        cardinality=bundle.cardinality,
        density=bundle.density,
        max_labels_in_row=int(per_row.max(initial=0)),
        label_sets=len(np.unique(row_keys(Y))),
        rows_without_labels=int((per_row == 0).sum()),
        labels_never=int((counts == 0).sum()),
        duplicate_rows=duplicates,
        conflicting_rows=conflicts,
        imbalance_mean=float(imbalance.mean()) if len(imbalance) else float("nan"),
        imbalance_max=float(imbalance.max()) if len(imbalance) else float("nan"),
        frequencies=_histogram(counts),
        leaks=tuple(
            (bundle.feature_names[feature], bundle.label_names[label])
            for feature, label in find_leaks(X, Y)
        ),
        halves=compare_halves(Y),
        notes=tuple(bundle.notes),
    )
    return dataclasses.replace(card, warnings=_warnings(card))


def _repeated_rows(X: Any, Y: Any) -> tuple[int, int]:
    """Count the rows that equal an earlier one in X and Y, and those that do in X only."""
    alone = len(np.unique(row_keys(X)))
    together = len(np.unique(row_keys(X, Y)))
    return X.shape[0] - together, together - alone


def _histogram(counts: NDArray[np.int64]) -> tuple[FrequencyBin, ...]:
    """Count labels in bins 0, 1, 2-4, 5-9, 10-19, 20-49, … up to the most frequent label."""
    most = int(counts.max(initial=0))
    edges = [0]
    for step in (base * 10**power for power in itertools.count() for base in (1, 2, 5)):
        edges.append(step)
        if step > most:
            break
    labels = np.histogram(counts, bins=edges)[0]
    bins = [
        FrequencyBin(low, high - 1, int(number))
        for low, high, number in zip(edges[:-1], edges[1:], labels, strict=True)
    ]
    occupied = [i for i, b in enumerate(bins) if b.labels]
    return tuple(bins[occupied[0] : occupied[-1] + 1]) if occupied else ()


def _warnings(card: Summary) -> tuple[str, ...]:
    found = []
    halves = card.halves
    middle = card.instances // 2
    if halves.verdict == "shifted":
        columns = f"{abs(halves.shift)} column{'s' if abs(halves.shift) > 1 else ''}"
        side = "left" if halves.shift < 0 else "right"
        found.append(
            f"The labels of rows {middle}-{card.instances - 1} stand {columns} too far to the "
            f"{side}: {halves.differing} of {halves.tested} labels have other frequencies than in "
            "the rows before, and none has once they are moved back. The file is damaged; "
            "use a repaired copy."
        )
    elif halves.verdict == "differ":
        found.append(
            f"The rows are not in random order: {halves.differing} of {halves.tested} labels are "
            "more frequent in one half of the rows than in the other. Shuffle before you split."
        )
    if card.leaks:
        labels = len({label for _, label in card.leaks})
        found.append(
            f"{_count(len(card.leaks), 'feature')} {'equals' if len(card.leaks) == 1 else 'equal'} "
            f"a label exactly ({_count(labels, 'label')} given away)."
        )
    if card.labels_never:
        found.append(
            f"{_count(card.labels_never, 'label')} never occurring: nothing to learn from."
        )
    return tuple(found)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _without_nan(value: Any) -> Any:
    """Return the value with None for every NaN, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and value != value else value
