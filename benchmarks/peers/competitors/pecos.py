"""PECOS: XR-Linear, labels clustered by their rows, default settings, one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from pecos.utils import smat_util
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel


def fit(X: Any, Y: Any) -> Any:
    X, Y = X.astype(np.float32), Y.astype(np.float32).tocsc()
    clusters = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), threads=1)
    return XLinearModel.train(X, Y, C=clusters, threads=1)


def scores(model: Any, X: Any, k: int) -> Any:
    found = model.predict(X.astype(np.float32), only_topk=k, threads=1)
    return smat_util.sorted_csr(found)
