"""Write a bundle to a file, whole or not at all, numbers exact to the last bit."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._bundle import Bundle
from grople.datasets._formats._arff_header import quote
from grople.datasets._formats._mulan import labels_document
from grople.datasets._read import stem
from grople.errors import DataError
from grople.files import written

__all__ = ["WRITERS", "write"]

_EXTENSIONS = {".npz": "npz", ".arff": "arff", ".txt": "extreme", ".xc": "extreme"}
_ROWS_AT_ONCE = 4096


def write(bundle: Bundle, path: str | Path, format: str | None = None) -> tuple[Path, ...]:
    """Write a bundle to a file, which appears whole or not at all.

    Parameters
    ----------
    bundle : Bundle
        What to write.
    path : path
        The file; a name ending in ``.gz`` is compressed.
    format : {"npz", "extreme", "arff"}, optional
        By default what the name's ending says: ``.npz``, ``.txt`` or ``.xc``, ``.arff``. Only
        ``npz`` and ``arff`` keep names; ``arff`` writes Mulan's XML header next to the file.

    Returns
    -------
    tuple of Path
        The files written.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from grople.datasets import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write(Bundle(np.eye(2), np.array([[1], [0]])), f"{folder}/tiny.npz")
    ...     read(files[0]).n_rows
    2
    """
    path = Path(path)
    if format is None:
        ending = Path(path.name.removesuffix(".gz")).suffix.lower()
        if ending not in _EXTENSIONS:
            raise DataError(
                f"cannot tell the format from the name {path.name!r}",
                hint=f"end it in {', '.join(_EXTENSIONS)}, or pass {{format}} "
                f"({', '.join(WRITERS)})",
                options={"format": None},
            )
        format = _EXTENSIONS[ending]
    if format not in WRITERS:
        raise ValueError(f"unknown format {format!r}: choose from {', '.join(WRITERS)}")
    if not np.isfinite(bundle.X.data if sp.issparse(bundle.X) else bundle.X).all():
        raise ValueError("X holds NaN or infinity: fill in missing values before writing")
    return WRITERS[format](bundle, path)


def _write_npz(bundle: Bundle, path: Path) -> tuple[Path]:
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
    return (path,)


def _text_array(kind: str, names: Any) -> Any:
    array = np.array(list(names), dtype=np.str_)
    if any(name.endswith("\0") for name in names):
        raise ValueError(f"a {kind} name ends in a NUL character, which .npz cannot hold")
    return array


def _write_extreme(bundle: Bundle, path: Path) -> tuple[Path]:
    X = bundle.X if sp.issparse(bundle.X) else sp.csr_array(bundle.X)
    with written(path) as (stream,):
        stream.write(f"{bundle.n_rows} {bundle.n_features} {bundle.n_labels}\n".encode())
        rows = zip(_sparse_rows(X), _sparse_rows(bundle.Y), strict=True)
        for (columns, texts), (labels, _) in rows:
            marks = ",".join(map(str, labels))
            pairs = "".join(f" {index}:{text}" for index, text in zip(columns, texts, strict=True))
            stream.write(f"{marks}{pairs}\n".encode())
    return (path,)


def _write_arff(bundle: Bundle, arff: Path) -> tuple[Path, Path]:
    header = arff.with_name(f"{stem(arff)}.xml")
    labels = labels_document(bundle.label_names)
    features = _distinct_names(bundle.feature_names, bundle.label_names)
    rows = _sparse_arff(bundle) if sp.issparse(bundle.X) else _dense_arff(bundle)
    with written(header, arff) as (header_stream, stream):
        header_stream.write(labels)
        stream.write(f"@relation {quote(f'{bundle.name}: -C -{bundle.n_labels}')}\n\n".encode())
        for name in features:
            stream.write(f"@attribute {quote(name)} numeric\n".encode())
        for name in bundle.label_names:
            stream.write(f"@attribute {quote(name)} {{0,1}}\n".encode())
        stream.write(b"\n@data\n")
        for row in rows:
            stream.write(row.encode())
    return arff, header


def _sparse_arff(bundle: Bundle) -> Iterator[str]:
    width = bundle.n_features
    pairs = zip(_sparse_rows(bundle.X), _sparse_rows(bundle.Y), strict=True)
    for (columns, texts), (labels, _) in pairs:
        items = [f"{column} {text}" for column, text in zip(columns, texts, strict=True)]
        items += [f"{width + label} 1" for label in labels]
        yield "{" + ",".join(items) + "}\n"


def _dense_arff(bundle: Bundle) -> Iterator[str]:
    pairs = zip(_dense_rows(bundle.X), _sparse_rows(bundle.Y), strict=True)
    for texts, (labels, _) in pairs:
        marks = ["0"] * bundle.n_labels
        for label in labels:
            marks[label] = "1"
        yield ",".join([*texts, *marks]) + "\n"


def _distinct_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return the names, those that occur again with the first free number after them."""
    if len(set(taken)) < len(taken):
        raise ValueError("two labels have the same name, which ARFF does not allow: rename one")
    used = {*taken, *names}
    seen = {*taken}
    numbers: dict[str, Iterator[int]] = {}
    result, renamed = [], []
    for name in names:
        fresh = name
        if name in seen:
            counter = numbers.setdefault(name, count(2))
            fresh = next(text for n in counter if (text := f"{name}_{n}") not in used)
            renamed.append(f"{name!r} to {fresh!r}")
        used.add(fresh)
        seen.add(name)
        result.append(fresh)
    if renamed:
        warnings.warn(
            f"{len(renamed)} features share their name with another column and were renamed "
            f"({renamed[0]} first), because ARFF needs every name once",
            stacklevel=4,
        )
    return result


def _number_texts(values: Any) -> list[str]:
    """Return the shortest text of each number that reads back as the same float64."""
    return [repr(value).removesuffix(".0") for value in values.astype(np.float64).tolist()]


def _sparse_rows(matrix: Any) -> Iterator[tuple[list[int], list[str]]]:
    """Yield (columns, texts) of the non-zeros of each row."""
    for start in range(0, matrix.shape[0], _ROWS_AT_ONCE):
        part = sp.csr_array(matrix[start : start + _ROWS_AT_ONCE])
        if (part.data == 0).any():
            part.eliminate_zeros()
        columns, texts = part.indices.tolist(), _number_texts(part.data)
        bounds = part.indptr.tolist()
        for begin, end in pairwise(bounds):
            yield columns[begin:end], texts[begin:end]


def _dense_rows(matrix: Any) -> Iterator[list[str]]:
    """Yield the texts of each row."""
    for row in matrix:
        yield _number_texts(row.toarray().ravel() if sp.issparse(row) else row)


#: The writer of each format that can be written.
WRITERS: dict[str, Callable[[Bundle, Path], tuple[Path, ...]]] = {
    "npz": _write_npz,
    "extreme": _write_extreme,
    "arff": _write_arff,
}
