"""Files of every version of the format so far open, and predict what they predicted then."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from grople.io import FORMAT_VERSION, read_model

FOLDER = Path(__file__).resolve().parents[1] / "data"
FILES = sorted(FOLDER.glob("model-v*.grople"))
KINDS = {"chains", "classes", "copies", "grople", "reranker", "rows", "text", "weights"}
#: Matrix products on another kind of machine round otherwise.
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}
#: The networks of a re-ranker compute in single precision, with about seven digits.
NARROW = {"rtol": 1e-5, "atol": 1e-6}


def kind_of_machine() -> str:
    """Return what decides how sums of products are rounded."""
    kernels = {info.get("architecture", "") for info in threadpool_info()}
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}"
    return f"{platform.machine()} {'/'.join(sorted(kernels))}, {versions}"


def dense(values: Any) -> Any:
    """Return a plain array."""
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def test_every_version_has_its_files() -> None:
    versions = {path.name.split("-")[1] for path in FILES}
    assert versions == {f"v{version}" for version in range(1, FORMAT_VERSION + 1)}
    for version in versions:
        kinds = {path.stem.split("-")[2] for path in FILES if f"-{version}-" in path.name}
        assert kinds >= KINDS
    assert all(path.stat().st_size < 100_000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("with_rows", [True, False])
def test_it_predicts_what_it_predicted(path: Path, with_rows: bool) -> None:
    saved = read_model(path, with_rows=with_rows)
    model = saved.model
    with np.load(path.with_suffix(".npz")) as file:
        expected = dict(file)
    X = sp.csr_array(expected["X"]) if expected["sparse"] else expected["X"]
    scores, found = model.decision_function(X), model.predict_proba(X)
    if expected["machine"] == kind_of_machine():
        np.testing.assert_array_equal(scores, expected["scores"])
        np.testing.assert_array_equal(found, expected["probabilities"])
    else:
        np.testing.assert_allclose(scores, expected["scores"], **ROUNDING)
        rounding = NARROW if "reranker" in path.stem else ROUNDING
        np.testing.assert_allclose(found, expected["probabilities"], **rounding)
    if "classes" in expected:
        assert model.predict(X).tolist() == expected["classes"].tolist()
    for rule in ("accuracy", "example_f1", "macro_f1", "micro_f1", "sign"):
        if rule in expected:
            model.set_params(decision=rule)
            np.testing.assert_array_equal(dense(model.predict(X)), expected[rule])
    assert saved.header["notes"] == f"golden: {path.stem.split('-')[2]}"


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.stem.endswith(("grople", "text", "rows", "copies", "weights"))],
    ids=lambda path: path.stem,
)
def test_it_learns_on(path: Path) -> None:
    model = read_model(path).model
    with np.load(path.with_suffix(".npz")) as expected:
        X, Y, scores = expected["X"], expected["Y"], expected["scores"]
    before = model.summary_.checksum()
    more = sp.csr_array(X[60:]), Y[60:]
    model.partial_fit(*more)
    assert np.abs(model.decision_function(X) - scores).max() > 1e-3
    model.forget(*more)
    assert model.summary_.checksum() == before
    # Later versions may solve otherwise, but not for another model.
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6, atol=1e-8)


def test_features_of_texts_are_as_they_were() -> None:
    for path in FILES:
        if path.stem.endswith("text"):
            features = read_model(path).features
            with np.load(path.with_suffix(".npz")) as expected:
                X = expected["X"]
            texts = [" ".join(features.names[row != 0]) for row in X]
            np.testing.assert_allclose(features.transform(texts).toarray(), X, **ROUNDING)
