"""What every experiment is: a plan of units, and a way to show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grople.pages import Table
from grople.study.splits import FOLDS, data
from grople.study.store import Store
from grople.study.units import Batch, Setting

__all__ = [
    "ENOUGH",
    "Exhibit",
    "Experiment",
    "Figure",
    "Finding",
    "Options",
    "judged",
    "plan_folds",
]

VERDICTS = ("confirmed", "refuted", "partly", "open")
#: Data sets without which an average rank says nothing.
ENOUGH = 5


@dataclass(frozen=True)
class Options:
    """What to run.

    Parameters
    ----------
    datasets : tuple of str
        Data sets of the experiments that are not about one of their own.
    methods : tuple of str
        Methods of the comparison.
    protocols : tuple of str
        ``"published"``, ``"nested"`` or both.
    folds : tuple of int
        Folds to leave out in turn.
    quick : bool
        Whether a few data sets and small ones will do.
    grid : {"full", "small", "paper"}
        How much of each grid is searched: all of it, every third or fourth value, or in the
        comparison the paper's setting alone, where it is known.
    budget : float
        Seconds a fold that BSVM and MLSF may take; GroPLE in ``dimension`` takes one fold of what
        is beyond it.
    seed : int
        Seed of what is random.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ("published", "nested")
    folds: tuple[int, ...] = tuple(range(FOLDS))
    quick: bool = False
    budget: float = 600.0
    seed: int = 0
    grid: str = "full"

    @property
    def small(self) -> bool:
        """Whether every third or fourth value of a grid will do."""
        return self.quick or self.grid != "full"

    @property
    def searched(self) -> str:
        """How much of a method's published grid is searched."""
        return "small" if self.quick and self.grid == "full" else self.grid

    def has(self, *names: str) -> list[str]:
        """Return those of these data sets that are to be run on; the first of all if none is."""
        found = [name for name in self.datasets if name in names]
        return found or list(self.datasets[:1])


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and what came out: the number of the claim, a verdict, a sentence."""

    claim: int
    verdict: str
    sentence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}; got {self.verdict!r}")


def judged(held: int, parts: int, n_datasets: int = ENOUGH) -> str:
    """Return the verdict on a claim of several parts: open on fewer than five data sets.

    Examples
    --------
    >>> judged(4, 4, 10), judged(1, 4, 10), judged(0, 4, 10), judged(4, 4, 2)
    ('confirmed', 'partly', 'refuted', 'open')
    """
    if n_datasets < ENOUGH:
        return "open"
    return "confirmed" if held == parts else "partly" if held else "refuted"


@dataclass(frozen=True)
class Figure:
    """A picture, drawn when it is first needed."""

    name: str
    draw: Callable[[], Any]
    caption: str
    alt: str

    @cached_property
    def drawn(self) -> Any:
        """The matplotlib axes."""
        return self.draw()


@dataclass(frozen=True)
class Exhibit:
    """What an experiment shows: sentences, tables by name, figures, findings."""

    notes: Sequence[str] = ()
    tables: Sequence[tuple[str, Table]] = ()
    figures: Sequence[Figure] = ()
    findings: Sequence[Finding] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    name, title, question : str
        What it is called, and what it asks.
    plan : callable
        From :class:`Options` to the batches of units.
    show : callable
        From a store to the :class:`Exhibit`.
    """

    name: str
    title: str
    question: str
    plan: Callable[[Options], list[Batch]]
    show: Callable[[Store], Exhibit]
    uses: Sequence[str] = field(default=())


def plan_folds(
    task: str, dataset: str, method: str, settings: Sequence[Setting], options: Options
) -> list[Batch]:
    """Return a batch for each fold of a data set."""
    mark = data(dataset).fingerprint
    return [
        Batch(task, dataset, method, fold, mark, tuple(settings), options.seed)
        for fold in options.folds
        if settings
    ]
