"""The paper's experiments, one file each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from grople.study.experiments import (
    ablation,
    approximation,
    comparison,
    cost,
    dimension,
    groups,
    heatmap,
    sensitivity,
    statistics,
)
from grople.study.experiments.base import Exhibit, Experiment, Figure, Finding, Options

__all__ = ["EXPERIMENTS", "Exhibit", "Experiment", "Figure", "Finding", "Options", "chosen"]

#: In the order of the report.
EXPERIMENTS: Mapping[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        comparison,
        statistics,
        approximation,
        sensitivity,
        groups,
        dimension,
        ablation,
        heatmap,
        cost,
    )
}


def chosen(names: Iterable[str]) -> list[Experiment]:
    """Return experiments by name, ``all`` being all of them.

    Examples
    --------
    >>> [experiment.name for experiment in chosen(["cost", "groups"])]
    ['cost', 'groups']
    >>> chosen(["comparision"])
    Traceback (most recent call last):
        ...
    ValueError: no experiment is called 'comparision'; did you mean 'comparison'?
    """
    found: dict[str, Experiment] = {}
    for name in names:
        if name == "all":
            found |= EXPERIMENTS
            continue
        if name not in EXPERIMENTS:
            near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
            hint = (
                f"did you mean {near[0]!r}?"
                if near
                else f"there are {', '.join(EXPERIMENTS)}, and all"
            )
            raise ValueError(f"no experiment is called {name!r}; {hint}")
        found[name] = EXPERIMENTS[name]
    return list(found.values())
