"""The paper's reference scheme from a summary of rows to a fitted model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.moments import MatrixMoments, RowSummary
from grople.optim import single_threaded
from grople.published._embedding import drop_dead, published_embedding
from grople.published._groups import published_groups
from grople.published._mapping import nudged_gram, published_mapping
from grople.solver import FittedModel, Groups, LinearScores, Settings
from grople.solver._held_out import finish_model, held_out_by_folds

__all__ = ["solve_published"]

Array = NDArray[Any]


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
        varying = moments.labels.varying
        labels = moments.labels.select(varying)
        K = 10 if settings.n_groups == "auto" else int(settings.n_groups)
        d = 100 if settings.n_components == "auto" else int(settings.n_components)
        groups = Groups(np.zeros(0, dtype=np.intp))
        V, W, n_dead = np.zeros((0, 0)), np.zeros((0, 0)), 0
        path: Array = np.zeros(1)
        if labels.n_labels:
            groups = Groups.of(
                published_groups(
                    labels.n, labels.counts, labels.pairs(), min(K, labels.n_labels),
                    random_state=settings.seed,
                )
            )  # fmt: skip
            found = published_embedding(
                labels.n, labels.signed_gram(), groups.membership, counts=labels.counts,
                n_components=d, lambda_1=settings.lambda_1, lambda_2=settings.lambda_2,
                random_state=settings.seed,
            )  # fmt: skip
            V, W = drop_dead(found.V, found.W)
            n_dead, path = len(found.V) - len(V), np.asarray(found.objective_path)

        def scores_from(part: MatrixMoments, *, warn: bool = False) -> LinearScores:
            return _scores(part, (V, W, n_dead), varying, moments, settings, warn)

        scorer = scores_from(moments, warn=True)
        blocks = None
        if settings.evidence:
            blocks = held_out_by_folds(
                summary, lambda held: (scores_from(summary.matrices(without=held)), None)
            )
        membership = np.full(summary.n_labels, -1)
        membership[varying] = groups.membership
        report = {
            "n_components": len(V), "n_groups": groups.n_groups, "gamma": 0.0,
            "objective_path": path, "n_iter": len(path),
        }  # fmt: skip
        return finish_model(
            summary, scorer, blocks, report,
            groups=membership, context=settings.context, seed=settings.seed,
        )  # fmt: skip


def _scores(
    part: MatrixMoments,
    embedding: tuple[Array, Array, int],
    varying: Array,
    whole: MatrixMoments,
    settings: Settings,
    warn: bool,
) -> LinearScores:
    """Return the scores of the published map from the moments of (some of) the rows."""
    V, W, n_dead = embedding
    moments = part.select_labels(varying)
    constants = whole.labels.constant_scores
    if not len(V):
        Z = np.zeros((moments.n_features, len(V)))
        return LinearScores(Z, np.zeros(len(V)), np.zeros((0, len(varying)))).expanded(
            varying, constants
        )
    gram = W.T @ moments.labels.signed_product(W)
    sums = np.pad(moments.labels.sums @ W, (0, n_dead))
    result = published_mapping(
        moments.gram_matrix(centre=False),
        np.pad(moments.signed_cross(W, centre=False), ((0, 0), (0, n_dead))),
        nudged_gram(moments.n, sums, np.pad(gram, (0, n_dead))),
        settings.alpha,
        settings.beta,
    )
    if result.unbounded and warn:
        warnings.warn(
            "The published correlation term makes the objective unbounded below here "
            "(λ_min(XᵀX) + α·λ_min(R) < 0): the solution is where the published stopping "
            "rule halts, not a minimum. solver=Solver() has the convex form.",
            UserWarning,
            stacklevel=4,
        )
    Z = np.ascontiguousarray(result.Z[:, : len(V)])
    return LinearScores(Z, np.zeros(len(V)), V).expanded(varying, constants)
