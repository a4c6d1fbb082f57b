"""The decision that every competitor of the benchmark gets, and the harness that runs them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import f1_score

pytest.importorskip("benchmarks.peers")  # not part of a source distribution
from benchmarks.peers import environments, harness, splits, tables
from benchmarks.peers.thresholds import (
    Candidates,
    best_thresholds,
    candidates,
    labels_above,
    stacked,
)
from grople.datasets import load

AVERAGES = {"example_f1": "samples", "micro_f1": "micro"}


def problem(seed, n=12, width=6, levels=9):
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, levels, (n, width)) / levels  # few levels: many ties
    truth = (generator.random((n, width)) < 0.1 + 0.6 * scores).astype(int)
    return scores, truth


def reached(truth, decided, measure):
    return f1_score(truth, decided, average=AVERAGES[measure], zero_division=0)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_no_threshold_is_better(seed):
    scores, truth = problem(seed)
    found = best_thresholds(candidates(scores, scores.shape[1]), sp.csr_matrix(truth))
    for measure, (threshold, promised) in found.items():
        decided = labels_above(scores, threshold).toarray()
        best = max(reached(truth, scores >= t, measure) for t in np.unique(scores))
        assert reached(truth, decided, measure) == pytest.approx(best, abs=1e-12)
        assert promised == pytest.approx(best, abs=1e-12)


def test_sparse_and_dense_scores_give_the_same_candidates():
    scores, _ = problem(1, levels=10_000)
    scores += 0.001  # a stored score is not zero
    dense, sparse = candidates(scores, 4), candidates(sp.csr_matrix(scores), 4)
    np.testing.assert_array_equal(dense.labels, sparse.labels)
    np.testing.assert_array_equal(dense.labels, np.argsort(-scores, axis=1)[:, :4])
    np.testing.assert_allclose(dense.scores, sparse.scores)


def test_rows_may_have_few_candidates_or_none():
    scores = sp.csr_matrix(np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.9, 0.2, 0.7]]))
    found = candidates(scores, 2)
    assert found.labels.tolist() == [[1, -1], [-1, -1], [0, 2]]
    truth = sp.csr_matrix(np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]]))
    assert found.hits(truth).tolist() == [[True, False], [False, False], [True, True]]
    threshold, value = best_thresholds(found, truth)["example_f1"]
    assert value == pytest.approx(2 / 3)
    assert labels_above(scores, threshold).toarray().sum() == 3


def test_a_masked_label_is_no_candidate():
    found = candidates(np.array([[-np.inf, 0.2, -np.inf]]), 2)
    assert found.labels.tolist() == [[1, -1]]


def test_parts_are_put_back_in_order():
    first = Candidates(np.array([[7], [8]]), np.array([[0.7], [0.8]]))
    second = Candidates(np.array([[9]]), np.array([[0.9]]))
    whole = stacked([(np.array([0, 2]), first), (np.array([1]), second)])
    assert whole.labels.ravel().tolist() == [7, 9, 8]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The harness with a folder of its own, and this Python as the environment of competitors."""
    for module in (harness, splits):
        monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(environments, "interpreter", lambda name: Path(sys.executable))
    data = load("debtags-mini")
    parts = data.X[:1000, :300], data.Y[:1000, :40]
    monkeypatch.setattr(splits, "_parts", lambda name: splits._seen(*parts, np.arange(1000) < 700))
    return splits.stored_split("small")


def test_a_run_measures_what_the_competitor_predicts(here):
    record = harness.run_one("ridge", here, limit=120)
    assert (record["status"], record["reason"]) == ("ok", "")
    assert record["fit_cpu"] > 0
    assert record["peak_mib"] >= record["base_mib"] > 0
    with np.load(here.path) as stored:

        def matrix(name):
            indices, indptr = stored[f"{name}_indices"], stored[f"{name}_indptr"]
            data = stored[f"{name}_data"] if name.startswith("X") else np.ones(len(indices), int)
            return sp.csr_array((data, indices, indptr), shape=tuple(stored[f"{name}_shape"]))

        X, Y, X_test = matrix("X"), matrix("Y").toarray(), matrix("X_test")
    scores = RidgeClassifier(1.0).fit(X.toarray(), Y).decision_function(X_test.toarray())
    truth = here.truth.toarray().astype(int)
    for measure in AVERAGES:
        decided = scores >= record["thresholds"][measure][0]
        assert record[measure] == pytest.approx(reached(truth, decided, measure), abs=1e-9)
        # Tuned on other rows, it comes close to what the best threshold would have given.
        best = best_thresholds(candidates(scores, scores.shape[1]), here.truth)[measure][1]
        assert best - 0.02 < record[measure] <= best + 1e-9
    first = truth[np.arange(len(truth)), scores.argmax(axis=1)]
    assert record["precision_at_1"] == pytest.approx(first.mean())
    again = harness.load_counts("ridge", here, "micro_f1")
    assert again.micro_f1() == record["micro_f1"]
    check_tables(record, here.name)


def check_tables(record, name):
    """A competitor with the very same result is neither ahead nor faster."""
    twin = harness.prediction_path(tables.OURS, name)
    twin.write_bytes(harness.prediction_path("ridge", name).read_bytes())
    found = {("ridge", name): record, (tables.OURS, name): record}
    shown = tables.data_table(found, name)
    assert shown.count(f"**{tables.share(record['example_f1'])}**") == 2
    ahead = tables.bootstrap_table(found, [name])
    assert len(re.findall(r" \+0\.000 \[\+0\.000, \+0\.000\] \|\s+\+0\.0 %", ahead)) == 2
    cells = tables.goal_table(found, [name]).splitlines()[-1].split("|")
    assert [cell.strip() for cell in cells[-3:-1]] == ["1×", "1×"]


def test_a_run_past_its_limit_is_listed_as_such(here):
    record = harness.run_one("ridge", here, limit=1)
    assert record["status"] == "over the limit"
    assert "example_f1" not in record


def test_results_are_not_computed_twice(here, tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "installed", lambda name: True)
    path = tmp_path / "results.jsonl"
    monkeypatch.setattr(harness, "RESULTS", path)
    runs = []
    monkeypatch.setattr(
        harness, "run_one",
        lambda name, split, limit: runs.append(name) or {
            "competitor": name, "data": split.name, "key": harness.key(name, split),
            "status": "failed", "reason": "none",
        },
    )  # fmt: skip
    for _ in range(2):
        harness.run_all(["ridge", "omikuji"], [here.name])
    assert runs == ["ridge", "omikuji"]
    harness.run_all(["ridge"], [here.name], again=True)
    assert runs[2:] == ["ridge"]
    assert len(path.read_text().splitlines()) == 3
    assert set(harness.records(path)) == {("ridge", here.name), ("omikuji", here.name)}
