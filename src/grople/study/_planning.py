"""From names to a plan: which data sets are here, and the runs of several experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grople.datasets import find, locate
from grople.errors import DataError
from grople.study._experiment import EMBEDDED, Experiment, Scope
from grople.study._store import Run

#: The paper's data sets that can be had, and of a quick run small ones of three kinds.
STUDY_DATASETS = (
    "genbase-authors", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2",
    "rcv1subset3", "bibtex", "corel16k001", "delicious",
)  # fmt: skip
QUICK_DATASETS = ("genbase-authors", "medical", "CAL500")


def present_datasets(
    wanted: Sequence[str] = (), *, quick: bool = False
) -> tuple[list[str], list[str]]:
    """Return the data sets to run on and those that are not on this machine.

    Parameters
    ----------
    wanted : sequence of str
        Names or files; named ones must be there. By default the paper's, or for a quick run a
        few small ones; the embedded one if none of these is here.
    quick : bool
        Whether a few small ones will do.

    Examples
    --------
    >>> present_datasets(["debtags-mini"])
    (['debtags-mini'], [])
    """
    for name in wanted:
        if not Path(name).is_file() and locate(name) is None:
            raise DataError(
                f"{find(name).name} is not on this machine: set GROPLE_DATA to the folder that "
                f"holds it, or run `grople data fetch {find(name).name}`"
            )
    if wanted:
        return [name if Path(name).is_file() else find(name).name for name in wanted], []
    names = QUICK_DATASETS if quick else STUDY_DATASETS
    found = [name for name in names if locate(name) is not None]
    return found or [EMBEDDED], [name for name in names if name not in found]


def make_plan(experiments: Sequence[Experiment], scope: Scope) -> list[Run]:
    """Return the runs of experiments, each once, those of one fold of a data set together.

    Examples
    --------
    >>> from grople.study import EXPERIMENTS, Scope
    >>> len(make_plan([EXPERIMENTS["cost"]], Scope(("debtags-mini",), quick=True)))
    9
    """
    runs = dict.fromkeys(run for experiment in experiments for run in experiment.plan(scope))
    order = list(dict.fromkeys(run.dataset for run in runs))
    return sorted(runs, key=lambda run: (order.index(run.dataset), run.fold))
