"""omikuji: three balanced label trees, default settings, one thread.

It learns from a file, which is written beforehand and not timed, and predicts a row at a time.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import omikuji
import scipy.sparse as sp


def prepare(X: Any, Y: Any) -> tuple[str, int]:
    path = Path(tempfile.mkdtemp(prefix="omikuji-")) / "train.txt"
    with open(path, "w") as lines:
        lines.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for i in range(X.shape[0]):
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[part], X.data[part], strict=True)
            lines.write(f"{labels} {' '.join(f'{j}:{v:.7g}' for j, v in pairs)}\n")
    return str(path), Y.shape[1]


def fit(path: str, width: int) -> Any:
    model = omikuji.Model.train_on_data(path, n_threads=1)
    model.init_prediction_thread_pool(1)
    return model, width


def scores(model: Any, X: Any, k: int) -> Any:
    trees, width = model
    rows = []
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
        rows.append(trees.predict(list(pairs), top_k=k))
    counts = np.cumsum([0, *map(len, rows)])
    flat = np.array([pair for row in rows for pair in row], dtype=np.float64).reshape(-1, 2)
    return sp.csr_matrix((flat[:, 1], flat[:, 0].astype(np.int32), counts), (len(rows), width))
