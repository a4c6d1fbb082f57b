"""The page of the demonstration says what the demonstration found."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from grople.datasets import describe, make_grouped_multilabel
from grople.showcase import Example, showcase
from grople.showcase_page import showcase_page


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(200, 30, 12, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def result(data):
    return showcase(data, n_folds=2, n_examples=2)


def cells(page):
    return [html.unescape(c) for c in re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", page.render())]


def test_it_shows_methods_examples_and_the_model(result, data):
    page = showcase_page(result, describe(data))
    shown = cells(page)
    for row in result.comparison:
        assert row.method in shown
        assert f"{row.means['macro_f1']:.3f} ± {row.deviations['macro_f1']:.3f}" in shown
    text = page.render()
    for example in result.examples:
        assert f"<caption>{example.name}</caption>" in text
    assert f"<b>{data.X.shape[0]}</b>" in text
    for section in ("data", "comparison", "examples", "map", "groups", "labels", "reliability"):
        assert f'<section id="{section}"' in text
    assert result.inspection.label_names == tuple(data.label_names)


def test_verdicts_are_right(result):
    example = Example("<row>", ("a", "b"), (("b", 0.75), ("c", 0.5)))
    page = showcase_page(replace(result, examples=(example,)))
    shown = cells(page)
    start = shown.index("b")
    assert shown[start : start + 9] == [
        "b", "75%", "✓ right", "c", "50%", "✗ wrong", "a", "–", "missed",
    ]  # fmt: skip
    assert "<caption>&lt;row&gt;</caption>" in page.render()
