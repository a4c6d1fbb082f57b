"""Mergeable summaries of labelled rows: exact moments, and a sample that no order changes.

With features X (N×D) and labels B (N×L, zeros and ones) a summary holds n, Σx, Bᵀ1, XᵀX, XᵀB and
BᵀB as sums of whole numbers, which add over blocks of rows and subtract again without a trace, and
the distinct rows with the smallest keys. Y = 2B − 1 throughout.
"""

from grople.moments._exact import ExactSum
from grople.moments._grid import Grid
from grople.moments._keys import canonical_rows, fold_of, mix, row_key_pairs, row_keys
from grople.moments._labels import LabelMoments
from grople.moments._moments import Moments, WholeSums
from grople.moments._real import MatrixMoments, RealMoments, RowMoments
from grople.moments._rows import Sample
from grople.moments._summary import Outline, RowSummary, summarise

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
    "WholeSums",
    "canonical_rows",
    "fold_of",
    "mix",
    "row_key_pairs",
    "row_keys",
    "summarise",
]
