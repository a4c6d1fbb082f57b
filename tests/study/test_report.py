"""The report: one page and its files, drawn from a store."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser

import pytest

from grople.study.claims import CLAIMS
from grople.study.engine import run
from grople.study.experiments import EXPERIMENTS
from grople.study.report import study_page, write_report
from grople.study.running import make_plan
from grople.study.store import Store


@pytest.fixture(scope="module")
def written(tiny, tmp_path_factory):
    """A store of a few experiments, its page and its files."""
    folder = tmp_path_factory.mktemp("study")
    names = ["comparison", "statistics", "approximation", "heatmap"]
    plan = make_plan(
        [EXPERIMENTS[name] for name in names],
        [tiny],
        methods=["GroPLE", "PLST", "LLSF"],
        protocols=["published"],
        quick=True,
    )
    assert run(plan, folder).failures == []
    with Store(folder) as store:
        store.remember("grople study run comparison --quick --store DIR")
        files = write_report(store, folder / "report.html")
    return folder / "report.html", files


class Outside(HTMLParser):
    """Collects what a page would load from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "data") and not value.startswith(
                ("#", "data:")
            ):
                self.found.append((tag, value))


def test_the_page_is_one_file_that_loads_nothing(written):
    page, _ = written
    parser = Outside()
    parser.feed(page.read_text(encoding="utf-8"))
    assert parser.found == []


def test_every_experiment_has_a_section_and_every_claim_a_row(written):
    text = written[0].read_text(encoding="utf-8")
    for name, experiment in EXPERIMENTS.items():
        assert f'<section id="{name}"' in text
        assert f"grople study run {name}" in text or experiment.title in text
    for number, claim, _ in CLAIMS:
        assert claim.partition("(")[0].strip()[:40].replace("'", "&#x27;") in text, number
    assert "grople study run comparison --quick --store DIR" in text
    assert "Not run yet" in text  # ablation and others


def test_every_figure_of_the_exhibits_is_on_the_page_and_a_file(written):
    page, files = written
    text = page.read_text(encoding="utf-8")
    figures = re.findall(r'<figure id="figure-([^"]+)"', text)
    assert len(figures) >= 8
    for name in figures:
        assert (files / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
        assert (files / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_tables_are_files_with_every_digit(written):
    _, files = written
    with (files / "comparison_published-accuracy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1  # one data set: no average rank
    assert 0.0 < float(rows[0]["GroPLE"]) <= 1.0
    latex = (files / "comparison_published-accuracy.tex").read_text(encoding="utf-8")
    assert latex.count(r"\begin{tabular}") == 1
    assert "open" in (files / "summary.txt").read_text(encoding="utf-8")


def test_the_same_store_gives_the_same_report(written):
    page, _ = written
    with Store(page.parent) as store:
        again, _ = study_page(store)
    assert again.render() == page.read_text(encoding="utf-8")


def test_an_empty_store_has_a_report_too(tmp_path):
    with Store(tmp_path) as store:
        page, _ = study_page(store)
    assert page.render().count("Not run yet") == 8  # all but the printed statistics
