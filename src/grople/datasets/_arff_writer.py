"""Write a bundle as ARFF, with Mulan's XML header beside it and MEKA's ``-C`` in the relation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import scipy.sparse as sp

from grople.datasets._arff_header import quote
from grople.datasets._atomic import written
from grople.datasets._mulan import labels_document
from grople.datasets._rows_out import check_finite, dense_rows, sparse_rows
from grople.datasets._streams import stem
from grople.datasets.bundle import Bundle

__all__ = ["write_arff"]


def write_arff(bundle: Bundle, path: str | Path) -> tuple[Path, Path]:
    """Write a bundle as an ARFF file and, beside it, an XML file that names the labels.

    Features come first, as numbers; labels follow as ``{0,1}``. Sparse features give sparse rows.
    ARFF needs every name once: a feature called like another column gets a number after it, with
    a warning.

    Parameters
    ----------
    bundle : Bundle
        What to write.
    path : path
        The ARFF file; a name ending in ``.gz`` is compressed. Its XML file has the same stem.

    Returns
    -------
    tuple of Path
        The two files written.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_arff(Bundle(np.eye(2), np.array([[1], [0]])), f"{folder}/tiny.arff")
    ...     [file.name for file in files]
    ['tiny.arff', 'tiny.xml']
    """
    check_finite(bundle.X)
    arff = Path(path)
    header = arff.with_name(f"{stem(arff)}.xml")
    labels = labels_document(bundle.label_names)
    features = _distinct(bundle.feature_names, bundle.label_names)
    rows = _sparse(bundle) if sp.issparse(bundle.X) else _dense(bundle)
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


def _sparse(bundle: Bundle) -> Iterator[str]:
    width = bundle.n_features
    pairs = zip(sparse_rows(bundle.X), sparse_rows(bundle.Y), strict=True)
    for (columns, texts), (labels, _) in pairs:
        items = [f"{column} {text}" for column, text in zip(columns, texts, strict=True)]
        items += [f"{width + label} 1" for label in labels]
        yield "{" + ",".join(items) + "}\n"


def _dense(bundle: Bundle) -> Iterator[str]:
    pairs = zip(dense_rows(bundle.X), sparse_rows(bundle.Y), strict=True)
    for texts, (labels, _) in pairs:
        marks = ["0"] * bundle.n_labels
        for label in labels:
            marks[label] = "1"
        yield ",".join([*texts, *marks]) + "\n"


def _distinct(names: Sequence[str], taken: Sequence[str]) -> list[str]:
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
            stacklevel=3,
        )
    return result
