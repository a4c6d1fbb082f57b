"""Data sets as compressed numpy arrays: the fastest format to read, and exact.

``X_data X_indices X_indptr X_shape`` hold the features as CSR, ``Y_indices Y_indptr Y_shape`` the
labels (all ones), ``feature_names label_names source`` the names, ``row_names`` those of the rows
if they have any. Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import zipfile
import zlib
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

__all__ = ["read_npz", "write_npz"]

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
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {info.filename: info for info in archive.infolist()}
            missing = [key for key in _REQUIRED if f"{key}.npy" not in members]
            if missing:
                raise DataError(f"no array {missing[0]!r} in the archive", file=file)
            wanted = [
                (key, members[f"{key}.npy"])
                for key in (*_REQUIRED, *_OPTIONAL)
                if f"{key}.npy" in members
            ]
            # A member never unpacks to more than the size it declares.
            if sum(info.file_size for _, info in wanted) > max_bytes:
                raise too_large(file, max_bytes)
            return {key: _array(key, archive.read(info), file) for key, info in wanted}
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
    if len(content) - stream.tell() != count * dtype.itemsize or any(side < 0 for side in shape):
        raise DataError(f"array {key!r} is truncated or its header lies", file=file)
    if dtype.itemsize == 0:
        raise DataError(f"array {key!r} has elements of no size", file=file)
    flat = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    array = flat.reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


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
