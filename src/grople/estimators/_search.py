"""GroPLECV: hyper-parameters by cross-validation, for little more than one pass over the data.

The moments of a training part are those of all rows minus those of the held-out fold. Within a
fold every setting shares the moments, settings with the same embedding share one mapping problem
(its spectrum solves all α and γ), and each β starts from its neighbour's solution.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from grople import metrics
from grople.backends import grid_scores, usable_device
from grople.decision import (
    METRIC_RULES,
    HeldOut,
    HeldOutBlock,
    check_rule,
    fit_decision,
    needs_evidence,
)
from grople.errors import Choice, Number, Parameter
from grople.estimators._base import no_progress, unchanged_on_error
from grople.estimators._grople import GroPLE
from grople.estimators._responses import folds_of_rows
from grople.moments import RealMoments, RowSummary, fold_of, row_keys, summarise
from grople.optim import single_threaded
from grople.solver import (
    FittedModel,
    LinearScores,
    MappingProblem,
    Settings,
    Solver,
    choose_gamma,
)
from grople.solver._solve import Progress, embedded_labels, mapping_problem, varying_groups

__all__ = ["SEARCHED", "GroPLECV"]

Array = NDArray[Any]
Setting = dict[str, Any]
#: α, β and γ.
Weighing = tuple[float, float, float]

#: Parameters that take several values to choose from, outermost loop first.
SEARCHED = ("n_groups", "n_components", "lambda_2", "gamma", "alpha", "beta")
#: Scores of held-out rows kept at a time; of larger folds a sample of rows is scored.
MOST_SCORES = 1 << 25


class GroPLECV(GroPLE):
    """GroPLE with hyper-parameters chosen by cross-validation.

    Takes the parameters of :class:`GroPLE`; ``alpha``, ``beta``, ``gamma``, ``lambda_2``,
    ``n_groups`` and ``n_components`` also take a sequence of values to choose from.

    Parameters
    ----------
    n_components, n_groups, lambda_2, alpha, beta, gamma : number or sequence
        As in :class:`GroPLE`, or sequences of values.
    scoring : {"accuracy", "example_f1", "macro_f1", "micro_f1"}, default="example_f1"
        The measure to maximise.
    cv : int or splitter, default=5
        Folds; a number gives folds by the content of rows, in which copies stay together and
        which no order of the rows changes.
    search_tol : float, default=1e-3
        Tolerance of the mapping while searching (that of `solver` for the final fit).
    device : str or torch.device, default=None
        Where PyTorch searches the grid of α, β and γ (``"cuda"``, ``"cpu"``); None: NumPy.
    grouping, lambda_1, margin, experts, decision, max_kept_rows, random_state, solver
        As in :class:`GroPLE`; the search is of the linear expert, without `margin`. A ``decision``
        that maximises a measure is fitted on one half of each held-out fold and scored on the
        other, both ways.

    Attributes
    ----------
    best_params_ : dict
        The setting chosen.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        Every setting with its scores, in the layout of ``GridSearchCV``.

    Examples
    --------
    >>> from grople import GroPLECV
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> model = GroPLECV(alpha=[0.0, 1.0], gamma=[10.0, 100.0], cv=2)
    >>> sorted(model.fit(data.X[:500], data.Y[:500]).best_params_)
    ['alpha', 'beta', 'gamma', 'lambda_2', 'n_components', 'n_groups']
    """

    _parameters: ClassVar[dict[str, Parameter]] = {
        name: check for name, check in GroPLE._parameters.items() if name not in SEARCHED
    } | {"scoring": Choice(METRIC_RULES), "search_tol": Number()}

    def __init__(
        self,
        n_components: Any = "auto",
        n_groups: Any = 10,
        *,
        scoring: str = "example_f1",
        cv: Any = 5,
        search_tol: float = 1e-3,
        device: Any = None,
        grouping: Any = "spectral",
        lambda_1: float = 1e-3,
        lambda_2: Any = 1.0,
        alpha: Any = (0.0, 0.1, 1.0, 10.0),
        beta: Any = 0.0,
        gamma: Any = "auto",
        margin: float = 0.0,
        experts: Any = "auto",
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
        random_state: Any = None,
        solver: Solver | None = None,
    ) -> None:
        super().__init__(
            n_components, n_groups, grouping=grouping, lambda_1=lambda_1, lambda_2=lambda_2,
            alpha=alpha, beta=beta, gamma=gamma, margin=margin, experts=experts, decision=decision,
            max_kept_rows=max_kept_rows, random_state=random_state, solver=solver,
        )  # fmt: skip
        self.scoring = scoring
        self.cv = cv
        self.search_tol = search_tol
        self.device = device

    @unchanged_on_error
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        like: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose the hyper-parameters by cross-validation, then learn from all rows.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        y : array, sparse array or DataFrame of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights; they weigh in learning and in the scores.
        like, progress
            As in :meth:`GroPLE.fit`.

        Returns
        -------
        self
        """
        self.__dict__.pop("best_params_", None)
        self._check_parameters()
        self._forget_everything(like)
        X, B, weights = self._validate(X, y, sample_weight, reset=True)
        self._take_in(X, B, weights)
        cv = self.cv
        given = np.asarray(1.0 if sample_weight is None else sample_weight)
        if given.ndim:  # rows without weight are gone
            cv = folds_of_rows(cv, np.flatnonzero(given), len(given))
        self._search(X, B, weights, cv, progress or no_progress)
        return self._solved(progress)

    def fit_blocks(self, blocks: Any, classes: Any = None, **options: Any) -> Self:
        """Learn from blocks with the hyper-parameters that an earlier ``fit`` chose.

        See :meth:`grople.GroPLE.fit_blocks`. The search itself needs rows in memory: fit on a part
        of them first.
        """
        if not hasattr(self, "best_params_"):
            raise ValueError(
                "GroPLECV searches on rows: call fit on a part of them that fits into memory, then "
                "fit_blocks on all"
            )
        return super().fit_blocks(blocks, classes, **options)

    def _solve(self, summary: RowSummary, progress: Progress) -> FittedModel:
        if not hasattr(self, "best_params_"):
            raise ValueError("GroPLECV chooses its parameters in fit: call fit first")
        return super()._solve(summary, progress)

    def _settings(self, **chosen: Any) -> Settings:
        return super()._settings(**(getattr(self, "best_params_", {}) | chosen))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in SEARCHED:
            values = _values(getattr(self, name))
            if not values:
                raise ValueError(f"GroPLECV: {name} has no value to choose from")
            for value in values:
                complaint = GroPLE._parameters[name].complaint(value)
                if complaint:
                    raise ValueError(f"GroPLECV: {name} must be {complaint}; got {value!r}")
        if self.device is not None:
            usable_device(self.device)
        if self.solver is not None and self.solver.init == "published":
            raise ValueError("GroPLECV searches the default scheme: set solver.init to 'spectral'")

    def _search(self, X: Any, B: Any, weights: Array | None, cv: Any, progress: Progress) -> None:
        values = [_values(getattr(self, name)) for name in SEARCHED]
        settings = [dict(zip(SEARCHED, each, strict=True))
                    for each in itertools.product(*values)]  # fmt: skip
        held_out = _folds(X, B, cv)
        scores = np.empty((len(settings), len(held_out)))
        seconds = np.empty_like(scores)
        for f, held in enumerate(held_out):
            progress("folds", f, len(held_out))
            part = None if weights is None else weights[held]
            started = time.perf_counter()
            with single_threaded():
                scores[:, f] = self._fold_scores(X[held], B[held], part, settings)
            seconds[:, f] = (time.perf_counter() - started) / len(settings)
        self._record(settings, scores, seconds)

    def _fold_scores(self, X: Any, B: Any, weights: Array | None, settings: list[Setting]) -> Array:
        """Return the measure of every setting on the rows of a fold, learnt without them."""
        assert self.summary_ is not None
        gone = summarise(X, B, weights, grid=self.summary_.grid, max_kept_rows=None)
        rest = self.summary_ - gone
        moments = rest.moments if self.device is None else rest.matrices()
        scorer = FoldScorer(X, B, weights, self._targets.kind, self.decision, self.scoring)
        varying, constants = moments.labels.varying, moments.labels.constant_scores
        found = np.empty(len(settings))
        for problem, numbered in self._problems(moments, settings):
            V = problem.embedding.V
            decoder = LinearScores(np.zeros((0, len(V))), np.zeros(len(V)), V)
            decoder = decoder.expanded(varying, constants)
            for s, points in self._points(problem, numbered, scorer.X):
                found[s] = scorer(decoder.of_points(points))
        return found

    def _points(
        self, problem: MappingProblem, numbered: list[tuple[int, Weighing]], X: Any
    ) -> Iterator[tuple[int, Array]]:
        """Yield where each setting places rows."""
        if self.device is None or not problem.embedding.n_components:
            for s, mapping in self._path(problem, numbered):
                yield s, np.asarray(X @ mapping.Z + mapping.intercept)
            return
        most = 10 * self._settings().solver.max_iter
        maps = grid_scores(
            problem, [weighing for _, weighing in numbered], X, self.device,
            tol=self.search_tol, max_iter=most,
        )  # fmt: skip
        yield from zip([s for s, _ in numbered], maps, strict=True)

    def _problems(
        self, whole: RealMoments, settings: Sequence[Setting]
    ) -> Iterator[tuple[MappingProblem, list[tuple[int, Weighing]]]]:
        """Yield each mapping problem with the settings (their numbers, α, β, γ) that share it."""
        base = self._settings(**settings[0])
        moments = whole.select_labels(whole.labels.varying)
        groups: dict[Any, Any] = {}
        shared: dict[Any, list[int]] = {}
        # A space that looks at the features does so with the ridge weight.
        names = SEARCHED[: 4 if base.solver.feature_weight else 3]
        for s, setting in enumerate(settings):
            shared.setdefault(tuple(setting[name] for name in names), []).append(s)
        for values, numbers in shared.items():
            chosen = replace(base, **dict(zip(names, values, strict=True)))
            K = chosen.n_groups
            if K not in groups:
                groups[K] = varying_groups(whole.labels, whole.labels.varying, chosen)
            embedding = embedded_labels(moments, groups[K], chosen)
            problem = mapping_problem(moments, embedding, chosen)
            automatic = any(settings[s]["gamma"] == "auto" for s in numbers)
            ridge = choose_gamma(problem) if automatic else 0.0
            numbered = []
            for s in numbers:
                alpha, beta, gamma = (settings[s][name] for name in ("alpha", "beta", "gamma"))
                numbered.append((s, (alpha, beta, ridge if gamma == "auto" else gamma)))
            yield problem, numbered

    def _path(
        self, problem: MappingProblem, numbered: list[tuple[int, Weighing]]
    ) -> Iterator[tuple[int, Any]]:
        """Solve settings one by one; of those that differ in β alone each starts from the last."""
        lines: dict[Any, list[tuple[int, Weighing]]] = {}
        for s, (alpha, beta, gamma) in numbered:
            lines.setdefault((gamma, alpha), []).append((s, (alpha, beta, gamma)))
        most = 10 * self._settings().solver.max_iter
        for line in lines.values():
            start = None
            for s, weights in sorted(line, key=lambda pair: -pair[1][1]):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    mapping = problem.solve(
                        *weights, start=start, tol=self.search_tol, max_iter=most
                    )
                start = mapping.Z
                yield s, mapping

    def _record(self, settings: list[Setting], scores: Array, seconds: Array) -> None:
        mean = scores.mean(axis=1)
        results: dict[str, Any] = {
            f"param_{name}": np.array([s[name] for s in settings], dtype=object)
            for name in SEARCHED
        }
        results["params"] = settings
        for f in range(scores.shape[1]):
            results[f"split{f}_test_score"] = scores[:, f]
        results["mean_test_score"] = mean
        results["std_test_score"] = scores.std(axis=1)
        results["rank_test_score"] = rankdata(-mean, method="min").astype(int)
        results["mean_fit_time"] = seconds.mean(axis=1)
        best = int(np.argmax(mean))
        self.cv_results_ = results
        self.best_index_ = best
        self.best_params_ = settings[best]
        self.best_score_ = float(mean[best])


class FoldScorer:
    """Scores models on the held-out rows of one fold, deciding without sight of what it scores.

    Parameters
    ----------
    X, B, weights : arrays
        The held-out rows, their labels and weights (or None).
    kind : str
        What the target is.
    rule : str, float or Rule
        The decision; where it is fitted, on one half of the rows for the other, both ways.
    scoring : str
        The measure.
    """

    def __init__(
        self, X: Any, B: Any, weights: Array | None, kind: str, rule: Any, scoring: str
    ) -> None:
        keys = row_keys(X)
        # In the order of their keys: the measure is the same in whatever order rows came.
        order = np.lexsort((row_keys(X, B, weights), keys))
        order = order[: max(1, MOST_SCORES // max(B.shape[1], 1))]
        self.X, self.B, self.keys = X[order], sp.csr_array(B[order]), keys[order]
        self.weights = None if weights is None else weights[order]
        self.halves = fold_of(self.keys, 2)
        self.kind, self.rule, self.scoring = kind, check_rule(rule), scoring

    def __call__(self, scores: Array) -> float:
        """Return the measure of scores of the rows."""
        if self.kind != "multilabel":
            truth = self.B.toarray()
            hit = (
                (scores[:, 0] > 0) == truth[:, 0]
                if self.kind == "binary"
                else scores.argmax(axis=1) == truth.argmax(axis=1)
            )
            return float(np.average(hit, weights=self.weights))
        if not needs_evidence(self.rule):
            predicted = fit_decision(None).labels(scores, rule=self.rule)
        else:
            predicted = self._decided(scores)
        measure = getattr(metrics, self.scoring)
        return float(measure(self.B, predicted, zero_division=0.0, sample_weight=self.weights))

    def _decided(self, scores: Array) -> Any:
        parts, rows = [], []
        for half in (0, 1):
            fit, use = np.flatnonzero(self.halves != half), np.flatnonzero(self.halves == half)
            if not len(use):
                continue
            weights = None if self.weights is None else self.weights[fit]
            block = HeldOutBlock(scores[fit], self.B[fit], weights, self.keys[fit])
            held_out = HeldOut.from_blocks([block], scores.shape[1]) if len(fit) else None
            # Rows that are not given cannot be told from copies.
            decision = replace(fit_decision(held_out, context=False), copies=None)
            parts.append(decision.labels(scores[use], rule=self.rule))
            rows.append(use)
        return sp.vstack(parts, format="csr")[np.argsort(np.concatenate(rows))]


def _folds(X: Any, B: Any, cv: Any) -> list[Array]:
    """Return the held-out rows of each fold."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if not 2 <= cv <= X.shape[0]:
            raise ValueError(
                f"cv={cv} folds of {X.shape[0]} rows: choose from 2 to as many folds as rows "
                f"(n_samples={X.shape[0]})"
            )
        folds = fold_of(row_keys(X), int(cv))
        found = [np.flatnonzero(folds == fold) for fold in range(int(cv))]
    else:
        found = [held for _, held in check_cv(cv).split(X, B)]
    found = [held for held in found if 0 < len(held) < X.shape[0]]
    if not found:
        raise ValueError("there are too few different rows for the folds of a search")
    return found


def _values(parameter: Any) -> list[Any]:
    if isinstance(parameter, str) or not isinstance(parameter, Sequence | np.ndarray):
        return [parameter]
    return list(parameter)
