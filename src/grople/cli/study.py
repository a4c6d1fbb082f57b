"""``grople study``: the paper's experiments, and the report on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from grople.cli.console import make_console, progress

__all__ = ["app"]

app = typer.Typer(help="Run the paper's experiments and report on them.", no_args_is_help=True)

#: Seconds between two plain lines where there is no terminal.
LINE_EVERY = 10.0

StoreFolder = Annotated[Path, typer.Option("--store", help="Folder of the results.", metavar="DIR")]


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
    store: StoreFolder,
    data: Annotated[
        str, typer.Option(help="Data sets (names or files), with commas between them.")
    ] = "",
    methods: Annotated[
        str,
        typer.Option(
            help="Methods of the comparison: names, paper (its eight, the default); in the nested "
            "protocol also others (Ridge, LinearSVC, Logistic, ExtraTrees)."
        ),
    ] = "",
    protocols: Annotated[
        str, typer.Option(help="Protocols of the comparison.")
    ] = "published,nested",
    quick: Annotated[
        bool, typer.Option("--quick", help="A faithful small version: minutes, not hours.")
    ] = False,
    budget: Annotated[
        float,
        typer.Option(
            help="Seconds a fold that BSVM and MLSF may take; beyond it dimension takes one fold.",
            min=0.0,
        ),
    ] = 600.0,
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
    jobs: Annotated[int, typer.Option(help="Jobs at a time.", min=1)] = 1,
    scheduler: Annotated[
        str, typer.Option(help="Address of a Dask scheduler, to compute on a cluster.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
) -> None:
    """Compute what the store lacks of these experiments. Interrupt and run again as you like."""
    from grople.study import (
        Scope,
        Store,
        find_experiments,
        make_plan,
        present_datasets,
        run_plan,
    )

    console, notes = make_console(), make_console(stderr=True)
    wanted = find_experiments(experiments)
    datasets, missing = present_datasets(_split(data), quick=quick)
    if missing:
        notes.print(
            f"not on this machine, and left out: {', '.join(missing)}. Set GROPLE_DATA to the "
            "folder that holds them, or fetch them with `grople data fetch NAME`.",
            style="yellow",
        )
    scope = Scope(
        tuple(datasets), tuple(_split(methods)), tuple(_split(protocols)), quick, grid, folds,
        budget, seed,
    )  # fmt: skip
    results = Store(store)
    with notes.status("planning"):
        plan = make_plan(wanted, scope)
    results.note_plan([experiment.name for experiment in wanted], asdict(scope))
    console.print(f"{len(plan)} runs on {', '.join(datasets)}; results in {store}")
    try:
        with _shown() as report:
            outcome = run_plan(plan, results, jobs=jobs, scheduler=scheduler, report=report)
    except KeyboardInterrupt:
        notes.print("interrupted: finished runs are stored, the same command goes on with them")
        raise typer.Exit(130) from None
    console.print(f"{outcome.computed} runs computed, {outcome.already} were there")
    for failure in outcome.failures:
        notes.print(f"failed: {failure}", style="red", soft_wrap=True)
    if outcome.failures:
        notes.print("The other runs are stored; running again tries these once more.")
        raise typer.Exit(1)


@app.command(epilog="Example: grople study report --store study -o report.html")
def report(
    store: StoreFolder,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The page to write; FILE.md: as Markdown.", metavar="FILE"
        ),
    ] = Path("report.html"),
    files: Annotated[
        bool, typer.Option(help="Also write tables (CSV) and figures (SVG, PNG) next to it.")
    ] = True,
) -> None:
    """Write the report on a store: one page that works offline."""
    from grople.study import Store, write_report

    folder = write_report(Store(store, create=False), output, files=files)
    more = f", tables and figures in {folder}" if files and output.suffix != ".md" else ""
    make_console().print(f"wrote {output}{more}")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@contextmanager
def _shown() -> Iterator[Callable[[str, int, int], None]]:
    """Show progress with the time that is left: a bar on a terminal, lines elsewhere."""
    from grople.study import duration

    notes = make_console(stderr=True)
    begun = last = time.monotonic()
    first: int | None = None
    with progress() as bar:

        def show(what: str, done: int, total: int) -> None:
            nonlocal first, last
            now = time.monotonic()
            first = done if first is None else first
            left = ""
            if first < done < total:
                left = f", {duration((now - begun) / (done - first) * (total - done))} left"
            bar(f"{what} ({done} of {total} runs{left})", done, total)
            if not notes.is_terminal and (now - last >= LINE_EVERY or done == total):
                last = now
                notes.print(f"{done} of {total} runs{left}{', ' + what if what else ''}")

        yield show
