"""The page of a model in a real browser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grople import GroPLE
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel
from grople.inspection import inspect_model, model_page, write_text

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
LISTED = "[...document.querySelectorAll('.browser tbody th')].map(cell => cell.textContent)"
BARS = (
    "[...document.querySelectorAll('#portrait .bars')[{}].children]"
    ".map(bar => bar.children[0].textContent)"
)
PORTRAIT = "document.querySelector('#portrait h3').textContent"


@pytest.fixture(scope="module")
def seen():
    data = make_grouped_multilabel(400, 25, 150, n_groups=5, random_state=0)
    names = [HOSTILE, *(f"topic {i}" for i in range(1, 150))]
    Y = pd.DataFrame(data.Y.toarray(), columns=names)
    model = GroPLE(n_groups=5, n_components=20, random_state=0).fit(data.X, Y)
    return inspect_model(model, [f"word <{i}>" for i in range(25)])


@pytest.fixture(scope="module")
def page_file(seen, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.html"
    write_text(path, model_page(seen))
    return path


def search(browser, text):
    browser.run("document.getElementById('label-search').focus()")
    browser.run("document.getElementById('label-search').select()")
    browser.type(text)


def test_every_part_is_there_without_a_complaint(browser, page_file, seen):
    browser.open(page_file)
    assert browser.complaints() == []
    sections = browser.run("[...document.querySelectorAll('main > section')].map(s => s.id)")
    assert sections == [
        "overview", "map", "groups", "labels", "structure", "reliability", "tail", "terms",
    ]  # fmt: skip
    figures = browser.run("[...document.querySelectorAll('figure')].map(f => f.id)")
    assert figures == [
        "label-map", "cooccurrence", "row-sparsity", "reliability-curve", "label-quality",
        "tail-curve",
    ]  # fmt: skip
    heights = browser.run(
        "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().height)"
    )
    assert min(heights) > 100
    assert browser.run("document.querySelectorAll('.map path').length") == 150
    assert browser.run("document.querySelectorAll('article.group').length") == len(seen.groups)
    assert browser.run("document.querySelectorAll('img').length") == 0  # the hostile name is text


def test_search_lists_what_matches_and_shows_the_first(browser, page_file):
    browser.open(page_file)
    assert len(browser.run(LISTED)) == 100  # the others on demand
    search(browser, "topic 14")
    listed = browser.run(LISTED)
    assert sorted(listed) == sorted(f"topic {i}" for i in range(1, 150) if "14" in str(i))
    assert browser.run(PORTRAIT) == listed[0]
    search(browser, "onerror")
    assert browser.run(LISTED) == [HOSTILE]
    search(browser, "nothing like it")
    assert browser.run(LISTED) == []
    search(browser, " ")
    browser.run("document.querySelector('.more').click()")
    assert len(browser.run(LISTED)) == 150
    assert browser.complaints() == []


def test_a_portrait_shows_the_features_behind_a_label(browser, page_file, seen):
    browser.open(page_file)
    browser.run("location.hash = '#label-7'")
    browser.complaints()
    assert browser.run(PORTRAIT) == "topic 7"
    shown = browser.run(BARS.format(0))
    assert shown == [seen.feature_names[j] for j in seen.top_features.numbers[7]]
    near = browser.run(BARS.format(1))
    assert near == [seen.label_names[j] for j in seen.nearest.numbers[7][: len(near)]]
    # From there on to a neighbour, and back.
    browser.run("document.querySelectorAll('#portrait .bars')[1].querySelector('a').click()")
    browser.complaints()
    assert browser.run(PORTRAIT) == near[0]
    browser.run("history.back()")
    browser.complaints()
    assert browser.run(PORTRAIT) == "topic 7"
    marked = browser.run("document.querySelector('.map a[aria-current] title').textContent")
    assert marked.startswith("topic 7 ·")


def test_the_list_sorts_by_every_column(browser, page_file, seen):
    browser.open(page_file)
    order = np.argsort(-np.asarray(seen.frequencies), kind="stable")
    assert browser.run(LISTED)[0] == seen.label_names[order[0]]
    browser.run("document.querySelectorAll('.browser thead button')[2].click()")
    values = [
        float(v)
        for v in browser.run(
            "[...document.querySelectorAll('.browser tbody tr')].map(r => r.cells[2].textContent)"
        )
        if v != "–"
    ]
    assert values == sorted(values, reverse=True)
    browser.run("document.querySelectorAll('.browser thead button')[0].focus()")
    browser.press("Enter")
    assert browser.run(LISTED)[1:4] == ["topic 1", "topic 2", "topic 3"]  # as people count
    assert browser.run("document.activeElement.textContent") == "label"


CUT_OFF = (
    "[...document.querySelectorAll('main *')].filter(e => e.scrollWidth > e.clientWidth + 1"
    " && getComputedStyle(e).overflowX !== 'visible').map(e => e.outerHTML.slice(0, 80))"
)


def test_it_fits_a_phone_and_the_dark(browser, page_file):
    browser.open(page_file, width=400, height=740, dark=True)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= 400
    assert browser.run(CUT_OFF) == []
    assert browser.complaints() == []


def test_a_term_is_explained_by_hover_and_by_keyboard(browser, page_file):
    browser.open(page_file)
    term = "document.querySelector('abbr[data-term=\"average precision\"]')"
    assert "ranked by a label's score" in browser.run(f"{term}.title")
    browser.run(f"{term}.focus()")
    assert browser.run(f"getComputedStyle({term}, '::after').content").startswith('"Area under')
    header = "document.querySelectorAll('.browser thead button')[2]"
    assert browser.run(f"{header}.title") == browser.run(f"{term}.title")
    listed = browser.run("[...document.querySelectorAll('#terms dt')].map(t => t.textContent)")
    assert "average precision" in listed


def test_groups_have_names_and_marks_that_differ(browser, page_file, seen):
    browser.open(page_file)
    names = browser.run(
        "[...document.querySelectorAll('article.group h3')].map(h => h.childNodes[1].textContent)"
    )
    assert [name.strip() for name in names] == [group.name for group in seen.groups]
    marks = browser.run(
        "[...document.querySelectorAll('article.group h3 path')]"
        ".map(p => p.getAttribute('fill') + p.getAttribute('d'))"
    )
    assert len(set(marks)) == len(seen.groups)
    search(browser, seen.groups[1].name.split(",")[0].split(": ")[0])
    found = {f"{seen.label_names[i]}" for i in seen.groups[1].labels}
    assert found <= set(browser.run(LISTED))


@pytest.mark.parametrize(("width", "kind", "shrunk"), [(1400, "wide", 2), (400, "narrow", 1)])
def test_names_on_the_map_do_not_overlap(browser, page_file, width, kind, shrunk):
    browser.open(page_file, width=width)
    boxes = browser.run(
        f"[...document.querySelectorAll('.map .{kind} text')].map(t => t.getBoundingClientRect())"
        f".map(b => [b.left, b.top + {shrunk}, b.right, b.bottom - {shrunk}])"
    )
    assert len(boxes) > 5
    assert all(box[0] >= 0 and box[2] <= width for box in boxes)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def test_a_model_without_groups_has_a_page_too(browser, tmp_path):
    data = make_grouped_multilabel(200, 15, 6, n_groups=2, random_state=0)
    path = tmp_path / "ridge.html"
    write_text(path, model_page(Ridge(1.0).fit(data.X, data.Y)))
    browser.open(path)
    assert browser.complaints() == []
    assert "groups" not in browser.run(
        "[...document.querySelectorAll('main > section')].map(s => s.id)"
    )
    assert len(browser.run(LISTED)) == 6
