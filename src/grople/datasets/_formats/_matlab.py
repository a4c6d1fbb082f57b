"""MATLAB files: version 5 directly, version 7.3 (HDF5) with the optional h5py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._bundle import NumberedNames
from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._formats._mat5 import is_mat5, read_variables
from grople.datasets._matrices import binary_labels, checked_csr, finite_features
from grople.datasets._reading import Reading
from grople.errors import DataError, require
from grople.files import Source, too_large

__all__ = ["MatlabFile", "is_hdf5"]

_FEATURES = ("data", "X", "x", "features", "fea")
_LABELS = ("target", "targets", "Y", "y", "labels", "label")
_HDF5 = b"\x89HDF\r\n\x1a\n"
# No compressed stream grows by more than deflate's 1032 in HDF5's usual filters.
_LARGEST_GROWTH = 1100
# How many rows a sparse matrix may have for each value it stores.
_EMPTY_ROWS = 1000


class MatlabFile(Reader):
    """An open MATLAB file, version 5 to 7.2, or 7.3, with a feature and a label matrix.

    Features are rows × features; labels, 0/1 or −1/1, may be stored either way round.
    """

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        names = (reading.variable,) if reading.variable else _FEATURES
        labels = (str(reading.labels),) if reading.labels else _LABELS
        stream = source.seekable()
        head = stream.read(520)
        stream.seek(0)
        wanted = frozenset((*names, *labels))
        if is_hdf5(head):
            found, known = _read_hdf5(stream, self._file, source.max_bytes, wanted)
        elif is_mat5(head):
            found, known = read_variables(stream.read(), self._file, source.max_bytes, wanted)
        else:
            raise DataError("not a MATLAB file of version 5 or 7.3", file=self._file)
        self._X = _pick(names, "variable", "features", found, known, self._file)
        if sp.issparse(self._X):
            n_rows, stored = self._X.shape[0], self._X.nnz
            # Stored by column, so nothing but a number in the header vouches for the rows.
            if n_rows > _EMPTY_ROWS + _EMPTY_ROWS * stored:
                reason = f"claims {n_rows:,} rows but holds only {stored:,} values"
                raise DataError(reason, file=self._file)
            self._X = self._X.tocsr()
        self._Y = None
        if only is None:
            Y = _pick(labels, "labels", "labels", found, known, self._file)
            self._Y = binary_labels(self._upright(Y), self._file)
        self.feature_names = NumberedNames("feature", self._X.shape[1])
        self.label_names = NumberedNames("label", 0 if self._Y is None else self._Y.shape[1])

    def batches(self) -> Iterator[Batch]:
        """Yield all rows."""
        yield Batch(self._X, self._Y)

    def finish(self, batch: Batch) -> Batch:
        """Return rows of finite numbers."""
        return replace(batch, X=finite_features(batch.X, self._file))

    def _upright(self, Y: Any) -> Any:
        """Return the labels as rows × labels."""
        n_rows, transposed = self._X.shape[0], self.reading.transposed
        fits, fits_transposed = Y.shape[0] == n_rows, Y.shape[1] == n_rows
        if transposed is None:
            if fits and fits_transposed:
                raise DataError(
                    f"the labels are {n_rows} × {n_rows}",
                    file=self._file,
                    hint="pass {transposed} if they are stored labels × rows, else False",
                    options={"transposed": True},
                )
            transposed = fits_transposed
        if not (fits_transposed if transposed else fits):
            raise DataError(
                f"{n_rows} rows of features, but labels of {Y.shape[0]} × {Y.shape[1]}",
                file=self._file,
            )
        return Y.T if transposed else Y


def _pick(
    names: Sequence[str | None],
    option: str,
    what: str,
    found: dict[str, Any],
    known: list[str],
    file: str,
) -> Any:
    for name in names:
        if name in found:
            return found[name]
    there = ", ".join(map(repr, known[:8])) or "nothing"
    raise DataError(
        f"no numeric matrix {' or '.join(map(repr, names))}; the file has {there}",
        file=file,
        hint=f"pass {{{option}}} with the name of the {what}",
        options={option: None},
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
