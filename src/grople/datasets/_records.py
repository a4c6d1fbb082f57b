"""Read records to predict: the batches of a reader, without labels, in the columns of a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grople.datasets._bundle import Bundle, NumberedNames
from grople.datasets._detect import detected, known_format
from grople.datasets._formats import FORMATS, Reader
from grople.datasets._names import feature_places
from grople.datasets._reading import TABLES, Reading
from grople.errors import DataError
from grople.files import NO_LIMIT, Source, opened, standard_input

__all__ = ["Records", "aligned_features", "open_records"]

#: What the standard input is called.
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Records:
    """A block of records: texts, a matrix of features or columns, and the names of the rows.

    Examples
    --------
    >>> len(Records(["a chess game", "a clock"]))
    2
    """

    content: Any
    names: list[str] | None = None

    def __len__(self) -> int:
        rows = self.content
        rows = next(iter(rows.values())) if isinstance(rows, dict) else rows
        return len(rows) if isinstance(rows, list) else int(rows.shape[0])


@contextmanager
def open_records(
    path: str | Path,
    reading: Reading,
    *,
    feature_names: Sequence[str] | None,
    n_features: int = 0,
    columns: Sequence[str] | None = None,
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
    columns : sequence of str, optional
        The columns of a model that learnt from columns of mixed kinds, in place of features; the
        content of a block is a dict of them.

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
    wanted = feature_names if columns is None else columns
    names = None if wanted is None else list(map(str, wanted))
    how = replace(reading, mixed=columns is not None)
    if os.fspath(path) == STANDARD_INPUT:
        source = standard_input()
        yield _records(source, how, names, n_features) if source.head() else iter(())
        return
    with opened(path, NO_LIMIT) as source:
        yield _records(source, how, names, n_features)


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
    if reading.mixed and format not in TABLES:
        reason = f"looks like {format}, but the model learnt from a table with columns of words"
        raise DataError(reason, file=source.path)
    # Of the model's reading, what holds for rows without labels in any format.
    how = Reading(
        format=format, text=reading.text if texts else None, ids=reading.ids,
        ids_optional=reading.ids_optional, missing=reading.missing, variable=reading.variable,
        first_index=1 if reading.first_index is None else reading.first_index,
        n_features=n_features or None, mixed=reading.mixed,
    )  # fmt: skip
    reader: Reader = FORMATS[format](source, how, () if names is None else names)
    for batch in map(reader.finish, reader.batches()):
        X = batch.X
        if not (texts or reading.mixed):
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
