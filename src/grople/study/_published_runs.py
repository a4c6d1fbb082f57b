"""Each method as it was published: raw features, the reference schemes, sign decision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from grople.baselines import cplst_path, faie_path, make_method, plst_path
from grople.moments import MatrixMoments
from grople.published import (
    PublishedEmbedding,
    cosine_distance,
    nudged_gram,
    published_descent,
    published_embedding,
    published_groups,
)
from grople.study._data import Array, Fold, load_fold, measures
from grople.study._store import Run, Setting

#: Settings with the scores of the test rows.
Scored = Iterator[tuple[Setting, Array]]

#: The published starts of the descents and their most steps, in GroPLE and in LLSF.
GROPLE_RIDGE, GROPLE_STEPS, LLSF_STEPS = 0.01, 500, 100


def published_runs(job: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Predict the test rows of a fold with one method and several settings.

    A job holds one method's settings that share work on one fold.
    """
    fold = load_fold(job[0].dataset, job[0].fold)
    runs = {run.setting: run for run in job}
    settings = [run.parameters for run in job]
    asked = {frozenset(s.items()): run for s, run in zip(settings, runs.values(), strict=True)}
    for setting, scores in SCHEMES[job[0].method](fold, settings, job[0].seed):
        run = asked.get(frozenset(setting.items()))
        if run is not None:
            yield run, measures(fold.B_test, scores > 0.0)


def published_stages(
    moments: MatrixMoments, setting: Setting, seed: int
) -> tuple[Array, PublishedEmbedding]:
    """Return the published groups and embedding of a setting."""
    labels, n = moments.labels, float(moments.n)
    groups = published_groups(
        n, labels.counts, labels.pairs(), setting["n_groups"], random_state=seed
    )
    chosen = {name: setting[name] for name in ("n_components", "lambda_1", "lambda_2")}
    fit = published_embedding(
        n, labels.signed_gram(), groups, counts=labels.counts, random_state=seed, **chosen
    )
    return groups, fit


def _grople(fold: Fold, settings: Sequence[Setting], seed: int) -> Scored:
    """Score by GroPLE: one embedding, then stage 3 for every (α, β)."""
    moments, labels = fold.moments, fold.moments.labels
    _, fit = published_stages(moments, settings[0], seed)
    sums = (2.0 * labels.counts - moments.n) @ fit.W
    gram = nudged_gram(moments.n, sums, fit.W.T @ labels.signed_gram() @ fit.W)
    target = moments.signed_cross(fit.W, centre=False)
    for setting in settings:
        Z = _descended(fold, target, gram, setting, GROPLE_RIDGE, GROPLE_STEPS)
        yield setting, (fold.X_test @ Z) @ fit.V


def _llsf(fold: Fold, settings: Sequence[Setting], seed: int) -> Scored:
    """Score by LLSF: the same descent with the labels (0/1) for targets."""
    labels = fold.moments.labels
    sums = fold.moments.feature_sum[:, None]
    target = (fold.moments.signed_cross(np.eye(labels.n_labels), centre=False) + sums) / 2.0
    for setting in settings:
        W = _descended(fold, target, labels.pairs(), setting, setting["gamma"], LLSF_STEPS)
        yield setting, 2.0 * (fold.X_test @ W) - 1.0


def _descended(
    fold: Fold, target: Array, gram: Array, setting: Setting, ridge: float, steps: int
) -> Array:
    """Return where the published descent halts, for targets U with XᵀU and UᵀU.

    In single precision, in half the time of double: a few decisions near zero differ.
    """
    distance = setting["alpha"] * cosine_distance(gram)
    steepest = float(np.abs(np.linalg.eigvalsh(distance)).max())
    start = fold.ridge_solution(target, ridge)
    single = (each.astype(np.float32) for each in (target, distance, start))
    target, distance, start = single
    Z, _ = published_descent(
        fold.single_gram,
        target,
        distance,
        setting["beta"],
        constant=float(np.trace(gram)),
        lipschitz=math.sqrt(2.0 * (fold.gram_norm**2 + steepest**2)),
        start=start,
        max_iter=steps,
    )
    return np.asarray(Z)


def _along(path: Callable[..., Any], *weights: str) -> Callable[..., Scored]:
    """Return the scheme of a path that shares work among the sizes of the same weights."""

    def score(fold: Fold, settings: Sequence[Setting], seed: int) -> Scored:
        def weight(setting: Setting) -> tuple[float, ...]:
            return tuple(setting[name] for name in weights)

        for values, part in itertools.groupby(sorted(settings, key=weight), weight):
            sizes = sorted({setting["n_components"] for setting in part})
            each = ([value] for value in values)
            for setting, scores in path(fold.moments, sizes, *each, fit_intercept="penalised"):
                yield setting, scores(fold.X_test)

    return score


def _fitted(name: str, **reference: Any) -> Callable[..., Scored]:
    """Return the scheme of an estimator that is fitted for each setting."""

    def score(fold: Fold, settings: Sequence[Setting], seed: int) -> Scored:
        for setting in settings:
            model = make_method(name, "sign", random_state=seed, **(reference | dict(setting)))
            yield setting, model.fit(fold.X, fold.B).decision_function(fold.X_test)

    return score


SCHEMES: dict[str, Callable[[Fold, Sequence[Setting], int], Scored]] = {
    "GroPLE": _grople,
    "LLSF": _llsf,
    "PLST": _along(plst_path, "ridge"),
    "CPLST": _along(cplst_path, "ridge"),
    "FaIE": _along(faie_path, "ridge", "alpha"),
    "LEML": _fitted("leml", init="published", fit_intercept="penalised"),
    "MLSF": _fitted(
        "mlsf", C=1.0, fit_intercept=False, correlation="published", max_iter=10_000
    ),
    "BSVM": _fitted("bsvm"),
}  # fmt: skip
