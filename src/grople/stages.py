"""The three stages of GroPLE on one set of moments, and again without a fold of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.callback import CallbackContext
from sklearn.exceptions import ConvergenceWarning

from grople.active import active_labels, learn_active_labels
from grople.affinity import Affinity, fit_affinity
from grople.base import DECISION_FOLDS
from grople.decision import ScoredBlock
from grople.embedding import Embedding, fit_embedding, predictable_gram
from grople.fingerprints import row_fingerprints
from grople.grid import fits_device, solve_grid
from grople.groups import Groups, fit_groups, given_partition
from grople.linear import LinearScores, row_blocks
from grople.mapping import Mapping, MappingProblem
from grople.margins import MOST_ROWS, fit_margins
from grople.moments import Moments, better_in_rows
from grople.optim import Weights
from grople.reservoir import Reservoir, fold_of
from grople.ridge import choose_ridge
from grople.shifted import ENOUGH, ROUNDING
from grople.streaming import MomentClassifier

__all__ = ["GroPLEModel", "ThreeStages"]

Array = NDArray[Any]

#: Share of rows that have copies up to which the others are enough to fit a decision on.
MOST_COPIES = 0.5


@dataclass(frozen=True)
class GroPLEModel:
    """What the three stages found."""

    groups: Groups
    embedding: Embedding
    mapping: Mapping
    gamma: float
    active: Array
    scores: LinearScores

    def components(self, labels: Array) -> Array:
        """Return the hyperplanes of some labels."""
        assert self.scores.V is not None
        return self.scores.V[:, labels]


class ThreeStages(MomentClassifier):
    """Groups, embedding and mapping from moments: what :class:`grople.GroPLE` learns and how.

    The parameters are those of :class:`grople.GroPLE`, which documents them.
    """

    grouping: Any
    group_components: Any
    lambda_1: float
    init: str
    feature_weight: float
    beta: Any
    gamma: Any
    correlation: str | None
    fit_intercept: bool
    scale: bool
    affinity: bool
    margin: float
    tol: float
    max_iter: int
    random_state: Any

    def _learn(
        self,
        moments: Moments,
        reference: GroPLEModel | None = None,
        context: CallbackContext | None = None,
    ) -> GroPLEModel:
        if reference is not None and not self.feature_weight:
            return self._mapped_again(moments, reference)
        varying, _ = active_labels(moments)

        def stages(active: Moments) -> tuple[Any, LinearScores]:
            groups = self._stage(context, "groups", lambda: self._groups(moments, varying))
            nearby = None if reference is None else reference.components(varying)
            embedding = self._stage(
                context, "embedding", lambda: self._embedding(active, groups, nearby=nearby)
            )
            if not embedding.converged and reference is None:
                warnings.warn(
                    f"the embedding stopped after {embedding.n_iter} iterations while it still "
                    f"improved by more than 10·tol={10 * self.tol:g} each: raise max_iter or tol",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            mapping, gamma = self._stage(
                context, "mapping", lambda: self._mapping(active, embedding, reference, varying)
            )
            scores = LinearScores(mapping.Z, mapping.intercept, embedding.V)
            return (groups, embedding, mapping, gamma), scores

        details, scores, active = learn_active_labels(moments, stages)
        groups, embedding, mapping, gamma = details
        return GroPLEModel(groups, embedding, mapping, gamma, active, scores)

    @property
    def _learns_from_rows(self) -> bool:
        return self.margin > 0

    def _rows_wanted(self) -> str:
        return (
            f"margin={self.margin:g} learns from kept rows, and there are none: they are kept from "
            "the first fit on, by a model that has this margin then and a reservoir_size above "
            "zero. Fit again on rows, or set margin=0"
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        gammas = self.gamma if isinstance(self.gamma, list | tuple | np.ndarray) else [self.gamma]
        if self.margin and any(gamma == 0 for gamma in gammas):
            raise ValueError(f"margin={self.margin:g} needs a ridge weight: set gamma above zero")

    def _sharpened(
        self, model: GroPLEModel, moments: Moments, rows: Reservoir | None
    ) -> GroPLEModel:
        """Move the map to where its margins on kept rows are wider."""
        if not self.margin or not model.embedding.n_components:
            return model
        if rows is None or not len(rows):
            raise ValueError(self._rows_wanted())
        if min(len(rows), rows.X.shape[1]) > MOST_ROWS:
            rows = rows.first(MOST_ROWS)
        scale = moments.view(centre=self.fit_intercept, scale=self.scale).scale
        X, mapping = rows.X, model.mapping
        if self.scale:
            X = X.multiply(scale) if sp.issparse(X) else X * scale
        found = fit_margins(
            X,
            rows.B[:, model.active],
            (mapping.viewed, mapping.intercept),
            model.embedding.V,
            gamma=model.gamma / self.margin,
            weights=rows.weights,
            elsewhere=max(moments.n - rows.total, 0.0),
            fit_intercept=self.fit_intercept,
        )
        Z = (found.Z * scale[:, None]).astype(mapping.Z.dtype, copy=False)
        # What neighbouring problems start from stays that of the moments.
        mapping = replace(mapping, Z=Z, intercept=found.intercept)
        scores = replace(model.scores, Z=Z, b=found.intercept)
        return replace(model, mapping=mapping, scores=scores)

    def _form(self, X: Any) -> str:
        closed = not np.any(self.beta) and self.correlation != "published"
        if self.form == "auto" and self._place is None and closed and better_in_rows(X):
            return "implicit"
        return self.form

    def _mapped_again(self, moments: Moments, reference: GroPLEModel) -> GroPLEModel:
        """Learn the map of a part of the rows into the space of all of them.

        That space is made of labels alone and says nothing of which features they go with; to
        find it again in every fold takes longer than all the rest and changes no decision.
        """
        active, embedding = reference.active, reference.embedding
        _, constants = active_labels(self.moments_)
        mapping, gamma = self._mapping(moments.select_labels(active), embedding, reference, active)
        scores = LinearScores(mapping.Z, mapping.intercept, embedding.V)
        if len(active) < moments.n_labels:
            scores = scores.expanded(active, constants)
        return GroPLEModel(reference.groups, embedding, mapping, gamma, active, scores)

    def _stage(self, context: CallbackContext | None, name: str, work: Any) -> Any:
        step = None if context is None else context.subcontext(name)
        if step is not None:
            step.call_on_fit_task_begin(estimator=self)
        result = work()
        if step is not None:
            step.call_on_fit_task_end(estimator=self)
        return result

    def _evidence_groups(self) -> Array | None:
        return self.label_groups_

    def _affinity(self, moments: Moments) -> Affinity | None:
        return fit_affinity(moments) if self.affinity else None

    def _out_of_fold(
        self, rows: Reservoir, context: CallbackContext | None
    ) -> Iterator[ScoredBlock]:
        blocks = self._left_out(rows)
        yield from super()._out_of_fold(rows, context) if blocks is None else blocks

    def _left_out(self, rows: Reservoir) -> Iterator[ScoredBlock] | None:
        """Return scores of rows by a map without them, by arithmetic; None where there is none."""
        if self._learns_from_rows:  # no arithmetic tells where margins would be without a row
            return None
        model = self._model()
        problem = self._problem(self.moments_.select_labels(model.active), model.embedding)
        if problem.in_full:
            return None
        X = self.moments_.rows  # type: ignore[attr-defined]
        keys = row_fingerprints(X)
        # One copy of a row tells what another one has: left out are single rows, not all copies.
        _, which, copies = np.unique(keys, return_inverse=True, return_counts=True)
        copied = copies[which] > 1
        if np.mean(copied) > MOST_COPIES:
            return None
        setting = self._chosen("alpha"), self._chosen("beta"), model.gamma
        points = problem.left_out(model.mapping, *setting)
        if points is None:
            return None
        used = (keys <= rows.keys.max()) & ~copied
        folds = np.where(used, fold_of(keys, DECISION_FOLDS), DECISION_FOLDS)
        return self._scored_points(points, folds)

    def _scored_points(self, points: Array, folds: Array) -> Iterator[ScoredBlock]:
        model = self._model()
        X, B = self.moments_.rows, self.moments_.marks  # type: ignore[attr-defined]
        for fold in range(DECISION_FOLDS):
            held, rest = np.flatnonzero(folds == fold), folds != fold
            affinity = self._affinity(Moments.from_data(X[rest], B[rest], form="implicit"))
            for block in row_blocks(len(held), self.moments_.n_labels):
                at = held[block]
                second = None if affinity is None else affinity(X[at])
                yield model.scores.of_points(points[at]), B[at], None, second

    def _chosen(self, name: str) -> Any:
        """Return the value of a hyper-parameter (a search overrides this)."""
        return getattr(self, name)

    def _groups(self, moments: Moments, active: Array, **other: Any) -> Groups:
        """Group the labels that vary; a partition of the user's own is of all labels."""
        grouping = self.grouping
        if isinstance(grouping, Sized) and not isinstance(grouping, str):
            grouping = given_partition(grouping, moments.n_labels)[active]
        n_groups = other.get("n_groups") or self._chosen("n_groups")
        return fit_groups(moments.labels.select(active), grouping, n_groups, self.random_state)

    def _embedding(self, moments: Moments, groups: Groups, **other: Any) -> Embedding:
        d, lambda_2, gamma = (
            other[name] if name in other else self._chosen(name)
            for name in ("n_components", "lambda_2", "gamma")
        )
        ridge = 1.0 if gamma == "auto" else max(float(gamma), 1e-6)
        embedding = fit_embedding(
            moments.labels,
            groups,
            n_components=d if d == "auto" else int(d),
            group_components=self.group_components,
            lambda_1=self.lambda_1,
            lambda_2=lambda_2,
            init=self.init,
            predictable=predictable_gram(moments, ridge, centre=self.fit_intercept)
            if self.feature_weight
            else None,
            feature_weight=self.feature_weight,
            tol=10 * self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            nearby=other.get("nearby"),
        )
        if moments.n_labels and not embedding.n_components:
            warnings.warn(
                f"lambda_2={lambda_2:g} shrinks every latent dimension to nothing, so all "
                "rows score alike: lower lambda_2",
                UserWarning,
                stacklevel=2,
            )
        return embedding

    def _problem(self, moments: Moments, embedding: Embedding) -> MappingProblem:
        return MappingProblem(moments, embedding, self.correlation, self.fit_intercept, self.scale)

    def _mapping(
        self,
        moments: Moments,
        embedding: Embedding,
        reference: GroPLEModel | None,
        active: Array,
    ) -> tuple[Mapping, float]:
        problem = self._problem(moments, embedding)
        gamma = self._chosen("gamma")
        if gamma == "auto":
            gamma = choose_ridge(problem) if reference is None else reference.gamma
        weights = self._chosen("alpha"), self._chosen("beta"), float(gamma)
        bounds: dict[str, Any] = {"tol": self.tol, "max_iter": 10 * self.max_iter}
        if self._place is not None and fits_device(problem):
            mapping = solve_grid(problem, Weights.of([weights]), self._place, **bounds).mapping(0)
        else:
            start = _start(reference, problem, active)
            residual = ROUNDING if reference is None else ENOUGH
            mapping = problem.solve(*weights, start=start, residual=residual, **bounds)
        if not mapping.converged:
            warnings.warn(
                f"the mapping stopped after {mapping.n_iter} steps at a relative gap of "
                f"{mapping.gap:.1e} (tol={self.tol:g}): raise max_iter, gamma, or scale features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return mapping, float(gamma)


def _start(reference: GroPLEModel | None, problem: MappingProblem, active: Array) -> Array | None:
    """Start a part of the rows from the map of all of them, which is near its own.

    The dimensions of the two embeddings may be turned against each other; the scores are not, so
    the start is the map whose scores come nearest to those of the reference.
    """
    if reference is None or reference.mapping.viewed.shape[1] == 0:
        return None
    viewed = reference.mapping.viewed
    if problem.embedding is reference.embedding:
        return viewed
    V = reference.components(active)
    turned = V @ np.linalg.pinv(problem.embedding.V)
    return np.asarray(viewed @ turned.astype(viewed.dtype, copy=False))
