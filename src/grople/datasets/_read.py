"""Read a file whole: the batches of its reader, below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grople.datasets._bundle import Bundle, MixedTable, NumberedNames, TextTable
from grople.datasets._detect import detected, known_format
from grople.datasets._formats import FORMATS, Batch, NoNumberError, Reader, stack
from grople.datasets._labels import label_matrix, tags_of
from grople.datasets._names import feature_places, matching_names
from grople.datasets._reading import TABLES, Reading, refuse_others
from grople.errors import DataError
from grople.features import fit_text
from grople.files import DEFAULT_LIMIT, NO_LIMIT, Source, opened
from grople.metrics import label_indicator

__all__ = [
    "Examples",
    "asked",
    "chosen_columns",
    "examples_of",
    "open_reader",
    "read",
    "read_file",
    "refuse_nothing",
    "stem",
]

#: What a file with labels may hold.
Examples = Bundle | TextTable | MixedTable


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
    examples, _ = read_file(path, asked(path, format, labels, options), name, max_bytes)
    if isinstance(examples, Bundle):
        return examples
    if isinstance(examples, MixedTable):  # only where the reading asks for it
        raise DataError("columns of mixed kinds are no matrix", file=examples.source)
    try:
        features, X = fit_text(examples.texts)
    except DataError as error:
        reason = f"the texts give no features ({error.reason})"
        raise DataError(reason, file=examples.source) from error
    Y, names = label_matrix(examples.tags)
    return Bundle(
        X, Y, features.names.tolist(), names, examples.name, examples.source, examples.notes,
        examples.ids, examples.tag_column,
    )  # fmt: skip


def read_file(
    path: str | Path,
    reading: Reading,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
    *,
    mixed: bool = False,
) -> tuple[Examples, Reading]:
    """Read a file whole; return also how it was read, for files to come.

    With `mixed`, a table with a feature that is no number is read as columns of mixed kinds.
    """
    try:
        with opened(path, max_bytes) as source:
            reader = open_reader(source, reading)
            if reader.declared:  # before the rows, as in blocks
                chosen_columns(reader, source.path)
                refuse_nothing(reader, source.path)
            batches = list(reader.batches())
            if not batches:
                raise DataError("no rows: nothing to learn from", file=source.path)
            rows = reader.finish(stack(batches))
            columns = chosen_columns(reader, source.path)
            return examples_of(reader, columns, rows, source.path, name), reader.reading
    except NoNumberError:
        if not mixed:
            raise
    return read_file(path, replace(reading, mixed=True), name, max_bytes)


def stem(path: str | Path) -> str:
    """Return the file's name without folder, ``.gz`` and extension."""
    name = Path(path).name
    return Path(name.removesuffix(".gz")).stem or name


def asked(path: Any, format: str | None, labels: Any, options: dict[str, Any]) -> Reading:
    """Return the reading of a call; one name is a column of tags where there may be one."""
    reading = Reading(format=format, **options)
    several = isinstance(labels, str) and ("," in labels or labels.endswith("*"))
    if not isinstance(labels, str) or several:
        return replace(reading, labels=labels)
    if format is None:
        with opened(path, NO_LIMIT) as source:
            format = detected(source)
    if format in TABLES:
        return replace(reading, tags=labels)
    return replace(reading, labels=labels)


def open_reader(source: Source, reading: Reading) -> Reader:
    """Open a reader of the format asked for, or of what the content looks like."""
    format = detected(source) if reading.format is None else known_format(reading.format)
    reading = replace(reading, format=format)
    if format == "jsonl" and reading.tags is None and isinstance(reading.labels, str):
        reading = replace(reading, tags=reading.labels, labels=None)
    refuse_others(reading, source.path)
    reader: Reader = FORMATS[format](source, reading)
    return reader


def chosen_columns(reader: Reader, file: str) -> list[int] | None:
    """Return the features that are wanted by name; None for all."""
    reading = reader.reading
    if not reading.features or reading.format in TABLES:  # which reads no others
        return None
    if isinstance(reader.feature_names, NumberedNames):
        raise DataError("the features of this file have no names to choose by", file=file)
    wanted = matching_names(reader.feature_names, reading.features, file)
    return feature_places(reader.feature_names, wanted, file)


def refuse_nothing(reader: Reader, file: str) -> None:
    """Refuse a file without labels or features."""
    if not reader.texts and not len(reader.feature_names):
        raise DataError("no features: nothing to learn from", file=file)
    if not len(reader.label_names):
        raise DataError("no labels: nothing to learn from", file=file)


def examples_of(
    reader: Reader, columns: list[int] | None, rows: Batch, file: str, name: str | None = None
) -> Examples:
    """Return finished rows as what they hold."""
    refuse_nothing(reader, file)
    if not rows.n_rows:
        raise DataError("no rows: nothing to learn from", file=file)
    row_names = tuple(rows.row_names or ())
    notes, name = tuple(reader.notes), name or stem(file)
    labels: Any = reader.label_names
    if reader.texts:
        tags = tags_of(rows.Y, labels)
        return TextTable(tuple(rows.X), tags, row_names, name, file, notes, reader.tag_column)
    source = reader.origin or file
    if isinstance(rows.X, dict):
        return MixedTable(
            rows.X, label_indicator(rows.Y), tuple(labels), row_names, name, source, notes,
            reader.tag_column,
        )  # fmt: skip
    X, names = rows.X, reader.feature_names
    if columns is not None:
        X, names = X[:, columns], [names[column] for column in columns]
    try:
        return Bundle(X, rows.Y, names, labels, name, source, notes, row_names, reader.tag_column)
    except ValueError as error:
        raise DataError(str(error), file=file) from error
