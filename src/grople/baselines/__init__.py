"""The methods that GroPLE is compared with.

Each is an estimator like :class:`grople.GroPLE`, with the same decision rules; PLST, CPLST, FaIE,
LLSF, LEML and Ridge learn from moments as it does. The ``*_path`` functions search a method's grid
with shared moments and decompositions.
"""

from grople.baselines.bsvm import BSVM
from grople.baselines.cplst import CPLST, cplst_path
from grople.baselines.faie import FaIE, faie_path
from grople.baselines.leml import LEML
from grople.baselines.leml_factors import leml_path
from grople.baselines.llsf import LLSF, llsf_path
from grople.baselines.mlsf import MLSF, mlsf_path
from grople.baselines.plst import PLST, plst_path
from grople.baselines.ridge_regression import Ridge, ridge_path

__all__ = [
    "BSVM",
    "CPLST",
    "FaIE",
    "LEML",
    "LLSF",
    "MLSF",
    "PLST",
    "Ridge",
    "cplst_path",
    "faie_path",
    "leml_path",
    "llsf_path",
    "mlsf_path",
    "plst_path",
    "ridge_path",
]
