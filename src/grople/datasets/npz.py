"""Data sets as compressed numpy arrays: the fastest format to read, and exact.

``X_data X_indices X_indptr X_shape`` hold the features as CSR, ``Y_indices Y_indptr Y_shape`` the
labels (all ones), ``feature_names label_names source`` the names, ``row_names`` those of the rows
if they have any. Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._atomic import written
from grople.datasets._matrices import checked_csr, finite_features
from grople.datasets._rows_out import check_finite
from grople.datasets._streams import DEFAULT_LIMIT, bundle_or_error, opened, too_large
from grople.datasets.bundle import Bundle
from grople.errors import DataError

__all__ = ["NpzParts", "read_npz", "write_npz"]

_REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y_indices", "Y_indptr", "Y_shape")
_OPTIONAL = ("feature_names", "label_names", "source", "row_names")


def read_npz(
    path: str | Path, *, name: str | None = None, max_bytes: int = DEFAULT_LIMIT
) -> Bundle:
    """Read an ``.npz`` file written by :func:`write_npz`.

    Floating-point features keep their precision (float32 stays float32); integers become
    float64. A matrix more than two thirds full comes back dense.

    Parameters
    ----------
    path : path
        The file.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most the archive may unpack to.

    Returns
    -------
    Bundle

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(Bundle(np.ones((2, 2)), np.array([[1], [0]])), f"{folder}/tiny.npz")
    ...     read_npz(f"{folder}/tiny.npz")
    Bundle('tiny': 2 rows, 2 dense features, 1 labels, 0.500 a row)
    """
    file = str(path)
    with opened(path, max_bytes) as source:
        arrays = _arrays(source.seekable(), file, max_bytes)
    X = _csr("X", arrays["X_data"], arrays, file)
    Y = _csr("Y", np.ones(arrays["Y_indices"].size, dtype=np.int64), arrays, file)
    if X.shape[0] != Y.shape[0]:
        raise DataError(f"X has {X.shape[0]} rows but Y has {Y.shape[0]}", file=file)
    origin = arrays.get("source")
    return bundle_or_error(
        file,
        finite_features(X, file),
        Y,
        name=name,
        feature_names=_names("feature_names", arrays, file),
        label_names=_names("label_names", arrays, file),
        row_names=_names("row_names", arrays, file),
        source=str(origin) if origin is not None and origin.dtype.kind == "U" else file,
    )


def write_npz(bundle: Bundle, path: str | Path) -> None:
    """Write a bundle as ``.npz``, atomically; see :func:`read_npz`."""
    check_finite(bundle.X)
    X = sp.csr_array(bundle.X)
    arrays = {
        "X_data": X.data if X.dtype in (np.float32, np.float64) else X.data.astype(np.float64),
        "X_indices": X.indices.astype(np.int32, copy=False),
        "X_indptr": X.indptr.astype(np.int64, copy=False),
        "X_shape": np.array(X.shape, dtype=np.int64),
        "Y_indices": bundle.Y.indices.astype(np.int32, copy=False),
        "Y_indptr": bundle.Y.indptr.astype(np.int64, copy=False),
        "Y_shape": np.array(bundle.Y.shape, dtype=np.int64),
        "label_names": _text_array("label", bundle.label_names),
        "feature_names": _text_array("feature", bundle.feature_names),
        "source": np.array(bundle.source),
    }
    if bundle.row_names:
        arrays["row_names"] = _text_array("row", bundle.row_names)
    archive = io.BytesIO()  # numpy goes back in the file, which a compressed stream cannot
    np.savez_compressed(archive, **arrays)
    with written(path) as (stream,):
        stream.write(archive.getbuffer())


def _text_array(kind: str, names: Any) -> Any:
    array = np.array(list(names), dtype=np.str_)
    if any(name.endswith("\0") for name in names):
        raise ValueError(f"a {kind} name ends in a NUL character, which .npz cannot hold")
    return array


def _arrays(stream: Any, file: str, max_bytes: int) -> dict[str, Any]:
    """Return the wanted arrays of the archive, none larger than the bytes it really holds."""
    with _archive(stream, file) as (archive, members):
        wanted = [(key, members[key]) for key in (*_REQUIRED, *_OPTIONAL) if key in members]
        # A member never unpacks to more than the size it declares.
        if sum(info.file_size for _, info in wanted) > max_bytes:
            raise too_large(file, max_bytes)
        return {key: _array(key, archive.read(info), file) for key, info in wanted}


@contextmanager
def _archive(stream: Any, file: str) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Open an archive as its members by name, every failure a :class:`DataError`."""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            missing = [key for key in _REQUIRED if key not in members]
            if missing:
                raise DataError(f"no array {missing[0]!r} in the archive", file=file)
            yield archive, members
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise DataError(f"damaged or truncated archive ({error})", file=file) from error
    except (RuntimeError, NotImplementedError, ValueError, OverflowError, KeyError) as error:
        if isinstance(error, DataError):
            raise
        # Encrypted members, foreign compression, nonsense in the zip directory.
        raise DataError(f"not a readable archive ({error})", file=file) from error


def _array(key: str, content: bytes, file: str) -> Any:
    """Decode a ``.npy`` member after checking that its header tells the truth about its size."""
    stream = io.BytesIO(content)
    shape, fortran, dtype = _header(key, stream, len(content), file)
    flat = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    array = flat.reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _header(key: str, stream: Any, size: int, file: str) -> tuple[tuple[int, ...], bool, Any]:
    """Read the header of a ``.npy`` member of so many bytes, checking that it tells the truth."""
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read_header(stream)
    except Exception as error:  # the header is parsed as a Python literal: anything can go wrong
        raise DataError(f"array {key!r} has a damaged header", file=file) from error
    if dtype.hasobject or dtype.kind not in "fiubU":
        raise DataError(f"array {key!r} has the unsupported type {dtype}", file=file)
    count = 1
    for side in shape:
        count *= side
    if size - stream.tell() != count * dtype.itemsize or any(side < 0 for side in shape):
        raise DataError(f"array {key!r} is truncated or its header lies", file=file)
    if dtype.itemsize == 0:
        raise DataError(f"array {key!r} has elements of no size", file=file)
    return shape, fortran, dtype


class NpzParts:
    """An archive read a part at a time: the lists of entries stay packed until they are needed.

    Parameters
    ----------
    path : path
        The file.
    part_bytes : int
        About how many bytes the entries of a part take.
    """

    def __init__(self, path: str | Path, part_bytes: int) -> None:
        self._path, self._part_bytes = path, part_bytes
        file = str(path)
        self._small: dict[str, Any] = {}
        with opened(path) as source, _archive(source.seekable(), file) as (archive, members):
            for key in ("X_indptr", "X_shape", "Y_indptr", "Y_shape", *_OPTIONAL[:2]):
                if key in members:
                    self._small[key] = _array(key, archive.read(members[key]), file)
            entries = {part: self._opened(archive, members, f"{part}_indices")[1] for part in "XY"}
            if self._opened(archive, members, "X_data")[1] != entries["X"]:
                raise DataError("X: as many values as indices are needed", file=file)
        for part, count in entries.items():
            indptr, shape = self._small[f"{part}_indptr"], self._small[f"{part}_shape"]
            if (
                shape.dtype.kind not in "iu"
                or shape.shape != (2,)
                or indptr.dtype.kind not in "iu"
                or indptr.ndim != 1
                or indptr.size != int(shape[0]) + 1
                or indptr[0] != 0
                or indptr[-1] != count
                or (np.diff(indptr) < 0).any()
            ):
                raise DataError(f"{part}: indptr does not describe the rows", file=file)
        if self._small["X_shape"][0] != self._small["Y_shape"][0]:
            raise DataError("X and Y have different numbers of rows", file=file)
        self.n_features, self.n_labels = (int(self._small[f"{part}_shape"][1]) for part in "XY")
        self.feature_names, self.label_names = (
            _names(key, self._small, file) for key in ("feature_names", "label_names")
        )

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        file = str(self._path)
        with opened(self._path) as source, _archive(source.seekable(), file) as opening:
            archive, members = opening
            streams = {
                key: self._opened(archive, members, key)
                for key in ("X_data", "X_indices", "Y_indices")
            }

            def taken(key: str, count: int) -> Any:
                stream, _, dtype = streams[key]
                content = stream.read(count * dtype.itemsize)
                array = np.frombuffer(content, dtype=dtype)
                return array.astype(dtype.newbyteorder("="), copy=False)

            ends = {part: self._small[f"{part}_indptr"].astype(np.int64) for part in "XY"}
            entry = sum(streams[key][2].itemsize for key in ("X_data", "X_indices"))
            start, n_rows = 0, len(ends["X"]) - 1
            while start < n_rows:
                most = ends["X"][start] + self._part_bytes // entry
                stop = max(start + 1, int(np.searchsorted(ends["X"], most, side="right")) - 1)
                matrices = []
                for part in "XY":
                    indptr = ends[part][start : stop + 1] - ends[part][start]
                    count = int(indptr[-1])
                    indices = taken(f"{part}_indices", count)
                    data = taken("X_data", count) if part == "X" else np.ones(count, np.int64)
                    shape = stop - start, self.n_features if part == "X" else self.n_labels
                    matrices.append(checked_csr(part, data, indices, indptr, shape, file))
                yield finite_features(matrices[0], file), matrices[1]
                start = stop

    def _opened(self, archive: Any, members: dict[str, Any], key: str) -> tuple[Any, int, Any]:
        stream = archive.open(members[key])
        shape, _, dtype = _header(key, stream, members[key].file_size, str(self._path))
        if len(shape) != 1:
            raise DataError(f"array {key!r} must be a list", file=str(self._path))
        return stream, int(shape[0]), dtype


def _csr(part: str, data: Any, arrays: dict[str, Any], file: str) -> Any:
    """Assemble a CSR array from checked parts."""
    indices, indptr, shape = (arrays[f"{part}_{key}"] for key in ("indices", "indptr", "shape"))
    if shape.dtype.kind not in "iu" or shape.shape != (2,):
        raise DataError(f"{part}_shape must be two sizes", file=file)
    rows, columns = (int(size) for size in shape)
    return checked_csr(part, data, indices, indptr, (rows, columns), file)


def _names(key: str, arrays: dict[str, Any], file: str) -> list[str]:
    names = arrays.get(key)
    if names is None:
        return []
    if names.dtype.kind != "U" or names.ndim != 1:
        raise DataError(f"{key} must be a list of texts", file=file)
    try:
        return names.tolist()
    except (ValueError, UnicodeError) as error:
        raise DataError(f"{key} holds characters that do not exist", file=file) from error
