"""From names to a plan: which data sets are here, what a quick run leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grople.datasets import find, locate
from grople.errors import DataError
from grople.study.experiments import Experiment, Options
from grople.study.splits import FOLDS
from grople.study.units import Batch, batches, canonical

__all__ = ["QUICK_DATASETS", "STUDY_DATASETS", "make_plan", "present", "with_choices"]

#: The paper's data sets that can be had.
STUDY_DATASETS = (
    "genbase-authors", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2",
    "rcv1subset3", "bibtex", "corel16k001", "delicious",
)  # fmt: skip
#: Of a quick run: small ones of three kinds.
QUICK_DATASETS = ("genbase-authors", "medical", "CAL500")
EMBEDDED = "debtags-mini"
#: How much of the grids is searched.
GRIDS = ("full", "small", "paper")


def present(wanted: Sequence[str] = (), *, quick: bool = False) -> tuple[list[str], list[str]]:
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
    >>> present(["debtags-mini"])
    (['debtags-mini'], [])
    """
    if wanted:
        for name in wanted:
            if not Path(name).is_file() and locate(name) is None:
                raise DataError(
                    f"{find(name).name} is not on this machine: set GROPLE_DATA to the folder that "
                    f"holds it, or run `grople data fetch {find(name).name}`"
                )
        return [name if Path(name).is_file() else find(name).name for name in wanted], []
    names = QUICK_DATASETS if quick else STUDY_DATASETS
    found = [name for name in names if locate(name) is not None]
    missing = [name for name in names if name not in found]
    return found or [EMBEDDED], missing


def make_plan(
    experiments: Sequence[Experiment],
    datasets: Sequence[str],
    *,
    methods: Sequence[str] = (),
    protocols: Sequence[str] = ("published", "nested"),
    quick: bool = False,
    budget: float = 600.0,
    seed: int = 0,
    grid: str = "full",
    folds: int | None = None,
) -> list[Batch]:
    """Return the units of experiments, each once.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to run.
    datasets, methods, protocols, quick, budget, seed, grid
        See :class:`~grople.study.experiments.Options`.
    folds : int, optional
        The first so many of the five folds. By default all; for a quick run two, one of the
        embedded data set, which is larger than those that a quick run has otherwise.
    """
    unknown = set(protocols) - {"published", "nested"}
    if unknown:
        raise ValueError(f"the protocols are published and nested; got {', '.join(unknown)}")
    if grid not in GRIDS:
        raise ValueError(f"the grids are {', '.join(GRIDS)}; got {grid!r}")
    if folds is None:
        folds = _quick_folds(datasets) if quick else FOLDS
    if not 1 <= folds <= FOLDS:
        raise ValueError(f"there are {FOLDS} folds; got {folds}")
    options = Options(
        tuple(datasets),
        tuple(methods),
        tuple(protocols),
        tuple(range(folds)),
        quick,
        min(budget, 20.0) if quick else budget,
        seed,
        grid,
    )
    return batches([experiment.plan(options) for experiment in experiments])


def with_choices(plan: Sequence[Batch], units: Mapping[str, Mapping[str, Any]]) -> list[Batch]:
    """Return a plan that takes over what units chose before, where they are among its own.

    Parameters
    ----------
    plan : sequence of Batch
        What to compute.
    units : dict
        Units by their names, as :func:`grople.study.sharing.read_units` returns them.

    Examples
    --------
    >>> batch = Batch("nested", "tiny", "PLST", 0, "abc", ({"grid": "full"},))
    >>> chosen = {"accuracy": {"rows": "unit"}}
    >>> (again,) = with_choices([batch], {batch.unit_keys()[0]: {"result": {"chosen": chosen}}})
    >>> again == batch, dict(again.choices)
    (True, {'{"grid":"full"}': {'accuracy': {'rows': 'unit'}}})
    """
    found = []
    for batch in plan:
        results = {canonical(s): units.get(batch.key(s), {}).get("result") for s in batch.settings}
        choices = {
            setting: result["chosen"]
            for setting, result in results.items()
            if result is not None and "chosen" in result
        }
        found.append(replace(batch, choices=choices) if choices else batch)
    return found


def _quick_folds(datasets: Sequence[str]) -> int:
    return 1 if list(datasets) == [EMBEDDED] else 2
