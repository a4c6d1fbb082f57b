"""The methods that GroPLE is compared with."""

from grople.baselines.cplst import CPLST, cplst_path
from grople.baselines.faie import FaIE, faie_path
from grople.baselines.plst import PLST, plst_path

__all__ = ["CPLST", "PLST", "FaIE", "cplst_path", "faie_path", "plst_path"]
