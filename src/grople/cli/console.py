"""Where commands print: colours on a terminal only, nothing in the text taken for markup."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

if TYPE_CHECKING:
    from grople.datasets import Progress as Callback

__all__ = [
    "download_progress", "emit", "json_text", "make_console", "print_json",
    "progress", "quiet_warnings", "size_of",
]  # fmt: skip

#: Width where there is no terminal to ask: wide enough that no table loses a column.
PIPE_WIDTH = 110


def make_console(*, stderr: bool = False) -> Console:
    """Return a console for the standard output or the standard error."""
    # Label names such as devel::lang:c or [x] must appear as they are.
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    return console


def json_text(value: Any) -> str:
    """Return a value as JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json_text(value))


def emit(
    result: Any, show: Callable[[Console], None], *, json: bool = False, quiet: bool = False
) -> None:
    """Print a result: as JSON, or as `show` shows it, or not at all."""
    if json:
        print(json_text(result))
    elif not quiet:
        show(make_console())


def size_of(path: Path) -> str:
    """Return the size of a file for a reader."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


@contextmanager
def quiet_warnings(quiet: bool) -> Iterator[None]:
    """Keep warnings from the person who asked for quiet."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        yield


@contextmanager
def download_progress() -> Iterator[Callback]:
    """Show a bar for each file on the standard error while it is downloaded."""
    console = make_console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:
        tasks: dict[str, Any] = {}

        def show(name: str, received: int, expected: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=expected)
            bars.update(tasks[name], completed=received, total=expected)

        yield show


@contextmanager
def progress(silent: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show the step, how much is done and the time on the standard error, if it is a terminal."""
    console = make_console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=silent or not console.is_terminal,
    ) as bars:
        task = bars.add_task("starting", total=None)

        def report(step: str, done: int, total: int) -> None:
            # Of what nobody knows the size of, say how much there was.
            shown = f"{step}: {done:,}" if done and not total else step
            bars.update(task, description=shown, completed=done, total=total or None)

        yield report
