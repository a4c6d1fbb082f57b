"""The methods that GroPLE is compared with: estimators like it, with the same decision rules.

PLST, CPLST, FaIE, LLSF, LEML and Ridge learn from moments as it does. :data:`METHODS` names them
and what else one would pick, :func:`scores_along` searches a grid of one, :func:`compare_methods`
measures several.
"""

from grople.baselines._along import scores_along
from grople.baselines._bsvm import BSVM
from grople.baselines._comparison import (
    MEASURES,
    Comparison,
    MethodQuality,
    Report,
    compare_methods,
    measure_method,
)
from grople.baselines._cplst import CPLST
from grople.baselines._faie import FaIE
from grople.baselines._label_trees import LabelTrees
from grople.baselines._leml import LEML
from grople.baselines._llsf import LLSF
from grople.baselines._methods import (
    METHODS,
    PAPER_METHODS,
    STORABLE,
    ConstantLabels,
    Method,
    make_method,
    method_names,
)
from grople.baselines._mlsf import MLSF
from grople.baselines._plst import PLST
from grople.baselines._ridge import Ridge

__all__ = [
    "BSVM",
    "CPLST",
    "Comparison",
    "ConstantLabels",
    "FaIE",
    "LEML",
    "LLSF",
    "LabelTrees",
    "MEASURES",
    "METHODS",
    "MLSF",
    "Method",
    "MethodQuality",
    "PAPER_METHODS",
    "PLST",
    "Report",
    "Ridge",
    "STORABLE",
    "compare_methods",
    "make_method",
    "measure_method",
    "method_names",
    "scores_along",
]
