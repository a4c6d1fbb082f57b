"""Many leading eigenvectors of a large symmetric operator, with certified residuals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WIDTH", "block_lanczos"]

Array = NDArray[Any]
Product = Callable[[Array], Array]

#: Columns multiplied at a time.
WIDTH = 64
#: The most times that the basis is cut back to the wanted vectors.
RESTARTS = 50
#: Sizes, relative to the operator, below which columns have lost digits, and below which all.
CLEAN, ROUNDING = 1e-4, 1e-14


def block_lanczos(
    product: Product,
    size: int,
    n_vectors: int,
    *,
    tol: float = 1e-8,
    start: Array | None = None,
) -> tuple[Array, Array]:
    """Return the leading eigenvalues (descending) and eigenvectors of a symmetric operator.

    A Krylov space of blocks, cut back to the leading vectors when it is full. Everything but the
    products with the operator is a product of dense matrices, which is what makes hundreds of
    vectors affordable. Each pair found is certified by its residual: ``‖Av − θv‖ ≤ tol·|θ|``, so
    that it is exact for an operator so close to A. (Of the multiplicity of an eigenvalue no
    Krylov space can be certain; the random start has as many chances as a block has columns.)

    Parameters
    ----------
    product : callable
        ``W ↦ A W`` for W of shape (size, any number).
    size, n_vectors : int
        Size of the operator, and the vectors wanted: at most a sixth as many, so that the basis
        leaves directions to continue in.
    tol : float
        Residual allowed, relative to each eigenvalue (to rounding of the largest for those that
        are zero).
    start : ndarray of shape (size, any number), optional
        Vectors whose span is near the wanted one.

    Examples
    --------
    >>> import numpy as np
    >>> scale = 1.0 / np.arange(1, 1001)[:, None]
    >>> values, vectors = block_lanczos(lambda W: scale * W, 1000, 100)
    >>> bool(np.allclose(values, scale[:100, 0]))
    True
    """
    rng = np.random.default_rng(0)
    width = min(WIDTH, max(n_vectors, 1))
    if start is not None and not start.shape[1]:
        start = None
    block = rng.standard_normal((size, width)) if start is None else start
    block = np.linalg.qr(block)[0]
    most = min(size - width, max(2 * n_vectors + 4 * width, 2 * block.shape[1]))
    Q = np.empty((size, most), order="F")
    H = np.zeros((most, most))
    have = 0
    for restarts in range(RESTARTS + 1):
        while True:
            had, have = have, have + block.shape[1]
            Q[:, had:have] = block
            known, image = Q[:, :have], np.array(product(block), dtype=np.float64)
            H[:have, had:have] = along = _remove(known, image)
            H[had:have, :have] = along.T
            block, left = _continued(known, image, float(np.abs(along).max(initial=0.0)), rng)
            # A given start may be good enough as it is; otherwise the basis is filled first.
            full = have + block.shape[1] > most
            if have >= n_vectors and (full or (had == 0 and start is not None)):
                values, turn = np.linalg.eigh(H[:have, :have])
                values, turn = values[::-1], turn[:, ::-1]
                residuals = np.linalg.norm(left @ turn[had:have, :n_vectors], axis=0)
                least = np.finfo(float).eps * size * np.abs(values).max(initial=0.0)
                allowed = np.maximum(tol * np.abs(values[:n_vectors]), least)
                certified = bool(np.all(residuals <= allowed))
                if full or certified:
                    break
        if certified or restarts == RESTARTS:
            break
        kept = min(n_vectors + width, have, most - block.shape[1])
        Q[:, :kept] = known @ turn[:, :kept]
        H[:] = 0.0
        H[np.arange(kept), np.arange(kept)] = values[:kept]
        have = kept
    if not certified:
        warnings.warn(
            f"eigenvectors are known to a residual of {residuals.max():.1e} only",
            RuntimeWarning,
            stacklevel=3,
        )
    return values[:n_vectors], known @ turn[:, :n_vectors]


def _remove(known: Array, image: Array) -> Array:
    """Make a block orthogonal to a basis, in place; return its part along the basis."""
    along = known.T @ image
    image -= known @ along
    again = known.T @ image  # once more, for what rounding left
    image -= known @ again
    return np.asarray(along + again)


def _continued(
    known: Array, image: Array, scale: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return an orthonormal block that spans what is left of an image, and the image in it."""
    block, left = np.linalg.qr(image)
    sizes = np.abs(np.diagonal(left))
    scale = max(scale, float(sizes.max(initial=0.0)))
    if sizes.min(initial=scale) <= CLEAN * scale:
        # Next to large columns the small ones are known to few digits, and no longer orthogonal
        # to the basis; of those that are nothing but rounding anything new will do.
        lost = sizes <= ROUNDING * scale
        block[:, lost] = rng.standard_normal((len(block), int(lost.sum())))
        _remove(known, block)
        block = np.linalg.qr(block)[0]
    return block, left
