"""Three uses of one reader: a file whole, in blocks, and as records to predict.

Reading whole puts all batches of the reader below each other. Reading in blocks goes through the
file once for what only all rows tell (which labels occur), then passes on batches as often as it
is asked to. Records to predict are batches without labels, in the columns of a model.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from grople.datasets._bundle import Bundle, NumberedNames, TextTable
from grople.datasets._detect import detected, known_format
from grople.datasets._formats import FORMATS, Batch, Reader, stack
from grople.datasets._names import feature_places, matching_names
from grople.datasets._reading import TABLES, Reading, refuse_others
from grople.datasets._tags import TagColumn, tags_of
from grople.errors import DataError
from grople.features import fit_text
from grople.files import DEFAULT_LIMIT, Source, opened, standard_input

__all__ = [
    "Blocks",
    "Records",
    "aligned_features",
    "open_records",
    "read",
    "read_blocks",
    "read_file",
    "read_texts",
    "stem",
]

#: About how many bytes the features of a block take.
BLOCK_BYTES = 32 << 20
#: What the standard input is called.
STANDARD_INPUT = "-"


def read(
    path: str | Path,
    *,
    format: str | None = None,
    labels: str | Path | int | Sequence[str] | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
    **options: Any,
) -> Bundle:
    r"""Read a multi-label data set from a file.

    Parameters
    ----------
    path : path
        The file. Any format may be compressed with gzip.
    format : str, optional
        ``"arff"``, ``"extreme"``, ``"libsvm"``, ``"matlab"``, ``"npz"``, ``"npy"``, ``"csv"``,
        ``"tsv"``, ``"parquet"``, ``"excel"`` or ``"jsonl"``; by default what the content looks
        like.
    labels : path, int, str or sequence of str, optional
        Where the labels are. ARFF: an XML header, a count or names. Tables: names, ``"prefix*"``
        or a column of tags. MATLAB: a variable. JSON: a field. Arrays: the file of the labels.
        The other formats say so themselves.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a compressed file may unpack to (4 GiB unless you say otherwise).
    **options
        Other fields of :class:`Reading`, such as ``missing="zero"`` for ARFF and tables.

    Returns
    -------
    Bundle
        Texts as TF-IDF features (:func:`grople.features.fit_text`).

    Raises
    ------
    DataError
        If the file cannot be read as what it claims to be; with file, line and reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "films.csv"
    ...     _ = file.write_text("length,war,drama\n95,1,1\n80,0,1\n")
    ...     read(file, labels=["war", "drama"])
    Bundle('films': 2 rows, 1 dense features, 2 labels, 1.500 a row)
    """
    examples, _ = read_file(path, _asked(path, format, labels, options), name, max_bytes)
    if isinstance(examples, Bundle):
        return examples
    try:
        features, X = fit_text(examples.texts)
    except DataError as error:
        reason = f"the texts give no features ({error.reason})"
        raise DataError(reason, file=examples.source) from error
    names = sorted(set(itertools.chain.from_iterable(examples.tags)))
    place = {tag: column for column, tag in enumerate(names)}
    indptr = [0, *itertools.accumulate(map(len, examples.tags))]
    columns = [place[tag] for tags in examples.tags for tag in tags]
    Y = sp.csr_array(([1] * len(columns), columns, indptr), shape=(len(examples), len(names)))
    return Bundle(
        X, Y, features.names.tolist(), names, examples.name, examples.source, examples.notes,
        examples.ids, examples.tag_column,
    )  # fmt: skip


def read_texts(
    path: str | Path,
    *,
    text: str | None = None,
    labels: str | None = None,
    ids: str | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> TextTable:
    r"""Read texts and their tags from JSON lines, a JSON array of objects, or a table.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    text, labels : str, optional
        The fields of the text and of the tags; by default ``text``, and ``tags``, ``labels`` or
        ``categories``, whatever their case.
    ids : str, optional
        The field of the document's name.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a gzip file may unpack to.

    Returns
    -------
    TextTable

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "notes.jsonl"
    ...     _ = file.write_text('{"text": "a chess game", "tags": ["game", "board"]}\n')
    ...     read_texts(file).tags
    (('board', 'game'),)
    """
    reading = Reading(text=text, tags=labels, ids=ids)
    table, _ = read_file(path, reading, name, max_bytes)
    if isinstance(table, Bundle):
        raise DataError("holds no texts, but numbers", file=table.source)
    return table


def read_file(
    path: str | Path,
    reading: Reading,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> tuple[Bundle | TextTable, Reading]:
    """Read a file whole; return also how it was read, for files to come."""
    with opened(path, max_bytes) as source:
        reader = _open(source, reading)
        batches = list(reader.batches())
        if not batches:
            raise DataError("no rows: nothing to learn from", file=source.path)
        rows = reader.finish(stack(batches))
        examples = _examples(reader, _chosen_columns(reader, source.path), rows, source.path, name)
        return examples, reader.reading


class Blocks:
    """A file as bundles, or tables of texts, of some of its rows; may be gone through again.

    Attributes
    ----------
    feature_names, label_names : sequence of str
        The columns of every block.
    source : str
        The file.
    reading : Reading
        How it is read, for files to come.
    texts : bool
        Whether blocks are tables of texts.
    notes : list of str
        What the reader did that a user should know.
    tag_column : TagColumn or None
        How the cells of a column of tags were understood.
    """

    def __init__(self, path: str | Path, reading: Reading, block_bytes: int = BLOCK_BYTES) -> None:
        if block_bytes < 1:
            raise ValueError(f"block_bytes must be at least 1, not {block_bytes}")
        self.source = os.fspath(path)
        self._block_bytes = block_bytes
        with opened(path, sys.maxsize) as source:
            reader = _open(source, reading)
            if not reader.declared and not sum(batch.n_rows for batch in reader.batches()):
                raise DataError("no rows: nothing to learn from", file=self.source)
        self._reader = reader
        self._columns = _chosen_columns(reader, self.source)
        self.texts = reader.texts
        self.reading = reader.reading
        self.label_names = reader.label_names
        self.notes = list(reader.notes)
        self.tag_column: TagColumn | None = reader.tag_column
        self.feature_names: Sequence[str] = reader.feature_names
        if self._columns is not None:
            self.feature_names = [self.feature_names[column] for column in self._columns]
        _refuse_nothing(reader, self.source)

    def __iter__(self) -> Iterator[Any]:
        empty = True
        with opened(self.source, sys.maxsize) as source:
            batches = map(self._finished, _open(source, self.reading).batches())
            for batch in batches if self.texts else _in_blocks(batches, self._block_bytes):
                empty = False
                yield _examples(self._reader, self._columns, batch, self.source)
        if empty:
            raise DataError("no rows: nothing to learn from", file=self.source)

    def _finished(self, batch: Batch) -> Batch:
        if batch.Y is not None and batch.Y.shape[1] > len(self.label_names):
            raise DataError("was changed while it was read", file=self.source)
        return self._reader.finish(batch)


def read_blocks(
    path: str | Path,
    reading: Reading | None = None,
    *,
    format: str | None = None,
    labels: str | Path | int | Sequence[str] | None = None,
    block_bytes: int = BLOCK_BYTES,
    **options: Any,
) -> Blocks:
    r"""Open a data set that need not fit into memory.

    Put one below the other, the blocks are what :func:`read` returns.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    reading : Reading, optional
        How to read it, in place of what follows.
    format, labels, **options
        As in :func:`read`.
    block_bytes : int
        About how many bytes the features of a block may take.

    Returns
    -------
    Blocks
        An iterable of bundles; of tables of texts, if rows are texts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from grople.baselines import Ridge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "large.txt"
    ...     _ = file.write_text("4 2 2\n0 0:1\n1 1:1\n0 0:2\n1 1:2 0:1\n")
    ...     blocks = read_blocks(file, block_bytes=16)
    ...     len(list(blocks)), Ridge().fit_blocks(blocks).summary_.n_rows
    (4, 4)
    """
    if reading is None:
        reading = _asked(path, format, labels, options)
    return Blocks(path, reading, block_bytes)


@dataclass(frozen=True)
class Records:
    """A block of records: texts or a matrix of features, and the names of the rows, if any.

    Examples
    --------
    >>> len(Records(["a chess game", "a clock"]))
    2
    """

    content: Any
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.content) if isinstance(self.content, list) else int(self.content.shape[0])


@contextmanager
def open_records(
    path: str | Path,
    reading: Reading,
    *,
    feature_names: Sequence[str] | None,
    n_features: int = 0,
) -> Iterator[Iterator[Records]]:
    r"""Open a file, or ``"-"`` for the standard input, as blocks of records without labels.

    Parameters
    ----------
    path : path or "-"
        The file. A slow standard input is answered line by line.
    reading : Reading
        How the model's own data were read; `format` only where the person asks for one.
    feature_names : sequence of str, optional
        The model's features, to find columns by name; None for texts.
    n_features : int
        How many features the model has.

    Yields
    ------
    iterator of Records

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "new.csv"
    ...     _ = file.write_text("b,a,name\n1,2,x\n3,4,y\n")
    ...     how = Reading(ids="name")
    ...     with open_records(file, how, feature_names=["a", "b"], n_features=2) as blocks:
    ...         [(block.content.tolist(), block.names) for block in blocks]
    [([[2.0, 1.0], [4.0, 3.0]], ['x', 'y'])]
    """
    names = None if feature_names is None else list(map(str, feature_names))
    if os.fspath(path) == STANDARD_INPUT:
        source = standard_input()
        yield _records(source, reading, names, n_features) if source.head() else iter(())
        return
    with opened(path, sys.maxsize) as source:
        yield _records(source, reading, names, n_features)


def aligned_features(bundle: Bundle, names: Sequence[str] | None, n_features: int) -> Any:
    """Return the features of a bundle in the order of the model's.

    Features with names are found by name; a file may have more. Numbered ones must be as many.

    Examples
    --------
    >>> bundle = Bundle([[1.0, 2.0, 3.0]], [[1]], feature_names=["c", "b", "a"])
    >>> aligned_features(bundle, ["a", "b"], 2).tolist()
    [[3.0, 2.0]]
    """
    columns = _model_columns(bundle.feature_names, names, n_features, bundle.source)
    return bundle.X if columns is None else bundle.X[:, columns]


def stem(path: str | Path) -> str:
    """Return the file's name without folder, ``.gz`` and extension."""
    name = Path(path).name
    return Path(name.removesuffix(".gz")).stem or name


# -- inside ------------------------------------------------------------------------------------


def _asked(path: Any, format: str | None, labels: Any, options: dict[str, Any]) -> Reading:
    """Return the reading of a call; one name is a column of tags where there may be one."""
    reading = Reading(format=format, **options)
    several = isinstance(labels, str) and ("," in labels or labels.endswith("*"))
    if not isinstance(labels, str) or several:
        return replace(reading, labels=labels)
    if format is None:
        with opened(path, sys.maxsize) as source:
            format = detected(source)
    if format in TABLES:
        return replace(reading, tags=labels)
    return replace(reading, labels=labels)


def _open(source: Source, reading: Reading) -> Reader:
    """Open a reader of the format asked for, or of what the content looks like."""
    format = detected(source) if reading.format is None else known_format(reading.format)
    reading = replace(reading, format=format)
    if format == "jsonl" and reading.tags is None and isinstance(reading.labels, str):
        reading = replace(reading, tags=reading.labels, labels=None)
    refuse_others(reading, source.path)
    reader: Reader = FORMATS[format](source, reading)
    return reader


def _chosen_columns(reader: Reader, file: str) -> list[int] | None:
    """Return the features that are wanted by name; None for all."""
    reading = reader.reading
    if not reading.features or reading.format in TABLES:  # which reads no others
        return None
    if isinstance(reader.feature_names, NumberedNames):
        raise DataError("the features of this file have no names to choose by", file=file)
    wanted = matching_names(reader.feature_names, reading.features, file)
    return feature_places(reader.feature_names, wanted, file)


def _refuse_nothing(reader: Reader, file: str) -> None:
    """Refuse a file without labels or features."""
    if not reader.texts and not len(reader.feature_names):
        raise DataError("no features: nothing to learn from", file=file)
    if not len(reader.label_names):
        raise DataError("no labels: nothing to learn from", file=file)


def _examples(
    reader: Reader, columns: list[int] | None, rows: Batch, file: str, name: str | None = None
) -> Bundle | TextTable:
    """Return finished rows as a bundle, or as a table of texts."""
    _refuse_nothing(reader, file)
    if not rows.n_rows:
        raise DataError("no rows: nothing to learn from", file=file)
    row_names = tuple(rows.row_names or ())
    notes, name = tuple(reader.notes), name or stem(file)
    labels: Any = reader.label_names
    if reader.texts:
        tags = tags_of(rows.Y, labels)
        return TextTable(tuple(rows.X), tags, row_names, name, file, notes, reader.tag_column)
    X, names = rows.X, reader.feature_names
    if columns is not None:
        X, names = X[:, columns], [names[column] for column in columns]
    source = getattr(reader, "origin", None) or file
    try:
        return Bundle(X, rows.Y, names, labels, name, source, notes, row_names, reader.tag_column)
    except ValueError as error:
        raise DataError(str(error), file=file) from error


def _in_blocks(batches: Iterable[Batch], block_bytes: int) -> Iterator[Batch]:
    """Cut large batches, and put small ones together, until a block is full."""
    waiting: list[Batch] = []
    size = 0
    for batch in batches:
        pieces = max(1, -(-_bytes(batch.X) // block_bytes))
        step = max(1, -(-batch.n_rows // pieces))
        for start in range(0, batch.n_rows, step):
            piece = batch if step >= batch.n_rows else _cut(batch, slice(start, start + step))
            waiting.append(piece)
            size += _bytes(piece.X)
            if size >= block_bytes:
                yield stack(waiting)
                waiting, size = [], 0
    if waiting:
        yield stack(waiting)


def _cut(batch: Batch, rows: slice) -> Batch:
    names = None if batch.row_names is None else batch.row_names[rows]
    return Batch(batch.X[rows], batch.Y[rows], names)


def _bytes(X: Any) -> int:
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def _records(
    source: Source, reading: Reading, names: list[str] | None, n_features: int
) -> Iterator[Records]:
    texts = names is None
    format = known_format(reading.format or detected(source, texts=texts))
    if texts and format not in (*TABLES, "jsonl", "lines"):
        raise DataError(
            f"looks like {format}, but the model learnt from texts",
            file=source.path,
            hint="give JSON lines, a table with a column of text, or one text a line ({format})",
            options={"format": "lines"},
        )
    if not texts and format in ("jsonl", "lines"):
        reason = "holds texts, but the model learnt from columns of numbers"
        raise DataError(reason, file=source.path)
    # Of the model's reading, what holds for rows without labels in any format.
    how = Reading(
        format=format, text=reading.text if texts else None, ids=reading.ids,
        ids_optional=reading.ids_optional, missing=reading.missing, variable=reading.variable,
        first_index=1 if reading.first_index is None else reading.first_index,
        n_features=n_features or None,
    )  # fmt: skip
    reader: Reader = FORMATS[format](source, how, () if names is None else names)
    for batch in map(reader.finish, reader.batches()):
        X = batch.X
        if not texts:
            columns = _model_columns(reader.feature_names, names, n_features, source.path)
            X = X if columns is None else X[:, columns]
        yield Records(X, batch.row_names)


def _model_columns(
    offered: Sequence[str], names: Sequence[str] | None, n_features: int, file: str
) -> list[int] | None:
    """Return which of the columns are the model's features; None if they are as they stand."""
    numbered = isinstance(offered, NumberedNames)
    if names is None or numbered or tuple(offered) == tuple(names):
        if len(offered) != n_features:
            reason = f"{len(offered):,} features, but the model has {n_features:,}"
            raise DataError(reason, file=file)
        return None
    return feature_places(offered, names, file)
