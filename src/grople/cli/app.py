"""The ``grople`` command: what it offers, and how it fails."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command

import grople
from grople.cli.console import make_console
from grople.errors import DataError, MissingExtraError

__all__ = ["COMMANDS", "app", "run"]

#: The commands: the module of each, which is imported when the command runs, and what it does.
COMMANDS = {
    "demo": ("grople.cli.demo", "Show what grople does, on a bundled sample of Debian's packages."),
    "fit": ("grople.cli.fit", "Learn a tagger from a file of things and tags, and store it."),
    "predict": (
        "grople.cli.predict",
        "Tag the records of a file, or of the standard input, in blocks.",
    ),
    "evaluate": (
        "grople.cli.evaluate",
        "Measure a model on rows with known labels that it was not fitted on.",
    ),
    "compare": (
        "grople.cli.compare",
        "Cross-validate methods on the same folds with the same decision rule.",
    ),
    "inspect": (
        "grople.cli.inspect",
        "Show what a model learnt: groups, labels, the features behind them, and how good it is.",
    ),
    "export": ("grople.cli.export", "Write a model in a form to hand on."),
    "data": ("grople.cli.data", "Find, describe, download and convert data sets."),
    "study": ("grople.cli.study", "Run the paper's experiments and report on them."),
    "doctor": (
        "grople.cli.doctor",
        "Show versions, threads, extras and data, and test itself in two seconds.",
    ),
}
#: How the command line spells the options that errors name.
OPTIONS = {"labels": "label-columns"}


class Commands(TyperGroup):
    """Commands by name; the help names them all and imports none."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return a command, imported now."""
        if name not in COMMANDS:
            return None
        module = import_module(COMMANDS[name][0])
        if hasattr(module, "app"):
            return get_command(module.app)
        single = typer.Typer(rich_markup_mode=None, add_completion=False)
        examples = getattr(module, "EXAMPLES", f"Example: grople {name}")
        single.command(name, epilog=examples)(getattr(module, name))
        return get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names of the commands and what they do."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


app = typer.Typer(
    name="grople",
    cls=Commands,
    help="Multi-label learning by group-preserving label embedding.",
    epilog="\b\nExamples:\n  grople demo\n  grople fit packages.jsonl -o tags.grople\n"
    '  echo "a fast http server" | grople predict tags.grople -\n'
    "  grople compare debtags-mini",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    except DataError as error:
        _fail(error.spelt(_as_option), 1)
    except ValueError as error:  # ModelFileError and refused parameters
        _fail(str(error), 1)
    except MemoryError:
        _fail("not enough memory for these data", 1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _as_option(name: str, value: Any) -> str:
    values = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
    return f"--{OPTIONS.get(name, name)}" + ("" if value is None else f" {values}")


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
