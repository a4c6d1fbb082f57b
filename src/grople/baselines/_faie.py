"""FaIE: feature-aware implicit label space encoding (Lin, Ding, Hu and Wang, 2014).

    max_U  tr(Uᵀ(YYᵀ + αH)U),   UᵀU = I          H = X (XᵀX + λI)^{-1} Xᵀ
    min_Z  ‖X̃ Z − U‖² + λ ‖Z‖²                   scores  x̃ Z V,   V = UᵀY

The code U, the d leading eigenvectors of an N×N matrix, is never formed. It lies in the span of the
columns of Y and X: U = [Y X] T. With a free intercept Y and X are centred and ȳ is added to the
scores; as published they are not.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._label_embedding import CodeEmbedding
from grople.baselines._linear import with_matrices
from grople.errors import Number, Parameter
from grople.solver import LinearScores

__all__ = ["FaIE"]

Array = NDArray[Any]

#: Directions with less than this share of the largest are rounding.
NEGLIGIBLE = 1e-10
#: The most blocks Y, HY, H²Y, … where rows are kept, and the relative gain that ends them early.
MOST_BLOCKS, SETTLED = 12, 1e-13


def leading_code(design: Design, size: int, ridge: float, alpha: float) -> tuple[Array, Array]:
    """Return T of the code U = [Y X] T, the leading eigenvectors of YYᵀ + αH, and V = UᵀY.

    The design has no constant column.
    """
    find = _code_by_krylov if design.gram_matrix is None else _code_by_spectrum
    T = find(design, size, ridge, alpha)
    L = design.moments.n_labels
    V = T[:L].T @ design.shared_gram + T[L:].T @ design.label_cross
    # Eigenvectors have no sign: the largest entry of each row of the decoder is positive.
    peaks = V[np.arange(len(V)), np.abs(V).argmax(axis=1)]
    signs = np.where(peaks < 0, -1.0, 1.0)
    return T * signs, V * signs[:, None]


def _code_by_spectrum(design: Design, size: int, ridge: float, alpha: float) -> Array:
    """Find the code in the whole span of Y and X.

    With XᵀX = QΛQᵀ and M = [Y  XQ√(α/(Λ + λ))] the matrix is MMᵀ; its leading eigenvectors are
    those of the (L+D)-sized MᵀM, carried over by M.
    """
    values, Q = design.gram_spectrum.values, design.gram_spectrum.vectors
    kept = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
    values, Q = values[kept], Q[:, kept]
    root = np.sqrt(alpha / (values + ridge))
    border = (Q * root).T @ design.label_cross
    gram = design.shared_gram
    squares, E = _leading(np.block([[gram, border.T], [border, np.diag(values * root**2)]]), size)
    E /= np.sqrt(squares)
    return np.vstack([E[: len(gram)], (Q * root) @ E[len(gram) :]])


def _code_by_krylov(design: Design, size: int, ridge: float, alpha: float) -> Array:
    """Find the code in the span of Y, HY, H²Y, …, from products with XᵀX alone.

    The basis [Y X] T grows block by block. H has eigenvalues between 0 and 1, most of them close to
    either: few blocks suffice.
    """
    gram, cross = design.shared_gram, design.label_cross
    L = len(gram)

    def products(T: Array) -> Array:
        """Return [Y X]ᵀ[Y X] T."""
        A, C = T[:L], T[L:]
        return np.vstack([gram @ A + cross.T @ C, cross @ A + design.gram(C)])

    basis = images = np.zeros((L + len(cross), 0))
    G = np.zeros((len(cross), 0))
    block, held, weights = np.eye(len(basis), L), np.zeros(0), np.zeros((0, 0))
    for _ in range(MOST_BLOCKS):
        for _ in range(2):  # once leaves rounding errors where the rest adds little
            block = block - basis @ (images.T @ block)
            squares, axes = scipy.linalg.eigh(block.T @ products(block), check_finite=False)
            kept = squares > NEGLIGIBLE * (1.0 if basis.size else max(float(squares[-1]), 0.0))
            block = block @ (axes[:, kept] / np.sqrt(squares[kept]))
            if not block.shape[1]:
                return basis @ weights
        basis, images = np.hstack([basis, block]), np.hstack([images, products(block)])
        ridges = np.full(block.shape[1], float(ridge))
        G = np.hstack([G, design.solve_each(images[L:, -len(ridges) :], ridges, tol=1e-12)])
        # Rayleigh–Ritz: Kᵀ(YYᵀ + αH)K of the basis K, from YᵀK and XᵀK; HK = XG.
        matrix = images[:L].T @ images[:L] + alpha * (images[L:].T @ G)
        largest, weights = _leading((matrix + matrix.T) / 2, size)
        if len(largest) == len(held) and np.all(largest <= held * (1 + SETTLED)):
            break
        held = largest
        block = np.vstack([np.zeros((L, len(ridges))), G[:, -len(ridges) :]])
    return basis @ weights


def _leading(matrix: Array, size: int) -> tuple[Array, Array]:
    """Return the leading eigenvalues and eigenvectors.

    The matrix is decomposed densely: where α is large its eigenvalues crowd around α, and an
    iterative solver would be lost.
    """
    n = len(matrix)
    values, vectors = scipy.linalg.eigh(
        matrix, subset_by_index=[n - min(size, n), n - 1], check_finite=False
    )
    values, vectors = values[::-1], vectors[:, ::-1]
    positive = values > NEGLIGIBLE * max(float(values[0]), 0.0)
    return values[positive], vectors[:, positive]


class FaIE(CodeEmbedding):
    """Feature-aware implicit label space encoding: a code that labels and features agree on.

    Parameters
    ----------
    n_components, decision, max_kept_rows
        As in :class:`PLST`.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ), in the regression and in H.
    alpha : float, default=100.0
        How much the code prefers what the features can predict (α).
    fit_intercept : bool or "penalised", default=True
        As in :class:`PLST`. With an intercept labels and features are centred; ``"penalised"``
        centres nothing, and the constant feature is left out of H.

    Attributes
    ----------
    components_, mapping_, ridge_, coef_, intercept_, summary_, fitted_model_
        As in :class:`PLST`; the components are V, the decoder.

    Notes
    -----
    Where α is larger than what a label adds, dimensions of the code go to directions of the
    features that have nothing to do with any label. Where rows are kept, the search is in the span
    of Y, HY, H²Y, … and leaves these out; elsewhere both forms agree.

    Examples
    --------
    >>> from grople.baselines import FaIE
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :500], data.Y
    >>> model = FaIE(decision="sign").fit(X[:3000], Y[:3000])
    >>> example_f1(Y[3000:], model.predict(X[3000:])) > 0.3
    True
    """

    _parameters: ClassVar[dict[str, Parameter]] = CodeEmbedding._parameters | {"alpha": Number()}

    def __init__(
        self,
        n_components: int | float | str = 100,
        ridge: float | str = "auto",
        alpha: float = 100.0,
        *,
        fit_intercept: bool | str = True,
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
    ) -> None:
        super().__init__(
            n_components, ridge,
            fit_intercept=fit_intercept, decision=decision, max_kept_rows=max_kept_rows,
        )  # fmt: skip
        self.alpha = alpha

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        free, L = design.without_constant, design.moments.n_labels
        T, V = leading_code(free, size, ridge, float(self.alpha))
        target = free.label_cross @ T[:L] + free.gram(T[L:])  # XᵀU
        if design.penalised:
            sums = design.moments.labels.sums @ T[:L] + design.moments.feature_sum @ T[L:]
            target = np.vstack([target, sums])
        return design.scores(design.solve(target, ridge), V, design.shared_means)

    def _code(self, X: Any, Y: Array) -> Array:
        varying, T, offset = self._encoder()
        L = len(varying)
        return Y[:, varying] @ T[:L] + X @ T[L:] - offset

    def _encoder(self) -> tuple[Array, Array, Array]:
        """Return the labels that vary, and T, c of the code [Y X] T − c of raw features.

        Not a part of the model, for predictions do without; kept for the next block of rows.
        """
        model = self.fitted_model_
        if getattr(self, "_kept_encoder", (None,))[0] is not model:
            self._check_rows_known()
            assert self.summary_ is not None
            moments = with_matrices(self.summary_).moments
            varying = moments.labels.varying
            design = Design(moments.select_labels(varying), self.fit_intercept).without_constant
            T, _ = leading_code(design, self._n_features_out, self.ridge_, float(self.alpha))
            offset = np.concatenate([design.shared_means, design.mean]) @ T
            self._kept_encoder = model, (varying, T, offset)
        return self._kept_encoder[1]
