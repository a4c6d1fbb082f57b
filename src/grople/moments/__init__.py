"""Second moments: everything a model learns from, nothing of which grows with the rows.

With features X (N×D) and labels B (N×L, zeros and ones), :class:`Moments` holds n, Σx, Bᵀ1,
XᵀX, XᵀB and BᵀB. They add over blocks of rows and subtract again, so streaming, forgetting,
cross-validation and clusters are all sums and differences of moments. Y = 2B − 1 throughout.

Two forms stand behind one interface. :class:`ExplicitMoments` holds the matrices;
:class:`ImplicitMoments` keeps the sparse rows themselves and multiplies with them, for data
with so many features that a D×D matrix does not fit, or takes longer than products with the few
entries of the rows. It shares their arrays: do not change X in
place while such moments are in use.
"""

from grople.moments.abstract import Moments
from grople.moments.explicit import ExplicitMoments
from grople.moments.implicit import ImplicitMoments, better_in_rows
from grople.moments.labels import LabelMoments
from grople.moments.view import FeatureView

__all__ = [
    "ExplicitMoments",
    "FeatureView",
    "ImplicitMoments",
    "LabelMoments",
    "Moments",
    "better_in_rows",
]
