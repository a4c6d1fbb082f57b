"""From what is known of rows to a fitted model: groups, embedding, mapping, decision."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from grople.decision._cooccurrence import CooccurrenceFeature, cooccurrence_feature
from grople.decision._evidence import HeldOutBlock
from grople.moments import RealMoments, RowMoments, RowSummary, Sample
from grople.optim import single_threaded
from grople.solver._embedding import Embedding, embed_labels, predictable_gram
from grople.solver._groups import Groups, given_partition, group_labels
from grople.solver._held_out import HELD_OUT_FOLDS, finish_model, held_out_by_folds, scored_rows
from grople.solver._mapping import ENOUGH, Mapping, MappingProblem
from grople.solver._margins import MOST_ROWS, fit_margins
from grople.solver._model import FittedModel, LinearScores, row_blocks
from grople.solver._ridge import choose_gamma
from grople.solver._settings import Settings

__all__ = [
    "HELD_OUT_FOLDS",
    "LinearFit",
    "Progress",
    "Stages",
    "embedded_labels",
    "fit_linear",
    "held_out_by_folds",
    "map_features",
    "mapping_problem",
    "solve",
    "varying_groups",
]

Array = NDArray[Any]
#: Told the name of each step of a fit, how many are done, and of how many.
Progress = Callable[[str, int, int], None]

#: Steps of a fit that progress is told of.
STEPS = ("groups", "embedding", "mapping", "decision")


@dataclass(frozen=True)
class Stages:
    """What the three stages found, for the labels that vary."""

    groups: Groups
    embedding: Embedding
    mapping: Mapping
    gamma: float

    @property
    def scores(self) -> LinearScores:
        """The scores of the labels that vary."""
        return LinearScores(self.mapping.Z, self.mapping.intercept, self.embedding.V)


@dataclass(frozen=True)
class LinearFit:
    """The three stages on what is known of rows: linear scores, before there is a decision.

    Attributes
    ----------
    summary : RowSummary
        What is known of the rows.
    stages : Stages
        What the stages found, for the labels that vary.
    scorer : LinearScores
        The scores of all labels.
    groups : ndarray of int of shape (L,)
        The group of each label; −1 for a label that never or always occurs.
    held_out : callable
        Yields held-out scores of the sample's rows.
    report : dict
        What was chosen, and how the solvers ended.
    """

    summary: RowSummary
    stages: Stages
    scorer: LinearScores
    groups: Array
    held_out: Callable[[], Iterator[HeldOutBlock]]
    report: dict[str, Any]

    @property
    def V(self) -> Array:
        """From points of the latent space to labels, shape (d, L)."""
        assert self.scorer.V is not None
        return self.scorer.V

    def points(self, B: Any) -> Array:
        """Return where rows with these labels belong in the latent space, U = Y W."""
        W = self.stages.embedding.W
        varying = self.summary.moments.labels.varying
        return np.asarray(2.0 * (B[:, varying] @ W) - W.sum(axis=0))

    def finished(
        self, settings: Settings, blocks: Iterable[HeldOutBlock] | None = None, scorer: Any = None
    ) -> FittedModel:
        """Return the scores, or others built on them, with the decision that held-out ones lead to.

        Parameters
        ----------
        settings : Settings
            The parameters.
        blocks : iterable of HeldOutBlock, optional
            Held-out scores, where the decision is fitted on them.
        scorer : callable, optional
            The other scores.
        """
        feature, moments = None, self.summary.moments
        if blocks is not None:
            feature = cooccurrence_feature(moments.occurrences(), moments.feature_sum)
        return finish_model(
            self.summary, scorer or self.scorer, blocks, self.report,
            groups=self.groups, feature=feature, context=settings.context, seed=settings.seed,
        )  # fmt: skip


def solve(
    summary: RowSummary, settings: Settings, progress: Progress = lambda *step: None
) -> FittedModel:
    """Return the linear model of the rows summed up: a function of their set and the settings.

    Parameters
    ----------
    summary : RowSummary
        What is known of the rows.
    settings : Settings
        The parameters.
    progress : callable
        Told ``(step, done, total)``.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> X = np.eye(4)[[0, 0, 1, 1, 2]]
    >>> B = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    >>> model = solve(summarise(X, B), Settings(gamma=0.01, evidence=False))
    >>> (model.scores(X) > 0).astype(int).tolist() == B.tolist()
    True
    """
    with single_threaded():
        linear = fit_linear(summary, settings, progress)
        progress(STEPS[3], 3, len(STEPS))
        model = linear.finished(settings, linear.held_out() if settings.evidence else None)
        progress("solved", len(STEPS), len(STEPS))
        return model


def fit_linear(summary: RowSummary, settings: Settings, progress: Progress) -> LinearFit:
    """Return what the three stages make of the rows summed up."""
    moments, labels = summary.moments, summary.moments.labels
    varying = labels.varying
    active = moments.select_labels(varying)
    progress(STEPS[0], 0, len(STEPS))
    groups = varying_groups(labels, varying, settings)
    progress(STEPS[1], 1, len(STEPS))
    embedding = embedded_labels(active, groups, settings)
    progress(STEPS[2], 2, len(STEPS))
    problem = mapping_problem(active, embedding, settings)
    gamma = choose_gamma(problem) if settings.gamma == "auto" else float(settings.gamma)
    stages = Stages(groups, embedding, map_features(problem, gamma, settings), gamma)
    stages = _with_margins(stages, active, summary.sample.first(), varying, settings)
    _warn_of_convergence(stages, settings)
    membership = np.full(summary.n_labels, -1)
    membership[varying] = groups.membership
    report = {
        "n_components": embedding.n_components,
        "n_groups": groups.n_groups,
        "gamma": gamma,
        "objective_path": embedding.objective_path,
        "n_iter": embedding.n_iter,
        "mapping_gap": stages.mapping.gap,
        "mapping_n_iter": stages.mapping.n_iter,
    }
    return LinearFit(
        summary,
        stages,
        stages.scores.expanded(varying, labels.constant_scores),
        membership,
        lambda: _held_out_blocks(summary, problem, stages, settings),
        report,
    )


def map_features(
    problem: MappingProblem, gamma: float, settings: Settings, **options: Any
) -> Mapping:
    """Return the map of stage 3 (:class:`MappingProblem`)."""
    tol, max_iter = settings.solver.tol, 10 * settings.solver.max_iter
    return problem.solve(
        settings.alpha, settings.beta, gamma, tol=tol, max_iter=max_iter, **options
    )


def _held_out_blocks(
    summary: RowSummary, problem: MappingProblem, stages: Stages, settings: Settings
) -> Iterator[HeldOutBlock]:
    """Yield held-out scores: by arithmetic where that is at hand, else learning without a fold."""
    if not settings.margin and not settings.solver.feature_weight and not settings.beta:
        points = problem.leave_one_out(stages.mapping, settings.alpha, stages.gamma)
        if points is not None:
            return _left_out(summary, points, stages)
    labels = summary.moments.labels
    varying, constants = labels.varying, labels.constant_scores

    def learn(held: Array) -> tuple[LinearScores, CooccurrenceFeature | None]:
        rest = summary.moments_without(held)
        active = rest.select_labels(varying)
        embedding = stages.embedding
        if settings.solver.feature_weight:  # the space itself was made with the features
            embedding = embedded_labels(active, stages.groups, settings)
        again = mapping_problem(active, embedding, settings)
        # The space is made of labels alone and says nothing of the features they go with.
        start = stages.mapping.Z if embedding is stages.embedding else None
        mapping = map_features(again, stages.gamma, settings, start=start, residual=ENOUGH)
        found = replace(stages, embedding=embedding, mapping=mapping)
        others = summary.sample.first()
        others = others.take(np.flatnonzero(~held[: len(others)]))
        if len(others):  # else, of a sample in one fold, the map of the moments
            found = _with_margins(found, active, others, varying, settings)
        feature = cooccurrence_feature(rest.occurrences(), rest.feature_sum)
        return found.scores.expanded(varying, constants), feature

    return held_out_by_folds(summary, learn)


def _left_out(summary: RowSummary, points: Array, stages: Stages) -> Iterator[HeldOutBlock]:
    """Yield scores of kept rows, placed by maps without them."""
    moments, sample = summary.moments, summary.sample.first()
    assert isinstance(moments, RowMoments)
    labels = moments.labels
    scores = stages.scores.expanded(labels.varying, labels.constant_scores)
    place = np.searchsorted(moments.feature_keys, sample.feature_keys)
    folds = sample.folds(HELD_OUT_FOLDS)
    for fold in range(HELD_OUT_FOLDS):
        held = np.flatnonzero(folds == fold)
        rest = summary.moments_without(folds == fold)
        feature = cooccurrence_feature(rest.occurrences(), rest.feature_sum) if len(held) else None
        for block in row_blocks(len(held), summary.n_labels):
            at = held[block]
            left_out = partial(_of_points, scores, points[place[at]])
            yield scored_rows(sample, at, left_out, feature)


def _of_points(scores: LinearScores, points: Array, X: Any) -> Array:
    return scores.of_points(points)


def varying_groups(labels: Any, varying: Array, settings: Settings) -> Groups:
    """Group the labels that vary; a given partition is of all labels."""
    grouping = settings.grouping
    if isinstance(grouping, Sized) and not isinstance(grouping, str):
        grouping = given_partition(grouping, labels.n_labels)[varying]
    return group_labels(labels.select(varying), grouping, settings.n_groups, settings.seed)


def embedded_labels(moments: RealMoments, groups: Groups, settings: Settings) -> Embedding:
    """Embed labels that vary."""
    solver = settings.solver
    predictable = None
    if solver.feature_weight:
        ridge = 1.0 if settings.gamma == "auto" else max(float(settings.gamma), 1e-6)
        predictable = predictable_gram(moments, ridge, centre=solver.fit_intercept)
    embedding = embed_labels(
        moments.labels, groups,
        n_components=settings.n_components, group_components=solver.group_components,
        lambda_1=settings.lambda_1, lambda_2=settings.lambda_2,
        predictable=predictable, feature_weight=solver.feature_weight,
        tol=10 * solver.tol, max_iter=solver.max_iter,
    )  # fmt: skip
    if moments.n_labels and not embedding.n_components:
        warnings.warn(
            f"lambda_2={settings.lambda_2:g} shrinks every latent dimension to nothing, so all "
            "rows score alike: lower lambda_2",
            UserWarning,
            stacklevel=3,
        )
    return embedding


def mapping_problem(
    moments: RealMoments, embedding: Embedding, settings: Settings
) -> MappingProblem:
    """Return what maps of all weights start from."""
    solver = settings.solver
    return MappingProblem(moments, embedding, solver.correlation, solver.fit_intercept)


def _with_margins(
    stages: Stages, moments: RealMoments, rows: Sample, varying: Array, settings: Settings
) -> Stages:
    """Move the map to where its margins on kept rows are wider."""
    if not settings.margin or not stages.embedding.n_components:
        return stages
    if not len(rows):
        raise ValueError(
            f"margin={settings.margin:g} learns from kept rows, and there are none: fit on rows "
            "with max_kept_rows above zero, or set margin=0"
        )
    if min(len(rows), rows.X.shape[1]) > MOST_ROWS:
        rows = rows.take(slice(0, MOST_ROWS))
    totals = rows.totals
    found = fit_margins(
        rows.X,
        rows.B[:, varying],
        (stages.mapping.Z, stages.mapping.intercept),
        stages.embedding.V,
        gamma=stages.gamma / settings.margin,
        weights=None if (totals == 1).all() else totals,
        elsewhere=max(moments.n - float(totals.sum()), 0.0),
        fit_intercept=settings.solver.fit_intercept,
    )
    Z = found.Z.astype(stages.mapping.Z.dtype, copy=False)
    return replace(stages, mapping=replace(stages.mapping, Z=Z, intercept=found.intercept))


def _warn_of_convergence(stages: Stages, settings: Settings) -> None:
    tol = settings.solver.tol
    if not stages.embedding.converged:
        warnings.warn(
            f"the embedding stopped after {stages.embedding.n_iter} iterations while it still "
            f"improved by more than 10·tol={10 * tol:g} each: raise max_iter or tol of "
            "solver=Solver(...)",
            ConvergenceWarning,
            stacklevel=3,
        )
    if not stages.mapping.converged:
        warnings.warn(
            f"the mapping stopped after {stages.mapping.n_iter} steps at a relative gap of "
            f"{stages.mapping.gap:.1e} (tol={tol:g}): raise gamma, scale the features, or raise "
            "max_iter of solver=Solver(...)",
            ConvergenceWarning,
            stacklevel=3,
        )
