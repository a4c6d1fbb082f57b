"""The command line: one file a command, each a thin layer over one library function."""

from __future__ import annotations

import sys

from grople.errors import MissingExtraError, require


def main() -> None:
    """Run the ``grople`` command, or say in one sentence what is missing."""
    try:
        require("typer", "cli", "The command line")
        require("rich", "cli", "The command line")
    except MissingExtraError as missing:
        print(missing, file=sys.stderr)
        raise SystemExit(2) from None
    from grople.cli.app import run

    run()
