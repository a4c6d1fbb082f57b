"""The page of a model in a real browser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grople import GroPLE
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel
from grople.inspection import inspect_model
from grople.model_page import inspect_page

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
    inspect_page(seen).write(path)
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
        "overview", "map", "groups", "labels", "structure", "reliability", "tail",
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
    assert browser.run("document.querySelectorAll('.map circle').length") == 150
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
    assert shown == [seen.feature_names[j] for j in seen.top_features[7]]
    near = browser.run(BARS.format(1))
    assert near == [seen.label_names[j] for j in seen.nearest[7][: len(near)]]
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
    browser.run("document.querySelectorAll('.browser thead button')[3].click()")
    values = [
        float(v)
        for v in browser.run(
            "[...document.querySelectorAll('.browser tbody tr')].map(r => r.cells[3].textContent)"
        )
        if v != "–"
    ]
    assert values == sorted(values, reverse=True)
    browser.run("document.querySelectorAll('.browser thead button')[0].focus()")
    browser.press("Enter")
    assert browser.run(LISTED)[1:4] == ["topic 1", "topic 2", "topic 3"]  # as people count
    assert browser.run("document.activeElement.textContent") == "label"


def test_it_fits_a_phone_and_the_dark(browser, page_file):
    browser.open(page_file, width=360, height=740, dark=True)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= 360
    assert browser.complaints() == []


def test_names_on_the_map_do_not_overlap(browser, page_file):
    browser.open(page_file, width=1400)
    boxes = browser.run(
        "[...document.querySelectorAll('.map .names text')].map(t => t.getBoundingClientRect())"
        ".map(b => [b.left, b.top + 2, b.right, b.bottom - 2])"
    )
    assert len(boxes) > 10
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def test_a_model_without_groups_has_a_page_too(browser, tmp_path):
    data = make_grouped_multilabel(200, 15, 6, n_groups=2, random_state=0)
    path = tmp_path / "ridge.html"
    inspect_page(Ridge(1.0).fit(data.X, data.Y)).write(path)
    browser.open(path)
    assert browser.complaints() == []
    assert "groups" not in browser.run(
        "[...document.querySelectorAll('main > section')].map(s => s.id)"
    )
    assert len(browser.run(LISTED)) == 6
