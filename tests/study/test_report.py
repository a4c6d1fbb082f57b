"""The report: one page and its files, drawn from a store; all nine experiments on small data."""

from __future__ import annotations

import csv
import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from grople.study import EXPERIMENTS, Store, duration, make_plan, run_plan, write_report
from tests.study.conftest import made_up


@pytest.fixture(scope="module")
def written(quick, tmp_path_factory):
    """A store of every experiment in its quick form, its page and its files."""
    store = Store(tmp_path_factory.mktemp("study"))
    scope = replace(quick, methods=("GroPLE", "PLST", "LinearSVC"))
    plan = make_plan(list(EXPERIMENTS.values()), scope)
    assert run_plan(plan, store).failures == ()
    store.note_plan(EXPERIMENTS, {"quick": True, "datasets": list(quick.datasets)})
    page = store.folder / "report.html"
    return store, page.with_suffix(""), write_report(store, page) and page.read_text("utf-8")


class Outside(HTMLParser):
    """Collects what a page would load from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            outside = not value.startswith(("#", "data:")) if value else False
            if name in ("src", "href", "xlink:href", "data") and outside:
                self.found.append((tag, value))


def test_all_nine_experiments_run_on_small_data_and_answer_their_claims(written):
    store, _, text = written
    runs = store.read()
    assert len(EXPERIMENTS) == 9
    for name, experiment in EXPERIMENTS.items():
        exhibit = experiment.show(runs)
        assert exhibit.tables, name
        assert exhibit.findings, name
        assert f'id="{name}"' in text
        assert all(picture.alt and picture.caption for picture in exhibit.pictures)


def test_each_claim_that_was_run_is_there_once(written, tmp_path):
    text = html.unescape(written[2])
    for experiment in EXPERIMENTS.values():
        assert text.count(experiment.claim) == 1
    store = Store(tmp_path)
    made_up(store, "GroPLE", [0.5])
    store.note_plan(["comparison"], {"quick": False})
    write_report(store, tmp_path / "r.html", files=False)
    other = (tmp_path / "r.html").read_text("utf-8")
    assert EXPERIMENTS["comparison"].claim in other
    assert EXPERIMENTS["sensitivity"].claim not in other
    assert "grople study run sensitivity" in other  # what was not run is said to be so


def test_a_quick_run_says_so_at_the_top_and_tests_nothing(written, tmp_path):
    store, _, text = written
    top = text[: text.index('id="data"')]
    assert "This is a quick run" in top
    assert "2 of 5 folds" in top
    exhibit = EXPERIMENTS["comparison"].show(store.read())
    for row in exhibit.tables["published_pairs"].rows:
        assert row[4] is None  # no test over two folds
        assert row[6].value != row[6].value  # nor over one data set
    made_up(whole := Store(tmp_path), "GroPLE", [0.5] * 5)
    whole.note_plan(["comparison"], {"quick": False})
    write_report(whole, tmp_path / "r.html", files=False)
    assert "quick run" not in (tmp_path / "r.html").read_text("utf-8")


def test_the_page_is_one_file_that_loads_nothing(written):
    parser = Outside()
    parser.feed(written[2])
    assert parser.found == []


def test_every_figure_is_on_the_page_and_a_file(written):
    _, files, text = written
    figures = re.findall(r'<figure id="([^"]+)"', text)
    assert len(figures) >= 20
    for name in figures:
        assert (files / f"{name}.svg").read_text("utf-8").startswith("<?xml")
        assert (files / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_tables_are_files_with_every_digit(written):
    _, files, _ = written
    with (files / "comparison-published-accuracy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert 0.0 < float(rows[0]["GroPLE"]) <= 1.0


def test_markdown_holds_the_claims_and_the_tables(written, tmp_path):
    store, _, _ = written
    write_report(store, tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text("utf-8")
    assert "**This is a quick run:**" in text
    assert all(experiment.claim in text for experiment in EXPERIMENTS.values())
    assert "| data | GroPLE |" in text


def test_the_same_store_gives_the_same_report(written, tmp_path):
    write_report(written[0], tmp_path / "again.html", files=False)
    assert (tmp_path / "again.html").read_text("utf-8") == written[2]


def test_times_are_in_units_that_people_use(written):
    assert [duration(s) for s in (5, 600, 7200, 400_000)] == ["5 s", "10 min", "2 h", "4.6 days"]
    assert re.search(r"computing time</dt><dd><b>[\d.]+ (s|min)<", written[2])
