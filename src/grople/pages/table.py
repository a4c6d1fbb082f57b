"""Tables: sortable on a page, and the same as CSV and LaTeX files."""

from __future__ import annotations

import csv
import io
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grople.pages.files import write_text
from grople.pages.markup import escape, inline

__all__ = ["Cell", "Table", "format_value"]

#: What stands for a value that is missing.
MISSING = "–"
#: Rows from which a table scrolls in a window of its own, its header staying in view.
LONG = 40
#: Columns from which a table is printed across the longer side of the paper.
WIDE = 8

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "λ": r"$\lambda$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "–": "--",
}


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
    if value is None:
        return MISSING
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return str(value)
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}".replace("-", "−")
    number = float(value)
    if math.isnan(number):
        return MISSING
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
    title : str
        A remark, shown when pointed at.
    """

    value: Any
    text: str | None = None
    emphasis: str = ""
    shade: float | None = None
    title: str = ""

    def __post_init__(self) -> None:
        if self.emphasis not in ("", "bold", "muted"):
            raise ValueError(f"emphasis must be 'bold', 'muted' or '', got {self.emphasis!r}")

    def shown(self, digits: int = 3) -> str:
        """Return the text of the cell."""
        return format_value(self.value, digits) if self.text is None else self.text


@dataclass(frozen=True)
class Table:
    r"""A table whose first column names its rows.

    Parameters
    ----------
    columns : sequence of str
        Headers.
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
    >>> print(table.latex())
    \begin{tabular}{lr}
    \toprule
    method & F1 \\
    \midrule
    ours & \textbf{0.500} \\
    theirs & 0.250 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    note: str = ""
    search: bool = False
    digits: int = 3

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {i} has {len(row)} cells, the table {len(self.columns)} columns"
                )

    # -- the page --------------------------------------------------------------------------

    def html(self) -> str:
        """Return the table as HTML."""
        numeric = self._numeric()
        head = "".join(
            f'<th scope="col"{_class("number" if n else "")}>'
            f'<button type="button">{escape(name)}</button></th>'
            for name, n in zip(self.columns, numeric, strict=True)
        )
        body = "\n".join(
            "<tr>"
            + "".join(
                self._cell_html(_as_cell(cell), i == 0, n)
                for i, (cell, n) in enumerate(zip(row, numeric, strict=True))
            )
            + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{inline(self.caption)}</caption>" if self.caption else ""
        note = f'<p class="note">{inline(self.note)}</p>' if self.note else ""
        name = escape(self.caption or "table")
        search = (
            '<div class="find"><input type="search" autocomplete="off" placeholder="Search" '
            f'aria-label="Search in {name}"><span role="status"></span></div>'
            if self.search
            else ""
        )
        window = "scroll long" if len(self.rows) >= LONG else "scroll"
        wide = len(self.columns) >= WIDE
        outer = f'"table wide" style="--columns:{len(self.columns)}"' if wide else '"table"'
        return (
            f"<div class={outer}>{search}"
            # A region that scrolls must be reachable by keyboard, so it takes the focus.
            f'<div class="{window}" tabindex="0" role="region" aria-label="{name}">'
            f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
            f"</div>{note}</div>"
        )

    def _cell_html(self, cell: Cell, is_name: bool, numeric: bool) -> str:
        shown = cell.shown(self.digits)
        classes = [cell.emphasis, "number" if numeric else ""]
        attributes = ""
        if cell.shade is not None and math.isfinite(cell.shade) and cell.shade:
            classes.append("better" if cell.shade > 0 else "worse")
            attributes += f' style="--shade:{min(abs(cell.shade), 1.0):.3f}"'
        if cell.title:
            attributes += f' title="{escape(cell.title)}"'
        if _is_number(cell.value):
            # JavaScript's word for it.
            attributes += f' data-value="{_plain(cell.value).replace("inf", "Infinity")}"'
        elif cell.text is not None and cell.value is not None:
            attributes += f' data-value="{escape(cell.value)}"'
        tag = 'th scope="row"' if is_name else "td"
        return f"<{tag}{_class(*classes)}{attributes}>{escape(shown)}</{tag[:2]}>"

    def _numeric(self) -> list[bool]:
        cells = [[_as_cell(cell).value for cell in row] for row in self.rows]
        columns = zip(*cells, strict=True) if cells else [()] * len(self.columns)
        # The first column holds the names of the rows, whatever they are.
        return [
            i > 0
            and any(map(_is_number, column))
            and all(_is_missing(v) or _is_number(v) for v in column)
            for i, column in enumerate(columns)
        ]

    # -- files -----------------------------------------------------------------------------

    def csv(self) -> str:
        """Return the values as CSV text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_plain(_as_cell(cell).value) for cell in row] for row in self.rows)
        return out.getvalue()

    def latex(self) -> str:
        """Return the table as a LaTeX ``tabular`` (package booktabs)."""
        numeric = self._numeric()
        lines = [_latex_row([_latex(name) for name in self.columns])]
        for row in self.rows:
            cells = []
            for cell in map(_as_cell, row):
                text = _latex(cell.shown(self.digits))
                cells.append(rf"\textbf{{{text}}}" if cell.emphasis == "bold" else text)
            lines.append(_latex_row(cells))
        layout = "".join("r" if n else "l" for n in numeric)
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{layout}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def markdown(self) -> str:
        """Return the table as Markdown.

        Examples
        --------
        >>> print(Table(["method", "F1"], [["ours", Cell(0.5, emphasis="bold")]]).markdown())
        | method | F1 |
        |---|--:|
        | ours | **0.500** |
        """
        marks = ("--:" if numeric else "---" for numeric in self._numeric())
        lines = [_markdown_row(self.columns), f"|{'|'.join(marks)}|"]
        for row in self.rows:
            cells = [(cell.emphasis, cell.shown(self.digits)) for cell in map(_as_cell, row)]
            lines.append(_markdown_row(f"**{t}**" if e == "bold" else t for e, t in cells))
        return "\n".join(lines)

    def to_csv(self, path: str | Path) -> None:
        """Write the values to a CSV file, whole or not at all."""
        write_text(path, self.csv())

    def to_latex(self, path: str | Path) -> None:
        """Write the table to a LaTeX file, whole or not at all."""
        write_text(path, self.latex())


def _as_cell(cell: Any) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, numbers.Real) and not isinstance(value, bool) and not _is_missing(value)
    )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, numbers.Real) and math.isnan(float(value)))


def _plain(value: Any) -> str:
    """Return a value for a file: every digit, nothing where it is missing."""
    if _is_missing(value):
        return ""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    return repr(float(value)) if _is_number(value) else str(value)


def _class(*names: str) -> str:
    found = " ".join(filter(None, names))
    return f' class="{found}"' if found else ""


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
