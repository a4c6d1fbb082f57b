"""The stored splits: the same rows, features and folds for every competitor.

The first of the authors' folds where they are known, otherwise the first of five seeded ones, is
the test part; rows have unit length; labels without a training row are left out.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import data_folder
from benchmarks.peers.table import FOLDER
from grople.datasets import make_grouped_multilabel, read_examples
from grople.features import fit_text
from grople.study import load_data
from grople.tagging import Examples

__all__ = ["DATA", "QUICK", "Split", "stored_split"]

#: In the order in which they are run.
DATA = (
    "debian", "bibtex", "delicious", "corel5k", "rcv1subset1-repaired",
    "medical", "genbase", "CAL500", "corel16k001",
    "rcv1subset1", "rcv1subset2", "rcv1subset3",
    "synthetic", "synthetic-labels", "synthetic-rows",
)  # fmt: skip
#: Of the synthetic ones, rows to learn from and to test, and what they are made with: a small one,
#: one with 3,000 labels as of texts, and one with a million rows.
SYNTHETIC: dict[str, tuple[int, int, dict[str, Any]]] = {
    "synthetic": (4_000, 1_000, {}),
    "synthetic-labels": (
        20_000,
        2_000,
        {
            "n_features": 10_000,
            "n_labels": 3_000,
            "n_groups": 30,
            "cardinality": 5.0,
            "features_per_row": 80.0,
            "features_per_label": 32,
        },
    ),
    "synthetic-rows": (
        1_000_000,
        10_000,
        {"n_features": 1_000, "n_labels": 100, "features_per_row": 12.0},
    ),
}
QUICK = "debtags-mini"
#: Folds of the training rows on which thresholds are tuned.
FOLDS = 3
#: Debian's descriptions: words and pairs of words kept, and the fewest texts of a tag.
DEBIAN_TERMS, DEBIAN_TEXTS = 60_000, 5


@dataclass(frozen=True)
class Split:
    """A split in a file, with the labels of its test rows and a fingerprint of all of it."""

    name: str
    path: Path
    truth: Any
    fingerprint: str
    shape: tuple[int, int, int, int]


def stored_split(name: str) -> Split:
    """Return a stored split, writing it first where it is not there."""
    path = FOLDER / "splits" / f"{name}.npz"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, **_arrays(*_parts(name)))
        part.rename(path)
    with np.load(path) as stored:
        digest = hashlib.sha256()
        for key in sorted(stored.files):
            digest.update(key.encode() + np.ascontiguousarray(stored[key]).tobytes())
        indices, indptr = stored["Y_test_indices"], stored["Y_test_indptr"]
        n_test, n_labels = (int(size) for size in stored["Y_test_shape"])
        n_train, n_features = (int(size) for size in stored["X_shape"])
    truth = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(n_test, n_labels))
    shape = (n_train, n_test, n_features, n_labels)
    return Split(name, path, truth, digest.hexdigest()[:12], shape)


def _arrays(X: Any, Y: Any, X_test: Any, Y_test: Any) -> dict[str, Any]:
    folds = np.random.default_rng(0).permutation(X.shape[0]) % FOLDS
    arrays: dict[str, Any] = {"folds": folds.astype(np.int8)}
    for name, matrix in (("X", X), ("X_test", X_test), ("Y", Y), ("Y_test", Y_test)):
        matrix = sp.csr_array(matrix)
        matrix.sum_duplicates()
        arrays |= {
            f"{name}_indices": matrix.indices.astype(np.int32),
            f"{name}_indptr": matrix.indptr.astype(np.int32),
            f"{name}_shape": np.array(matrix.shape),
        }
        if name.startswith("X"):
            arrays[f"{name}_data"] = matrix.data.astype(np.float64)
    return arrays


def _parts(name: str) -> tuple[Any, Any, Any, Any]:
    if name == "debian":
        return _debian()
    if name in SYNTHETIC:
        learnt, tested, options = SYNTHETIC[name]
        data = make_grouped_multilabel(learnt + tested, random_state=0, **options)
        return _seen(sp.csr_array(data.X), data.Y, np.arange(learnt + tested) < learnt)
    if folder := data_folder():
        os.environ.setdefault("GROPLE_DATA", str(folder))
    found = load_data(name)
    return _seen(sp.csr_array(found.X), found.B, found.folds != 0)


def _seen(X: Any, Y: Any, train: Any, fewest: int = 1) -> tuple[Any, Any, Any, Any]:
    """Return the parts: rows of unit length, labels that enough rows and some training row have."""
    X, Y = normalize(X), sp.csr_array(Y)
    enough = np.bincount(Y.indices, minlength=Y.shape[1]) >= fewest
    seen = np.flatnonzero(enough & np.bincount(Y[train].indices, minlength=Y.shape[1]).astype(bool))
    return X[train], Y[train][:, seen], X[~train], Y[~train][:, seen]


def _debian() -> tuple[Any, Any, Any, Any]:
    folder = data_folder()
    if folder is None:
        raise SystemExit("Debian's package descriptions are not here: set GROPLE_DATA.")
    texts, _ = read_examples(folder / "debtags" / "debtags.jsonl.gz")
    order = np.random.default_rng(0).permutation(len(texts))
    train = np.zeros(len(texts), dtype=bool)
    train[order[: len(texts) * 4 // 5]] = True
    known = [text for text, learnt in zip(texts.texts, train, strict=True) if learnt]
    features, _ = fit_text(known, max_features=DEBIAN_TERMS, ngrams=(1, 2))
    Y = Examples.of(texts).Y
    return _seen(features.transform(texts.texts), Y, train, DEBIAN_TEXTS)
