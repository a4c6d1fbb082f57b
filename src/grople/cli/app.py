"""The ``grople`` command: what it offers, and how it fails."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, NoReturn, TextIO

import typer

import grople
from grople.cli import compare, data, evaluate, export, fit, inspect, predict, study
from grople.cli.console import make_console
from grople.cli.demo import demo
from grople.errors import MissingExtraError

__all__ = ["app", "run"]

app = typer.Typer(
    name="grople",
    help="Multi-label learning by group-preserving label embedding.",
    epilog="\b\nExamples:\n  grople demo\n  grople fit packages.jsonl -o tags.grople\n"
    '  echo "a fast http server" | grople predict tags.grople -\n'
    "  grople compare debtags-mini",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# One line a command; each lives in a file of its own.
app.command(epilog="Example: grople demo")(demo)
app.command(epilog=fit.EXAMPLES)(fit.fit)
app.command(epilog=predict.EXAMPLES)(predict.predict)
app.command(epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=inspect.EXAMPLES)(inspect.inspect)
app.command(epilog=export.EXAMPLES)(export.export)
app.add_typer(data.app, name="data")
app.add_typer(study.app, name="study")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"grople {grople.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; every error a person can cause ends in a sentence, not a traceback.

    Exit status 1: the data or a file is wrong; 2: the command is, or an extra is missing;
    130: interrupted. With ``GROPLE_DEBUG`` set the traceback is shown after all.
    """
    for stream in (sys.stdout, sys.stderr):
        # A name the terminal cannot show is no reason to stop.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                app()
        finally:
            sys.stdout.flush()  # a full disk shows here, not when the interpreter ends
    except MissingExtraError as error:
        _fail(str(error), 2)
    except OSError as error:
        _abandon_output()
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}", 1)
    except ValueError as error:  # DataError, ModelFileError and refused parameters
        _fail(str(error), 1)
    except MemoryError:
        _fail("not enough memory for these data", 1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show what a warning says, not where in the library it was raised."""
    make_console(stderr=True).print(f"Warning: {message}", style="yellow", soft_wrap=True)


def _abandon_output() -> None:
    """Drop what the standard output could not take, or the interpreter would try it again."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


def _fail(message: str, status: int) -> NoReturn:
    if os.environ.get("GROPLE_DEBUG"):
        raise
    make_console(stderr=True).print(f"grople: {message}", style="red", soft_wrap=True)
    raise SystemExit(status) from None
