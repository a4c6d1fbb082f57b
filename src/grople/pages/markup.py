"""Text to HTML, everything escaped."""

from __future__ import annotations

import html
import json
import re
from typing import Any

__all__ = ["check_id", "escape", "inline", "json_island", "paragraphs"]

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_LINK = re.compile(r"\[([^\]]+)\]\((#[A-Za-z][A-Za-z0-9_-]*|https?://[^\s)\"]+)\)")


def escape(text: Any) -> str:
    """Return text that HTML shows as it is, in content and in attributes.

    Control characters, which HTML forbids, are shown as the replacement character.

    Examples
    --------
    >>> escape('<a "b">')
    '&lt;a &quot;b&quot;&gt;'
    """
    shown = "".join(c if c.isprintable() or c in "\n\t" or ord(c) > 159 else "�" for c in str(text))
    # A lone surrogate cannot be written as UTF-8.
    return html.escape(shown.encode("utf-8", "replace").decode("utf-8"))


def inline(text: str) -> str:
    """Return one line of text as HTML: ``**bold**``, `` `code` `` and links, the rest as it is.

    Examples
    --------
    >>> inline("**<b>** and `x < y`, see [there](#there)")
    '<strong>&lt;b&gt;</strong> and <code>x &lt; y</code>, see <a href="#there">there</a>'
    """
    # Code first, and out of the way: nothing in it is markup.
    pieces = _CODE.split(text)
    for i, piece in enumerate(pieces):
        safe = escape(piece)
        if i % 2:
            pieces[i] = f"<code>{safe}</code>"
        else:
            safe = _LINK.sub(r'<a href="\2">\1</a>', safe)
            pieces[i] = _BOLD.sub(r"<strong>\1</strong>", safe)
    return "".join(pieces)


def paragraphs(text: str) -> str:
    r"""Return plain text as paragraphs (parted by empty lines) and lists (lines with ``- ``).

    Examples
    --------
    >>> paragraphs("One.\n\n- two\n- three")
    '<p>One.</p>\n<ul><li>two</li><li>three</li></ul>'
    """
    parts = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in part.splitlines()]
        if lines and all(line.startswith("- ") for line in lines):
            items = "".join(f"<li>{inline(line[2:])}</li>" for line in lines)
            parts.append(f"<ul>{items}</ul>")
        elif part:
            parts.append(f"<p>{inline(' '.join(lines))}</p>")
    return "\n".join(parts)


def json_island(id: str, value: Any) -> str:
    r"""Return a value as JSON that a script of the page can read and no parser mistakes for HTML.

    Examples
    --------
    >>> json_island("data", ["</script>"])
    '<script type="application/json" id="data">["\\u003c/script\\u003e"]</script>'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{check_id(id)}">{text}</script>'


def check_id(id: str) -> str:
    """Return an id that HTML, CSS and addresses all accept, or say what one looks like."""
    if not _ID.fullmatch(id):
        raise ValueError(
            f"{id!r} cannot be an id: use letters, digits, - and _, with a letter in front"
        )
    return id
