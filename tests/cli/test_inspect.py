"""``grople inspect`` as a person at a terminal meets it."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from grople import GroPLE
from grople.baselines import Ridge
from grople.cli.app import app
from grople.datasets import make_grouped_multilabel
from grople.io import save_model


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(300, 20, 9, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory, data):
    # A name that markup, HTML and rich would all like to interpret.
    labels = ["[bold]one</script>", *(f"label {i}" for i in range(1, 9))]
    Y = pd.DataFrame(data.Y.toarray(), columns=labels)
    X = pd.DataFrame(data.X.toarray(), columns=[f"word{i}" for i in range(20)])
    path = tmp_path_factory.mktemp("model") / "small.grople"
    save_model(path, GroPLE(n_groups=3, random_state=0).fit(X, Y))
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_the_summary_names_groups_labels_and_features(model_file):
    shown = run(model_file)
    assert shown.exit_code == 0
    assert "GroPLE: 9 labels, in 3 groups, 20 features, learnt from 300 rows" in shown.output
    assert "Of ten labels it gives" in shown.output
    assert "3 groups of labels" in shown.output
    assert "[bold]one</script>" in shown.output
    assert "(held-out)" in shown.output
    assert "word" in shown.output


def test_a_label_is_shown_with_what_is_behind_it(model_file):
    shown = run(model_file, "--label", "label 3", "--label", "label 4")
    assert shown.exit_code == 0
    assert "most alike" in shown.output
    assert "seen together" in shown.output
    assert shown.output.count("average precision") == 2


def test_json_is_the_whole_inspection(model_file):
    found = json.loads(run(model_file, "--json").output)
    assert found["model"] == "GroPLE"
    assert len(found["labels"]) == 9
    assert sorted(n for g in found["groups"] for n in g["labels"]) == sorted(
        label["name"] for label in found["labels"]
    )
    one = json.loads(run(model_file, "--json", "--label", "label 5").output)
    assert [label["name"] for label in one["labels"]] == ["label 5"]


def test_the_page_is_written_and_nothing_else(model_file, tmp_path):
    target = tmp_path / "model.html"
    shown = run(model_file, "-o", target)
    assert shown.exit_code == 0
    assert "wrote" in shown.output
    assert [p.name for p in tmp_path.iterdir()] == ["model.html"]
    html = target.read_text(encoding="utf-8")
    assert "<title>small</title>" in html
    assert "word3" in html
    assert run(model_file, "-o", target, "--quiet").output == ""


def test_the_size_is_that_of_the_file(model_file):
    shown = run(model_file, "--size")
    assert shown.exit_code == 0
    parts = [int(kb.replace(",", "")) for kb in re.findall(r"([\d,]+) kB", shown.output)]
    assert sum(parts) == pytest.approx(model_file.stat().st_size / 1e3, abs=len(parts))
    assert "maps from features to scores" in shown.output
    sizes = json.loads(run(model_file, "--size", "--json").output)["sizes"]
    assert sizes["bytes"] == model_file.stat().st_size
    assert 0 < sum(sizes["array_bytes"].values()) < sizes["bytes"]


def test_what_fit_measured_opens_page_and_summary(data, tmp_path):
    methods = [
        {"method": "constant", "mean": {"example_f1": 0.25}},
        {"method": "GroPLE", "mean": {"example_f1": 0.75}},
    ]
    path = tmp_path / "m.grople"
    model = Ridge(1.0).fit(data.X, data.Y)
    save_model(path, model, notes={"quality": {"methods": methods}})
    shown = run(path, "-o", tmp_path / "m.html")
    assert shown.exit_code == 0
    assert '<td class="bold number" data-value="0.75">0.750</td>' in (
        tmp_path / "m.html"
    ).read_text(encoding="utf-8")
    lines = run(path).output.splitlines()
    assert any(line.split() == ["GroPLE", "0.750"] for line in lines)


def test_a_model_without_groups_or_rows_is_shown_too(data, tmp_path):
    path = tmp_path / "ridge.grople"
    save_model(path, Ridge(1.0).fit(data.X, data.Y), with_rows=False)
    shown = run(path)
    assert shown.exit_code == 0
    assert "Ridge: 9 labels" in shown.output
    assert "(held-out)" in shown.output
    assert run(path, "-o", tmp_path / "ridge.html").exit_code == 0
    assert "groups" not in (tmp_path / "ridge.html").read_text().partition("<main")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--label", "labex 3"), "did you mean 'label 3'"),
        (("-o", "/nowhere/x.html"), "there is no folder"),
        (("-o", "/"), "a folder, not a file"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(model_file, arguments, message):
    shown = run(model_file, *arguments)
    assert shown.exit_code != 0
    assert message in str(shown.exception)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "x.grople"
    path.write_bytes(b"hello")
    shown = run(path)
    assert shown.exit_code != 0
    assert "x.grople" in str(shown.exception)
