"""Mergeable summaries of labelled rows: exact moments, and a sample that no order changes.

With features X (N×D) and labels B (N×L, zeros and ones) a summary holds n, Σx, Bᵀ1, XᵀX, XᵀB and
BᵀB as sums of whole numbers, which add over blocks of rows and subtract again without a trace, and
the distinct rows with the smallest keys. Y = 2B − 1 throughout.
"""

from grople.moments._exact import ExactSum
from grople.moments._grid import Grid
from grople.moments._keys import fold_of, mix, row_keys
from grople.moments._labels import LabelMoments
from grople.moments._moments import MatrixMoments, Moments
from grople.moments._rows import RowMoments, Sample
from grople.moments._summary import Outline, RealMoments, RowSummary, summarise

__all__ = [
    "ExactSum",
    "Grid",
    "LabelMoments",
    "MatrixMoments",
    "Moments",
    "Outline",
    "RealMoments",
    "RowMoments",
    "RowSummary",
    "Sample",
    "fold_of",
    "mix",
    "row_keys",
    "summarise",
]
