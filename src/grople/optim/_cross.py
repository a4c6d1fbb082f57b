"""Symmetric matrices of smooth entries as products of thin ones, from a few of their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cross_approximation"]

Array = NDArray[Any]

#: Rows on which the approximation is checked, and the most terms it may have.
CHECKED, MOST_TERMS = 256, 400


def cross_approximation(
    rows_of: Callable[[Array], Array], size: int, *, tol: float = 1e-9
) -> tuple[Array, Array]:
    """Return U and W with ``U W`` near a symmetric matrix that is known by its rows.

    Adaptive cross approximation: each term takes a row and a column of what is left, which cross
    at its largest entry. When a term is small, rows drawn at random are compared with the
    approximation, and it goes on from the worst of them; it ends when all are within ``tol`` of
    the largest entry.

    Parameters
    ----------
    rows_of : callable
        Returns the given rows of the matrix, shape (n_rows, size).
    size : int
        Rows of the matrix.
    tol : float
        Error of an entry allowed, relative to the largest entry.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 1000)
    >>> U, W = cross_approximation(lambda i: np.exp(-np.multiply.outer(x[i], x)), len(x))
    >>> len(W) < 12, bool(np.abs(U @ W - np.exp(-np.multiply.outer(x, x))).max() < 1e-9)
    (True, True)
    """
    checked = np.random.default_rng(0).permutation(size)[:CHECKED]
    exact = rows_of(checked)
    largest = float(np.abs(exact).max(initial=0.0))
    U, W = np.zeros((size, 0)), np.zeros((0, size))
    row = -1  # none: look for the worst of the checked ones
    while len(W) < min(MOST_TERMS, size):
        if row < 0:
            left = np.abs(exact - U[checked] @ W)
            if not left.max(initial=0.0) > tol * largest:
                break
            row = int(checked[left.max(axis=1).argmax()])
        across = rows_of(np.array([row]))[0] - U[row] @ W
        column = int(np.abs(across).argmax())
        if not abs(across[column]) > 0.1 * tol * largest:
            row = -1
            continue
        down = rows_of(np.array([column]))[0] - U @ W[:, column]
        U = np.column_stack([U, down / across[column]])
        W = np.vstack([W, across])
        # The next row is where this column was far off, but no row is taken twice.
        down[row] = 0.0
        row = int(np.abs(down).argmax())
        if not abs(down[row]) > tol * largest:
            row = -1
    return U, W
