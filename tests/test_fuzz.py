"""The whole path on rows nobody prepared: only documented errors, and finite answers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grople import GroPLE, load_model, save_model
from grople.decision import FITTED_RULES, Rule

RULES = [*FITTED_RULES, "sign", 0.1, Rule("top_k", k=3), Rule("accuracy", context=False)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Draw rows with copies, empty rows and columns, labels that never or always occur, weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, D, L = draw(st.integers(1, 90)), draw(st.integers(1, 40)), draw(st.integers(1, 25))
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < draw(st.sampled_from([0.05, 0.5, 1.0])))
    kind = draw(st.sampled_from(["plain", "counts", "scales", "offset", "narrow"]))
    if kind == "counts":
        X = np.round(np.abs(3 * X))
    elif kind == "scales":
        X = X * 10.0 ** rng.integers(-9, 10, D)
    elif kind == "offset":
        X = X + 1e6
    elif kind == "narrow":
        X = X.astype(np.float32)
    if draw(st.booleans()):
        X[n // 2 :] = X[rng.integers(0, max(n // 3, 1), n - n // 2)]  # copies
    B = (rng.random((n, L)) < rng.choice([0.0, 0.02, 0.3, 1.0], L)).astype(int)
    B[: n // 10] = 0
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n) if draw(st.booleans()) else None
    if weights is not None:
        weights[0] = 1.0
    return (sp.csr_array(X) if draw(st.booleans()) else X), B, weights


def assert_answers(model: GroPLE, X: Any, L: int) -> None:
    for rule in RULES:
        marks = np.asarray(model.set_params(decision=rule).predict(X))
        assert marks.shape == (X.shape[0], L)
        assert np.isin(marks, (0, 1)).all()
        chances = model.predict_proba(X)
        assert chances.shape == (X.shape[0], L)
        assert ((chances >= 0) & (chances <= 1)).all()
    model.set_params(decision="example_f1")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables())
def test_from_fit_to_forget(table: tuple[Any, Any, Any], tmp_path_factory: Any) -> None:
    X, B, weights = table
    L = B.shape[1]
    file = Path(tmp_path_factory.mktemp("fuzz")) / "m.grople"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GroPLE().fit(X, B, weights)
        assert_answers(model, X, L)
        save_model(file, model)
        loaded = load_model(file)
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        loaded.partial_fit(X[:3], B[:3])
        assert_answers(loaded, X, L)
        loaded.forget(X[:3], B[:3])
        assert loaded.summary_.checksum() == model.summary_.checksum()
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.data
def test_kernel_features_with_copies_are_decided(shared_data: Path) -> None:
    from sklearn.kernel_approximation import Nystroem

    from grople.datasets import read

    data = read(shared_data / "npz" / "tmc2007-500.npz")
    rows = np.random.default_rng(11).permutation(data.X.shape[0])[:3000]
    X, B = data.X[rows].toarray().astype(np.float32), sp.csr_array(data.Y)[rows]
    X = Nystroem(gamma=3.0, n_components=300, random_state=0).fit_transform(X).astype(np.float32)
    model = GroPLE().fit(X[:2400], B[:2400])
    for rule in ("accuracy", "example_f1", "macro_f1"):
        assert model.set_params(decision=rule).predict(X[2400:]).shape == (600, 22)
