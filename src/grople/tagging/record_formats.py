"""One reader a format: an open file becomes blocks of what a model needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._arff_header import read_header
from grople.datasets._arff_rows import RowParser
from grople.datasets._arff_values import domains_of
from grople.datasets._columns import Layout, TableBuilder
from grople.datasets._extreme_rows import RowGrammar, Rows
from grople.datasets._matrices import MAX_COLUMNS
from grople.datasets._streams import Source, decode
from grople.datasets.extreme import extreme_rows
from grople.datasets.tables import table_batches
from grople.datasets.text import _document, _field, _text
from grople.errors import DataError
from grople.tagging.reading import TEXT, Reading, text_cells

__all__ = ["RECORD_READERS", "Records", "Wanted", "check_width", "feature_places"]

Blocks = Iterator["Records"]


@dataclass(frozen=True)
class Records:
    """A block of records: texts or a matrix of features, and the names of the rows, if any."""

    content: Any
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.content) if isinstance(self.content, list) else int(self.content.shape[0])


@dataclass(frozen=True)
class Wanted:
    """What the model needs of each record."""

    reading: Reading
    feature_names: Sequence[str] | None
    n_features: int
    label_names: frozenset[str]

    @property
    def texts(self) -> bool:
        """Whether records are texts."""
        return self.feature_names is None


def _json_lines(source: Source, wanted: Wanted) -> Blocks:
    field, ids = wanted.reading.text or TEXT, wanted.reading.ids
    for first, block in source.blocks():
        texts: list[str] = []
        names: list[str] = []
        for number, line in enumerate(block[:-1].split(b"\n"), first):
            if not line.strip():
                continue
            document = _document(decode(line, "utf-8", source.path, number), source.path, number)
            texts.append(_text(document, field, source.path, number))
            if ids is not None and (ids in document or not wanted.reading.ids_optional):
                names.append(str(_field(document, ids, source.path, number)))
        if texts:
            yield Records(texts, names if len(names) == len(texts) else None)


def _lines(source: Source, wanted: Wanted) -> Blocks:
    for first, block in source.blocks():
        lines = enumerate(block[:-1].split(b"\n"), first)
        texts = [decode(line, "utf-8", source.path, number) for number, line in lines]
        yield Records(texts)


def _table(source: Source, wanted: Wanted) -> Blocks:
    reading = wanted.reading
    with table_batches(source, str(reading.format)) as (names, batches):
        place = {column: index for index, column in enumerate(names)}
        ids = place.get(reading.ids) if reading.ids else None
        if reading.ids and ids is None and not reading.ids_optional:
            raise DataError(f"no column {reading.ids!r} for the row names", file=source.path)
        text = reading.text or TEXT
        if wanted.texts and text not in place:
            there = ", ".join(map(repr, names[:8]))
            raise DataError(
                f"no column {text!r} for the text; there are {there}; name yours with --text",
                file=source.path,
            )
        columns = (
            () if wanted.texts else feature_places(place, wanted.feature_names or (), source.path)
        )
        layout = Layout(tuple(names), tuple(columns), (), (), None, ())
        for cells, n_rows, lines in batches:
            content: Any
            if wanted.texts:
                content = text_cells(cells[place[text]], text, source.path, lines)
            else:
                builder = TableBuilder(layout, source.path, reading.missing, reading.separator)
                builder.add(cells, n_rows, lines)
                content = builder.finish()["X"]
            yield Records(content, None if ids is None else list(map(str, cells[ids])))


def _arff(source: Source, wanted: Wanted) -> Blocks:
    blocks = source.blocks()
    header, line, rest = read_header(blocks, source.path, "utf-8")
    here = wanted.label_names & {attribute.name for attribute in header.attributes}
    domains = domains_of(header.attributes, frozenset(here), "utf-8")
    parser = RowParser(
        header.attributes, domains, file=source.path, encoding="utf-8",
        missing=wanted.reading.missing,
    )  # fmt: skip
    # A feature is an attribute, or one value of an attribute that has several.
    place: dict[str, tuple[int, int | None]] = {}
    for index, attribute in enumerate(header.attributes):
        if attribute.values is None or len(attribute.values) <= 2:
            place[attribute.name] = (index, None)
        else:
            for code, value in enumerate(attribute.values):
                place[f"{attribute.name}={value}"] = (index, code)
    numbers = {feature: position for position, feature in enumerate(place)}
    every = list(place.values())
    chosen = [every[i] for i in feature_places(numbers, wanted.feature_names or (), source.path)]
    columns = [index for index, _ in chosen]
    coded = [position for position, (_, code) in enumerate(chosen) if code is not None]
    codes = np.array([chosen[position][1] for position in coded], dtype=np.float64)

    def picked(cells: Any) -> Records:
        X = cells[:, columns]
        if coded:  # few columns, all of them codes
            marks = X[:, coded]
            marks = (marks.toarray() if sp.issparse(marks) else marks) == codes
            X = X.toarray() if sp.issparse(X) else X
            X[:, coded] = marks
        return Records(X)

    if rest:
        yield picked(parser.parse(line, rest))
    for first, block in blocks:
        yield picked(parser.parse(first, block))


def _extreme(source: Source, wanted: Wanted) -> Blocks:
    n_features, _, parts = extreme_rows(source)
    check_width(n_features, wanted.n_features, source.path)
    for rows in parts:
        yield Records(rows.features(0, n_features))


def _libsvm(source: Source, wanted: Wanted) -> Blocks:
    base = wanted.reading.first_index
    grammar = RowGrammar(
        source.path, min(wanted.n_features + base, MAX_COLUMNS), blank_rows=False,
        feature_start=base,
    )  # fmt: skip
    for number, block in source.blocks():
        rows: Rows = grammar.parse(number, block)
        if rows.n_rows:
            yield Records(rows.features(base, wanted.n_features))


RECORD_READERS: dict[str, Callable[[Source, Wanted], Blocks]] = {
    "jsonl": _json_lines,
    "lines": _lines,
    "csv": _table,
    "tsv": _table,
    "parquet": _table,
    "arff": _arff,
    "extreme": _extreme,
    "libsvm": _libsvm,
}


def feature_places(place: dict[str, int], names: Sequence[str], file: str) -> list[int]:
    """Return where the model's features stand, or say which is not there."""
    missing = [feature for feature in names if feature not in place]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DataError(f"no feature {missing[0]!r}{more}, which the model needs", file=file)
    return [place[feature] for feature in names]


def check_width(found: int, n_features: int, file: str) -> None:
    """Refuse rows with another number of features than the model's."""
    if found != n_features:
        raise DataError(f"{found:,} features, but the model has {n_features:,}", file=file)
