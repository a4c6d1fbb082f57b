"""The two forms of the moments on texts: processor seconds of a fit with its decision, and quality.

Debian's package descriptions: so many to learn from, the most frequent words and pairs of words,
the tags of at least 5 of them; the same 5,000 others to measure. And bibtex.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE
from grople.datasets import load
from grople.datasets.text import read_texts
from grople.features import Features
from grople.metrics import example_f1
from grople.tagging.fitting import example_labels

SIZES = ((500, 2000), (1000, 4000), (2500, 6000), (5000, 8000))
MEASURED, FEWEST = 5000, 5


def texts(n_rows: int, n_words: int) -> tuple[Any, ...]:
    folder = data_folder()
    assert folder is not None
    found = read_texts(folder / "debtags" / "debtags.jsonl.gz")
    order = np.random.default_rng(0).permutation(len(found))
    test, train = order[:MEASURED], order[MEASURED : MEASURED + n_rows]
    words = [found.texts[i] for i in train]
    features, X = Features.fit_text(words, max_features=n_words, ngrams=(1, 2))
    Y = sp.csr_array(example_labels(found)[0])
    tags = np.flatnonzero(np.bincount(Y[train].indices, minlength=Y.shape[1]) >= FEWEST)
    rest = features.transform([found.texts[i] for i in test])
    return X, Y[train][:, tags], rest, Y[test][:, tags]


def tagged() -> tuple[Any, ...]:
    data = load("bibtex")
    X = normalize(data.X)
    train = np.random.default_rng(0).permutation(X.shape[0]) % 5 > 0
    return X[train], data.Y[train], X[~train], data.Y[~train]


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    sets = [texts(*size) for size in SIZES[: 1 if quick else None]] + [tagged()]
    for X, Y, X_test, Y_test in sets:
        seconds, quality = [], []
        for form in ("explicit", "implicit"):
            started = time.process_time()
            model = GroPLE(form=form, random_state=0).fit(X, Y)
            seconds.append(time.process_time() - started)
            quality.append(example_f1(Y_test, model.predict(X_test)))
        what = f"{X.shape[0]:,} × {X.shape[1]:,}, {Y.shape[1]}"
        cells = [f"{each:.1f}" for each in seconds] + [f"{seconds[0] / seconds[1]:.1f}×"]
        rows.append([what, *cells, *(f"{each:.3f}" for each in quality)])
    head = ["rows × features, labels", "explicit CPU s", "implicit CPU s", "faster",
            "example-F1 explicit", "implicit"]  # fmt: skip
    return table(head, rows)
