"""The paper's reference scheme from a summary of rows to a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.moments import LabelMoments, MatrixMoments, RowSummary
from grople.optim import single_threaded
from grople.published._embedding import PublishedEmbedding, drop_dead, published_embedding
from grople.published._groups import published_groups
from grople.published._mapping import (
    PublishedProblem,
    mapping_problem,
    mapping_start,
    nudged_gram,
    sparse_products,
)
from grople.solver import FittedModel, Groups, LinearScores, Settings
from grople.solver._held_out import finish_model, held_out_by_folds

__all__ = ["published_path", "published_stages", "solve_published"]

Array = NDArray[Any]

#: The paper's numbers of groups and of latent dimensions, where they are left open.
GROUPS, COMPONENTS = 10, 100


def published_stages(labels: LabelMoments, settings: Settings) -> tuple[Groups, PublishedEmbedding]:
    """Return the published groups and embedding of labels that all occur.

    Parameters
    ----------
    labels : LabelMoments
        Their counts.
    settings : Settings
        Of these, the numbers of groups and components, λ1, λ2 and the seed.
    """
    K = GROUPS if settings.n_groups == "auto" else int(settings.n_groups)
    d = COMPONENTS if settings.n_components == "auto" else int(settings.n_components)
    membership = published_groups(
        labels.n, labels.counts, labels.pairs(), min(K, labels.n_labels),
        random_state=settings.seed,
    )  # fmt: skip
    embedding = published_embedding(
        labels.n, labels.signed_gram(), membership, counts=labels.counts,
        n_components=d, lambda_1=settings.lambda_1, lambda_2=settings.lambda_2,
        random_state=settings.seed,
    )  # fmt: skip
    return Groups.of(membership), embedding


def stage_three(
    moments: MatrixMoments, embedding: PublishedEmbedding
) -> tuple[PublishedProblem, Array]:
    """Return the problem of mapping features to the points YW, and its start."""
    W = embedding.W
    points = W.T @ moments.labels.signed_product(W)
    xtx, target = moments.gram_matrix(centre=False), moments.signed_cross(W, centre=False)
    utu = nudged_gram(moments.n, moments.labels.sums @ W, points)
    return mapping_problem(xtx, target, utu), mapping_start(xtx, target)


def published_path(
    moments: MatrixMoments,
    embedding: PublishedEmbedding,
    pairs: Iterable[tuple[float, float]],
    *,
    X: Any = None,
    dtype: Any = np.float64,
) -> Iterator[tuple[tuple[float, float], LinearScores]]:
    """Yield (α, β) with the scores of the published scheme; all share what does not depend on them.

    Parameters
    ----------
    moments : MatrixMoments
        Moments of the training rows, with labels that all occur.
    embedding : PublishedEmbedding
        Of these labels, by :func:`published_stages`.
    pairs : iterable of tuple of float
        The (α, β).
    X : sparse array, optional
        Those rows: where they are sparse enough, products with them are faster.
    dtype : dtype
        Precision of the descents; single takes half the time, and a few decisions near zero differ.

    Examples
    --------
    >>> from grople import summarise
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> moments = summarise(data.X, data.Y).matrices()
    >>> _, embedding = published_stages(moments.labels, Settings(n_components=9))
    >>> [pair for pair, scores in published_path(moments, embedding, [(0.1, 0.1), (1.0, 0.1)])]
    [(0.1, 0.1), (1.0, 0.1)]
    """
    problem, start = stage_three(moments, embedding)
    start = start.astype(dtype)
    if (products := sparse_products(X, dtype)) is not None:
        problem = replace(problem, gram=products)
    for alpha, beta in pairs:
        Z = problem.solve(alpha, beta, start).Z
        yield (alpha, beta), LinearScores(Z, np.zeros(Z.shape[1]), embedding.V)


def solve_published(summary: RowSummary, settings: Settings) -> FittedModel:
    """Return the model that the published scheme finds.

    Parameters
    ----------
    summary : RowSummary
        What is known of the rows.
    settings : Settings
        Of these, γ, the grouping and the margin play no part.

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, random_state=0)
    >>> model = GroPLE.published("medical", n_components=10, alpha=1e-9).fit(data.X, data.Y)
    >>> bool(model.label_groups_.max() > 0)
    True
    """
    with single_threaded():
        moments = summary.matrices()
        varying, constants = moments.labels.varying, moments.labels.constant_scores
        groups, embedding = Groups(np.zeros(0, dtype=np.intp)), None
        if len(varying):
            groups, embedding = published_stages(moments.labels.select(varying), settings)
        path = np.zeros(1) if embedding is None else embedding.objective_path

        def scores_from(part: MatrixMoments, *, warn: bool = False) -> LinearScores:
            scores = LinearScores(np.zeros((part.n_features, 0)), np.zeros(0),
                                  np.zeros((0, len(varying))))  # fmt: skip
            if embedding is not None and embedding.V.any():
                problem, start = stage_three(part.select_labels(varying), embedding)
                Z = problem.solve(settings.alpha, settings.beta, start).Z
                V, Z = drop_dead(embedding.V, Z)
                scores = LinearScores(np.ascontiguousarray(Z), np.zeros(len(V)), V)
                if warn and problem.unbounded(settings.alpha):
                    warnings.warn(UNBOUNDED, UserWarning, stacklevel=3)
            return scores.expanded(varying, constants)

        scorer = scores_from(moments, warn=True)
        blocks = None
        if settings.evidence:
            blocks = held_out_by_folds(
                summary, lambda held: (scores_from(summary.matrices(without=held)), None)
            )
        membership = np.full(summary.n_labels, -1)
        membership[varying] = groups.membership
        report = {
            "n_components": scorer.Z.shape[1], "n_groups": groups.n_groups, "gamma": 0.0,
            "objective_path": path, "n_iter": len(path),
        }  # fmt: skip
        return finish_model(
            summary, scorer, blocks, report,
            groups=membership, context=settings.context, seed=settings.seed,
        )  # fmt: skip


UNBOUNDED = (
    "The published correlation term makes the objective unbounded below here "
    "(λ_min(XᵀX) + α·λ_min(R) < 0): the solution is where the published stopping rule halts, not a "
    "minimum. solver=Solver() has the convex form."
)
