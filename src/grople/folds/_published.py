"""The folds on which the published tables were computed."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import DataError

__all__ = ["published_folds", "published_splits"]

FILE = "author_folds.npz"


def published_folds(name: str, folder: str | Path | None = None) -> NDArray[np.int64]:
    """Return the authors' own five folds of a data set.

    Parameters
    ----------
    name : str
        Data set, spelt as in the file, for instance ``"corel5k"``.
    folder : path, optional
        Folder that holds ``author_folds.npz``; by default ``$GROPLE_DATA``.

    Returns
    -------
    ndarray of shape (n_rows,)
        Fold number of each row, as :class:`sklearn.model_selection.PredefinedSplit` takes it.

    Raises
    ------
    DataError
        If the file or the data set's folds are not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/author_folds.npz", tiny=np.array([0, 1, 1, 0], np.int8))
    ...     published_folds("tiny", folder)
    array([0, 1, 1, 0])
    """
    chosen = os.environ.get("GROPLE_DATA") if folder is None else folder
    if not chosen:
        raise DataError(
            f"the authors' folds are read from {FILE}: set GROPLE_DATA to the folder that "
            "holds it, or pass that folder"
        )
    file = Path(chosen) / FILE
    try:
        with np.load(file, allow_pickle=False) as archive:
            known = sorted(archive.files)
            folds = archive[name] if name in known else None
    except FileNotFoundError:
        raise DataError(f"not found; it holds the authors' folds of {name!r}", file=file) from None
    except (OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise DataError(f"cannot be read as an npz file: {error}", file=file) from error
    if folds is None:
        raise DataError(f"no folds of {name!r}; known are those of {', '.join(known)}", file=file)
    if folds.ndim != 1 or folds.dtype.kind not in "iu" or folds.size == 0 or folds.min() < 0:
        raise DataError(f"{name!r} must be one fold number (0, 1, …) a row", file=file)
    return folds.astype(np.int64)


def published_splits(X: Any, Y: Any, folds: NDArray[Any]) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield training and test rows of each fold, without the labels that no training row has.

    Parameters
    ----------
    X, Y : array or sparse array
        Features and labels.
    folds : ndarray of int of shape (n_rows,)
        The fold in which each row is tested.

    Yields
    ------
    X_train, Y_train, X_test, Y_test
        Labels are CSR arrays.

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 1]])
    >>> [part[1].toarray().tolist() for part in published_splits(Y, Y, np.array([0, 1]))]
    [[[1, 1]], [[1]]]
    """
    X, Y = sp.csr_array(X) if sp.issparse(X) else np.asarray(X), sp.csr_array(Y)
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        seen = np.flatnonzero(Y[train].sum(axis=0))
        yield X[train], Y[train][:, seen], X[test], Y[test][:, seen]
