"""MATLAB files: version 5 directly, version 7.3 (HDF5) with the optional h5py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._mat5 import is_mat5, read_variables
from grople.datasets._matrices import binary_labels, checked_csr, finite_features
from grople.datasets._streams import DEFAULT_LIMIT, bundle_or_error, opened, too_large
from grople.datasets.bundle import Bundle
from grople.errors import DataError, require

__all__ = ["is_hdf5", "read_matlab"]

_FEATURES = ("data", "X", "x", "features", "fea")
_LABELS = ("target", "targets", "Y", "y", "labels", "label")
_HDF5 = b"\x89HDF\r\n\x1a\n"
# No compressed stream grows by more than deflate's 1032 in HDF5's usual filters.
_LARGEST_GROWTH = 1100

# How many rows a sparse matrix may have for each value it stores.
_EMPTY_ROWS = 1000


def read_matlab(
    path: str | Path,
    *,
    features: str | None = None,
    labels: str | None = None,
    transposed: bool | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> Bundle:
    """Read a MATLAB file with a feature matrix and a label matrix, dense or sparse.

    Parameters
    ----------
    path : path
        The file, version 5 to 7.2, or 7.3, which needs h5py.
    features : str, optional
        The variable of the features, rows × features; by default the first found of
        ``data``, ``X``, ``x``, ``features``, ``fea``.
    labels : str, optional
        The variable of the labels, with 0/1 or −1/1; by default the first found of ``target``,
        ``targets``, ``Y``, ``y``, ``labels``, ``label``.
    transposed : bool, optional
        Whether the labels are stored labels × rows; needed only where both sides are as long as
        there are rows.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most the file may unpack to.

    Returns
    -------
    Bundle
        With float32 or float64 features as stored; integers become float64.

    Examples
    --------
    >>> import tempfile, numpy as np, scipy.io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     variables = {"data": np.ones((3, 2)), "target": np.array([[1, -1, 1]])}
    ...     scipy.io.savemat(f"{folder}/tiny.mat", variables)
    ...     read_matlab(f"{folder}/tiny.mat")
    Bundle('tiny': 3 rows, 2 dense features, 1 labels, 0.667 a row)
    """
    file = os.fspath(path)
    feature_names = (features,) if features else _FEATURES
    label_names = (labels,) if labels else _LABELS
    wanted = frozenset((*feature_names, *label_names))
    with opened(path, max_bytes) as source:
        stream = source.seekable()
        head = stream.read(520)
        stream.seek(0)
        if is_hdf5(head):
            found, known = _read_hdf5(stream, file, max_bytes, wanted)
        elif is_mat5(head):
            found, known = read_variables(stream.read(), file, max_bytes, wanted)
        else:
            raise DataError("not a MATLAB file of version 5 or 7.3", file=file)
    X = _pick(feature_names, "features", found, known, file)
    Y = binary_labels(_pick(label_names, "labels", found, known, file), file)
    n_rows = X.shape[0]
    fits, fits_transposed = Y.shape[0] == n_rows, Y.shape[1] == n_rows
    if transposed is None:
        if fits and fits_transposed:
            raise DataError(
                f"the labels are {n_rows} × {n_rows}: pass transposed=True if they are stored "
                "labels × rows, else False",
                file=file,
            )
        transposed = fits_transposed
    if not (fits_transposed if transposed else fits):
        raise DataError(
            f"{n_rows} rows of features, but labels of {Y.shape[0]} × {Y.shape[1]}", file=file
        )
    if sp.issparse(X):
        # Stored by column, so nothing but a number in the header vouches for the rows.
        if n_rows > _EMPTY_ROWS + _EMPTY_ROWS * X.nnz:
            raise DataError(f"claims {n_rows:,} rows but holds only {X.nnz:,} values", file=file)
        X = X.tocsr()
    Y = Y.T if transposed else Y
    return bundle_or_error(file, finite_features(X, file), Y.tocsr(), name=name)


def _pick(
    names: tuple[str, ...], what: str, found: dict[str, Any], known: list[str], file: str
) -> Any:
    for name in names:
        if name in found:
            return found[name]
    there = ", ".join(map(repr, known[:8])) or "nothing"
    raise DataError(
        f"no numeric matrix {' or '.join(map(repr, names))}; the file has {there}: "
        f"pass {what}= with the name of the {what}",
        file=file,
    )


def is_hdf5(head: bytes) -> bool:
    """Whether a file that starts like this is HDF5."""
    return head.startswith(_HDF5) or head[512:520] == _HDF5


def _read_hdf5(
    stream: IO[bytes], file: str, max_bytes: int, wanted: frozenset[str]
) -> tuple[dict[str, Any], list[str]]:
    h5py = require("h5py", "matlab", "reading a MATLAB 7.3 file")
    budget = max_bytes
    found: dict[str, Any] = {}

    def array(dataset: Any) -> Any:
        nonlocal budget
        size = int(dataset.size or 0) * dataset.dtype.itemsize
        stored = dataset.id.get_storage_size()
        if dataset.dtype.kind not in "fiub" or dataset.ndim == 0:
            raise DataError(f"variable {dataset.name!r} is not a numeric matrix", file=file)
        if dataset.external or dataset.is_virtual:
            raise DataError(f"variable {dataset.name!r} points to another file", file=file)
        if size > _LARGEST_GROWTH * stored:
            raise DataError(f"variable {dataset.name!r} is truncated", file=file)
        budget -= size
        if budget < 0:
            raise too_large(file, max_bytes)
        return dataset[()]

    try:
        with h5py.File(stream, "r") as archive:
            known = [key for key in archive if not key.startswith("#")]
            for key in wanted.intersection(known):
                if isinstance(archive.get(key, getlink=True), h5py.ExternalLink):
                    raise DataError(f"variable {key!r} points to another file", file=file)
                node = archive[key]
                if "MATLAB_sparse" in node.attrs:
                    found[key] = _sparse(key, node, array, file)
                elif isinstance(node, h5py.Dataset) and node.ndim == 2:
                    found[key] = _matrix(node, array)
    except DataError:
        raise
    except Exception as error:  # the HDF5 library reports damage in many ways
        raise DataError(f"damaged HDF5 file ({str(error)[:200]})", file=file) from error
    return found, known


def _matrix(node: Any, array: Any) -> Any:
    if "MATLAB_empty" in node.attrs:
        return np.empty((0, 0))
    # HDF5 stores MATLAB's columns as rows.
    return array(node).T


def _sparse(name: str, node: Any, array: Any, file: str) -> Any:
    """Return a sparse matrix, stored by column in three lists."""
    rows = int(node.attrs["MATLAB_sparse"])
    indptr = array(node["jc"])
    empty = "ir" not in node
    indices = np.empty(0, np.int64) if empty else array(node["ir"])
    values = np.empty(0) if empty else array(node["data"])
    transpose = checked_csr(name, values, indices, indptr, (indptr.size - 1, rows), file)
    return transpose.T
