"""Files in blocks: rows enough for a product of matrices, few enough for any memory.

``read_blocks`` finds out what columns a file has (going through it once where the format does not
say) and then yields bundles that all have these columns, as often as it is asked to. Put one below
the other they are what :func:`~grople.datasets.read` returns.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._columns import Layout, TableBuilder
from grople.datasets._extreme_rows import RowGrammar
from grople.datasets._matrices import (
    MAX_COLUMNS,
    binary_labels,
    check_missing_rule,
    finite_features,
    spread_labels,
    stacked,
)
from grople.datasets._streams import bundle_or_error, opened
from grople.datasets.arff import ArffTable
from grople.datasets.bundle import Bundle, NumberedNames
from grople.datasets.extreme import extreme_rows
from grople.datasets.npz import NpzParts
from grople.datasets.reading import detect
from grople.datasets.tables import table_batches
from grople.errors import DataError

__all__ = ["BLOCK_BYTES", "Blocks", "coalesced", "read_blocks", "table_blocks"]

#: About how many bytes the features of a block take.
BLOCK_BYTES = 32 << 20
TABLES = ("csv", "tsv", "parquet")

Part = tuple[Any, Any]


@dataclass(frozen=True)
class Blocks:
    """A file as bundles of rows with the same columns; may be gone through again and again.

    Attributes
    ----------
    feature_names, label_names : sequence of str
        The columns of every block.
    source : str
        The file.
    parts : callable
        Opens the file and returns its rows in small parts (X, Y).
    block_bytes : int
        About how many bytes the features of a block take.
    first_index : int
        The number that the file gives the first feature (LIBSVM: 0 or 1).
    """

    feature_names: Sequence[str]
    label_names: Sequence[str]
    source: str
    parts: Callable[[], Iterator[Part]]
    block_bytes: int = BLOCK_BYTES
    first_index: int = 0

    def __post_init__(self) -> None:
        for what, names in (("features", self.feature_names), ("labels", self.label_names)):
            if not len(names):
                raise DataError(f"no {what}: nothing to learn from", file=self.source)

    def __iter__(self) -> Iterator[Bundle]:
        empty = True
        for X, Y in coalesced(self.parts(), self.block_bytes):
            empty = False
            yield bundle_or_error(
                self.source, X, Y,
                feature_names=self.feature_names, label_names=self.label_names,
            )  # fmt: skip
        if empty:
            raise DataError("no rows: nothing to learn from", file=self.source)


def read_blocks(
    path: str | Path,
    *,
    format: str | None = None,
    labels: str | Path | int | Sequence[str] | None = None,
    block_bytes: int = BLOCK_BYTES,
    **options: Any,
) -> Blocks:
    r"""Open a data set that need not fit into memory.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    format : str, optional
        ``"extreme"``, ``"libsvm"``, ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arff"``, ``"npz"`` or
        ``"npy"`` (a dense array; its labels are another such file, given as `labels`); by default
        what the content looks like.
    labels
        As in :func:`read`.
    block_bytes : int
        About how many bytes the features of a block may take.
    **options
        ``n_features``, ``n_labels``, ``zero_based`` for LIBSVM; ``ignore``, ``missing`` for ARFF
        and tables; ``separator`` for tables: as in :func:`read`.

    Returns
    -------
    Blocks
        An iterable of bundles.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from grople.baselines import Ridge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "large.txt"
    ...     _ = file.write_text("4 2 2\n0 0:1\n1 1:1\n0 0:2\n1 1:2 0:1\n")
    ...     blocks = read_blocks(file, block_bytes=16)
    ...     len(list(blocks)), Ridge().fit_blocks(blocks).summary_.n_rows
    (1, 4)
    """
    file = os.fspath(path)
    if block_bytes < 1:
        raise ValueError(f"block_bytes must be at least 1, not {block_bytes}")
    if format is None:
        with opened(path) as source:
            format = "npy" if source.read(6) == b"\x93NUMPY" else detect(path, sys.maxsize)
    if format not in _OPENERS:
        raise DataError(
            f"a {format} file cannot be read in blocks: convert it (grople data convert), or read "
            f"it whole; these can: {', '.join(_OPENERS)}",
            file=file,
        )
    if labels is not None:
        if format in ("extreme", "libsvm", "npz"):
            raise ValueError(f"labels= does not apply: a {format} file holds its own labels")
        options["labels"] = labels
    return _OPENERS[format](file, block_bytes, **options)


def coalesced(parts: Iterable[Part], block_bytes: int = BLOCK_BYTES) -> Iterator[Part]:
    """Put small parts (X, Y) together until a block is full."""
    waiting: list[Part] = []
    size = 0
    for part in parts:
        if not part[0].shape[0]:
            continue
        waiting.append(part)
        size += _bytes(part[0])
        if size >= block_bytes:
            yield _stacked(waiting)
            waiting, size = [], 0
    if waiting:
        yield _stacked(waiting)


def _stacked(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    X, Y = zip(*parts, strict=True)
    return stacked(list(X), X[0].shape[1]), stacked(list(Y), Y[0].shape[1])


def _bytes(X: Any) -> int:
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


# -- one function a format ---------------------------------------------------------------------


def _extreme(file: str, block_bytes: int) -> Blocks:
    with opened(file, sys.maxsize) as source:
        n_features, n_labels, _ = extreme_rows(source)

    def parts() -> Iterator[Part]:
        with opened(file, sys.maxsize) as source:
            for rows in extreme_rows(source)[2]:
                yield rows.features(0, n_features), rows.labels_matrix(rows.labels, n_labels)

    names = NumberedNames("feature", n_features), NumberedNames("label", n_labels)
    return Blocks(*names, file, parts, block_bytes)


def _libsvm(
    file: str,
    block_bytes: int,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | None = None,
) -> Blocks:
    end = MAX_COLUMNS if n_features is None else n_features + (not zero_based)
    grammar = RowGrammar(
        file, end, blank_rows=False, feature_start=int(zero_based is False), label_end=n_labels
    )
    first, last = MAX_COLUMNS, -1
    numbers: Any = np.empty(0, dtype=np.int64)
    if n_features is None or n_labels is None or zero_based is None:
        with opened(file, sys.maxsize) as source:
            for line, text in source.blocks():
                rows = grammar.parse(line, text)
                first = min(first, int(rows.columns.min(initial=MAX_COLUMNS)))
                last = max(last, int(rows.columns.max(initial=-1)))
                numbers = np.union1d(numbers, rows.labels)
    base = int(first > 0 if zero_based is None else not zero_based)
    width = n_features or last + 1 - base
    if last + 1 - base > width:
        raise DataError(f"an index reaches past {n_features} features", file=file)
    known = numbers if n_labels is None else np.arange(n_labels)

    def parts() -> Iterator[Part]:
        with opened(file, sys.maxsize) as source:
            for line, text in source.blocks():
                rows = grammar.parse(line, text)
                marks = rows.labels_matrix(np.searchsorted(known, rows.labels), len(known))
                yield rows.features(base, width), marks

    features = NumberedNames("feature", max(width, 0))
    labels = [str(number) for number in known.tolist()]
    return Blocks(features, labels, file, parts, block_bytes, base)


def _table(
    file: str,
    block_bytes: int,
    *,
    format: str,
    labels: Any = None,
    ignore: Sequence[str] = (),
    separator: str = ";",
    missing: str = "error",
) -> Blocks:
    check_missing_rule(missing)
    layout_of = partial(Layout.of, labels=labels, ignore=ignore, categories=(), file=file)
    return table_blocks(file, format, layout_of, separator, missing, block_bytes)


def table_blocks(
    file: str,
    format: str,
    layout_of: Callable[[list[str]], Layout],
    separator: str,
    missing: str,
    block_bytes: int = BLOCK_BYTES,
) -> Blocks:
    """Open a table whose column names say what is a feature and what a label."""
    with (
        opened(file, sys.maxsize) as source,
        table_batches(source, format) as (names, batches),
    ):
        layout = layout_of(names)
        labels = [names[index] for index in layout.labels]
        if layout.tags is not None:
            only_tags = Layout(layout.names, (), (), (), layout.tags, ())
            found: set[str] = set()
            for columns, n_rows, lines in batches:
                builder = TableBuilder(only_tags, file, missing, separator)
                builder.add(columns, n_rows, lines)
                found.update(builder.finish()["label_names"])
            labels = sorted(found)

    def parts() -> Iterator[Part]:
        with (
            opened(file, sys.maxsize) as source,
            table_batches(source, format) as (_, batches),
        ):
            for columns, n_rows, lines in batches:
                builder = TableBuilder(layout, file, missing, separator)
                builder.add(columns, n_rows, lines)
                fields = builder.finish()
                Y = fields["Y"]
                if layout.tags is not None:
                    Y = spread_labels(Y, fields["label_names"], labels)
                yield fields["X"], Y

    features = [names[index] for index in layout.features]
    return Blocks(features, labels, file, parts, block_bytes)


def _arff(
    file: str,
    block_bytes: int,
    *,
    labels: Any = None,
    ignore: Sequence[str] = (),
    missing: str = "error",
    encoding: str = "utf-8",
) -> Blocks:
    check_missing_rule(missing)
    with opened(file, sys.maxsize) as source:
        table = ArffTable.of(source, labels, missing, ignore, encoding)
        identifiers = table.identifiers()
        nothing = np.empty((0, len(table.header.attributes)))
        features = table.fields(nothing, identifiers)["feature_names"]

    def parts() -> Iterator[Part]:
        with opened(file, sys.maxsize) as source:
            table = ArffTable.of(source, labels, missing, ignore, encoding)
            for cells in table.parts:
                fields = table.fields(cells, identifiers)
                yield fields["X"], fields["Y"]

    return Blocks(features, table.label_names, file, parts, block_bytes)


def _npz(file: str, block_bytes: int) -> Blocks:
    archive = NpzParts(file, block_bytes)
    features = archive.feature_names or NumberedNames("feature", archive.n_features)
    labels = archive.label_names or NumberedNames("label", archive.n_labels)
    return Blocks(features, labels, file, lambda: iter(archive), block_bytes)


def _npy(file: str, block_bytes: int, *, labels: Any = None) -> Blocks:
    """Read two memory-mapped arrays: features, and labels as zeros and ones."""
    if labels is None:
        raise DataError("an array of features: name the file of its labels as labels=", file=file)
    marks = os.fspath(labels)
    shapes = [_mapped(part).shape for part in (file, marks)]
    if len({shape[0] for shape in shapes}) > 1:
        raise DataError(f"X has {shapes[0][0]} rows but Y has {shapes[1][0]}", file=file)
    widest = max(_mapped(part).dtype.itemsize * _mapped(part).shape[1] for part in (file, marks))
    step = max(1, block_bytes // max(widest, 1))

    def parts() -> Iterator[Part]:
        for start in range(0, shapes[0][0], step):
            rows = slice(start, start + step)
            # Mapped anew for every block, so that what was read does not stay in memory.
            X, Y = np.array(_mapped(file)[rows]), np.array(_mapped(marks)[rows])
            yield finite_features(X, file), binary_labels(Y, marks)

    names = NumberedNames("feature", shapes[0][1]), NumberedNames("label", shapes[1][1])
    return Blocks(*names, file, parts, block_bytes)


def _mapped(file: str) -> Any:
    with opened(file):  # says what is wrong where it cannot be opened
        pass
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"not a readable array ({error})", file=file) from error
    if not isinstance(array, np.memmap) or array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError("not a two-dimensional array of numbers", file=file)
    return array


_OPENERS: dict[str, Callable[..., Blocks]] = {
    "extreme": _extreme,
    "libsvm": _libsvm,
    **{format: partial(_table, format=format) for format in TABLES},
    "arff": _arff,
    "npz": _npz,
    "npy": _npy,
}
