"""Pages in a real browser: quiet console, sorting, search, dark, phone, paper."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from grople.inspection import (
    Cell,
    Details,
    Facts,
    Picture,
    Section,
    Table,
    render_page,
    write_text,
)

pytestmark = pytest.mark.browser

SORT = "document.querySelectorAll('thead button')[{}].click()"
NAMES = "[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)"  # noqa: E501


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    facts = [("methods", 4, "all linear"), ("best", 0.512, "GroPLE"), ("rows", 12345, "")]
    rows = [
        ["GroPLE", Cell(0.512, "0.512 ± 0.004", "bold"), Cell(0.041, "+0.041", shade=0.6), 9],
        ["LLSF", Cell(0.498, "0.498 ± 0.010"), Cell(-0.02, "−0.020", shade=-0.4), 100],
        ["MLSF", None, None, float("inf")],
        ["<script>document.title='owned'</script>", 0.1, Cell(0.0, "0.000"), 3],
    ]
    columns = ["method", "example-F1", "difference", "seconds"]
    scores = Table(columns, rows, "Quality", "Five folds.", search=True)
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    ax = figure.subplots()
    ax.plot(np.linspace(0, 1, 50), np.linspace(0, 1, 50) ** 2, label="curve")
    ax.legend()
    ax.set_xlabel("probability")
    wide = Table([f"column {i}" for i in range(14)], [[f"row {r}", *range(13)] for r in range(60)])
    curve = Picture(figure, "curve", "A curve", "It rises.", "A rising curve")
    html = render_page(
        "A <study> of things",
        [
            Section("scores", "Scores", [Facts(facts), scores], "Higher is better."),
            Section("shape", "Shape", [curve]),
            Section("wide", "A wide table", [Details("Unfold", [wide])]),
        ],
        subtitle="How four methods fare on one data set",
        footer="Made by grople",
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_text(path, html)
    return path


def test_it_opens_without_a_complaint_and_runs_only_its_own_scripts(browser, page_file):
    browser.open(page_file)
    assert browser.run("document.title") == "A <study> of things"
    assert browser.complaints() == []
    browser.run(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.owned=1\">')"
    )
    browser.complaints()
    assert browser.run("window.owned") is None


def test_columns_sort_by_click_and_by_keyboard(browser, page_file):
    browser.open(page_file)
    before = browser.run(NAMES)
    browser.run(SORT.format(1))
    hostile = before[3]
    assert browser.run(NAMES)[:4] == ["GroPLE", "LLSF", hostile, "MLSF"]  # missing comes last
    browser.run(SORT.format(1))
    assert browser.run(NAMES)[:4] == [hostile, "LLSF", "GroPLE", "MLSF"]  # both ways
    state = "[...document.querySelectorAll('thead th')].slice(0, 4).map(h => h.ariaSort)"
    assert browser.run(state) == [None, "ascending", None, None]
    browser.run("document.querySelectorAll('thead button')[3].focus()")
    browser.press("Enter")
    assert browser.run(NAMES)[:4] == ["MLSF", "LLSF", "GroPLE", hostile]  # as numbers, not words
    browser.run(SORT.format(0))
    assert browser.run(NAMES)[:4] == sorted(before[:4], key=str.lower)


def test_search_keeps_the_rows_that_match(browser, page_file):
    browser.open(page_file)
    browser.run("document.querySelector('.find input').focus()")
    browser.type("lsf")
    assert browser.run(NAMES)[:2] == ["LLSF", "MLSF"]
    assert browser.run("document.querySelector('.find [role=status]').textContent") == "2 of 4"


def luminance(colour: str) -> float:
    return sum(map(float, colour.removeprefix("rgb(").rstrip(")").split(","))) / (3 * 255)


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_figures_stand_out_in_light_and_dark(browser, page_file, dark):
    browser.open(page_file, dark=dark)
    paper = luminance(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.2) if dark else (paper > 0.9)
    for element, style in (("body", "color"), ("figure svg text", "fill"), ("figcaption", "color")):
        shown = browser.run(f"getComputedStyle(document.querySelector('{element}')).{style}")
        assert abs(luminance(shown) - paper) > 0.45, element


def test_nothing_spills_over_on_a_phone(browser, page_file):
    browser.open(page_file, width=360, height=740)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= 360
    assert browser.run("document.querySelector('#wide .scroll').scrollWidth") > 360
    browser.run("document.querySelector('#wide .scroll').scrollLeft = 400")
    first = "document.querySelector('#wide tbody th').getBoundingClientRect().left"
    assert 0 <= browser.run(first) < 30  # the name of the row stays


def test_a_link_opens_what_it_points_into(browser, page_file):
    browser.open(page_file)
    browser.run("document.querySelector('#wide details table').id = 'inner'")
    browser.run("location.hash = '#inner'")
    browser.complaints()
    assert browser.run("document.querySelector('#wide details').open") is True


def test_on_paper_everything_is_unfolded_and_nothing_scrolls(browser, page_file):
    browser.open(page_file, dark=True)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
        paper = browser.run("getComputedStyle(document.body).backgroundColor")
        assert luminance(paper) == 1.0
        browser.run("dispatchEvent(new Event('beforeprint'))")
        assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
        hidden = (
            "[...document.querySelectorAll('.long')].some(e => e.scrollHeight > e.offsetHeight)"
        )
        assert browser.run(hidden) is False
        browser.run("dispatchEvent(new Event('afterprint'))")
        assert browser.run("document.querySelectorAll('details[open]').length") == 0
        assert len(browser.call("Page.printToPDF")["data"]) > 10_000
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
