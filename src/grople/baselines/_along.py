"""Scores along many settings of one method, which share what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from grople.baselines._linear import LinearBaseline, Setting, with_matrices
from grople.estimators import GroPLE
from grople.moments import RealMoments, summarise
from grople.published import published_path, published_stages

__all__ = ["scores_along"]

#: From features of rows to their scores.
Scores = Callable[[Any], Any]


def scores_along(
    estimator: Any,
    settings: Sequence[Setting],
    X: Any,
    B: Any,
    moments: RealMoments | None = None,
    *,
    precision: Any = np.float64,
) -> Iterator[tuple[Setting, Scores]]:
    """Yield settings with what a fit with them scores.

    A decomposition, an embedding, a start is computed once for all settings that share it, and
    fewer dimensions are cut from more: a grid takes little longer than a few fits.

    Parameters
    ----------
    estimator : estimator
        A baseline, or a :class:`grople.GroPLE`, not fitted; its decision plays no part.
    settings : sequence of dict
        Parameters to set. They may be yielded in another order.
    X, B : array or csr_array
        Features and labels (zeros and ones) of the training rows.
    moments : RealMoments, optional
        Their moments, where they are known: those of a training part are all rows' minus the
        held-out part's. Methods that learn from moments then do not look at X and B.
    precision : dtype
        Of the published descents of GroPLE; single precision takes half the time.

    Yields
    ------
    setting : dict
        One of the settings.
    scores : callable
        From features to scores of shape (n_rows, n_labels); a label that never or always occurs in
        training scores −1 or 1.

    Examples
    --------
    >>> from grople.baselines import PLST
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :300], data.Y
    >>> settings = [{"n_components": size, "ridge": 1.0} for size in (0.1, 0.2)]
    >>> for setting, scores in scores_along(PLST(), settings, X[:3000], Y[:3000]):
    ...     setting, scores(X[3000:]).shape
    ({'n_components': 0.1, 'ridge': 1.0}, (998, 169))
    ({'n_components': 0.2, 'ridge': 1.0}, (998, 169))
    """
    if isinstance(estimator, LinearBaseline):
        if moments is None:
            moments = with_matrices(summarise(X, B, max_kept_rows=0)).moments
        yield from estimator._along(settings, moments)
    elif isinstance(estimator, GroPLE) and getattr(estimator.solver, "init", "") == "published":
        moments = summarise(X, B, max_kept_rows=0).matrices() if moments is None else moments
        yield from _published_grople(estimator, settings, X, moments, precision)
    else:
        for setting in settings:
            model = clone(estimator).set_params(**setting, decision="sign")
            yield setting, model.fit(X, B).fitted_model_.scores


def _published_grople(
    estimator: GroPLE, settings: Sequence[Setting], X: Any, moments: Any, precision: Any
) -> Iterator[tuple[Setting, Scores]]:
    """Yield GroPLE as published: one embedding for all (α, β) with the same other parameters."""
    alike: dict[Any, list[tuple[Setting, GroPLE]]] = {}
    for setting in settings:
        others = tuple(sorted(item for item in setting.items() if item[0] not in ("alpha", "beta")))
        model = clone(estimator).set_params(**setting)
        alike.setdefault(others, []).append((setting, model))
    varying, constants = moments.labels.varying, moments.labels.constant_scores
    moments = moments.select_labels(varying)
    for part in alike.values():
        pairs = [(float(model.alpha), float(model.beta)) for _, model in part]
        _, embedding = published_stages(moments.labels, part[0][1]._settings())
        path = published_path(moments, embedding, pairs, X=X, dtype=precision)
        for (setting, _), (_, scores) in zip(part, path, strict=True):
            yield setting, scores.expanded(varying, constants)
