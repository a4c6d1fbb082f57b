"""What an experiment declares, how much of it is run, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from grople.inspection import Picture, Table
from grople.study._data import N_FOLDS, load_data
from grople.study._statistics import MIN_DATASETS
from grople.study._store import Run, Setting, setting_text

#: From runs that share work to each of them with its result.
Compute = Callable[[Sequence[Run]], Iterator[tuple[Run, dict[str, Any]]]]

PROTOCOLS, GRIDS = ("published", "nested"), ("full", "small", "paper")
VERDICTS = ("confirmed", "refuted", "partly", "open")
#: What is run where none of the paper's data sets is here; it is larger than a quick run's.
EMBEDDED = "debtags-mini"
#: The most seconds a fold of one method in a quick run.
QUICK_BUDGET = 20.0


@dataclass(frozen=True)
class Scope:
    """How much is run.

    Parameters
    ----------
    datasets : tuple of str
        Data sets of the experiments that are not about one of their own.
    methods : tuple of str
        Methods of the comparison; by default the paper's.
    protocols : tuple of str
        ``"published"``, ``"nested"`` or both.
    quick : bool
        Whether a few values and folds, and small data sets, will do.
    grid : {"full", "small", "paper"}
        How much of each grid is searched: all of it, every third or fourth value, or in the
        comparison the paper's setting alone, where it is known.
    n_folds : int, optional
        The first so many of the five folds. By default all; for a quick run two, one of the
        embedded data set.
    budget : float
        Seconds a fold that BSVM and MLSF may take; GroPLE in ``dimension`` takes one fold of what
        is beyond it.
    seed : int
        Seed of what is random.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...] = ()
    protocols: tuple[str, ...] = PROTOCOLS
    quick: bool = False
    grid: str = "full"
    n_folds: int | None = None
    budget: float = 600.0
    seed: int = 0

    def __post_init__(self) -> None:
        if unknown := set(self.protocols) - set(PROTOCOLS):
            raise ValueError(f"the protocols are published and nested; got {', '.join(unknown)}")
        if self.grid not in GRIDS:
            raise ValueError(f"the grids are {', '.join(GRIDS)}; got {self.grid!r}")

    @property
    def folds(self) -> range:
        """The folds to leave out, one at a time."""
        usual = N_FOLDS if not self.quick else 1 if self.datasets == (EMBEDDED,) else 2
        return range(self.n_folds or usual)

    @property
    def small(self) -> bool:
        """Whether every third or fourth value of a grid will do."""
        return self.quick or self.grid != "full"

    @property
    def searched(self) -> str:
        """How much of a method's published grid is searched."""
        return "small" if self.quick and self.grid == "full" else self.grid

    @property
    def seconds(self) -> float:
        """What a fold of one slow method may take."""
        return min(self.budget, QUICK_BUDGET) if self.quick else self.budget

    def having(self, *names: str) -> list[str]:
        """Return those of these data sets that are run on; the first of all if none is."""
        return [name for name in names if name in self.datasets] or list(self.datasets[:1])


@dataclass(frozen=True)
class Finding:
    """What became of a claim of the paper: a verdict and a sentence."""

    verdict: str
    sentence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}; got {self.verdict!r}")


@dataclass(frozen=True)
class Exhibit:
    """What an experiment shows: sentences, tables by name, pictures, findings."""

    notes: Sequence[str] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()
    findings: Sequence[Finding] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    name, title, question : str
        What it is called, and what it asks.
    number, claim : int, str
        What the paper claims.
    tasks : dict
        How its runs are computed, by their task.
    plan : callable
        From :class:`Scope` to its runs.
    show : callable
        From the runs of a store to the :class:`Exhibit`, with what became of the claim.
    """

    name: str
    title: str
    question: str
    number: int
    claim: str
    tasks: Mapping[str, Compute]
    plan: Callable[[Scope], list[Run]]
    show: Callable[[pd.DataFrame], Exhibit]


def plan_folds(
    task: str, dataset: str, method: str, settings: Sequence[Setting], scope: Scope
) -> list[Run]:
    """Return a run for each setting and fold of a data set."""
    mark = load_data(dataset).fingerprint
    return [
        Run(task, dataset, method, fold, setting_text(setting), scope.seed, mark)
        for fold in scope.folds
        for setting in settings
    ]


def verdict_on(held: int, parts: int, n_datasets: int = MIN_DATASETS) -> str:
    """Return the verdict on a claim of several parts: open on fewer than five data sets."""
    if n_datasets < MIN_DATASETS:
        return "open"
    return "confirmed" if held == parts else "partly" if held else "refuted"
