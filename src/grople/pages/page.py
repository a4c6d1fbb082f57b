"""A page: sections in order, their contents, and the one file they make."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Self

from grople.pages.figures import figure_svg
from grople.pages.files import write_text
from grople.pages.markup import check_id, escape, inline, json_island, paragraphs
from grople.pages.table import Table, format_value

__all__ = ["Block", "Page", "Section"]


class Block:
    """Contents in order; every method adds one and returns the block."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._parts: list[str | Block] = []

    def text(self, text: str) -> Self:
        """Add paragraphs (parted by empty lines) and lists (lines that begin with ``- ``).

        ``**bold**``, `` `code` `` and ``[links](#id)`` are understood; the rest is shown as it is.
        """
        return self.html(paragraphs(text))

    def heading(self, text: str) -> Self:
        """Add a heading below that of the section."""
        return self.html(f"<h3>{inline(text)}</h3>")

    def facts(self, facts: Sequence[tuple[str, Any, str]]) -> Self:
        """Add key figures: name, value and a remark (which may be empty)."""
        items = "".join(
            f"<div><dt>{inline(name)}</dt><dd><b>{escape(format_value(value))}</b>"
            + (f"<small>{inline(remark)}</small>" if remark else "")
            + "</dd></div>"
            for name, value, remark in facts
        )
        return self.html(f'<dl class="facts">{items}</dl>')

    def table(self, table: Table) -> Self:
        """Add a table."""
        return self.html(table.html())

    def figure(self, figure: Any, id: str, caption: str, alt: str) -> Self:
        """Add a figure.

        Parameters
        ----------
        figure : matplotlib figure or axes
            What to draw.
        id : str
            Its address on the page.
        caption : str
            Below the figure.
        alt : str
            What the figure shows, in words, for those who cannot see it.
        """
        self._page._claim(id)
        return self.html(
            f'<figure id="{id}"><div class="scroll" role="img" aria-label="{escape(alt)}">'
            f"{figure_svg(figure, id)}</div>"
            f"<figcaption>{inline(caption)}</figcaption></figure>"
        )

    def html(self, fragment: str) -> Self:
        """Add HTML as it is: the caller vouches for it (and scripts in it do not run)."""
        self._parts.append(fragment)
        return self

    def details(self, summary: str, text: str = "", *, open: bool = False) -> Block:
        """Add contents that unfold, and return the block to put them in."""
        block = _Details(self._page, summary, open)
        self._parts.append(block)
        return block.text(text) if text else block

    def columns(self) -> Block:
        """Add a block whose contents stand side by side where there is room, and return it."""
        block = _Columns(self._page)
        self._parts.append(block)
        return block

    def render(self) -> str:
        """Return the contents as HTML."""
        return "\n".join(p.render() if isinstance(p, Block) else p for p in self._parts)


class _Details(Block):
    def __init__(self, page: Page, summary: str, open: bool) -> None:
        super().__init__(page)
        self._summary, self._open = summary, open

    def render(self) -> str:
        state = " open" if self._open else ""
        summary = f"<summary>{inline(self._summary)}</summary>"
        return f"<details{state}>{summary}\n{super().render()}\n</details>"


class _Columns(Block):
    def render(self) -> str:
        return f'<div class="columns">\n{super().render()}\n</div>'


class Section(Block):
    """A part of a page with a heading, listed in its navigation."""

    def __init__(self, page: Page, id: str, heading: str, intro: str = "") -> None:
        super().__init__(page)
        self.id, self.heading_text = id, heading
        if intro:
            self.html(f'<div class="intro">{paragraphs(intro)}</div>')

    def render(self) -> str:
        """Return the section as HTML."""
        return (
            f'<section id="{self.id}" aria-labelledby="{self.id}-heading">\n'
            f'<h2 id="{self.id}-heading">{inline(self.heading_text)}</h2>\n'
            f"{super().render()}\n</section>"
        )


class Page:
    """A self-contained HTML page: light and dark, for phones, screens and paper.

    Parameters
    ----------
    title : str
        The title.
    subtitle : str
        A sentence below it.
    footer : str
        A line at the end.

    Examples
    --------
    >>> page = Page("Results", "of a small study")
    >>> section = page.section("scores", "Scores", "Higher is better.")
    >>> _ = section.table(Table(["method", "F1"], [["ours", 0.5], ["<theirs>", 0.25]]))
    >>> "&lt;theirs&gt;" in page.render()
    True
    """

    def __init__(self, title: str, subtitle: str = "", footer: str = "") -> None:
        self.title, self.subtitle, self.footer = title, subtitle, footer
        self._sections: list[Section] = []
        self._data: list[str] = []
        self._scripts = [_resource("page.js")]
        self._styles = [_resource("page.css")]
        self._ids: set[str] = set()

    def section(self, id: str, heading: str, intro: str = "") -> Section:
        """Add a section and return it, to be filled."""
        self._claim(id)
        self._sections.append(Section(self, id, heading, intro))
        return self._sections[-1]

    def data(self, id: str, value: Any) -> Self:
        """Add plain values that a script of the page reads (as JSON, by their id)."""
        self._claim(id)
        self._data.append(json_island(id, value))
        return self

    def script(self, text: str) -> Self:
        """Add a script, run once the page is there. ``</script`` must not occur in it."""
        if "</script" in text.lower() or "<!--" in text:
            raise ValueError("a script on a page must not contain '</script' or '<!--'")
        self._scripts.append(text)
        return self

    def style(self, text: str) -> Self:
        """Add rules to the style of the page. ``</style`` must not occur in them."""
        if "</style" in text.lower():
            raise ValueError("a style on a page must not contain '</style'")
        self._styles.append(text)
        return self

    def render(self) -> str:
        """Return the page as HTML."""
        scripts = [f"\n{text.strip()}\n" for text in self._scripts]
        # The hashes let these scripts run and no other; nothing is ever loaded.
        hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in scripts)
        policy = (
            "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
            f"style-src 'unsafe-inline'; script-src {hashes}"
        )
        links = "".join(
            f'<li><a href="#{s.id}">{inline(s.heading_text)}</a></li>' for s in self._sections
        )
        subtitle = f'<p class="subtitle">{inline(self.subtitle)}</p>' if self.subtitle else ""
        footer = f"<footer><p>{inline(self.footer)}</p></footer>" if self.footer else ""
        navigation = f'<nav aria-label="Sections"><ul>{links}</ul></nav>' if links else ""
        parts = [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(self.title)}</title>",
            *(f"<style>\n{text.strip()}\n</style>" for text in self._styles),
            "</head>",
            "<body>",
            '<a class="skip" href="#content">Skip to the content</a>',
            f"<header><h1>{inline(self.title)}</h1>{subtitle}</header>",
            navigation,
            '<main id="content">',
            *(section.render() for section in self._sections),
            "</main>",
            footer,
            *self._data,
            *(f"<script>{text}</script>" for text in scripts),
            "</body>",
            "</html>",
            "",
        ]
        return "\n".join(part for part in parts if part) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the page to a file, whole or not at all."""
        write_text(path, self.render())

    def _claim(self, id: str) -> None:
        if check_id(id) in self._ids or id == "content":
            raise ValueError(f"the id {id!r} is already used on this page")
        self._ids.add(id)


def _resource(name: str) -> str:
    return resources.files("grople.pages").joinpath(name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
