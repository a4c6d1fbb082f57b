"""The methods that GroPLE is compared with: estimators like it, with the same decision rules.

PLST, CPLST, FaIE, LLSF, LEML and Ridge learn from moments as it does. The ``*_path`` functions
search a method's grid with shared moments and decompositions.
"""

from grople.baselines._bsvm import BSVM
from grople.baselines._comparison import (
    MEASURES,
    Comparison,
    MethodQuality,
    Report,
    compare_methods,
)
from grople.baselines._cplst import CPLST, cplst_path
from grople.baselines._faie import FaIE, faie_path
from grople.baselines._label_trees import LabelTrees
from grople.baselines._leml import LEML
from grople.baselines._leml_factors import leml_path
from grople.baselines._llsf import LLSF, llsf_path
from grople.baselines._methods import (
    METHODS,
    STORABLE,
    ConstantLabels,
    Method,
    make_method,
    method_names,
)
from grople.baselines._mlsf import MLSF, mlsf_path
from grople.baselines._others import OTHER_CLASSIFIERS, other_classifier
from grople.baselines._plst import PLST, plst_path
from grople.baselines._ridge import Ridge, ridge_path

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
    "OTHER_CLASSIFIERS",
    "PLST",
    "Report",
    "Ridge",
    "STORABLE",
    "compare_methods",
    "cplst_path",
    "faie_path",
    "leml_path",
    "llsf_path",
    "make_method",
    "method_names",
    "mlsf_path",
    "other_classifier",
    "plst_path",
    "ridge_path",
]
