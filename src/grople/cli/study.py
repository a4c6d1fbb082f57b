"""``grople study``: the paper's experiments, and the report on them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars

from grople.cli.console import make_console

if TYPE_CHECKING:
    from grople.study.engine import Progress

__all__ = ["app"]

app = typer.Typer(help="Run the paper's experiments and report on them.", no_args_is_help=True)

#: Seconds between two plain lines where there is no terminal.
LINE_EVERY = 10.0
#: What a run takes where nothing else is said.
PROTOCOLS, BUDGET = "published,nested", 600.0

Store = Annotated[Path, typer.Option("--store", help="Folder of the results.", metavar="DIR")]


@app.command(
    epilog="\b\nExamples:\n  grople study run all --quick --store study\n"
    "  grople study run comparison --data medical --methods GroPLE,PLST --jobs 2 --store study"
)
def run(
    experiments: Annotated[
        list[str],
        typer.Argument(
            help="comparison, statistics, approximation, sensitivity, groups, dimension, "
            "ablation, heatmap, cost, or all.",
            metavar="EXPERIMENT…",
        ),
    ],
    store: Store,
    data: Annotated[
        str, typer.Option(help="Data sets (names or files), with commas between them.")
    ] = "",
    methods: Annotated[
        str,
        typer.Option(
            help="Methods of the comparison: names, paper (its eight, the default); in the nested "
            "protocol also rivals (Ridge, LinearSVC, Logistic, ExtraTrees) and nonlinear "
            "(GroPLE-nonlinear, LinearSVC-nonlinear: features that are not linear in the rows)."
        ),
    ] = "",
    protocols: Annotated[str, typer.Option(help="Protocols of the comparison.")] = PROTOCOLS,
    quick: Annotated[
        bool, typer.Option("--quick", help="A faithful small version: minutes, not hours.")
    ] = False,
    budget: Annotated[
        float,
        typer.Option(
            help="Seconds a fold that BSVM and MLSF may take; beyond it dimension takes one fold.",
            min=0.0,
        ),
    ] = BUDGET,
    grid: Annotated[
        str,
        typer.Option(
            help="How much of the grids to search: full, small (every third or fourth value) or "
            "paper (the paper's settings alone, where they are known)."
        ),
    ] = "full",
    folds: Annotated[
        int | None, typer.Option(help="Only the first so many of the five folds.", min=1, max=5)
    ] = None,
    jobs: Annotated[int, typer.Option(help="Batches of units at a time.", min=1)] = 1,
    backend: Annotated[
        str, typer.Option(help="Backend of joblib: loky (here), dask (a cluster), …")
    ] = "loky",
    scheduler: Annotated[
        str, typer.Option(help="Address of a dask scheduler, for --backend dask.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    choices: Annotated[
        Path | None,
        typer.Option(
            help="A file of units (grople study export): what they chose inside the training rows "
            "in the nested protocol is taken over instead of searched again. A third of the time.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Compute what the store lacks of these experiments. Interrupt and run again as you like."""
    from grople.study.engine import run as run_plan
    from grople.study.experiments import chosen
    from grople.study.report import missing_data
    from grople.study.running import make_plan, present, with_choices
    from grople.study.sharing import read_units
    from grople.study.store import Store as Results

    known = read_units(choices).units if choices else {}
    console, notes = make_console(), make_console(stderr=True)
    wanted = chosen(experiments)
    datasets, missing = present(_split(data), quick=quick)
    if missing:
        notes.print(missing_data(missing), style="yellow")
    with notes.status("planning"):
        plan = make_plan(
            wanted,
            datasets,
            methods=_split(methods),
            protocols=_split(protocols),
            quick=quick,
            budget=budget,
            seed=seed,
            grid=grid,
            folds=folds,
        )
    plan = with_choices(plan, known)
    if choices and not any(batch.choices for batch in plan):
        notes.print(f"{choices} holds no choices of these units: all is searched", style="yellow")
    units = sum(len(batch.settings) for batch in plan)
    # What decides the results, and nothing of where and how they were computed.
    settings = {
        "data": data, "methods": methods,
        "protocols": protocols if protocols != PROTOCOLS else "",
        "quick": quick, "budget": budget if budget != BUDGET else None,
        "grid": grid if grid != "full" else "", "folds": folds, "seed": seed or None,
        "choices": choices.name if choices else "",
    }  # fmt: skip
    with Results(store) as results:
        results.remember(_command(experiments, settings))
    console.print(f"{units} units on {', '.join(datasets)}; results in {store}")
    try:
        with _cluster(backend, scheduler), _shown() as report:
            outcome = run_plan(plan, store, jobs=jobs, backend=backend, report=report)
    except KeyboardInterrupt:
        notes.print("interrupted: finished units are stored, the same command goes on with them")
        raise typer.Exit(130) from None
    console.print(f"{outcome.computed} units computed, {outcome.already} were there")
    if outcome.failures:
        for what, reason in outcome.failures:
            notes.print(f"failed: {what}: {reason}", style="red", soft_wrap=True)
        notes.print("The other units are stored; running again tries these once more.")
        raise typer.Exit(1)


@app.command(epilog="Example: grople study report --store study -o report.html")
def report(
    store: Store,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The page to write; FILE.md: as Markdown.", metavar="FILE"
        ),
    ] = Path("report.html"),
    files: Annotated[
        bool, typer.Option(help="Also write tables (CSV, LaTeX) and figures (SVG, PNG) beside it.")
    ] = True,
) -> None:
    """Write the report on a store: one page that works offline."""
    from grople.study.report import write_report
    from grople.study.store import Store as Results

    console = make_console()
    with Results(store, create=False) as results:
        results.check()
        folder = write_report(results, output, files=files)
    beside = files and output.suffix != ".md"
    console.print(f"wrote {output}" + (f", tables and figures in {folder}" if beside else ""))


@app.command(
    epilog="Example: grople study forget --store study --task nested --method GroPLE",
)
def forget(
    store: Store,
    task: Annotated[
        str, typer.Option(help="published, nested, approximation, sparsity or cost.")
    ] = "",
    method: Annotated[str, typer.Option(help="Units of this method.")] = "",
    data: Annotated[str, typer.Option(help="Units of this data set.")] = "",
) -> None:
    """Remove units whose code has changed, so that the next run computes them again."""
    from grople.study.store import Store as Results
    from grople.study.tasks import TASKS

    if task and task not in TASKS:
        raise ValueError(f"no task is called {task!r}; there are {', '.join(TASKS)}")
    with Results(store, create=False) as results:
        results.check()
        count = results.forget(task or None, data or None, method or None)
    make_console().print(f"forgot {count} units")


@app.command(
    name="export",
    epilog="Example: grople study export --store study -o units.jsonl.gz",
)
def export_(
    store: Store,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file: .jsonl or .jsonl.gz.", metavar="FILE"),
    ],
    rows: Annotated[
        bool,
        typer.Option(
            help="Also what units hold of each test row, for comparisons row by row: most of the "
            "file."
        ),
    ] = True,
) -> None:
    """Write all units to one file, to keep them or to bring them together with others."""
    from grople.study.sharing import export_units
    from grople.study.store import Store as Results

    with Results(store, create=False) as results:
        results.check()
        count = export_units(results, output, rows=rows)
    make_console().print(f"wrote {count} units to {output}")


@app.command(name="import", epilog="Example: grople study import units.jsonl.gz --store study")
def import_(
    file: Annotated[Path, typer.Argument(help="A file of grople study export.", metavar="FILE")],
    store: Store,
) -> None:
    """Add the units of a file to a store; what is there stays, and is not computed again."""
    from grople.study.sharing import import_units, read_units
    from grople.study.store import Store as Results

    found = read_units(file)
    with Results(store) as results:
        count = import_units(results, found)
    make_console().print(f"{count} units were new; they are in {store} now")


def _command(experiments: Sequence[str], settings: Mapping[str, object]) -> str:
    """Return the command that computes the same, in a store of its reader's."""
    words = ["grople", "study", "run", *experiments]
    for name, value in settings.items():
        if value is True:
            words.append(f"--{name}")
        elif value not in ("", None, False):
            words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    return f"{shlex.join(words)} --store DIR"


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@contextmanager
def _cluster(backend: str, scheduler: str) -> Iterator[None]:
    if backend != "dask":
        yield
        return
    from grople.errors import require

    client = require("distributed", "dask", "The dask backend").Client
    with client(scheduler or None):
        yield


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """Show progress: a bar on a terminal, plain lines elsewhere."""
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield _Lines(lambda text: console.print(text))
        return
    with Bars(
        BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), console=console
    ) as bars:
        task = bars.add_task("", total=None)

        def show(progress: Progress) -> None:
            bars.update(
                task,
                completed=progress.done,
                total=progress.total,
                description=_tail(progress),
            )

        yield show


class _Lines:
    """A plain line now and then, and one at the end."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write, self._last, self._done = write, 0.0, -1

    def __call__(self, progress: Progress) -> None:
        finished = progress.done == progress.total
        now = time.monotonic()
        if progress.done == self._done or not (finished or now - self._last >= LINE_EVERY):
            return
        self._last, self._done = now, progress.done
        self._write(f"{progress.done}/{progress.total} units{_tail(progress, ', ')}")


def _tail(progress: Progress, before: str = "") -> str:
    parts = []
    if progress.seconds_left is not None and progress.done < progress.total:
        parts.append(f"{_duration(progress.seconds_left)} left")
    parts += [part for part in (progress.last, progress.best) if part]
    return before + ", ".join(parts) if parts else ""


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
