"""Pages: sections of texts, tables and pictures in one file that works offline.

A page carries its own style and scripts and forbids any other (a content security policy), so it
loads nothing and runs nothing that was not put there.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, ClassVar

from grople.inspection._figures import figure_svg
from grople.inspection._table import Table, format_value
from grople.inspection._templates import read_resource, render
from grople.inspection._terms import TERMS

__all__ = ["Columns", "Details", "Facts", "Fragment", "Part", "Picture", "Section", "render_page"]

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PICTURE_ID = re.compile(r'<figure id="([^"]+)"')
_USED_TERM = re.compile(r'data-term="([^"]+)"')


@dataclass(frozen=True)
class Facts:
    """Key figures: name, value and a remark (which may be empty)."""

    facts: Sequence[tuple[str, Any, str]]

    template: ClassVar[str] = "facts.html"

    @property
    def shown(self) -> list[tuple[str, str, str]]:
        """The figures as texts."""
        return [(name, format_value(value), remark) for name, value, remark in self.facts]


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Parameters
    ----------
    drawn : matplotlib figure or axes
        What to show.
    id : str
        Its address on the page.
    title : str
        What it shows, above it.
    caption : str
        How to read it, below it.
    alt : str
        What is to be seen, in words, for those who cannot see it.
    """

    drawn: Any
    id: str
    title: str
    caption: str
    alt: str

    template: ClassVar[str] = "picture.html"

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        return figure_svg(self.drawn, self.id)


@dataclass(frozen=True)
class Details:
    """Parts that unfold."""

    summary: str
    parts: Sequence[Part]

    template: ClassVar[str] = "details.html"


@dataclass(frozen=True)
class Columns:
    """Parts that stand side by side where there is room."""

    parts: Sequence[Part]

    template: ClassVar[str] = "columns.html"


@dataclass(frozen=True)
class Fragment:
    """A template of its own, and the values that it shows."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)


#: What a section holds; a text may have paragraphs, lists (lines that begin with ``- ``),
#: ``**bold**``, `` `code` ``, ``[links](#id)`` and explained terms (``[average precision](?)``).
Part = str | Table | Facts | Picture | Details | Columns | Fragment


@dataclass(frozen=True)
class Section:
    """A section of a page: its address, its heading, what it holds."""

    id: str
    title: str
    parts: Sequence[Part] = ()
    intro: str = ""


def render_page(
    title: str,
    sections: Sequence[Section],
    *,
    subtitle: str = "",
    footer: str = "",
    assets: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    title, subtitle, footer : str
        At its head and its foot.
    sections : sequence of Section
        What it shows. The terms that they explain are listed at the end.
    assets : sequence of str
        Names of styles and scripts among the templates that its fragments need.
    data : mapping, optional
        Plain values that the scripts read, by the id of their element.

    Examples
    --------
    >>> table = Table(["method", "example-F1"], [["<ours>", 0.5]])
    >>> page = render_page("A study", [Section("quality", "Quality", ["See **here**.", table])])
    >>> "&lt;ours&gt;" in page, "<strong>here</strong>" in page
    (True, True)
    """
    body = render("sections.html", sections=sections)
    used = set(map(unescape, _USED_TERM.findall(body)))
    if used:
        terms = Section("terms", "Terms", [Fragment("terms.html", {"terms": _terms(used)})])
        sections = [*sections, terms]
        body += render("sections.html", sections=[terms])
    data = data or {}
    _check_ids([*(section.id for section in sections), *_PICTURE_ID.findall(body), *data])
    names = ("page", *assets)
    scripts = [read_resource(f"{name}.js") for name in names]
    return render(
        "page.html",
        title=title, subtitle=subtitle, footer=footer, sections=sections, body=body, data=data,
        styles=[read_resource(f"{name}.css") for name in names],
        scripts=scripts, hashes=[_sha256(script) for script in scripts],
    )  # fmt: skip


def _terms(used: set[str]) -> dict[str, str]:
    return {name: meaning for name, meaning in TERMS.items() if name in used}


def _check_ids(ids: Sequence[str]) -> None:
    """Ids must be such that HTML, CSS and addresses all accept them, and no two alike."""
    for id, count in Counter(["content", *ids]).items():
        if count > 1:
            raise ValueError(f"the id {id!r} is used twice on this page")
        if not _ID.fullmatch(id):
            raise ValueError(
                f"{id!r} cannot be an id: use letters, digits, - and _, with a letter in front"
            )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
