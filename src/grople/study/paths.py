"""Each method over the settings of a batch, sharing what they have in common.

A path takes a fold, all settings of a batch and those that are still wanted, and yields the wanted
ones with their scores. A unit's scores do not depend on which others are wanted, so that a run
that was interrupted ends with the numbers of one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from grople.baselines import BSVM, mlsf_path
from grople.baselines._cplst import cplst
from grople.baselines._design import Design
from grople.baselines._faie import faie
from grople.baselines._label_embedding import embedding_path, embedding_size
from grople.baselines._leml_factors import factorise_as_published
from grople.baselines._linear import Path, varying_path
from grople.baselines._llsf import PublishedLLSF
from grople.baselines._plst import plst
from grople.moments import MatrixMoments, RealMoments
from grople.published import (
    PublishedEmbedding,
    cosine_distance,
    nudged_gram,
    published_descent,
    published_embedding,
    published_groups,
)
from grople.solver import LinearScores
from grople.study.splits import Split
from grople.study.units import Setting, canonical

__all__ = [
    "published_bsvm",
    "published_cplst",
    "published_faie",
    "published_grople",
    "published_leml",
    "published_llsf",
    "published_mlsf",
    "published_plst",
    "stages_one_and_two",
]

Found = Iterator[tuple[Setting, Any]]

#: The parameters of GroPLE that its embedding depends on.
EMBEDDING = ("n_components", "n_groups", "lambda_1", "lambda_2")
#: The most steps of the published stage 3.
STEPS = 500
#: Of the published descents: half the time of double precision. A few decisions near zero differ.
PRECISION = np.float32


def stages_one_and_two(
    moments: MatrixMoments, setting: Setting, seed: int
) -> tuple[Any, PublishedEmbedding]:
    """Return the published groups and embedding of a setting."""
    labels = moments.labels
    groups = published_groups(
        float(moments.n), labels.counts, labels.pairs(), setting["n_groups"], random_state=seed
    )
    fit = published_embedding(
        float(moments.n),
        labels.signed_gram(),
        groups,
        counts=labels.counts,
        n_components=setting["n_components"],
        lambda_1=setting["lambda_1"],
        lambda_2=setting["lambda_2"],
        random_state=seed,
    )
    return groups, fit


def published_grople(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield GroPLE as published: one embedding, then stage 3 for every (α, β)."""
    moments = split.moments
    labels = moments.labels
    for shared, part in _grouped(wanted, EMBEDDING):
        _, fit = stages_one_and_two(moments, shared, seed)
        sums = (2.0 * labels.counts - moments.n) @ fit.W
        utu = nudged_gram(moments.n, sums, fit.W.T @ labels.signed_gram() @ fit.W)
        distance = cosine_distance(utu)
        steepest = float(np.abs(np.linalg.eigvalsh(distance)).max())
        target = moments.signed_cross(fit.W, centre=False)
        start = scipy.linalg.cho_solve(split.start_factor, target, check_finite=False)
        target, start, distance = (each.astype(PRECISION) for each in (target, start, distance))
        for setting in part:
            alpha, beta = setting["alpha"], setting["beta"]
            Z, _ = published_descent(
                split.gram,
                target,
                alpha * distance,
                beta,
                constant=float(np.trace(utu)),
                lipschitz=math.sqrt(2.0 * (split.gram_norm**2 + (alpha * steepest) ** 2)),
                start=start,
                max_iter=STEPS,
            )
            yield setting, LinearScores(Z, np.zeros(Z.shape[1]), fit.V)


def published_llsf(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield LLSF as published."""

    def solve(varying: RealMoments) -> Path:
        design = Design(varying, fit_intercept=False)
        problem = PublishedLLSF(design, split.gram, PRECISION)
        for setting in wanted:
            scores, _ = problem.solve(**setting)
            yield dict(setting), scores

    yield from varying_path(split.moments, solve)


def published_plst(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield PLST as published."""
    return _embedded(split, settings, wanted, ("ridge",), lambda d, n, w: plst(d, n, [w["ridge"]]))


def published_cplst(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield CPLST as published."""
    return _embedded(split, settings, wanted, ("ridge",), lambda d, n, w: cplst(d, n, [w["ridge"]]))


def published_faie(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield FaIE as published."""
    return _embedded(
        split,
        settings,
        wanted,
        ("ridge", "alpha"),
        lambda design, size, weights: faie(design, size, [weights["ridge"]], [weights["alpha"]]),
    )


def _embedded(
    split: Split,
    settings: Sequence[Setting],
    wanted: Sequence[Setting],
    weights: Sequence[str],
    method: Callable[[Design, int, Setting], Path],
) -> Found:
    """Yield a linear embedding: one design, the weights in turn, fewer dimensions for free."""
    sizes = sorted({setting["n_components"] for setting in settings})
    asked = {canonical(setting): setting for setting in wanted}
    each = [shared for shared, _ in _grouped(wanted, weights)]

    def solve(design: Design, size: int) -> Path:
        for shared in each:
            yield from method(design, size, shared)

    for setting, scores in embedding_path(split.moments, sizes, "penalised", solve):
        if canonical(setting) in asked:
            yield asked[canonical(setting)], scores


def published_leml(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield LEML as published: ten rounds from a random start."""

    def solve(varying: RealMoments) -> Path:
        design = Design(varying, "penalised")
        for setting in wanted:
            size = embedding_size(setting["n_components"], varying.labels)
            factors = factorise_as_published(design, size, setting["ridge"], seed)
            yield dict(setting), design.scores(factors.W, factors.H, design.shared_means)

    yield from varying_path(split.moments, solve)


def published_bsvm(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield one linear SVM a label."""
    for setting in wanted:
        model = BSVM(**setting, decision="sign").fit(split.X, split.B)
        yield setting, LinearScores(model.coef_.T, model.intercept_)


def published_mlsf(
    split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
) -> Found:
    """Yield MLSF as published; chains and meta-labels are shared by all γ of an α."""
    for shared, part in _grouped(wanted, ("alpha", "meta_label_size", "solver")):
        for setting in sorted(part, key=lambda s: -s["gamma"]):
            # Each γ on its own: a start from its neighbour would make it depend on that.
            ((_, scores),) = mlsf_path(
                split.X,
                split.B,
                [setting["gamma"]],
                **shared,
                C=1.0,
                fit_intercept=False,
                correlation="published" if shared["alpha"] else None,
                max_iter=10_000,
                decision="sign",
                random_state=seed,
            )
            yield setting, scores


# -- what the nested protocol searches ------------------------------------------------------


def _grouped(
    settings: Sequence[Setting], names: Sequence[str]
) -> list[tuple[dict[str, Any], list[Setting]]]:
    """Return settings that agree in the named parameters together, in order of appearance."""
    found: dict[str, tuple[dict[str, Any], list[Setting]]] = {}
    for setting in settings:
        shared = {name: setting[name] for name in names}
        found.setdefault(canonical(shared), (shared, []))[1].append(setting)
    return list(found.values())
