"""napkinXC: a probabilistic label tree, default settings, one thread."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from napkinxc.models import PLT


def fit(X: Any, Y: Any) -> Any:
    folder = tempfile.mkdtemp(prefix="napkinxc-")
    model = PLT(folder, seed=1, threads=1)
    model.fit(X.astype(np.float32), Y.astype(np.float32))
    return model, Y.shape[1]


def scores(model: Any, X: Any, k: int) -> Any:
    tree, width = model
    rows = tree.predict_proba(X.astype(np.float32), top_k=k)
    counts = np.cumsum([0, *map(len, rows)])
    pairs = np.array([pair for row in rows for pair in row], dtype=np.float64).reshape(-1, 2)
    return sp.csr_matrix(
        (pairs[:, 1], pairs[:, 0].astype(np.int32), counts), shape=(len(rows), width)
    )
