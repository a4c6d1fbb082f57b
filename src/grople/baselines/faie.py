"""FaIE: feature-aware implicit label space encoding (Lin, Ding, Hu and Wang, 2014).

    max_U  tr(Uᵀ(YYᵀ + αH)U),   UᵀU = I          H = X (XᵀX + λI)^{-1} Xᵀ
    min_Z  ‖X̃ Z − U‖² + λ ‖Z‖²                   scores  x̃ Z V,   V = UᵀY

The code U, the d leading eigenvectors of an N×N matrix, is never formed. It lies in the span of
the columns of Y and X: U = YA + XC. With XᵀX = QΛQᵀ and M = [Y  √α XQ(Λ + λ)^{-1/2}] the matrix is
MMᵀ, its leading eigenvectors are those of the (L+D)-sized MᵀM, carried over by M.

With a free intercept Y and X are centred and ȳ is added to the scores; as published they are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from grople.baselines.design import Design
from grople.baselines.linear_embedding import LinearEmbedding, Path, Size, embedding_path
from grople.linear import LinearScores
from grople.moments import Moments
from grople.parameters import Number, Parameter

__all__ = ["Code", "FaIE", "faie_path", "leading_code"]

Array = NDArray[Any]

#: Directions with less than this share of the largest are rounding.
NEGLIGIBLE = 1e-10
#: The most powers of H that the implicit form adds to the labels, and when it stops before.
POWERS, SETTLED = 6, 1e-6


@dataclass(frozen=True)
class Code:
    """The code U = Y A + X C with its decoder V = UᵀY, leading dimensions first."""

    A: Array
    C: Array
    V: Array


def leading_code(design: Design, size: int, ridge: float, alpha: float) -> Code:
    """Return the leading eigenvectors of YYᵀ + αH, for a design without a constant column.

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.array([[1.0], [2.0], [3.0]]), np.array([[1, 0], [0, 1], [1, 1]])
    >>> Y = 2 * B - 1
    >>> design = Design(Moments.from_data(X, B), fit_intercept=False)
    >>> code = leading_code(design, 2, ridge=1.0, alpha=0.5)
    >>> U = Y @ code.A + X @ code.C
    >>> H = X @ np.linalg.inv(X.T @ X + 1.0) @ X.T
    >>> image = (Y @ Y.T + 0.5 * H) @ U
    >>> bool(np.allclose(image, U * np.linalg.norm(image, axis=0)))
    True
    """
    gram = design.label_gram() if design.centred else design.moments.labels.signed_gram()
    cross = design.view.target(np.eye(len(gram)))  # XᵀY
    if design.gram_matrix is None:
        return _code_by_powers(design, gram, cross, size, ridge, alpha)
    spectrum = design.gram_spectrum
    return _code_by_spectrum(spectrum.values, spectrum.vectors, gram, cross, size, ridge, alpha)


def _code_by_spectrum(
    values: Array, vectors: Array, gram: Array, cross: Array, size: int, ridge: float, alpha: float
) -> Code:
    kept = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
    values, vectors = values[kept], vectors[:, kept]
    L = len(gram)
    root = np.sqrt(alpha / (values + ridge))
    border = (vectors.T @ cross) * root[:, None]
    matrix = np.block([[gram, border.T], [border, np.diag(values * root**2)]])
    largest, E = _leading(matrix, size)
    length = np.sqrt(largest)
    return Code(E[:L] / length, vectors @ (E[L:] * root[:, None] / length), (E[:L] * length).T)


def _code_by_powers(
    design: Design, gram: Array, cross: Array, size: int, ridge: float, alpha: float
) -> Code:
    """Find the code in the span of Y, HY, H²Y, …, from products with XᵀX alone.

    H has eigenvalues between 0 and 1, most of them close to either, so few powers suffice. With
    HʲY = X C_j and XᵀHʲY = F_j the next ones are C_{j+1} = (XᵀX + λI)^{-1} F_j and
    F_{j+1} = F_j − λ C_{j+1}.
    """
    shifts = np.full(cross.shape[1], float(ridge))
    C = [np.zeros_like(cross), design.solve(cross, shifts)]
    F = [cross]
    held = -np.inf
    for _ in range(POWERS):
        F.append(F[-1] - ridge * C[-1])
        C.append(design.solve(F[-1], shifts, start=C[-1]))
        spans, images = np.hstack(C[:-1]), np.hstack(F)
        with_labels = cross.T @ spans  # Yᵀ times the blocks, YᵀY for the first
        with_labels[:, : len(gram)] = gram
        inner = spans.T @ images
        inner[: len(gram)], inner[:, : len(gram)] = with_labels, with_labels.T
        form = with_labels.T @ with_labels + alpha * (images.T @ np.hstack(C[1:]))
        largest, weights = _leading_pairs(form, inner, size)
        if largest.sum() <= held * (1 + SETTLED):
            break
        held = float(largest.sum())
    return Code(weights[: len(gram)], spans @ weights, (with_labels @ weights).T)


def _leading(matrix: Array, size: int) -> tuple[Array, Array]:
    """Return the leading eigenvalues and eigenvectors, their signs fixed by the largest entry.

    The matrix is decomposed densely: where α is large its eigenvalues crowd around α, and an
    iterative solver would be lost.
    """
    n = len(matrix)
    values, vectors = scipy.linalg.eigh(
        matrix, subset_by_index=[n - min(size, n), n - 1], check_finite=False
    )
    values, vectors = values[::-1], vectors[:, ::-1]
    positive = values > NEGLIGIBLE * max(float(values[0]), 0.0)
    values, vectors = values[positive], vectors[:, positive]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return values, vectors * np.where(peaks < 0, -1.0, 1.0)


def _leading_pairs(form: Array, inner: Array, size: int) -> tuple[Array, Array]:
    """Return the leading values and weights of a form on a span with this Gram matrix."""
    lengths, axes = scipy.linalg.eigh(inner, check_finite=False)
    kept = lengths > NEGLIGIBLE * lengths[-1]
    basis = axes[:, kept] / np.sqrt(lengths[kept])
    reduced = basis.T @ form @ basis
    values, vectors = _leading((reduced + reduced.T) / 2, size)
    return values, basis @ vectors


def faie(design: Design, size: int, ridges: Sequence[float], alphas: Sequence[float]) -> Path:
    """Yield the scores for each ridge weight and each α.

    Where the intercept is penalised, H has none, as published.
    """
    seen = design.without_constant()
    for ridge in ridges:
        for alpha in alphas:
            code = leading_code(seen, size, ridge, alpha)
            C = np.vstack([code.C, np.zeros((1, code.C.shape[1]))]) if design.penalised else code.C
            target = design.view.target(code.A) + design.gram(C)  # X̃ᵀU
            ((_, Z),) = design.solutions(target, [ridge])
            yield {"ridge": ridge, "alpha": alpha}, design.scores(Z, code.V, design.shared_means)


def faie_path(
    moments: Moments,
    sizes: Sequence[Size],
    ridges: Sequence[float],
    alphas: Sequence[float],
    *,
    fit_intercept: bool | str = True,
    scale: bool = False,
) -> Path:
    """Yield settings of :class:`FaIE` with their scores, from one set of moments.

    XᵀX is decomposed once. Each pair of λ and α has its own code, that of fewer dimensions being
    the first part of more.

    Parameters
    ----------
    moments : Moments
        Moments of the training rows.
    sizes : sequence
        Values of ``n_components``.
    ridges, alphas : sequence of float
        Values of ``ridge`` and ``alpha``.
    fit_intercept, scale
        As in :class:`FaIE`.

    Yields
    ------
    setting : dict
        ``n_components``, ``ridge`` and ``alpha``.
    scores : LinearScores
        What ``FaIE(**setting)`` scores.

    Examples
    --------
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> moments = Moments.from_data(data.X[:, :100], data.Y)
    >>> [setting["alpha"] for setting, scores in faie_path(moments, [10], [1.0], [0.1, 1.0])]
    [0.1, 1.0]
    """
    return embedding_path(
        moments,
        sizes,
        fit_intercept,
        scale,
        lambda design, size: faie(design, size, ridges, alphas),
    )


class FaIE(LinearEmbedding):
    """Feature-aware implicit label space encoding: a code that labels and features agree on.

    Parameters
    ----------
    n_components : int, float or "auto", default=100
        Latent dimensions (d), clipped to the number of labels; a float is a share of the labels,
        rounded up; ``"auto"`` takes as many as hold 95 % of the spread of the labels.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ), in the regression and in H; ``"auto"`` by generalised
        cross-validation.
    alpha : float, default=10.0
        How much the code prefers what the features can predict (α).
    fit_intercept : bool or "penalised", default=True
        Whether the regression has an intercept, without penalty: labels and features are then
        centred. ``"penalised"`` is the published choice: nothing is centred, and the regression has
        a constant feature that is penalised like the others and left out of H.
    scale : bool, default=False
        Whether features are divided by their standard deviation (from moments, training rows only).
    decision : "sign", float or measure, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`.
    reservoir_size : int, default=20000
        Rows kept, at most, to fit such a decision on out-of-fold scores.
    row_check : bool, default=False
        Whether to keep a fingerprint of every row, so that ``forget`` refuses rows never added.
    form : {"auto", "explicit", "implicit"}, default="auto"
        Form of the moments: matrices, or (for many features) the sparse rows themselves.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_labels)
        V, the decoder.
    mapping_ : ndarray of shape (n_features, d)
        Z, the map from features to the code.
    ridge_ : float
        The λ used.
    coef_, intercept_ : ndarray
        The scores as a linear function of the features.
    moments_ : Moments
        What the model was learnt from.
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

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

    _parameters: ClassVar[dict[str, Parameter]] = {"alpha": Number()}
    _published: ClassVar[dict[str, dict[str, Any]]] = {
        "genbase": {"n_components": 0.8, "ridge": 1e-4, "alpha": 0.1},
        "medical": {"n_components": 0.8, "ridge": 1.0, "alpha": 0.1},
        "CAL500": {"n_components": 0.1, "ridge": 1e-3, "alpha": 1e3},
        "corel5k": {"n_components": 0.4, "ridge": 0.01, "alpha": 1e3},
        "rcv1subset1": {"n_components": 0.8, "ridge": 0.1, "alpha": 1e3},
    }

    def __init__(
        self,
        n_components: Size = 100,
        ridge: float | str = "auto",
        alpha: float = 10.0,
        *,
        fit_intercept: bool | str = True,
        scale: bool = False,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
    ) -> None:
        super().__init__(
            n_components,
            ridge,
            fit_intercept=fit_intercept,
            scale=scale,
            decision=decision,
            reservoir_size=reservoir_size,
            row_check=row_check,
            form=form,
        )
        self.alpha = alpha

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        ((_, scores),) = faie(design, size, [ridge], [float(self.alpha)])
        return scores
