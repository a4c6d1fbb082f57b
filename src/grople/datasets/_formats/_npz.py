"""Data sets as compressed numpy arrays: the fastest format to read, and exact.

``X_data X_indices X_indptr X_shape`` hold the features as CSR, ``Y_indices Y_indptr Y_shape`` the
labels (all ones), ``feature_names label_names source`` the names, ``row_names`` those of the rows
if they have any. Nothing is ever unpickled. The lists of entries stay packed until they are needed.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from grople.datasets._bundle import NumberedNames
from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._matrices import checked_csr, finite_features
from grople.datasets._reading import MAX_COLUMNS, Reading
from grople.errors import DataError
from grople.files import Source, indptr_complaint, too_large

__all__ = ["NpzFile"]

_REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y_indices", "Y_indptr", "Y_shape")
_SMALL = ("X_indptr", "X_shape", "Y_indptr", "Y_shape")
_NAMES = ("feature_names", "label_names", "row_names")
#: About how many bytes the entries of a batch take.
_BATCH_BYTES = 32 << 20


class NpzFile(Reader):
    """An open archive of arrays; floating-point features keep their precision."""

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        self._stream = source.seekable()
        with _archive(self._stream, self._file) as (archive, members):
            wanted = [members[key] for key in (*_REQUIRED, *_NAMES, "source") if key in members]
            # A member never unpacks to more than the size it declares.
            if sum(info.file_size for info in wanted) > source.max_bytes:
                raise too_large(self._file, source.max_bytes)
            small = {
                key: _array(key, archive.read(members[key]), self._file)
                for key in (*_SMALL, *_NAMES, "source")
                if key in members
            }
        self._ends = {part: small[f"{part}_indptr"] for part in "XY"}
        self._shapes = {part: self._shape(part, small[f"{part}_shape"]) for part in "XY"}
        (n_rows, n_features), (label_rows, n_labels) = self._shapes["X"], self._shapes["Y"]
        if n_rows != label_rows:
            raise DataError(f"X has {n_rows} rows but Y has {label_rows}", file=self._file)
        names = {key: self._names(key, small) for key in _NAMES}
        self.feature_names: Sequence[str] = names["feature_names"] or NumberedNames(
            "feature", n_features
        )
        self.label_names: Sequence[str] = names["label_names"] or NumberedNames("label", n_labels)
        self._row_names = names["row_names"]
        for what, found, count, columns in (
            ("feature names", self.feature_names, n_features, "columns"),
            ("label names", self.label_names, n_labels, "columns"),
            ("row names", self._row_names or range(n_rows), n_rows, "rows"),
        ):
            if len(found) != count:
                reason = f"{len(found)} {what} for {count} {columns}"
                raise DataError(reason, file=self._file)
        origin = small.get("source")
        self.origin = str(origin) if origin is not None and origin.dtype.kind == "U" else None

    def batches(self) -> Iterator[Batch]:
        """Yield the rows, some millions of entries at a time."""
        keys = ("X_data", "X_indices", "Y_indices")
        with _archive(self._stream, self._file) as (archive, members):
            lists = {key: _List(key, archive, members[key], self._file) for key in keys}
            if lists["X_data"].size != lists["X_indices"].size:
                reason = f"{lists['X_data'].size} values but {lists['X_indices'].size} indices"
                raise DataError(f"X: {reason}", file=self._file)
            for part, ends in self._ends.items():
                entries = lists[f"{part}_indices"].size
                complaint = indptr_complaint(ends, self._shapes[part][0], entries)
                if complaint is not None:
                    raise DataError(f"{part}: {complaint}", file=self._file)
                self._ends[part] = ends.astype(np.int64)
            most = _BATCH_BYTES // (lists["X_data"].itemsize + lists["X_indices"].itemsize)
            start, n_rows = 0, self._shapes["X"][0]
            while start < n_rows:
                full = self._ends["X"][start] + most
                stop = max(start + 1, int(np.searchsorted(self._ends["X"], full, "right")) - 1)
                stop = min(stop, n_rows)
                X = self._rows("X", lists, start, stop)
                Y = self._rows("Y", lists, start, stop)
                yield Batch(X, Y, self._row_names[start:stop] or None)
                start = stop

    def finish(self, batch: Batch) -> Batch:
        """Return rows of finite numbers."""
        return replace(batch, X=finite_features(batch.X, self._file))

    def _rows(self, part: str, lists: dict[str, _List], start: int, stop: int) -> Any:
        indptr = self._ends[part][start : stop + 1] - self._ends[part][start]
        count = int(indptr[-1])
        indices = lists[f"{part}_indices"].take(count)
        data = lists["X_data"].take(count) if part == "X" else np.ones(count, np.int64)
        shape = stop - start, self._shapes[part][1]
        return checked_csr(part, data, indices, indptr, shape, self._file)

    def _shape(self, part: str, shape: Any) -> tuple[int, int]:
        if shape.dtype.kind not in "iu" or shape.shape != (2,):
            raise DataError(f"{part}_shape must be two sizes", file=self._file)
        rows, columns = (int(size) for size in shape)
        if min(rows, columns) < 0 or columns > MAX_COLUMNS:
            raise DataError(f"{part} claims to be {rows:,} × {columns:,}", file=self._file)
        return rows, columns

    def _names(self, key: str, arrays: dict[str, Any]) -> list[str]:
        names = arrays.get(key)
        if names is None:
            return []
        if names.dtype.kind != "U" or names.ndim != 1:
            raise DataError(f"{key} must be a list of texts", file=self._file)
        try:
            return names.tolist()
        except (ValueError, UnicodeError) as error:
            reason = f"{key} holds characters that do not exist"
            raise DataError(reason, file=self._file) from error


class _List:
    """A one-dimensional array in an archive, taken a piece at a time."""

    def __init__(
        self, key: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: str
    ) -> None:
        self._stream = archive.open(info)
        shape, _, self._dtype = _header(key, self._stream, info.file_size, file)
        if len(shape) != 1:
            what = "integers" if key.endswith("indices") else "numbers"
            raise DataError(f"array {key!r} must be a list of {what}", file=file)
        self.size = int(shape[0])
        self.itemsize = self._dtype.itemsize

    def take(self, count: int) -> Any:
        """Return the next values."""
        array = np.frombuffer(self._stream.read(count * self.itemsize), dtype=self._dtype)
        return array.astype(self._dtype.newbyteorder("="), copy=False)


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
