"""The paper's experiments, one file each: runs, how to compute one, what the paper claims."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from grople.study._experiment import Compute, Exhibit, Experiment, Finding, Scope
from grople.study.experiments import (
    _ablation,
    _approximation,
    _comparison,
    _cost,
    _dimension,
    _groups,
    _heatmap,
    _sensitivity,
    _statistics,
)

__all__ = [
    "EXPERIMENTS", "TASKS", "Exhibit", "Experiment", "Finding", "Scope",
    "find_experiments",
]  # fmt: skip

#: In the order of the report.
EXPERIMENTS: Mapping[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        _comparison,
        _statistics,
        _approximation,
        _sensitivity,
        _groups,
        _dimension,
        _ablation,
        _heatmap,
        _cost,
    )
}
#: How runs are computed, by their task: experiments share some.
TASKS: Mapping[str, Compute] = {
    task: compute
    for experiment in EXPERIMENTS.values()
    for task, compute in experiment.tasks.items()
}


def find_experiments(names: Iterable[str]) -> list[Experiment]:
    """Return experiments by name, ``all`` being all of them.

    Examples
    --------
    >>> [experiment.name for experiment in find_experiments(["cost", "groups"])]
    ['cost', 'groups']
    >>> find_experiments(["comparision"])
    Traceback (most recent call last):
        ...
    ValueError: no experiment is called 'comparision'; did you mean 'comparison'?
    """
    found: dict[str, Experiment] = {}
    for name in names:
        if name != "all" and name not in EXPERIMENTS:
            near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there are {', '.join(EXPERIMENTS)}, all"
            )
            raise ValueError(f"no experiment is called {name!r}; {hint}")
        found |= EXPERIMENTS if name == "all" else {name: EXPERIMENTS[name]}
    return list(found.values())
