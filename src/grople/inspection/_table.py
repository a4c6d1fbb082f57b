"""One table, shown as HTML, on a terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from grople.errors import require
from grople.inspection._templates import plain_text, render

__all__ = ["Cell", "Table", "format_value"]

#: What stands for a value that is missing.
MISSING = "–"
#: Characters of a full bar on a terminal.
BAR_WIDTH = 24


def format_value(value: Any, digits: int = 3) -> str:
    """Return a value as people read it.

    Parameters
    ----------
    value : object
        Whole numbers get separators, others ``digits`` decimals (or a power of ten where those
        would show nothing); None and NaN are missing.
    digits : int
        Decimals.

    Examples
    --------
    >>> [format_value(v) for v in (12345, -0.5, 1e-6, None, "text", 2e9)]
    ['12,345', '−0.500', '1.0e−06', '–', 'text', '2.0e+09']
    """
    if _is_missing(value):
        return MISSING
    if not _is_number(value):
        return str(value)
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}".replace("-", "−")
    number = float(value)
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    size = abs(number)
    shown = f"{number:,.{digits}f}"
    if size >= 1e7 or (0 < size < 0.5 * 10.0**-digits):
        shown = f"{number:.1e}"
    return shown.replace("-", "−")


@dataclass(frozen=True)
class Cell:
    """A cell that is more than its value.

    Parameters
    ----------
    value : object
        What the table sorts by and the CSV file holds.
    text : str, optional
        What is shown instead (``"0.512 ± 0.004"``).
    emphasis : {"", "bold", "muted"}
        How it is set.
    shade : float, optional
        A difference in [−1, 1]: positive is tinted as better, negative as worse.
    bar : float, optional
        A share in [0, 1] of the longest bar, drawn after the text; best in a column of its own.
    title : str
        A remark, shown when pointed at.
    """

    value: Any
    text: str | None = None
    emphasis: str = ""
    shade: float | None = None
    bar: float | None = None
    title: str = ""

    def __post_init__(self) -> None:
        if self.emphasis not in ("", "bold", "muted"):
            raise ValueError(f"emphasis must be 'bold', 'muted' or '', got {self.emphasis!r}")

    def shown(self, digits: int = 3) -> str:
        """Return the text of the cell."""
        return format_value(self.value, digits) if self.text is None else self.text

    @property
    def key(self) -> str | None:
        """What a page sorts the cell by, where that is not the text it shows."""
        if _is_number(self.value):
            return _plain(self.value).replace("inf", "Infinity")  # JavaScript's word for it
        return None if self.text is None or self.value is None else str(self.value)

    @property
    def tint(self) -> str:
        """What the shade says: "better", "worse" or nothing."""
        if self.shade is None or not math.isfinite(self.shade) or self.shade == 0:
            return ""
        return "better" if self.shade > 0 else "worse"


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    ``html()``, ``markdown()`` and ``csv()`` return text; rich prints it
    (``console.print(table)``).

    Parameters
    ----------
    columns : sequence of str
        Headers; where all are empty there is no line of headers.
    rows : sequence of sequences
        Strings, numbers, None (missing) or :class:`Cell`.
    caption : str
        Above the table.
    note : str
        Below it.
    search : bool
        Whether the page offers a search box over the rows.
    digits : int
        Decimals of numbers that are not whole.

    Examples
    --------
    >>> table = Table(["method", "F1"], [["ours", Cell(0.5, emphasis="bold")], ["theirs", 0.25]])
    >>> print(table.markdown())
    | method | F1 |
    | --- | --: |
    | ours | **0.500** |
    | theirs | 0.250 |
    >>> print(table.csv(), end="")
    method,F1
    ours,0.5
    theirs,0.25
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    note: str = ""
    search: bool = False
    digits: int = 3

    template: ClassVar[str] = "table.html"

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {i} has {len(row)} cells, the table {len(self.columns)} columns"
                )

    @cached_property
    def cells(self) -> list[list[Cell]]:
        """All cells, as such."""
        return [[c if isinstance(c, Cell) else Cell(c) for c in row] for row in self.rows]

    @cached_property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers; the first holds the names of the rows, whatever they are."""
        found = []
        for i in range(len(self.columns)):
            values = [row[i].value for row in self.cells]
            known = [value for value in values if not _is_missing(value)]
            found.append(i > 0 and bool(known) and all(map(_is_number, known)))
        return found

    @property
    def has_header(self) -> bool:
        """Whether any column has a name."""
        return any(self.columns)

    def csv(self) -> str:
        """Return the values as CSV text: every digit, nothing where a value is missing."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_plain(cell.value) for cell in row] for row in self.cells)
        return out.getvalue()

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ["--:" if numeric else "---" for numeric in self.numeric]]
        for row in self.cells:
            texts = [(cell.emphasis, cell.shown(self.digits)) for cell in row]
            lines.append([f"**{text}**" if bold == "bold" else text for bold, text in texts])
        return "\n".join(
            "| " + " | ".join(text.replace("|", r"\|") for text in line) + " |" for line in lines
        )

    def html(self) -> str:
        """Return the table as HTML, for a page of this package."""
        return render("table.html", part=self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Print on a terminal: plain columns, words folded, bars drawn."""
        text = require("rich.text", "cli", "Printing").Text
        table = require("rich.table", "cli", "Printing").Table(
            box=None, pad_edge=False, padding=(0, 2, 0, 0),
            show_header=self.has_header, header_style="dim",
        )  # fmt: skip
        for name, numeric in zip(self.columns, self.numeric, strict=True):
            table.add_column(
                text(name), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold"
            )
        block = "█" if options.encoding.lower().startswith("utf") else "#"
        for row in self.cells:
            table.add_row(*(text.assemble(*_pieces(cell, self.digits, block)) for cell in row))
        if self.caption:
            yield text(plain_text(self.caption))
        yield table
        if self.note:
            yield text(plain_text(self.note), style="dim")


def _pieces(cell: Cell, digits: int, block: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a cell on a terminal, each with its style."""
    colour = {"better": "green", "worse": "red", "": ""}[cell.tint]
    weight = {"bold": "bold", "muted": "dim", "": ""}[cell.emphasis]
    shown = cell.shown(digits)
    yield shown, f"{weight} {colour}".strip()
    if cell.bar:
        # At least one character for what is not nothing.
        gap = " " if shown else ""
        yield gap + block * max(1, round(cell.bar * BAR_WIDTH)), colour or "cyan"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, numbers.Real) and math.isnan(float(value)))


def _is_number(value: Any) -> bool:
    whole = isinstance(value, bool)
    return isinstance(value, numbers.Real) and not whole and not _is_missing(value)


def _plain(value: Any) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    return repr(float(value)) if _is_number(value) else str(value)
