"""Each method over the settings of a batch, sharing what they have in common.

A path takes a fold, all settings of a batch and those that are still wanted, and yields the wanted
ones with their scores. A unit's scores do not depend on which others are wanted, so that a run
that was interrupted ends with the numbers of one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from grople.baselines import METHODS, scores_along
from grople.moments import MatrixMoments
from grople.published import PublishedEmbedding, published_stages
from grople.solver import Settings
from grople.study.splits import Split
from grople.study.units import Setting, canonical

__all__ = ["published_scores", "stages_one_and_two"]

Found = Iterator[tuple[Setting, Any]]

#: Of GroPLE's published descents: half the time of double precision. A few decisions near zero
#: differ.
PRECISION = np.float32


def stages_one_and_two(
    moments: MatrixMoments, setting: Setting, seed: int
) -> tuple[Any, PublishedEmbedding]:
    """Return the published groups and embedding of a setting."""
    names = ("n_components", "n_groups", "lambda_1", "lambda_2")
    settings = Settings(**{name: setting[name] for name in names}, seed=seed)
    groups, fit = published_stages(moments.labels, settings)
    return groups.membership, fit


def published_scores(
    name: str,
) -> Callable[[Split, Sequence[Setting], Sequence[Setting], int], Found]:
    """Return a method's path: settings of a fold with their scores, as published."""

    def path(
        split: Split, settings: Sequence[Setting], wanted: Sequence[Setting], seed: int
    ) -> Found:
        asked = {canonical(setting): setting for setting in wanted}
        published = METHODS[name].published
        assert published is not None
        model = published("medical")
        if hasattr(model, "random_state"):
            model.set_params(random_state=seed)
        # All sizes of an embedding take part, so that none depends on which are wanted.
        along = settings if name in ("plst", "cplst", "faie") else wanted
        plain = [dict(setting) for setting in along]
        for setting, scores in scores_along(
            model, plain, split.X, split.B, split.moments, precision=PRECISION
        ):
            if canonical(setting) in asked:
                yield asked[canonical(setting)], scores

    return path
