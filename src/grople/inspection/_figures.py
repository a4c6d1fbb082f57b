"""Matplotlib figures as SVG text that reads well on a light and on a dark page."""

from __future__ import annotations

import io
import re
from typing import Any

from grople.errors import require

__all__ = ["figure_svg"]

#: Dots an inch of images inside a figure: sharp on a dense screen, small in the file.
IMAGE_DPI = 144

_HEAD = re.compile(r"\A.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE = re.compile(r"\s*<defs>\s*<style[^>]*>.*?</style>\s*</defs>", re.DOTALL)
_SIZE = re.compile(r'\s(?:width|height)="[^"]*"')
_IDS = re.compile(r'(\bid="|url\(#|href="#)')
_WIDTH = re.compile(r'width="([0-9.]+)pt"')


def figure_svg(figure: Any, id: str = "figure", *, standalone: bool = False) -> str:
    """Return a figure as SVG text: the same figure gives the same text, character for character.

    Text stays text (searchable, in the reader's font). For a page, black becomes the colour of the
    page's text and white its background, and ids begin with ``id`` so that figures share a page.

    Parameters
    ----------
    figure : matplotlib figure or axes
        What to draw.
    id : str
        Prefix of the ids in the figure.
    standalone : bool
        Whether the text is for a file of its own: a complete document with its own colours.

    Returns
    -------
    str

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> _ = ax.plot([0, 1], [1, 0])
    >>> figure_svg(ax) == figure_svg(ax.figure)
    True
    >>> figure_svg(ax)[:4]
    '<svg'
    """
    matplotlib = require("matplotlib", "report", "Drawing")
    figure = getattr(figure, "figure", figure)  # axes know their figure, a figure itself
    settings = {"svg.hashsalt": id, "svg.fonttype": "none"}
    out = io.StringIO()
    with matplotlib.rc_context(settings):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(
            out, format="svg", metadata=nothing, transparent=not standalone, dpi=IMAGE_DPI
        )
    svg = _METADATA.sub("", out.getvalue())
    return svg if standalone else _for_page(svg, id)


def _for_page(svg: str, id: str) -> str:
    width = _WIDTH.search(svg)
    points = float(width.group(1)) if width else 400.0
    svg = _HEAD.sub("", svg)
    # Its one rule would apply to the whole page; the page's own style has it.
    svg = _STYLE.sub("", svg)
    head, close, rest = svg.partition(">")
    # The page's style sets the size: as drawn, smaller where there is less room.
    head = _SIZE.sub("", head).replace("<svg", f'<svg style="--width:{points * 4 / 3:.0f}px"', 1)
    rest = _IDS.sub(lambda found: f"{found.group(1)}{id}-", rest)
    rest = rest.replace("stroke: #000000", "stroke: currentColor")
    rest = rest.replace("fill: #000000", "fill: currentColor")
    rest = rest.replace("fill: #ffffff", "fill: var(--paper)")
    rest = rest.replace("stroke: #ffffff", "stroke: var(--paper)")
    return f"{head}{close}{rest}".rstrip()
