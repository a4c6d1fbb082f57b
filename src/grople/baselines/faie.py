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

from grople.active import active_labels
from grople.baselines.design import Design
from grople.baselines.linear_embedding import CodeEmbedding, Path, Size, embedding_path
from grople.linear import LinearScores
from grople.moments import Moments
from grople.parameters import Number, Parameter

__all__ = ["Code", "FaIE", "faie_path", "leading_code"]

Array = NDArray[Any]

#: Directions with less than this share of the largest are rounding.
NEGLIGIBLE = 1e-10
#: The most blocks Y, HY, H²Y, … in the implicit form, and the relative gain that ends them early.
MOST_BLOCKS, SETTLED = 12, 1e-13


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
    find = _code_by_krylov if design.gram_matrix is None else _code_by_spectrum
    code = find(design, gram, size, ridge, alpha)
    # Eigenvectors have no sign: the largest entry of each row of the decoder is positive.
    peaks = code.V[np.arange(len(code.V)), np.abs(code.V).argmax(axis=1)]
    signs = np.where(peaks < 0, -1.0, 1.0)
    return Code(code.A * signs, code.C * signs, code.V * signs[:, None])


def _code_by_spectrum(design: Design, gram: Array, size: int, ridge: float, alpha: float) -> Code:
    values, vectors = design.gram_spectrum.values, design.gram_spectrum.vectors
    kept = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
    values, vectors = values[kept], vectors[:, kept]
    L = len(gram)
    root = np.sqrt(alpha / (values + ridge))
    border = design.rotated_cross[kept] * root[:, None]
    matrix = np.block([[gram, border.T], [border, np.diag(values * root**2)]])
    largest, E = _leading(matrix, size)
    length = np.sqrt(largest)
    return Code(E[:L] / length, vectors @ (E[L:] * root[:, None] / length), (E[:L] * length).T)


def _code_by_krylov(design: Design, gram: Array, size: int, ridge: float, alpha: float) -> Code:
    """Find the code in the span of Y, HY, H²Y, …, from products with XᵀX alone.

    The span gets an orthonormal basis K = YA + XC, block by block. With F = XᵀK and
    G = (XᵀX + λI)^{-1}F there is HK = XG, the next block, and KᵀHK = FᵀG. All blocks but the first
    are orthogonal to Y, so YYᵀ is its eigenvalues on the first. H has eigenvalues between 0 and 1,
    most of them close to either: few blocks suffice.
    """
    cross = design.label_cross
    squares, axes = scipy.linalg.eigh(gram, check_finite=False)
    kept = squares > NEGLIGIBLE * max(float(squares[-1]), 0.0)
    squares, A = squares[kept], axes[:, kept] / np.sqrt(squares[kept])
    basis = last = _Span(A, np.zeros((len(cross), len(squares))), cross @ A)
    matrix, held = np.diag(squares), np.zeros(0)
    for _ in range(MOST_BLOCKS):
        G = design.solve(last.F, np.full(last.F.shape[1], float(ridge)), tol=1e-12)
        columns = alpha * (basis.F.T @ G)
        first = len(matrix) - columns.shape[1]
        matrix[:, first:] += columns
        matrix[first:, :first] += columns[:first].T
        largest, weights = _leading((matrix + matrix.T) / 2, size)
        settled = len(largest) == len(held) and np.all(largest <= held * (1 + SETTLED))
        last = _orthonormal(_Span(np.zeros_like(last.A), G, design.gram(G)), basis, gram, cross)
        if settled or not last.F.shape[1]:
            break
        held = largest
        basis = basis.joined(last)
        matrix = np.pad(matrix, (0, last.F.shape[1]))
    code = basis.first(len(weights)) @ weights
    return Code(code.A, code.C, (gram @ code.A + cross.T @ code.C).T)


def _orthonormal(rest: _Span, basis: _Span, gram: Array, cross: Array) -> _Span:
    """Return an orthonormal basis of what the rest adds to the basis.

    Two rounds: the first leaves rounding errors where the rest adds little, the second does not.
    """
    for _ in range(2):
        with_labels = gram @ rest.A + cross.T @ rest.C  # Yᵀ times the rest
        rest = rest - basis @ (basis.A.T @ with_labels + basis.C.T @ rest.F)
        with_labels = gram @ rest.A + cross.T @ rest.C
        inner = rest.A.T @ with_labels + rest.C.T @ rest.F
        squares, axes = scipy.linalg.eigh(inner, check_finite=False)
        kept = squares > NEGLIGIBLE
        rest = rest @ (axes[:, kept] / np.sqrt(squares[kept]))
    return rest


@dataclass(frozen=True)
class _Span:
    """Vectors YA + XC, and F = Xᵀ times them."""

    A: Array
    C: Array
    F: Array

    def __matmul__(self, T: Array) -> _Span:
        return _Span(self.A @ T, self.C @ T, self.F @ T)

    def __sub__(self, other: _Span) -> _Span:
        return _Span(self.A - other.A, self.C - other.C, self.F - other.F)

    def first(self, n: int) -> _Span:
        return _Span(self.A[:, :n], self.C[:, :n], self.F[:, :n])

    def joined(self, other: _Span) -> _Span:
        return _Span(
            np.hstack([self.A, other.A]),
            np.hstack([self.C, other.C]),
            np.hstack([self.F, other.F]),
        )


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


def faie(design: Design, size: int, ridges: Sequence[float], alphas: Sequence[float]) -> Path:
    """Yield the scores for each ridge weight and each α.

    Where the intercept is penalised, H has none, as published.
    """
    seen = design.without_constant
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


class FaIE(CodeEmbedding):
    """Feature-aware implicit label space encoding: a code that labels and features agree on.

    Parameters
    ----------
    n_components : int, float or "auto", default=100
        Latent dimensions (d), clipped to the number of labels; a float is a share of the labels,
        rounded up; ``"auto"`` takes as many as hold 95 % of the spread of the labels.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ), in the regression and in H; ``"auto"`` by generalised
        cross-validation.
    alpha : float, default=100.0
        How much the code prefers what the features can predict (α).
    fit_intercept : bool or "penalised", default=True
        Whether the regression has an intercept, without penalty: labels and features are then
        centred. ``"penalised"`` is the published choice: nothing is centred, and the regression has
        a constant feature that is penalised like the others and left out of H.
    scale : bool, default=False
        Whether features are divided by their standard deviation (from moments, training rows only).
    decision : "sign", float, name or Rule, default="example_f1"
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

    Notes
    -----
    Where α is larger than what a label adds, dimensions of the code go to directions of the
    features that have nothing to do with any label. The implicit form searches the span of
    Y, HY, H²Y, … and leaves these out; elsewhere both forms agree.

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
        "rcv1subset2": {"n_components": 0.8, "ridge": 0.1, "alpha": 1e3},
        "rcv1subset3": {"n_components": 0.8, "ridge": 0.01, "alpha": 1e3},
        "bibtex": {"n_components": 0.8, "ridge": 1e-4, "alpha": 1e3},
        "corel16k001": {"n_components": 0.3, "ridge": 0.01, "alpha": 1e4},
        "delicious": {"n_components": 0.4, "ridge": 0.1, "alpha": 1e4},
    }

    def __init__(
        self,
        n_components: Size = 100,
        ridge: float | str = "auto",
        alpha: float = 100.0,
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

    def _code(self, X: Any, Y: Array) -> Array:
        active, A, C, offset = self._encoder()
        return Y[:, active] @ A + X @ C - offset

    def _encoder(self) -> tuple[Array, Array, Array, Array]:
        """Return the labels that vary, and A, C, c of the code YA + XC − c of raw features.

        Not a part of the model, for predictions do without; kept for the next block of rows.
        """
        model = self._model()
        kept = vars(self).get("_kept_encoder")
        if kept is None or kept[0] is not model:
            active, _ = active_labels(self.moments_)
            moments = self.moments_.select_labels(active)
            design = Design(moments, self.fit_intercept, self.scale).without_constant
            code = leading_code(design, self._n_features_out, model.ridge, float(self.alpha))
            C = design.view.in_raw_units(code.C)
            offset = design.shared_means @ code.A + design.view.mean @ C
            kept = self._kept_encoder = model, (active, code.A, C, offset)
        return kept[1]
