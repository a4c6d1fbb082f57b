"""Templates filled in: everything is escaped, and a little markup in sentences is understood."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

from grople.errors import require
from grople.inspection._terms import explain

__all__ = ["plain_text", "read_resource", "render"]

FOLDER = resources.files("grople.inspection") / "templates"

_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_LINK = re.compile(r"\[([^\]]+)\]\((#[A-Za-z][A-Za-z0-9_-]*|https?://[^\s)\"]+)\)")
_TERM = re.compile(r"\[([^\]]+)\]\(\?\)")
#: Where a long name may be broken: after `::`, `/`, `_` and before capitals within a word.
_JOINTS = re.compile(r"(::|[/_.:](?=\w))")
#: What HTML forbids: control characters, and surrogates that stand alone.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def render(template: str, **values: Any) -> str:
    """Return a template filled in; every value that is not markup already is escaped."""
    return _FORBIDDEN.sub("�", _environment().get_template(template).render(**values))


def read_resource(name: str) -> str:
    """Return the text of a file among the templates."""
    return (FOLDER / name).read_text(encoding="utf-8")


def plain_text(text: str) -> str:
    """Return a line without its markup, for places that have none.

    Examples
    --------
    >>> plain_text("**Six** folds, [AUC](?) by `fit`")
    'Six folds, AUC by fit'
    """
    return _CODE.sub(r"\1", _BOLD.sub(r"\1", _LINK.sub(r"\1", _TERM.sub(r"\1", text))))


@functools.cache
def _environment() -> Any:
    jinja2 = require("jinja2", "report", "Writing a page")
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_resource),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    markup = require("markupsafe", "report", "Writing a page").Markup
    found.filters |= {
        "inline": lambda text: markup(_inline(text)),
        "paragraphs": lambda text: markup(_paragraphs(text)),
        "plain": plain_text,
        "breakable": lambda name: markup(_JOINTS.sub(r"\1<wbr>", _escape(name))),
    }
    found.globals["explain"] = explain
    return found


def _escape(text: Any) -> str:
    return str(require("markupsafe", "report", "Writing a page").escape(text))


def _inline(text: str) -> str:
    """Return a line as HTML: ``**bold**``, `` `code` ``, links, and ``[term](?)`` explained."""
    pieces = _CODE.split(text)
    for i, piece in enumerate(pieces):
        safe = _escape(piece)
        if i % 2:  # nothing in code is markup
            pieces[i] = f"<code>{safe}</code>"
        else:
            safe = _TERM.sub(_explained, _LINK.sub(r'<a href="\2">\1</a>', safe))
            pieces[i] = _BOLD.sub(r"<strong>\1</strong>", safe)
    return "".join(pieces)


def _explained(found: re.Match[str]) -> str:
    name, meaning = explain(found.group(1)) or (None, None)
    if name is None:
        return found.group(0)
    attributes = f'tabindex="0" title="{_escape(meaning)}" data-term="{_escape(name)}"'
    return f"<abbr {attributes}>{found.group(1)}</abbr>"


def _paragraphs(text: str) -> str:
    """Return plain text as paragraphs (parted by empty lines) and lists (lines with ``- ``)."""
    parts = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in part.splitlines()]
        if lines and all(line.startswith("- ") for line in lines):
            items = "".join(f"<li>{_inline(line[2:])}</li>" for line in lines)
            parts.append(f"<ul>{items}</ul>")
        elif part:
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(parts)
