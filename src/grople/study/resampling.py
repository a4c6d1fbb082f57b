"""Is one prediction better than another on the same rows? The paired bootstrap.

Rows are drawn with replacement, the same rows for both predictions, and the difference of the
measure is taken each time: its quantiles are a confidence interval. Every measure here is a ratio
of sums over rows, so that a draw is a product of how often each row was drawn with what it adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.metrics import Counts

__all__ = ["PairedBootstrap", "paired_bootstrap"]

Array = NDArray[np.float64]

#: Measures that are ratios of sums over rows.
MEASURES = ("accuracy", "example_f1", "micro_f1")
#: Draws × rows held at a time.
CELLS = 1 << 22


@dataclass(frozen=True)
class PairedBootstrap:
    """The difference of two predictions, and how sure it is.

    Attributes
    ----------
    difference : float
        Measure of the first minus measure of the second.
    low, high : float
        Confidence interval of the difference.
    p_value : float
        Twice the share of draws on the other side of zero (two-sided).
    """

    difference: float
    low: float
    high: float
    p_value: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0.0 or self.high < 0.0


def paired_bootstrap(
    first: Counts,
    second: Counts,
    measure: str = "example_f1",
    *,
    n_resamples: int = 2000,
    level: float = 0.95,
    random_state: Any = 0,
) -> PairedBootstrap:
    """Compare two predictions of the same rows by drawing rows with replacement.

    Parameters
    ----------
    first, second : Counts
        From :func:`grople.metrics.counts`, of the same true labels.
    measure : {"accuracy", "example_f1", "micro_f1"}
        What is compared; 0/0 counts 0.
    n_resamples : int, default=2000
        Draws.
    level : float, default=0.95
        Confidence of the interval.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    PairedBootstrap

    Examples
    --------
    >>> import numpy as np
    >>> from grople.metrics import counts
    >>> truth = np.tile([[1, 0], [0, 1]], (50, 1))
    >>> right, all_ones = counts(truth, truth), counts(truth, np.ones_like(truth))
    >>> found = paired_bootstrap(right, all_ones)
    >>> round(found.difference, 3), found.certain
    (0.333, True)
    """
    if first.weights is not None or second.weights is not None:
        raise ValueError("rows with weights cannot be drawn: count them without weights")
    if not np.array_equal(first.row_true, second.row_true):
        raise ValueError(
            "the two predictions are not of the same rows: their true labels differ in number"
        )
    if not 0.0 < level < 1.0 or n_resamples < 1:
        raise ValueError(
            f"level must lie between 0 and 1 and n_resamples be positive, got {level} and "
            f"{n_resamples}"
        )
    parts = np.hstack([_row_parts(first, measure), _row_parts(second, measure)])
    difference = float(_difference(parts.sum(axis=0)[None])[0])
    generator = np.random.default_rng(random_state)
    n, chances = len(parts), np.full(len(parts), 1.0 / len(parts))
    step = max(1, CELLS // n)
    drawn = np.concatenate(
        [
            _difference(generator.multinomial(n, chances, min(step, n_resamples - start)) @ parts)
            for start in range(0, n_resamples, step)
        ]
    )
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    side = min(np.count_nonzero(drawn <= 0.0), np.count_nonzero(drawn >= 0.0))
    p_value = min(1.0, 2.0 * (side + 1) / (n_resamples + 1))
    return PairedBootstrap(difference, float(low), float(high), p_value)


def _row_parts(found: Counts, measure: str) -> Array:
    """Return what each row adds to the numerator and to the denominator."""
    tp, both = found.row_tp.astype(np.float64), found.row_true + found.row_pred
    if measure == "micro_f1":
        return np.column_stack([2.0 * tp, both])
    if measure == "example_f1":
        ratio = np.divide(2.0 * tp, both, out=np.zeros_like(tp), where=both > 0)
    elif measure == "accuracy":
        union = both - found.row_tp
        ratio = np.divide(tp, union, out=np.zeros_like(tp), where=union > 0)
    else:
        raise ValueError(
            f"{measure!r} is not a ratio of sums over rows; choose from {', '.join(MEASURES)}"
        )
    return np.column_stack([ratio, np.ones_like(tp)])


def _difference(sums: Array) -> Array:
    """Return the difference of two ratios for each row of sums; 0/0 counts 0."""
    top, bottom = sums[:, [0, 2]], sums[:, [1, 3]]
    ratio = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return np.asarray(ratio[:, 0] - ratio[:, 1])
