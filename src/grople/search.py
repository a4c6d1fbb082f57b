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
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.callback import CallbackContext, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from grople.active import active_labels
from grople.arrays import taken, to_numpy
from grople.base import unchanged_on_error
from grople.decision import METRIC_RULES
from grople.estimator import GroPLE
from grople.folds import MultilabelStratifiedKFold
from grople.grid import fits_device, solve_grid
from grople.judging import Judge
from grople.linear import LinearScores, as_rows
from grople.mapping import Mapping, MappingProblem
from grople.moments import Moments
from grople.optim import Weights
from grople.parameters import Anything, Choice, Number, Parameter
from grople.responses import folds_of_rows
from grople.ridge import choose_ridge

__all__ = ["GroPLECV"]

Array = NDArray[Any]
Setting = dict[str, Any]
#: α, β and γ.
Weighing = tuple[float, float, float]

#: Parameters that take several values to choose from, outermost loop first.
SEARCHED = ("n_groups", "n_components", "lambda_2", "gamma", "alpha", "beta")


class GroPLECV(GroPLE):
    """GroPLE with hyper-parameters chosen by cross-validation.

    Takes the parameters of :class:`GroPLE`; ``alpha``, ``beta``, ``gamma``, ``lambda_2``,
    ``n_groups`` and ``n_components`` also take a sequence of values to choose from.

    Parameters
    ----------
    n_components, n_groups, lambda_1, lambda_2, alpha, beta, gamma : number or sequence
        As in :class:`GroPLE`; all but ``lambda_1`` may be sequences.
    scoring : {"accuracy", "example_f1", "macro_f1", "micro_f1"}, default="example_f1"
        The measure to maximise.
    cv : int or splitter, default=5
        Folds; a number gives multi-label stratified folds.
    search_tol : float, default=1e-3
        Tolerance of the mapping while searching (``tol`` for the final fit).
    grouping, correlation, init, feature_weight, group_components, fit_intercept, scale, \
affinity, margin, decision, reservoir_size, row_check, form, tol, max_iter, random_state, device
        As in :class:`GroPLE`; the search keeps to the moments, without `margin`. A ``decision``
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
    >>> model = GroPLECV(alpha=[0.0, 1.0], gamma=[10.0, 100.0], cv=2, random_state=0)
    >>> sorted(model.fit(data.X[:500], data.Y[:500]).best_params_)
    ['alpha', 'beta', 'gamma', 'lambda_2', 'n_components', 'n_groups']
    """

    _parameters: ClassVar[dict[str, Parameter]] = (
        GroPLE._parameters
        | dict.fromkeys(SEARCHED, Anything())
        | {"scoring": Choice(METRIC_RULES), "cv": Anything(), "search_tol": Number()}
    )

    def __init__(
        self,
        n_components: Any = "auto",
        n_groups: Any = 10,
        lambda_1: float = 1e-3,
        lambda_2: Any = 1.0,
        alpha: Any = (0.0, 0.1, 1.0, 10.0),
        beta: Any = 0.0,
        gamma: Any = "auto",
        *,
        scoring: str = "example_f1",
        cv: Any = 5,
        search_tol: float = 1e-3,
        grouping: Any = "spectral",
        correlation: str | None = "laplacian",
        init: str = "spectral",
        feature_weight: float = 0.0,
        group_components: int = 0,
        fit_intercept: bool = True,
        scale: bool = False,
        affinity: bool = True,
        margin: float = 0.0,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            n_components, n_groups, lambda_1, lambda_2, alpha, beta, gamma,
            grouping=grouping, correlation=correlation, init=init, feature_weight=feature_weight,
            group_components=group_components, fit_intercept=fit_intercept, scale=scale,
            affinity=affinity, margin=margin, decision=decision, reservoir_size=reservoir_size,
            row_check=row_check, form=form, tol=tol, max_iter=max_iter, random_state=random_state,
            device=device,
        )  # fmt: skip
        self.scoring = scoring
        self.cv = cv
        self.search_tol = search_tol

    @unchanged_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the hyper-parameters by cross-validation, then learn from all rows.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        y : array, sparse array or DataFrame of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights; they weigh in learning and in the scores.

        Returns
        -------
        self
        """
        self.__dict__.pop("best_params_", None)
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        X, B, weights = self._begin(X, y, sample_weight)
        cv = self.cv
        given = np.asarray(1.0 if sample_weight is None else to_numpy(sample_weight))
        if given.ndim:  # rows without weight are gone
            cv = folds_of_rows(cv, np.flatnonzero(given), len(given))
        self._search(X, B, weights, cv, context)
        self._solve(context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def fit_blocks(self, blocks: Any, classes: Any = None) -> Self:
        """Learn from blocks with the hyper-parameters that an earlier ``fit`` chose.

        See :meth:`grople.GroPLE.fit_blocks`. The search itself needs rows at hand: fit on a part of
        them first.
        """
        if not hasattr(self, "best_params_"):
            raise ValueError(
                "GroPLECV searches on rows: call fit on a part of them that fits into memory, then "
                "fit_blocks on all"
            )
        return super().fit_blocks(blocks, classes)

    def _chosen(self, name: str) -> Any:
        if name in SEARCHED:
            if not hasattr(self, "best_params_"):
                raise ValueError("GroPLECV chooses its parameters in fit: call fit first")
            return self.best_params_[name]
        return getattr(self, name)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if hasattr(self, "best_params_"):
            return
        for name in SEARCHED:
            for value in _values(getattr(self, name)):
                wanted = GroPLE._parameters[name].complaint(value)
                if wanted is not None:
                    raise ValueError(f"GroPLECV: each {name} must be {wanted}; got {value!r}")

    def _search(
        self, X: Any, B: Any, weights: Array | None, cv: Any, context: CallbackContext
    ) -> None:
        settings = [
            dict(zip(SEARCHED, values, strict=True))
            for values in itertools.product(*(_values(getattr(self, n)) for n in SEARCHED))
        ]
        folds = list(self._folds(X, B, cv))
        scores = np.full((len(settings), len(folds)), np.nan)
        seconds = np.zeros((len(settings), len(folds)))
        X = as_rows(X)
        for f, held in enumerate(folds):
            step = context.subcontext(f"fold {f + 1} of {len(folds)}")
            step.call_on_fit_task_begin(estimator=self)
            part = None if weights is None else weights[held]
            form, place = self.moments_.form, self._place
            rows = taken(X, held)
            rest = self.moments_ - Moments.from_data(rows, B[held], part, form=form, place=place)
            judge = Judge(rows, B[held], part, self._targets, self.decision, self.scoring)
            started = time.perf_counter()
            for some, found in self._judged(rest, settings, judge):
                scores[some, f] = found
                now = time.perf_counter()
                seconds[some, f], started = (now - started) / len(some), now
            step.call_on_fit_task_end(estimator=self)
        self._record(settings, scores, seconds)

    def _folds(self, X: Any, B: Any, cv: Any) -> Iterator[Array]:
        if isinstance(cv, int) and self._targets.kind == "multilabel":
            seed = self.random_state if isinstance(self.random_state, int) else 0
            splitter: Any = MultilabelStratifiedKFold(cv, random_state=seed)
        else:
            classes = B.toarray().argmax(axis=1) if B.shape[1] > 1 else B.toarray().ravel()
            splitter = check_cv(cv, classes, classifier=self._targets.kind != "multilabel")
            if self._targets.kind != "multilabel":
                B = classes
        for _, held in splitter.split(to_numpy(X), B):
            yield held

    def _judged(
        self, moments: Moments, settings: Sequence[Setting], judge: Judge
    ) -> Iterator[tuple[list[int], Any]]:
        """Yield the numbers of settings with their measures, learnt from one training part."""
        active, constants = active_labels(moments)
        for problem, numbered in self._problems(moments, active, settings):
            V = problem.embedding.V
            if self._place is not None and fits_device(problem):
                weights = Weights.of([weights for _, weights in numbered])
                grid = solve_grid(
                    problem, weights, self._place,
                    tol=self.search_tol, max_iter=10 * self.max_iter,
                )  # fmt: skip
                first = grid.mapping(0)
                labels = LinearScores(first.Z, first.intercept, V).expanded(active, constants)
                yield [s for s, _ in numbered], judge.score_grid(grid, labels, self._place)
            else:
                for s, mapping in self._path(problem, numbered):
                    model = LinearScores(mapping.Z, mapping.intercept, V)
                    yield [s], judge.score(model.expanded(active, constants))

    def _problems(
        self, whole: Moments, active: Array, settings: Sequence[Setting]
    ) -> Iterator[tuple[MappingProblem, list[tuple[int, Weighing]]]]:
        """Yield each mapping problem with the settings (their numbers, α, β, γ) that share it."""
        moments = whole.select_labels(active)
        groups: dict[Any, Any] = {}
        shared: dict[Any, list[int]] = {}
        for s, setting in enumerate(settings):
            shared.setdefault(tuple(setting[name] for name in SEARCHED[:3]), []).append(s)
        for (K, d, lambda_2), numbers in shared.items():
            if K not in groups:
                groups[K] = self._groups(whole, active, n_groups=K)
            gamma = settings[numbers[0]]["gamma"]
            embedding = self._embedding(
                moments, groups[K], n_components=d, lambda_2=lambda_2, gamma=gamma
            )
            problem = self._problem(moments, embedding)
            automatic = any(settings[s]["gamma"] == "auto" for s in numbers)
            ridge = choose_ridge(problem) if automatic else 0.0
            numbered = []
            for s in numbers:
                alpha, beta, gamma = (settings[s][name] for name in ("alpha", "beta", "gamma"))
                numbered.append((s, (alpha, beta, ridge if gamma == "auto" else gamma)))
            yield problem, numbered

    def _path(
        self, problem: MappingProblem, numbered: list[tuple[int, Weighing]]
    ) -> Iterator[tuple[int, Mapping]]:
        """Solve settings one by one; of those that differ in β alone each starts from the last."""
        lines: dict[Any, list[tuple[int, Weighing]]] = {}
        for s, (alpha, beta, gamma) in numbered:
            lines.setdefault((gamma, alpha), []).append((s, (alpha, beta, gamma)))
        for line in lines.values():
            start = None
            for s, weights in sorted(line, key=lambda pair: -pair[1][1]):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    mapping = problem.solve(
                        *weights, start=start, tol=self.search_tol, max_iter=10 * self.max_iter
                    )
                start = mapping.viewed
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


def _values(parameter: Any) -> list[Any]:
    if isinstance(parameter, str) or not isinstance(parameter, Sequence | np.ndarray):
        return [parameter]
    return list(parameter)
