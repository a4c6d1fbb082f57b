"""The methods that GroPLE is compared with."""

from grople.baselines.cplst import CPLST, cplst_path
from grople.baselines.faie import FaIE, faie_path
from grople.baselines.leml import LEML, leml_path
from grople.baselines.llsf import LLSF, llsf_path
from grople.baselines.plst import PLST, plst_path
from grople.baselines.ridge_regression import Ridge, ridge_path

__all__ = [
    "CPLST",
    "FaIE",
    "LEML",
    "LLSF",
    "PLST",
    "Ridge",
    "cplst_path",
    "faie_path",
    "leml_path",
    "llsf_path",
    "plst_path",
    "ridge_path",
]
