"""A fitted model: what model files, pages, explanations and services know, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, softmax

from grople.decision._calibration import ScoreCounts, ScoreMoments
from grople.decision._decision import Decision
from grople.moments import Outline, RealMoments, canonical_rows
from grople.optim import parallel_map, row_shares

__all__ = ["FittedModel", "LinearScores", "row_blocks", "score_moments"]

Array = NDArray[Any]
Answer = TypeVar("Answer", bound=Any)

#: Scores held at a time when a caller works through rows in blocks.
BLOCK_SCORES = 1 << 22
#: Scores of the blocks in which rows are predicted, and the fewest and most rows of one: multiples
#: of what BLAS kernels take at a time, so that a row's place in the block makes no difference.
PREDICTED_SCORES, PREDICTED_ROWS = 1 << 17, (24, 192)
#: Values of a row in single precision, at most.
LARGEST_NARROW = 1e30
#: Scores from which on a second thread pays.
THREADED_SCORES = 1 << 17
#: Steepest class probability; beyond it a score half-way to ±1 would already pass for certain.
STEEPEST = 10.0


@dataclass(frozen=True)
class LinearScores:
    """Scores ``(x Z + b) V + offset``, one a label.

    Parameters
    ----------
    Z : ndarray of shape (D, d)
        Map to the latent space, in double or single precision.
    b : ndarray of shape (d,)
        Its intercept.
    V : ndarray of shape (d, L), optional
        Map to the labels; the identity where None (then d = L).
    offset : ndarray of shape (L,), optional
        Added to the scores.
    """

    Z: Array
    b: Array
    V: Array | None = None
    offset: Array | None = None

    #: Whether rows are numbers, scored in blocks of one shape.
    takes_blocks: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return len(self.Z)

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return int(self.Z.shape[1] if self.V is None else self.V.shape[1])

    def points(self, X: Any) -> Array:
        """Return the rows in the latent space."""
        if self.Z.dtype == np.float32 and X.dtype != np.float32:
            X = _narrowed(X)  # a wider X would widen the whole of Z as well
        return np.asarray(X @ self.Z + self.b)

    def __call__(self, X: Any) -> Array:
        """Return the scores of rows."""
        return self.of_points(self.points(X))

    def of_points(self, points: Array) -> Array:
        """Return the scores of rows given by their points in the latent space."""
        scores = points if self.V is None else points @ self.V
        return scores if self.offset is None else scores + self.offset

    def coefficients(self) -> Array:
        """Return the D×L matrix of weights of each feature for each label."""
        return self.Z if self.V is None else self.Z @ self.V

    def intercepts(self) -> Array:
        """Return the scores of an all-zero row."""
        bias = self.b if self.V is None else self.b @ self.V
        return bias if self.offset is None else bias + self.offset

    def expanded(self, columns: Array, constants: Array) -> LinearScores:
        """Place these labels at ``columns`` of a wider set; the others get constant scores."""
        if len(columns) == len(constants):
            return self
        offset = constants.astype(np.float64)
        offset[columns] = 0.0 if self.offset is None else self.offset

        def placed(matrix: Array) -> Array:
            wide = np.zeros((*matrix.shape[:-1], len(constants)))
            wide[..., columns] = matrix
            return wide

        if self.V is None:
            return LinearScores(placed(self.Z), placed(self.b), None, offset)
        return LinearScores(self.Z, self.b, placed(self.V), offset)


@dataclass(frozen=True)
class FittedModel:
    """Scores, and how they become probabilities and labels.

    Attributes
    ----------
    scorer : LinearScores
        From rows to scores (other estimators have scorers of their own).
    decision : Decision
        From scores to probabilities to label sets.
    outline : Outline or None
        Counts and spreads of the rows it was learnt from.
    groups : ndarray of int of shape (L,)
        The group of each label; −1 for a label that never or always occurs.
    steepness : float
        How fast the probability of a class of a 1-d target rises with its score.
    report : dict
        What was chosen, and how the solvers ended.
    evidence : ScoreCounts or ScoreMoments or None
        What is known of the scores: counts of those of held-out rows, or what the moments imply.
    """

    scorer: Any
    decision: Decision
    outline: Outline | None = None
    groups: Array | None = None
    steepness: float = 2.0
    report: dict[str, Any] = field(default_factory=dict)
    evidence: ScoreCounts | ScoreMoments | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return int(self.scorer.n_labels)

    @property
    def linear(self) -> LinearScores:
        """The linear scores, or those that others were built on."""
        return getattr(self.scorer, "linear", self.scorer)

    def scores(self, X: Any) -> Array:
        """Return the scores of rows, one a label."""
        return np.concatenate(self._by_blocks(X, lambda scores, _: scores))

    def points(self, X: Any) -> Array:
        """Return the rows as points of the latent space."""
        return np.concatenate(self._by_blocks(X, lambda points, _: points, self.linear.points))

    def probabilities(self, X: Any) -> Array:
        """Return the probability of each label."""
        return np.concatenate(self._by_blocks(X, self.decision.probabilities))

    def labels(self, X: Any, rule: Any = "example_f1") -> Any:
        """Return the labels of rows by a rule, a CSR array of ones."""

        def decided(scores: Array, rows: Any) -> Any:
            return self.decision.labels(scores, rows, rule)

        return sp.vstack(self._by_blocks(X, decided), format="csr")

    def class_probabilities(self, scores: Array, kind: str) -> Array:
        """Return the probability of each class of a 1-d target from its scores."""
        if kind == "multiclass":
            return np.asarray(softmax(self.steepness * scores, axis=1))
        chance = expit(self.steepness * scores[:, 0])
        return np.column_stack([1.0 - chance, chance])

    def _by_blocks(
        self,
        X: Any,
        answer: Callable[[Array, Any], Answer],
        scorer: Callable[[Any], Array] | None = None,
    ) -> list[Answer]:
        """Return what is answered to blocks of rows.

        All blocks are scored in the same shape, the last ones padded: products of other shapes
        round otherwise, and a row's answer must not depend on the rows it is asked with.
        """
        scorer = scorer or self.scorer
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if not getattr(self.scorer, "takes_blocks", False):
            return [
                answer(scorer(rows), rows if _is_numeric(rows) else None)
                for rows in _cut_rows(X, n_rows, self.n_labels)
            ]
        least, most = PREDICTED_ROWS
        height = int(np.clip(PREDICTED_SCORES // max(self.n_labels, 1), least, most))
        height -= height % least
        if sp.issparse(X) or self.linear.Z.dtype == np.float32:  # a map learnt from sparse rows
            X = canonical_rows(X)

        def one(first: int) -> Answer:
            rows = X[first : first + height]
            return answer(scorer(_padded(rows, height))[: rows.shape[0]], rows)

        few = n_rows * self.n_labels < THREADED_SCORES
        return parallel_map(one, range(0, max(n_rows, 1), height), n_threads=1 if few else None)


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows whose blocks hold a bounded number of values."""
    size = max(1, BLOCK_SCORES // max(width, 1))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def score_moments(scores: LinearScores, moments: RealMoments) -> ScoreMoments:
    """Return the mean score of the rows with and without each label, and the spread around it.

    They follow from the moments of the training rows, so a calibration that needs only them
    needs no rows; being those of training rows, they are too good where D exceeds N.
    """
    n = max(float(moments.n), np.finfo(float).tiny)
    counts = moments.labels.counts
    bias, V = scores.intercepts(), scores.V
    mean = moments.mean @ scores.Z
    if V is None:  # a few labels at a time, for the diagonals alone
        variance, with_sum = np.empty(len(bias)), np.empty(len(bias))
        for some in row_shares(len(bias), 1, at_most=256):
            gram, label_sums = moments.image_moments(scores.Z[:, some])
            variance[some], with_sum[some] = np.diagonal(gram) / n, np.diagonal(label_sums[some])
    else:
        gram, label_sums = moments.image_moments(scores.Z)
        mean = mean @ V
        variance = np.einsum("ij,ij->j", V, gram @ V) / n
        with_sum = np.einsum("ij,ij->j", V, label_sums.T)
    mean = mean + bias
    share = counts / n
    have, lack = counts > 0, counts < n
    mean_with = np.where(have, with_sum / np.where(have, counts, 1.0) + bias, mean)
    rest = (mean - share * mean_with) / np.where(lack, 1.0 - share, 1.0)
    mean_without = np.where(lack, rest, mean)
    spread = variance - share * (1 - share) * (mean_with - mean_without) ** 2
    return ScoreMoments(share, mean_with, mean_without, np.maximum(spread, 1e-12), n)


def class_steepness(spread: ScoreMoments) -> float:
    """Return how fast the probability of a class rises with its score."""
    gap = np.maximum(spread.mean_with - spread.mean_without, 0.0)
    return float(np.clip(np.mean(gap / spread.spread), 0.01, STEEPEST)) if len(gap) else 1.0


def _narrowed(X: Any) -> Any:
    """Return rows in single precision, cut to where their products stay finite."""
    if not sp.issparse(X):
        return np.clip(X, -LARGEST_NARROW, LARGEST_NARROW).astype(np.float32)
    X = X.astype(np.float64, copy=True)
    np.clip(X.data, -LARGEST_NARROW, LARGEST_NARROW, out=X.data)
    return X.astype(np.float32)


def _cut_rows(X: Any, n_rows: int, width: int) -> Iterator[Any]:
    """Yield blocks of rows of any kind, for classifiers of other libraries."""
    for some in row_blocks(n_rows, width):
        yield X.iloc[some] if hasattr(X, "iloc") else X[some]


def _is_numeric(rows: Any) -> bool:
    """Return whether rows are numbers, which decisions may look at."""
    return sp.issparse(rows) or (isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf")


def _padded(rows: Any, height: int) -> Any:
    """Return a block of rows with as many zero rows behind it as it takes."""
    missing = height - rows.shape[0]
    if sp.issparse(rows):
        rows = rows.astype(np.float64)
        indptr = np.append(rows.indptr, np.full(missing, rows.indptr[-1], rows.indptr.dtype))
        return sp.csr_array((rows.data, rows.indices, indptr), shape=(height, rows.shape[1]))
    full = np.zeros((height, rows.shape[1]))
    full[: len(rows)] = rows
    return full
