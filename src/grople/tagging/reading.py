"""A file of things and tags: where its text, features and labels are, remembered for later files.

A file of examples becomes a :class:`~grople.datasets.Bundle` (numbers) or a
:class:`~grople.datasets.text.TextTable` (texts). The :class:`Reading` that says how is stored with
the model, so that files to come are read the same way.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets import Bundle, catalogue, read
from grople.datasets._columns import Layout, TableBuilder
from grople.datasets._streams import DEFAULT_LIMIT, opened, stem
from grople.datasets.bundle import NumberedNames
from grople.datasets.download import Progress
from grople.datasets.reading import READERS, detect
from grople.datasets.tables import table_batches
from grople.datasets.text import TextTable, read_texts
from grople.errors import DataError

__all__ = [
    "FORMATS",
    "Reading",
    "is_a_file",
    "matching_names",
    "read_examples",
    "refuse",
    "table_layout",
    "tags_of",
    "text_cells",
    "which_labels",
]

#: Formats that examples may be in; ``lines`` (one text a line) only where no labels are needed.
FORMATS = (*READERS, "lines")
TABLES = ("csv", "tsv", "parquet")
#: Where a text and its tags are, unless the person says otherwise.
TEXT, TAGS = "text", "tags"


@dataclass(frozen=True)
class Reading:
    """How a file is read.

    Parameters
    ----------
    format : str, optional
        One of :data:`FORMATS`; by default what the content looks like.
    labels : str, optional
        Where the labels are, as on the command line: names of 0/1 columns separated by commas, or
        ``prefix*``; for ARFF also an XML header or a number of columns; for MATLAB a variable.
    tags : str, optional
        The column or field of tags.
    text : str, optional
        The column or field of the text. In a table the column ``text`` is taken for it.
    ids : str, optional
        The column or field that names each row.
    features, ignore : tuple of str
        Columns to calculate with (names or ``prefix*``; none: all), and columns to leave out.
    separator : str
        What stands between tags in a table.
    missing : {"error", "zero", "nan"}
        What an empty cell is.
    first_index : int
        LIBSVM: the number of the first feature, 0 or 1.
    ids_optional : bool
        Whether a file need not have the `ids`: another had.

    Examples
    --------
    >>> Reading.from_dict(Reading(format="csv", features=("a", "b")).to_dict()).features
    ('a', 'b')
    """

    format: str | None = None
    labels: str | None = None
    tags: str | None = None
    text: str | None = None
    ids: str | None = None
    features: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    separator: str = ";"
    missing: str = "error"
    first_index: int = 1
    ids_optional: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Reading:
        """Return what :meth:`to_dict` wrote; fields of later versions are left out."""
        known = {key: values[key] for key in cls.__dataclass_fields__ if key in values}
        for key in ("features", "ignore"):
            known[key] = tuple(known.get(key, ()))
        return cls(**known)

    def overridden(self, **values: Any) -> Reading:
        """Return this with every value that is given and not None or empty."""
        return replace(self, **{key: value for key, value in values.items() if value})

    def for_records(self, format: str | None) -> Reading:
        """Return this for another file: its format is what the person says, names are a gift."""
        return replace(self, format=format, ids_optional=True)


def read_examples(
    name_or_file: str | Path,
    reading: Reading | None = None,
    *,
    progress: Progress | None = None,
) -> tuple[Bundle | TextTable, Reading]:
    r"""Read a file with labels, or a data set of the catalogue.

    Parameters
    ----------
    name_or_file : str or path
        A file of any format of the data layer, or a name of the catalogue.
    reading : Reading, optional
        How to read it.
    progress : callable, optional
        Told about downloads.

    Returns
    -------
    examples : Bundle or TextTable
        What was read.
    reading : Reading
        How it was read, for files to come.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "notes.csv"
    ...     _ = file.write_text("text,tags\na chess game,game;board\na clock,tool\n")
    ...     table, reading = read_examples(file)
    >>> table.texts, table.tags, reading.text
    (('a chess game', 'a clock'), (('game', 'board'), ('tool',)), 'text')
    """
    reading = reading or Reading()
    name = os.fspath(name_or_file)
    if not (reading.format or reading.labels or reading.tags or is_a_file(name)):
        return catalogue.load(name, progress=progress), reading
    if reading.format == "lines":
        raise DataError("a file of plain lines holds no labels", file=name)
    reading = replace(reading, format=reading.format or detect(name))
    if reading.format == "jsonl":
        tags = reading.tags or reading.labels or TAGS
        reading = replace(reading, text=reading.text or TEXT, tags=tags)
        refuse(reading, name, "features", "ignore")
        ids = None if reading.ids_optional else reading.ids
        return read_texts(name, text=str(reading.text), labels=tags, ids=ids), reading
    if reading.format in TABLES:
        return _read_table(name, reading)
    refuse(reading, name, "text", "ids", "tags")
    if reading.format == "libsvm":
        return _read_libsvm(name, reading)
    options: dict[str, Any] = {}
    if reading.format == "arff":
        options = {"missing": reading.missing, "ignore": reading.ignore}
    labels = which_labels(reading.labels, str(reading.format))
    bundle = read(name, format=reading.format, labels=labels, **options)
    return _select(bundle, reading), reading


def is_a_file(name: str) -> bool:
    """Tell a file, there or not, from a name of the catalogue.

    Examples
    --------
    >>> is_a_file("medical"), is_a_file("mine.arff")
    (False, True)
    """
    path = Path(name)
    return os.path.isfile(path) or bool(path.suffix) or path.name != name


def which_labels(text: str | None, format: str) -> str | int | list[str] | None:
    """Return the labels as the reader of a format wants them."""
    if text is None:
        return None
    if "," in text:
        return text.split(",")
    if format != "arff" or os.path.isfile(text) or text.lower().endswith(".xml"):
        return text
    return int(text) if text.removeprefix("-").isdecimal() else [text]


# -- tables ----------------------------------------------------------------------------------


def text_cells(cells: Sequence[Any], column: str, file: str, lines: Sequence[int] | None) -> Any:
    """Return the texts of a column; an empty cell is an empty text."""
    if isinstance(cells, np.ndarray):
        raise DataError(f"column {column!r} holds numbers, not text", file=file)
    texts = ["" if cell is None else cell for cell in cells]
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            line = None if lines is None else lines[row]
            raise DataError(f"column {column!r} must be text", file=file, line=line)
    return texts


def _read_table(name: str, reading: Reading) -> tuple[Bundle | TextTable, Reading]:
    with (
        opened(name, DEFAULT_LIMIT) as source,
        table_batches(source, str(reading.format)) as (names, batches),
    ):
        reading, layout = table_layout(names, reading, name)
        texts: list[str] = []
        ids: list[str] = []
        builder = TableBuilder(layout, name, reading.missing, reading.separator)
        for columns, n_rows, lines in batches:
            builder.add(columns, n_rows, lines)
            if reading.text is not None:
                cells = columns[names.index(reading.text)]
                texts += text_cells(cells, reading.text, name, lines)
            if reading.ids is not None:
                ids += map(str, columns[names.index(reading.ids)])
        fields = builder.finish()
    if fields["Y"].shape[1] == 0 or fields["Y"].shape[0] == 0:
        what = "rows" if fields["Y"].shape[0] == 0 else "labels"
        raise DataError(f"no {what}: nothing to learn from", file=name)
    if reading.text is not None:
        tags = tags_of(fields["Y"], fields["label_names"])
        return TextTable(tuple(texts), tags, tuple(ids), stem(name), name), reading
    if not layout.features:
        raise DataError("no features: nothing to learn from", file=name)
    return Bundle(**fields, row_names=ids, name=stem(name), source=name), reading


def table_layout(names: list[str], reading: Reading, file: str) -> tuple[Reading, Layout]:
    """Return how a table with these columns is read, and which column plays which part."""
    if reading.text is None and TEXT in names and not reading.features:
        reading = replace(reading, text=None if TEXT in reading.ignore else TEXT)
    refuse(reading, file, *(("features",) if reading.text else ()))
    if reading.ids_optional and reading.ids not in names:
        reading = replace(reading, ids=None)
    for column, what in ((reading.text, "the text"), (reading.ids, "the row names")):
        if column is not None and column not in names:
            there = ", ".join(map(repr, names[:8]))
            raise DataError(f"no column {column!r} for {what}; there are {there}", file=file)
    return reading, _layout(names, reading, file)


def _layout(names: list[str], reading: Reading, file: str) -> Layout:
    labels: Any = reading.tags
    if labels is None and reading.labels is not None:
        labels = reading.labels if reading.labels.endswith("*") else reading.labels.split(",")
    ignore = [*reading.ignore, *([reading.ids] if reading.ids else [])]
    layout = Layout.of(names, labels, ignore, (), file)
    if reading.text is not None:
        return replace(layout, features=())
    if not reading.features:
        return layout
    offered = [names[index] for index in layout.features]
    chosen = set(matching_names(offered, reading.features, file))
    return replace(layout, features=tuple(i for i in layout.features if names[i] in chosen))


def matching_names(offered: Sequence[str], wanted: Sequence[str], file: str) -> list[str]:
    """Return the names that are wanted, by name or by ``prefix*``, in the order of the file."""
    found: set[str] = set()
    for want in wanted:
        if want.endswith("*"):
            hits = {name for name in offered if name.startswith(want[:-1])}
        else:
            hits = {want} & set(offered)
        if not hits:
            there = ", ".join(map(repr, offered[:8]))
            raise DataError(f"no column {want!r} for features; there are {there}", file=file)
        found |= hits
    return [name for name in offered if name in found]


def tags_of(Y: Any, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the names of each row's labels."""
    return tuple(
        tuple(names[j] for j in Y.indices[start:end])
        for start, end in zip(Y.indptr[:-1].tolist(), Y.indptr[1:].tolist(), strict=True)
    )


# -- other formats ---------------------------------------------------------------------------


def _read_libsvm(name: str, reading: Reading) -> tuple[Bundle, Reading]:
    """Read a LIBSVM file and find out whether its features count from zero or one."""
    bundle = read(name, format="libsvm", zero_based=True)
    X = bundle.X
    first = X[:, [0]] if sp.issparse(X) else X[:, :1]
    if (first.nnz if sp.issparse(first) else np.count_nonzero(first)) or X.shape[1] == 1:
        return bundle, replace(reading, first_index=0)
    one_based = Bundle(
        X[:, 1:], bundle.Y, label_names=bundle.label_names, name=bundle.name, source=bundle.source
    )
    return one_based, replace(reading, first_index=1)


def _select(bundle: Bundle, reading: Reading) -> Bundle:
    """Keep the features that are wanted, where they have names."""
    if not reading.features:
        return bundle
    if isinstance(bundle.feature_names, NumberedNames):
        raise DataError("the features of this file have no names to choose by", file=bundle.source)
    names = list(bundle.feature_names)
    chosen = matching_names(names, reading.features, bundle.source)
    place = {feature: index for index, feature in enumerate(names)}
    return replace(bundle, X=bundle.X[:, [place[c] for c in chosen]], feature_names=tuple(chosen))


def refuse(reading: Reading, file: str, *fields: str) -> None:
    """Say that an option makes no sense for this file."""
    for field in fields:
        if getattr(reading, field):
            what = "a text" if reading.text else f"a {reading.format} file"
            raise DataError(f"--{field} does not apply to {what}", file=file)
