"""Whether the two halves of a data set agree about how frequent each label is.

Rows in random order give halves whose label frequencies differ by chance only. Rows sorted by
subject do not; nor do files in which the labels of one half were moved by some columns, as in the
circulating rcv1 subsets. The second is told from the first by moving them back: only then do the
halves agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

__all__ = ["Halves", "compare_halves"]

#: Family-wise error of the test: one data set in a hundred in random order is reported.
LEVEL = 0.01
#: A 2×2 table with a smaller expected count does not follow the chi-square distribution.
MIN_EXPECTED = 5.0
MAX_SHIFT = 100

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Halves:
    """How the label frequencies of the first and the second half of the rows compare.

    Parameters
    ----------
    tested : int
        Labels frequent enough for the test.
    differing : int
        Labels whose frequencies differ (chi-square test of each label, Bonferroni correction).
    mean_chi2 : float
        Mean chi-square statistic of the tested labels; near 1 if the halves are alike.
    shift : int
        Columns by which the labels of the second half stand to the right of the first half's;
        negative: to the left; 0: no shift was found.
    mean_chi2_shifted : float
        ``mean_chi2`` after moving them back.
    """

    tested: int
    differing: int
    mean_chi2: float
    shift: int = 0
    mean_chi2_shifted: float = float("nan")

    @property
    def verdict(self) -> str:
        """``"alike"``, ``"differ"`` or ``"shifted"``."""
        if self.shift:
            return "shifted"
        return "differ" if self.differing else "alike"


def compare_halves(Y: Any) -> Halves:
    """Compare the label frequencies of the first and the second half of the rows.

    A label shift is reported if the halves disagree as they stand, and for some shift no label's
    frequencies differ any more, the statistic falls to a tenth or less, and at least half of the
    testable labels still take part.

    Parameters
    ----------
    Y : csr_array of shape (n_rows, n_labels)
        Labels.

    Returns
    -------
    Halves
        The comparison.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> rng = np.random.default_rng(0)
    >>> Y = (rng.random((2000, 12)) < np.linspace(0.05, 0.6, 12)).astype(int)
    >>> compare_halves(sp.csr_array(Y)).verdict
    'alike'
    >>> Y[1000:] = np.roll(Y[1000:], 3, axis=1)
    >>> compare_halves(sp.csr_array(Y)).shift
    3
    """
    n_rows, n_labels = Y.shape
    middle = n_rows // 2
    sizes = (middle, n_rows - middle)
    first = np.bincount(Y.indices[: Y.indptr[middle]], minlength=n_labels).astype(float)
    second = np.bincount(Y.indices[Y.indptr[middle] :], minlength=n_labels).astype(float)
    plain = _test(first, second, sizes)
    if not plain.differing:
        return plain
    widest = min(n_labels - 1, MAX_SHIFT)
    agreeing = []
    for shift in (s for s in range(-widest, widest + 1) if s):
        left, right = max(0, -shift), n_labels - max(0, shift)
        moved = _test(first[left:right], second[left + shift : right + shift], sizes)
        if (
            not moved.differing
            and 2 * moved.tested >= plain.tested
            and moved.mean_chi2 <= plain.mean_chi2 / 10
        ):
            agreeing.append(replace(plain, shift=shift, mean_chi2_shifted=moved.mean_chi2))
    return min(agreeing, key=lambda halves: halves.mean_chi2_shifted, default=plain)


def _test(first: Counts, second: Counts, sizes: tuple[int, int]) -> Halves:
    """Test label by label whether two samples of rows have the same share of positives."""
    n_rows = sum(sizes)
    total = first + second
    expected = total * (sizes[0] / max(n_rows, 1))
    scarcest = np.minimum(total, n_rows - total) * (min(sizes) / max(n_rows, 1))
    testable = scarcest >= MIN_EXPECTED
    if not testable.any():
        return Halves(0, 0, float("nan"))
    first, total, expected = first[testable], total[testable], expected[testable]
    # The sum of (observed - expected)² / expected over the four cells of the 2×2 table.
    variance = expected * (1 - total / n_rows) * (sizes[1] / n_rows)
    statistic = (first - expected) ** 2 / variance
    differing = chdtrc(1, statistic) < LEVEL / len(statistic)
    return Halves(len(statistic), int(differing.sum()), float(statistic.mean()))
