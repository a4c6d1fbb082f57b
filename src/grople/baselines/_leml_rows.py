"""LEML where labels are missing: the same objective over the observed entries, from rows.

    min_{W,H,c}  ½ Σ_{(i,j) observed} w_i (y_ij − x̃_i W h_j − c_j)² + (λ/2)(‖W‖² + ‖H‖²)

c is there with a free intercept and carries no penalty; w are weights of rows. Moments cannot say
which entries are missing, so each round passes over the rows, in blocks: conjugate gradients for
W, conjugate gradients for H and c, balancing. No array of the size of the label matrix is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._leml_factors import balanced
from grople.optim import conjugate_gradient
from grople.solver._model import row_blocks

__all__ = ["IncompleteLabels", "ObservedRows", "has_missing"]

Array = NDArray[Any]

#: Steps of conjugate gradients for each factor in a round, and the residual that ends them early.
STEPS, INNER_TOL = 20, 1e-2


def has_missing(Y: Any) -> bool:
    """Tell whether a label matrix has missing entries.

    Examples
    --------
    >>> has_missing([[1, 0], [float("nan"), 1]]), has_missing([[1, 0]])
    (True, False)
    """
    if hasattr(Y, "isna"):
        return Y.ndim == 2 and bool(Y.isna().to_numpy().any())
    values = Y.tocoo().data if sp.issparse(Y) else np.asarray(Y)
    is_matrix = sp.issparse(Y) or values.ndim == 2
    return is_matrix and values.dtype.kind == "f" and bool(np.isnan(values).any())


@dataclass(frozen=True)
class IncompleteLabels:
    """A label matrix of zeros, ones and NaN, read block by block.

    Parameters
    ----------
    values : ndarray or csr_array
        The whole matrix, as the user passed it.
    index : ndarray of int
        The rows that take part.
    header : any
        The matrix without its rows: names and container.

    Examples
    --------
    >>> import pandas as pd
    >>> labels = IncompleteLabels.of(pd.DataFrame({"a": [1, None], "b": [0, 1]}))
    >>> labels.ones().toarray().tolist(), list(labels.header.columns)
    ([[1.0, 0.0], [0.0, 1.0]], ['a', 'b'])
    """

    values: Any
    index: Array
    header: Any

    @classmethod
    def of(cls, Y: Any) -> IncompleteLabels:
        """Take in a label matrix."""
        if sp.issparse(Y):
            rows = Y.tocsr()
            return cls(rows, np.arange(rows.shape[0]), rows[:0])
        if hasattr(Y, "iloc"):
            values = Y.to_numpy(dtype=np.float64, na_value=np.nan)
            return cls(values, np.arange(len(values)), Y.iloc[:0])
        values = np.asarray(Y)
        return cls(values, np.arange(len(values)), values[:0])

    def take(self, positions: Array) -> IncompleteLabels:
        """Keep the given rows."""
        return replace(self, index=self.index[positions])

    def blocks(self, columns: Any = slice(None)) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows as dense arrays."""
        for rows in row_blocks(len(self.index), self.values.shape[1]):
            block = self.values[self.index[rows]]
            block = block.toarray() if sp.issparse(block) else block
            yield rows, block[:, columns].astype(np.float64)

    def ones(self) -> Any:
        """Return the labels known to be there as a CSR array."""
        parts = []
        for _, block in self.blocks():
            strange = ~np.isnan(block) & (block != 0) & (block != 1)
            if strange.any():
                raise ValueError(
                    "Y must hold only zeros, ones and NaN for missing labels, but it holds "
                    f"{block[strange][0]:g}"
                )
            parts.append(sp.csr_array((block == 1).astype(np.float64)))
        return sp.vstack(parts, format="csr")


@dataclass(frozen=True)
class ObservedRows:
    """Rows of X̃ and of labels of which some are missing, and LEML's objective on them.

    Parameters
    ----------
    design : Design
        Says what X̃ is (centred, with a constant).
    X : array or csr_array of shape (n_rows, n_features)
        Features.
    labels : IncompleteLabels
        Labels of the same rows.
    columns : ndarray of int
        The labels that take part, those of the design.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    """

    design: Design
    X: Any
    labels: IncompleteLabels
    columns: Array
    weights: Array | None = None

    def forward(self, W: Array) -> Array:
        """Return X̃W."""
        if self.design.penalised:
            return np.asarray(self.X @ W[:-1]) + W[-1]
        return np.asarray(self.X @ W) - self.design.mean @ W

    def backward(self, R: Array) -> Array:
        """Return X̃ᵀR."""
        product, total = np.asarray(self.X.T @ R), R.sum(axis=0)
        if self.design.penalised:
            return np.vstack([product, total])
        return product - np.multiply.outer(self.design.mean, total)

    def blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of rows with their labels and the weight of each entry, 0 if missing."""
        for block, labels in self.labels.blocks(self.columns):
            observed = labels == labels  # NaN is not equal to itself
            weight = observed.astype(np.float64)
            if self.weights is not None:
                weight *= self.weights[block, None]
            yield block, labels, weight

    def residuals(self, points: Array, H: Array, c: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of rows with their errors, 0 if missing, and the weight of each entry."""
        for block, labels, weight in self.blocks():
            errors = points[block] @ H
            errors += c + 1.0
            errors -= 2.0 * labels  # ±1 in place of 0/1
            yield block, np.nan_to_num(errors, copy=False, nan=0.0), weight

    def objective(self, W: Array, H: Array, c: Array, ridge: float) -> float:
        """Return the objective."""
        points, error = self.forward(W), 0.0
        for _, residual, weight in self.residuals(points, H, c):
            error += float(np.vdot(weight, np.square(residual)))
        return (error + ridge * float(np.vdot(W, W) + np.vdot(H, H))) / 2.0

    def map_gradient(self, W: Array, H: Array, c: Array, ridge: float) -> Array:
        """Return the gradient with respect to W."""
        points = self.forward(W)
        pulled = np.empty_like(points)
        for block, residual, weight in self.residuals(points, H, c):
            pulled[block] = (weight * residual) @ H.T
        return self.backward(pulled) + ridge * W

    def label_gradient(self, W: Array, H: Array, c: Array, ridge: float) -> Array:
        """Return the gradient with respect to H and, with a free intercept, to c below it."""
        points = self._bordered(W)
        gradient = self._label_ridge(ridge, len(H)) * self._stacked(H, c)
        for block, residual, weight in self.residuals(points[:, : len(H)], H, c):
            gradient += points[block].T @ (weight * residual)
        return gradient

    def factorise(
        self, W: Array, H: Array, c: Array, ridge: float, *, tol: float, max_iter: int
    ) -> tuple[Array, Array, Array, Array]:
        """Alternate from the given point until a round saves at most ``tol`` of the objective.

        Returns
        -------
        W, H, c : ndarray
            The last point.
        objective_path : ndarray
            The objective before and after each round.
        """
        path = [self.objective(W, H, c, ridge)]
        for _ in range(max_iter):
            W = self._map_step(W, H, c, ridge)
            H, c = self._label_step(W, H, c, ridge)
            W, H = balanced(W, H)
            path.append(self.objective(W, H, c, ridge))
            if path[-2] - path[-1] <= tol * path[-1]:
                break
        return W, H, c, np.asarray(path)

    def _map_step(self, W: Array, H: Array, c: Array, ridge: float) -> Array:
        def product(vector: Array) -> Array:
            points = self.forward(vector.reshape(W.shape))
            for block, _, weight in self.blocks():
                points[block] = (weight * (points[block] @ H)) @ H.T
            return self.backward(points).reshape(-1, 1)

        downhill = -self.map_gradient(W, H, c, ridge).reshape(-1, 1)
        step = conjugate_gradient(
            product, downhill, np.array([ridge]), tol=INNER_TOL, max_iter=STEPS
        )
        return W + step.reshape(W.shape)

    def _label_step(self, W: Array, H: Array, c: Array, ridge: float) -> tuple[Array, Array]:
        points = self._bordered(W)
        weights = self._label_ridge(ridge, len(H))
        diagonal = np.broadcast_to(weights, (points.shape[1], H.shape[1])).copy()
        for block, _, weight in self.blocks():
            diagonal += (points[block] ** 2).T @ weight
        diagonal[diagonal <= 0.0] = 1.0

        def product(Z: Array) -> Array:
            image = weights * Z
            for block, _, weight in self.blocks():
                image += points[block].T @ (weight * (points[block] @ Z))
            return image

        step = conjugate_gradient(
            product,
            -self.label_gradient(W, H, c, ridge),
            np.zeros(H.shape[1]),
            precondition=lambda residual: residual / diagonal,
            tol=INNER_TOL,
            max_iter=STEPS,
        )
        return H + step[: len(H)], c + step[len(H) :].sum(axis=0)

    def _bordered(self, W: Array) -> Array:
        """Return the points and, with a free intercept, ones beside them."""
        points = self.forward(W)
        return np.column_stack([points, np.ones(len(points))]) if self.design.centred else points

    def _stacked(self, H: Array, c: Array) -> Array:
        return np.vstack([H, c]) if self.design.centred else H

    def _label_ridge(self, ridge: float, size: int) -> Array:
        """Return the weight of the penalty on each row of H, none on c."""
        weights = np.full((size + 1 if self.design.centred else size, 1), ridge)
        weights[size:] = 0.0
        return weights
