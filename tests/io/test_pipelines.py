"""Pipelines through skops, as documented: only types of this library and of scipy need trust."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from grople import GroPLE
from grople.baselines import BSVM, MLSF
from grople.datasets import make_grouped_multilabel
from grople.estimators import MultilabelDecisionClassifier

skops = pytest.importorskip("skops.io")

DATA = make_grouped_multilabel(80, 20, 6, n_groups=2, random_state=0)
TEXTS = [" ".join(f"word{i}" for i in np.flatnonzero(row)) for row in DATA.X.toarray()]
PIPELINES = {
    "texts": (make_pipeline(TfidfVectorizer(), GroPLE(4, 2)), TEXTS),
    "columns": (make_pipeline(Normalizer(), GroPLE(4, 2, gamma=1.0)), DATA.X),
    "BSVM": (make_pipeline(Normalizer(), BSVM()), DATA.X),
    "RidgeClassifier": (MultilabelDecisionClassifier(RidgeClassifier()), DATA.X),
    "MLSF": (make_pipeline(Normalizer(), MLSF(2)), DATA.X),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_through_skops(tmp_path: Path, name: str) -> None:
    pipeline, rows = PIPELINES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(rows, DATA.Y.toarray())
    skops.dump(pipeline, tmp_path / "p.skops")
    strange = skops.get_untrusted_types(file=tmp_path / "p.skops")
    trusted = [name for name in strange if name.startswith(("grople.", "scipy.sparse."))]
    assert trusted == strange
    loaded = skops.load(tmp_path / "p.skops", trusted=trusted)
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(
            getattr(loaded, method)(rows), getattr(pipeline, method)(rows), strict=True
        )
