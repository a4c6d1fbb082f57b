"""Text files with one sparse row a line: the Extreme Classification format and LIBSVM multi-label.

Both write a row as ``label,label index:value index:value``. The Extreme Classification format
opens with a line ``rows features labels`` and counts from zero. LIBSVM has no such line, counts
features from one as a rule, and names labels by numbers that need not be consecutive.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from grople.datasets._atomic import written
from grople.datasets._extreme_rows import RowGrammar, Rows
from grople.datasets._matrices import MAX_COLUMNS
from grople.datasets._rows_out import check_finite, sparse_rows
from grople.datasets._streams import DEFAULT_LIMIT, Source, bundle_or_error, opened
from grople.datasets.bundle import Bundle
from grople.errors import DataError

__all__ = ["extreme_rows", "read_extreme", "read_libsvm", "write_extreme"]

_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")


def read_extreme(
    path: str | Path, *, name: str | None = None, max_bytes: int = DEFAULT_LIMIT
) -> Bundle:
    r"""Read a file of the Extreme Classification repository.

    Parameters
    ----------
    path : path
        The file, gzip or not: a line ``rows features labels``, then one line a row. A row without
        labels starts with a space.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a gzip file may unpack to.

    Returns
    -------
    Bundle
        With float64 features; the format has no names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tiny.txt"
    ...     _ = file.write_text("2 5 3\n0,2 1:0.5 4:2\n 0:1\n")
    ...     read_extreme(file)
    Bundle('tiny': 2 rows, 5 sparse features, 3 labels, 1.000 a row)
    """
    file = os.fspath(path)
    with opened(path, max_bytes) as source:
        n_features, n_labels, parts = extreme_rows(source)
        rows = Rows.joined(list(parts))
    return bundle_or_error(
        file, rows.features(0, n_features), rows.labels_matrix(rows.labels, n_labels), name=name
    )


def extreme_rows(source: Source) -> tuple[int, int, Iterator[Rows]]:
    """Return how many features and labels an open file declares, and its rows, in parts."""
    file = source.path
    blocks = source.blocks()
    _, block = next(blocks, (1, b"\n"))
    first, _, rest = block.partition(b"\n")
    match = _HEADER.fullmatch(first)
    if match is None:
        raise DataError("expected a header 'rows features labels'", file=file, line=1)
    n_rows, n_features, n_labels = (int(number) for number in match.groups())
    for what, number in (("features", n_features), ("labels", n_labels)):
        if number > MAX_COLUMNS:
            raise DataError(f"the header claims {number:,} {what}: too many", file=file, line=1)
    grammar = RowGrammar(file, feature_end=n_features, label_end=n_labels, blank_rows=True)

    def parts() -> Iterator[Rows]:
        seen = 0
        for line, text in itertools.chain([(2, rest)] if rest else [], blocks):
            rows = grammar.parse(line, text)
            keep = min(rows.n_rows, n_rows - seen)
            if rows.label_counts[keep:].any() or rows.counts[keep:].any():
                raise DataError(
                    f"the header promises {n_rows:,} rows, the file has more",
                    file=file,
                    line=n_rows + 2,
                )
            seen += keep
            if keep:
                yield rows.head(keep)
        if seen < n_rows:
            raise DataError(
                f"the header promises {n_rows:,} rows, the file has {seen:,}: truncated?",
                file=file,
                line=seen + 1,
            )

    return n_features, n_labels, parts()


def read_libsvm(
    path: str | Path,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> Bundle:
    r"""Read a LIBSVM multi-label file.

    Parameters
    ----------
    path : path
        The file, gzip or not. Blank lines and what follows a ``#`` are skipped.
    n_features : int, optional
        How many features there are; by default as many as the largest index says.
    n_labels : int, optional
        How many labels there are, numbered from zero; by default the labels are the numbers that
        occur, in rising order. Give both for a test file to get the columns of its training file.
    zero_based : bool, optional
        Whether features count from zero; by default only if the index 0 occurs.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a gzip file may unpack to.

    Returns
    -------
    Bundle
        With float64 features, and the labels' numbers as their names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tiny.svm"
    ...     _ = file.write_text("3,7 1:0.5 4:2\n7 2:1\n")
    ...     bundle = read_libsvm(file)
    >>> bundle.n_features, bundle.label_names, bundle.Y.toarray().tolist()
    (4, ('3', '7'), [[1, 1], [0, 1]])
    """
    file = os.fspath(path)
    for what, number in (("n_features", n_features), ("n_labels", n_labels)):
        if number is not None and not 0 < number <= MAX_COLUMNS:
            raise ValueError(f"{what} must be between 1 and {MAX_COLUMNS:,}, not {number}")
    # While the base is unknown, an index may be one too large for counting from zero.
    end = MAX_COLUMNS if n_features is None else n_features + (not zero_based)
    grammar = RowGrammar(
        file,
        feature_start=int(zero_based is False),
        feature_end=end,
        label_end=n_labels,
        blank_rows=False,
    )
    with opened(path, max_bytes) as source:
        rows = Rows.joined([grammar.parse(number, block) for number, block in source.blocks()])
    if zero_based is None:
        zero_based = rows.columns.size > 0 and rows.columns.min() == 0
    base = int(not zero_based)
    width = int(rows.columns.max(initial=base - 1)) + 1 - base
    if n_features is not None and width > n_features:
        raise DataError(f"an index reaches past {n_features} features", file=file)
    if n_labels is None:
        numbers, labels = np.unique(rows.labels, return_inverse=True)
        label_names = [str(number) for number in numbers.tolist()]
    else:
        labels, label_names = rows.labels, [str(number) for number in range(n_labels)]
    return bundle_or_error(
        file,
        rows.features(base, n_features or width),
        rows.labels_matrix(labels, len(label_names)),
        label_names=label_names,
        name=name,
    )


def write_extreme(bundle: Bundle, path: str | Path) -> None:
    r"""Write a bundle in the Extreme Classification format, atomically.

    Names are lost: the format has none. A path ending in ``.gz`` is compressed.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tiny.txt"
    ...     write_extreme(Bundle(np.array([[0, 0.5], [2, 0]]), np.array([[1, 1], [0, 0]])), file)
    ...     file.read_text()
    '2 2 2\n0,1 1:0.5\n 0:2\n'
    """
    check_finite(bundle.X)
    X = bundle.X if sp.issparse(bundle.X) else sp.csr_array(bundle.X)
    with written(path) as (stream,):
        stream.write(f"{bundle.n_rows} {bundle.n_features} {bundle.n_labels}\n".encode())
        rows = zip(sparse_rows(X), sparse_rows(bundle.Y), strict=True)
        for (columns, texts), (labels, _) in rows:
            marks = ",".join(map(str, labels))
            pairs = "".join(f" {index}:{text}" for index, text in zip(columns, texts, strict=True))
            stream.write(f"{marks}{pairs}\n".encode())
