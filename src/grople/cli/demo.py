"""``grople demo``: the embedded data set from start to finish."""

from __future__ import annotations

from typing import Annotated

import typer

from grople.cli.card import show_card
from grople.cli.console import make_console, print_json
from grople.datasets import describe, load

__all__ = ["demo"]


def demo(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Go through the embedded data set, tags of Debian packages, from start to finish."""
    bundle = load("debtags-mini")
    card = describe(bundle)
    if json:
        print_json({"data": card.to_dict()})
        return
    show_card(card, make_console())
