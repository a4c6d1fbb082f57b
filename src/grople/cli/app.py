"""The ``grople`` command: what it offers, and how it fails."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

import grople
from grople.cli import data
from grople.cli.console import make_console
from grople.cli.demo import demo
from grople.errors import MissingExtraError

__all__ = ["app", "run"]

app = typer.Typer(
    name="grople",
    help="Multi-label learning by group-preserving label embedding.",
    epilog="\b\nExamples:\n  grople demo\n  grople data list\n  grople data info debtags-mini",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(epilog="Example: grople demo")(demo)
app.add_typer(data.app, name="data")


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
        app()
    except MissingExtraError as error:
        _fail(str(error), 2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}", 1)
    except ValueError as error:  # DataError, ModelFileError and refused parameters
        _fail(str(error), 1)
    except MemoryError:
        _fail("not enough memory for these data", 1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _fail(message: str, status: int) -> NoReturn:
    if os.environ.get("GROPLE_DEBUG"):
        raise
    make_console(stderr=True).print(f"grople: {message}", style="red", soft_wrap=True)
    raise SystemExit(status) from None
