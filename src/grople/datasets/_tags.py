"""Tags: cells of tags become label columns, and what separates the tags of a cell is found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from grople.datasets._labels import LabelIndex
from grople.errors import DataError

__all__ = ["TagCells", "TagColumn", "find_separator", "is_whole"]

#: What may stand between tags, the most likely first.
SEPARATORS = ("|", ";", "\t", ",")
#: Without a sign of anything else, a later file may have this.
USUAL_SEPARATOR = ";"
#: Words of a name repeat too: a space separates only if tags repeat so much more often by it, or
#: half as much where whole cells hardly ever repeat.
SPACE_GAIN = 3.0
SPACE_GAIN_OF_UNIQUE = 1.5
#: Cells whose tags are remembered, because they come again.
REMEMBERED_CELLS = 1 << 16
#: Rows to show, so that a person sees what was understood.
SHOWN_ROWS = 3


@dataclass(frozen=True)
class TagColumn:
    """How the cells of a column of tags were understood.

    Parameters
    ----------
    separator : str
        What stands between tags; nothing if each cell is one tag.
    found : bool
        Whether it was found in the cells, or given.
    rows : tuple of (str, tuple of str)
        The first cells as written, each with its tags.
    labels_a_row : float
        Tags a row, on average.
    warning : str, optional
        What looks wrong: one tag a row although the cells hold what may be separators.
    notes : tuple of str
        What was changed: tags that were no text, or nothing but space.

    Examples
    --------
    >>> print(TagColumn("|", True, (("war|drama", ("war", "drama")),), 2.0))
    tags are separated by '|'
    """

    separator: str
    found: bool
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    labels_a_row: float
    warning: str | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.separator:
            return "each cell is one tag"
        return f"tags are separated by {self.separator!r}"


def find_separator(cells: Iterable[Any]) -> str:
    """Return what separates tags: of some marks the one by which tags repeat most.

    Parameters
    ----------
    cells : iterable
        Cells of tags; those that are not text say nothing.

    Returns
    -------
    str
        ``|``, ``;``, a tab, a comma or a space; ``""`` if whole cells repeat more; ``;`` if no
        cell holds any of them.

    Examples
    --------
    >>> find_separator(["war|drama", "drama, French", "drama|war"]), find_separator(["Rome, Italy"])
    ('|', ',')
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    whole = _repeats(texts, "")
    gains = {mark: _repeats(texts, mark) / whole for mark in SEPARATORS if _occurs(mark, texts)}
    best = max(gains, key=lambda mark: gains[mark], default="")
    if best and gains[best] >= 1:
        return best
    if _occurs(" ", texts):
        needed = SPACE_GAIN if whole >= 2 else SPACE_GAIN_OF_UNIQUE
        if _repeats(texts, " ") / whole >= needed:
            return " "
    return "" if best else USUAL_SEPARATOR


def _occurs(mark: str, texts: Sequence[str]) -> bool:
    return any(mark in text for text in texts)


def _repeats(texts: Sequence[str], mark: str) -> float:
    """Return how often a tag occurs, on average."""
    tags = [tag for text in texts for tag in _split(text, mark)]
    return len(tags) / max(len(set(tags)), 1) or 1.0


def _split(text: str, mark: str) -> list[str]:
    """Return the different tags of a cell, without space around them."""
    parts = text.split(mark) if mark else [text]
    return list(dict.fromkeys(tag for part in parts if (tag := part.strip())))


class TagCells:
    """Cells of tags, one a row: texts to be split, lists, or nothing."""

    def __init__(self, separator: str | None, file: str) -> None:
        self.index = LabelIndex()
        self.separator = separator
        #: What later files are read with: nothing if these cells show no sign of any.
        self.decided = separator
        self._found = separator is None
        self._file = file
        self._first: list[tuple[str, tuple[str, ...]]] = []
        self._rows = self._tags = self._dropped = self._converted = 0
        self._marks: set[str] = set()
        self._split: dict[str, list[str]] = {}

    def settle(self, cells: Sequence[Any]) -> None:
        """Find the separator in some cells, unless it was given."""
        if self.separator is None:
            self.separator = find_separator(cells)
            texts = [cell for cell in cells if isinstance(cell, str)]
            if self.separator != USUAL_SEPARATOR or _occurs(USUAL_SEPARATOR, texts):
                self.decided = self.separator

    def matrix(self, cells: Sequence[Any], lines: Sequence[int | None] | None = None) -> Any:
        """Return the tags of some rows as a CSR array, in columns as they came."""
        self.settle(cells)
        rows = [self._tags_of(cell, row, lines) for row, cell in enumerate(cells)]
        for cell, tags in zip(cells, rows[: SHOWN_ROWS - len(self._first)], strict=False):
            several = isinstance(cell, list | tuple)
            shown = ", ".join(map(str, cell)) if several else "" if cell is None else str(cell)
            self._first.append((shown, tuple(tags)))
        self._rows += len(rows)
        self._tags += sum(map(len, rows))
        return self.index.matrix(rows)

    @property
    def column(self) -> TagColumn:
        """How the cells so far were understood."""
        warning = None
        if self._marks and self._tags <= self._rows:
            marks = ", ".join(map(repr, sorted(self._marks)))
            first = min(self._marks, key=SEPARATORS.index)
            warning = (
                f"no row has more than one tag, but some cells hold {marks}: pass "
                f"separator={first!r} if it separates tags"
            )
        counts = {"tags were empty and left out": self._dropped,
                  "tags were numbers or truth values, taken as texts": self._converted}  # fmt: skip
        return TagColumn(
            self.separator or "", self._found, tuple(self._first),
            self._tags / max(self._rows, 1), warning,
            tuple(f"{number:,} {what}" for what, number in counts.items() if number),
        )  # fmt: skip

    def _tags_of(self, cell: Any, row: int, lines: Sequence[int | None] | None) -> list[str]:
        if cell is None or cell != cell:  # NaN is nothing
            return []
        if isinstance(cell, str):
            if cell in self._split:
                return self._split[cell]
            if not is_whole(cell):
                self._fail("tags hold half a character", row, lines)
            tags = _split(cell, str(self.separator))
            if len(tags) == 1:
                self._marks.update(mark for mark in SEPARATORS if mark in tags[0])
            if len(self._split) < REMEMBERED_CELLS:
                self._split[cell] = tags
            return tags
        items = cell if isinstance(cell, list | tuple) else [cell]
        return list(dict.fromkeys(self._cleaned(items, row, lines)))

    def _cleaned(
        self, items: Iterable[Any], row: int, lines: Sequence[int | None] | None
    ) -> list[str]:
        tags = []
        for item in items:
            if isinstance(item, bool | int | float) and item == item:
                self._converted += 1
                item = str(item).lower() if isinstance(item, bool) else str(item).removesuffix(".0")
            elif item is not None and item == item and not isinstance(item, str):
                self._fail("tags must be text or a list of texts", row, lines)
            tag = item.strip() if isinstance(item, str) else ""
            if not tag:
                self._dropped += 1
                continue
            if not is_whole(tag):
                self._fail("a tag holds half a character", row, lines)
            tags.append(tag)
        return tags

    def _fail(self, reason: str, row: int, lines: Sequence[int | None] | None) -> NoReturn:
        if lines is not None and lines[row] is not None:
            raise DataError(reason, file=self._file, line=lines[row])
        raise DataError(f"row {self._rows + row + 1}: {reason}", file=self._file)


def is_whole(text: str) -> bool:
    """Whether a text has no half of a character, which JSON can spell but no file can hold."""
    if text.isascii() or text.isprintable():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
