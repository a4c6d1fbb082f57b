"""The report on a study in a real browser: figures, sorting, a quiet console."""

from __future__ import annotations

import pytest

from grople.study import write_report
from tests.study.conftest import printed  # noqa: F401

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(printed, tmp_path_factory):  # noqa: F811
    """The report on a store that holds the paper's own comparison."""
    page = tmp_path_factory.mktemp("study") / "report.html"
    write_report(printed, page, files=False)
    return page


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_it_is_quiet_and_complete(browser, report, width, dark):
    browser.open(report, width=width, dark=dark)
    assert browser.complaints() == []
    drawn = browser.run(
        "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect())"
        ".filter(r => r.width > 50 && r.height > 30).length"
    )
    assert drawn == 8  # printed and recomputed ranks, four measures each
    sections = browser.run("[...document.querySelectorAll('main section')].map(s => s.id)")
    assert {"summary", "comparison", "statistics"} <= set(sections)
    # The page itself never scrolls sideways: wide tables do, in their own windows.
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")


def test_the_comparison_sorts_by_any_column(browser, report):
    browser.open(report)
    # The first table of figures: those before it may hold words.
    table = (
        "[...document.querySelectorAll('#comparison table')]"
        ".find(t => Number.isFinite(parseFloat(t.tBodies[0].rows[0].cells[1].dataset.value)))"
    )
    values = f"[...{table}.tBodies[0].rows].map(r => +r.cells[1].dataset.value)"
    browser.run(f"{table}.tHead.rows[0].cells[1].querySelector('button').click()")
    falling = browser.run(values)
    assert falling == sorted(falling, reverse=True)
    browser.run(f"{table}.tHead.rows[0].cells[1].querySelector('button').click()")
    assert browser.run(values) == falling[::-1]
    assert len(falling) == 12


@pytest.mark.parametrize(
    ("tables", "width"), [(".wide table", 1047), (":not(.wide) > * > table", 718)]
)
def test_on_paper_no_table_is_cut_off(browser, report, tables, width):
    # A4 with margins of a centimetre, at 96 pixels an inch: across for wide tables, else upright.
    browser.open(report, width=width)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        widths = browser.run(f"[...document.querySelectorAll('{tables}')].map(t => t.offsetWidth)")
        assert widths
        assert max(widths) <= width
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
