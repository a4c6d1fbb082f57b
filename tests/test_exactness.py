"""A model is a function of the set of rows it knows: equal sets, equal models, to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from grople import GroPLE, GroPLECV
from grople.datasets import load, read
from tests.conftest import data_dir

FAST = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
REAL = ("bibtex", "medical", "rcv1subset1", "scene", "CAL500")


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    """Return features and labels of a data set, at most 800 rows."""
    if name == "texts":
        data = load("debtags-mini")
        return data.X[:800], sp.csr_array(data.Y)[:800]
    if name == "odd":
        rng = np.random.default_rng(0)
        X = rng.standard_normal((600, 12)) * 10.0 ** np.linspace(-9, 9, 12)
        X[:, 3] += 1e6 * np.abs(X[:, 3]).max()
        X[:, 4] = 7.0
        X[400:, 5] *= 3e3  # beyond the range of the first rows
        X[:300, 6] = 0.0  # a column that they do not have
        X[500:] = X[:100]  # copies
        B = sp.csr_array((X[:, :5] @ rng.standard_normal((5, 6)) > 0).astype(float))
        return X, B
    folder = data_dir()
    if folder is None:
        pytest.skip("real data sets not found: set GROPLE_DATA")
    data = read(folder / "npz" / f"{name}.npz")
    X = normalize(data.X) if sp.issparse(data.X) else data.X
    return X[:800], sp.csr_array(data.Y)[:800]


def fitted(X: Any, B: Any, weights: Any = None, like: Any = None, **parameters: Any) -> GroPLE:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GroPLE(**parameters).fit(X, B, weights, like=like)


def assert_same(one: GroPLE, other: GroPLE, X: Any) -> None:
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    assert (one.predict(X) != other.predict(X)).nnz == 0


@pytest.mark.parametrize("name", [*REAL, "texts", "odd"])
@FAST
@given(data=st.data())
def test_rows_that_came_and_went_leave_no_trace(name: str, data: st.DataObject) -> None:
    X, B = rows_of(name)
    n = X.shape[0]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    weights = rng.choice([1.0, 1.0, 0.25, 3.7], n) if data.draw(st.booleans()) else None
    kept = np.sort(rng.permutation(n)[: int(0.8 * n)])
    gone = np.setdiff1d(np.arange(n), kept)

    def part(rows: Any) -> tuple[Any, Any, Any]:
        return X[rows], B[rows], None if weights is None else weights[rows]

    wanted = fitted(*part(kept))
    blocks = np.array_split(rng.permutation(n), data.draw(st.integers(1, 9)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = GroPLE().fit_blocks([part(blocks[0])], like=wanted)
        for block in blocks[1:]:
            x, b, w = part(block)
            found.partial_fit(x, b, sample_weight=w)
        for some in np.array_split(rng.permutation(gone), 2):
            found.forget(*part(some))
        for _ in range(data.draw(st.integers(0, 2))):  # there and back again
            x, b, w = part(gone[:7])
            found.partial_fit(x, b, sample_weight=w).forget(x, b, w)
    assert found.summary_.checksum() == wanted.summary_.checksum()
    assert_same(found, wanted, X[:200])


@pytest.mark.parametrize("name", [*REAL, "texts", "odd"])
def test_a_row_is_answered_the_same_whatever_it_is_asked_with(name: str) -> None:
    X, B = rows_of(name)
    model = fitted(X[:900], B[:900])
    asked = X[-150:]
    scores, chances = model.decision_function(asked), model.predict_proba(asked)
    marks = model.predict(asked).toarray()
    for rows in ([17], [3, 99, 4], list(range(60, 93)), list(range(149, -1, -1))):
        assert np.array_equal(model.decision_function(asked[rows]), scores[rows])
        assert np.array_equal(model.predict_proba(asked[rows]), chances[rows])
        assert np.array_equal(model.predict(asked[rows]).toarray(), marks[rows])
    wide = sp.vstack([sp.csr_array(X), sp.csr_array(asked)]) if sp.issparse(X) else (
        np.concatenate([X, asked])
    )  # fmt: skip
    assert np.array_equal(model.predict_proba(wide)[-150:], chances)


@pytest.mark.parametrize("name", ["texts", "odd"])
def test_a_search_does_not_know_the_order_of_rows(name: str) -> None:
    X, B = rows_of(name)
    X, B = X[:400], B[:400]
    order = np.random.default_rng(0).permutation(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = GroPLECV(alpha=[0.0, 1.0], gamma=["auto", 10.0], cv=3).fit(X, B)
        other = GroPLECV(alpha=[0.0, 1.0], gamma=["auto", 10.0], cv=3).fit(
            X[order], B[order], like=one
        )
    assert one.best_params_ == other.best_params_
    assert np.array_equal(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    assert_same(one, other, X)


def test_copies_count_and_their_order_does_not() -> None:
    X, B = rows_of("texts")
    X, B = X[:300], B[:300]
    twice = np.concatenate([np.arange(300), np.arange(100), np.arange(50)])
    relabelled = sp.vstack([B[twice[:-20]], B[:20][::-1]], format="csr")
    order = np.random.default_rng(3).permutation(len(twice))
    one = fitted(X[twice], relabelled)
    other = fitted(X[twice[order]], relabelled[order], like=one)
    assert_same(one, other, X)


THREADS = """
import sys, warnings
import numpy as np
from grople import GroPLE
from grople.datasets import load
warnings.simplefilter("ignore")
data = load("debtags-mini")
model = GroPLE().fit(data.X[:600], data.Y[:600])
small = GroPLE(max_kept_rows=500).fit(data.X[:600, :300].toarray(), data.Y[:600])
parts = [model.predict_proba(data.X[600:700]), small.predict_proba(data.X[600:700, :300].toarray())]
np.save(sys.argv[1], np.concatenate(parts))
"""


def test_the_number_of_threads_makes_no_difference(tmp_path: Path) -> None:
    found = []
    for threads in ("1", "2", "4"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
        path = tmp_path / f"{threads}.npy"
        subprocess.run(
            [sys.executable, "-c", THREADS, str(path)], check=True,
            env=os.environ | dict.fromkeys(names, threads),
        )  # fmt: skip
        found.append(np.load(path))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_more_rows_than_are_kept() -> None:
    X, B = rows_of("odd")
    wanted = fitted(X[:500], B[:500], max_kept_rows=60)
    found = fitted(X, B, max_kept_rows=60, like=wanted)
    found.forget(X[500:], B[500:])
    assert found.exactness_.startswith("Scores, probabilities and labels")
    assert_same(found, wanted, X)
    with pytest.warns(UserWarning, match="the reserve"):
        found.forget(X[60:500], B[60:500])
    assert "decision is fitted on" in found.exactness_
    fresh = fitted(X[:60], B[:60], max_kept_rows=60, like=wanted)
    assert np.array_equal(found.decision_function(X), fresh.decision_function(X))
