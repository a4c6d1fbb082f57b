"""One binary problem a label, in parallel, without a copy of the features for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

__all__ = [
    "binary_models",
    "in_parallel",
    "linear_part",
    "narrow_indices",
    "ready_rows",
    "varying_labels",
]

Array = NDArray[Any]


def varying_labels(B: Any) -> tuple[NDArray[np.intp], Array]:
    """Return the labels that some but not all rows carry, and ±1 for those that none or all do.

    Examples
    --------
    >>> import numpy as np
    >>> varying_labels(np.array([[1, 0, 1], [1, 0, 0]]))
    (array([2]), array([ 1., -1.,  1.]))
    """
    counts = np.asarray(sp.csr_array(B).sum(axis=0))
    constants = np.where(counts > 0, 1.0, -1.0)
    return np.flatnonzero((counts > 0) & (counts < B.shape[0])), constants


def ready_rows(X: Any) -> Any:
    """Return X as LIBSVM and LIBLINEAR take it: float64, row by row, with 32-bit indices."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float64)
    return narrow_indices(sp.csr_array(X, dtype=np.float64))


def narrow_indices(X: Any) -> Any:
    """Return a CSR matrix with 32-bit indices where they suffice; many classifiers want them."""
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    narrow = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, *narrow), shape=X.shape)


def linear_part(model: Any) -> tuple[Array, float, int]:
    """Return weights, intercept and iterations of a linear binary model."""
    weights = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    return weights.ravel(), float(np.ravel(model.intercept_)[0]), int(np.max(model.n_iter_))


def binary_models(
    estimator: Any,
    X: Any,
    B: Any,
    fit_params: dict[str, Any] | None = None,
    *,
    keep: Callable[[Any], Any] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[], Any] | None = None,
) -> Iterator[Any]:
    """Fit a clone of a binary classifier to each label, and yield what is kept of each.

    Processes share X through a memory map (joblib), so that it is not copied for each label.

    Parameters
    ----------
    estimator : classifier
        Knows two classes, 0 and 1.
    X : rows
        Whatever the estimator takes as features.
    B : csr_array of shape (n_rows, n_labels)
        Labels, each of which some but not all rows carry.
    fit_params : dict, optional
        Passed to ``fit`` (``sample_weight``, say).
    keep : callable, optional
        What to keep of a fitted model, computed where it was fitted: :func:`linear_part`, say; by
        default the model.
    n_jobs : int, optional
        Processes (see joblib).
    progress : callable, optional
        Called after each label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> X, B = np.array([[0.0], [1.0], [2.0]]), np.array([[0, 1], [0, 1], [1, 0]])
    >>> [np.sign(w) for w, *_ in binary_models(LinearSVC(), X, B, keep=linear_part)]
    [array([1.]), array([-1.])]
    """
    columns = sp.csc_array(B)
    jobs = (
        (estimator, X, B.shape[0], columns.indices[start:end], fit_params or {}, keep)
        for start, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    )
    yield from in_parallel(_fit_binary, jobs, n_jobs=n_jobs, progress=progress)


def in_parallel(
    work: Callable[..., Any],
    jobs: Any,
    *,
    n_jobs: int | None = None,
    progress: Callable[[], Any] | None = None,
) -> Iterator[Any]:
    """Yield ``work(*job)`` of each job, in order, as they are done."""
    results = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work)(*job) for job in jobs)
    for result in results:
        if progress is not None:
            progress()
        yield result


def _fit_binary(
    estimator: Any, X: Any, n_rows: int, positive: Array, fit_params: dict[str, Any], keep: Any
) -> Any:
    y = np.zeros(n_rows, dtype=np.int64)
    y[positive] = 1
    model = clone(estimator).fit(X, y, **fit_params)
    return model if keep is None else keep(model)
