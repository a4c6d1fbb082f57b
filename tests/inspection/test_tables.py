"""A table shows the same on a page, on a terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from grople.inspection import Cell, Table

CELLS = st.none() | st.integers() | st.floats(allow_infinity=False) | st.text(
    st.characters(blacklist_categories=("Cs", "Cc")), min_size=1
)  # fmt: skip


def printed(table, width=60, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width, color_system=None)
    console.print(table)
    stream.seek(0)
    return [line.rstrip() for line in stream.read().splitlines()]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_csv_keeps_every_value(rows):
    read = list(csv.reader(io.StringIO(Table(["a", "b"], rows).csv())))
    assert read[0] == ["a", "b"]
    for got, row in zip(read[1:], rows, strict=True):
        for text, value in zip(got, row, strict=True):
            if value is None or value != value:
                assert text == ""
            elif isinstance(value, str):
                assert text == value
            else:
                assert type(value)(text) == value


def test_cells_sort_by_value_whatever_they_show():
    table = Table(
        ["name", "value"],
        [["x", Cell(0.25, "a quarter", shade=-0.5)], ["y", None], ["z", Cell(float("inf"))]],
    )
    cells = re.findall(r"<td([^>]*)>([^<]*)</td>", table.html())
    assert cells == [
        (' class="number worse" style="--shade:0.500" data-value="0.25"', "a quarter"),
        (' class="number"', "–"),
        (' class="number" data-value="Infinity"', "∞"),  # as JavaScript reads it
    ]


def test_long_names_may_be_broken_at_their_joints():
    html = Table(["label"], [["works-with::image/raster"], ["<b>::c"]]).html()
    assert "works-with::<wbr>image/<wbr>raster" in html
    assert "&lt;b&gt;::<wbr>c" in html


def test_on_a_terminal_numbers_are_aligned_and_nothing_is_markup():
    table = Table(
        ["method", "F1", "rows"],
        [["[bold]ours", Cell(0.5, "0.500 ± 0.01", "bold"), 12345], ["theirs", 0.25, None]],
        "Quality of **two** methods",
        "By [AUC](?).",
    )
    assert printed(table) == [
        "Quality of two methods",
        "method                F1    rows",
        "[bold]ours  0.500 ± 0.01  12,345",
        "theirs             0.250       –",
        "By AUC.",
    ]


def test_bars_are_drawn_with_what_the_terminal_has():
    rows = [["a", Cell("", bar=1.0)], ["b", Cell(3, bar=0.5)], ["c", Cell("", bar=1e-6)]]
    table = Table(["", ""], rows)
    assert printed(table) == [f"a  {'█' * 24}", f"b  3 {'█' * 12}", "c  █"]
    assert printed(table, encoding="ascii")[0] == f"a  {'#' * 24}"
    assert 'style="--size:0.500"' in table.html()
    assert "<thead" not in table.html()


def test_words_are_folded_and_numbers_are_not():
    table = Table(["label", "rows", "features"], [["a::b", 1234567, "one, two, three, four"]])
    lines = printed(table, width=32)
    assert all(len(line) <= 32 for line in lines)
    assert lines[1].startswith("a::b   1,234,567  one, two,")
    assert "four" in lines[2]


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="row 1 has 1 cells, the table 2 columns"):
        Table(["a", "b"], [[1, 2], [1]])
    with pytest.raises(ValueError, match="emphasis"):
        Cell(1, emphasis="loud")
