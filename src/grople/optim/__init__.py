"""Solvers that know nothing of labels, features or scikit-learn."""

from grople.optim.linalg import (
    Spectrum,
    by_diagonal,
    conjugate_gradient,
    largest_eigenvalue,
    top_eigenvectors,
)
from grople.optim.penalties import L1, GroupRows, Penalty
from grople.optim.proximal import Quadratic, Solution, proximal_gradient

__all__ = [
    "GroupRows",
    "L1",
    "Penalty",
    "Quadratic",
    "Solution",
    "Spectrum",
    "by_diagonal",
    "conjugate_gradient",
    "largest_eigenvalue",
    "proximal_gradient",
    "top_eigenvectors",
]
