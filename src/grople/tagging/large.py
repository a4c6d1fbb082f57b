"""Taggers from files that need not fit into memory: blocks of examples, gone through twice.

The first pass finds what a format does not declare: labels, the words of texts. The second sums up
rows.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from grople.baselines import STORABLE, Report, make_method
from grople.datasets import Blocks, read_blocks
from grople.datasets._columns import TableBuilder
from grople.datasets._matrices import label_matrix, spread_labels
from grople.datasets._streams import opened, stem
from grople.datasets.blocks import TABLES, coalesced, table_blocks
from grople.datasets.bundle import NumberedNames
from grople.datasets.reading import detect
from grople.datasets.tables import table_batches
from grople.datasets.text import TextTable, text_parts
from grople.errors import DataError
from grople.features import plain_columns, scan_text
from grople.tagging._fitting import TAIL, DataFacts, Tagger, named_labels, told_as
from grople.tagging.reading import (
    TAGS,
    TEXT,
    Reading,
    is_a_file,
    matching_names,
    refuse,
    table_layout,
    tags_of,
    text_cells,
    which_labels,
)

__all__ = ["WORDS", "TextBlocks", "fit_tagger_in_blocks", "is_large", "open_blocks"]

#: The most frequent words of texts that are kept unless the person says otherwise: the products of
#: all pairs of words must fit into memory.
WORDS = 5000
#: A file is read in blocks if it is larger than this share of the memory: the arrays of a whole
#: file take several times its size.
SHARE = 8
#: How much a file may grow when it is unpacked, as a rule.
PACKED = 5


@dataclass(frozen=True)
class TextBlocks:
    """A file of texts and tags as tables of some of its rows; may be gone through again."""

    source: str
    parts: Callable[[], Iterator[TextTable]]

    def __iter__(self) -> Iterator[TextTable]:
        return self.parts()


def is_large(path: str | Path) -> bool:
    """Tell whether a file is better read in blocks.

    Examples
    --------
    >>> is_large("no such file")
    False
    """
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            packed = file.read(2) in (b"\x1f\x8b", b"PK")
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return False
    return size * (PACKED if packed else 1) * SHARE > memory


def open_blocks(
    path: str | Path, reading: Reading | None = None
) -> tuple[Blocks | TextBlocks, Reading]:
    r"""Open a file with labels to be read in blocks.

    Parameters
    ----------
    path : path
        The file.
    reading : Reading, optional
        How to read it.

    Returns
    -------
    blocks : Blocks or TextBlocks
        What to learn from.
    reading : Reading
        How it is read, for files to come.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "notes.csv"
    ...     _ = file.write_text("text,tags\na chess game,game;board\na clock,tool\n")
    ...     blocks, reading = open_blocks(file)
    ...     [table.tags for table in blocks], reading.text
    ([(('game', 'board'), ('tool',))], 'text')
    """
    reading = reading or Reading()
    name = os.fspath(path)
    if not is_a_file(name):
        raise DataError("only files are read in blocks, not names of the catalogue", file=name)
    reading = replace(reading, format=reading.format or detect(name, sys.maxsize))
    if reading.format == "jsonl":
        text, tags = reading.text or TEXT, reading.tags or reading.labels or TAGS
        reading = replace(reading, text=text, tags=tags)
        refuse(reading, name, "features", "ignore")
        return TextBlocks(name, lambda: _json_parts(name, text, tags)), reading
    if reading.format in TABLES:
        return _open_table(name, reading)
    refuse(reading, name, "text", "ids", "tags")
    options: dict[str, Any] = {}
    if reading.format == "arff":
        options = {"missing": reading.missing, "ignore": reading.ignore}
    labels = which_labels(reading.labels, str(reading.format))
    blocks = read_blocks(name, format=reading.format, labels=labels, **options)
    if reading.format == "libsvm":
        reading = replace(reading, first_index=blocks.first_index)
    return _chosen(blocks, reading), reading


def _json_parts(name: str, text: str, tags: str) -> Iterator[TextTable]:
    with opened(name, sys.maxsize) as source:
        yield from text_parts(source, text, tags)


def _open_table(name: str, reading: Reading) -> tuple[Blocks | TextBlocks, Reading]:
    format = str(reading.format)
    with opened(name, sys.maxsize) as source, table_batches(source, format) as (names, _):
        reading, layout = table_layout(names, reading, name)
    if reading.text is None:
        rules = reading.separator, reading.missing
        return table_blocks(name, format, lambda names: layout, *rules), reading
    place = names.index(reading.text)

    def parts() -> Iterator[TextTable]:
        with opened(name, sys.maxsize) as source, table_batches(source, format) as (_, batches):
            for columns, n_rows, lines in batches:
                builder = TableBuilder(layout, name, reading.missing, reading.separator)
                builder.add(columns, n_rows, lines)
                fields = builder.finish()
                texts = text_cells(columns[place], str(reading.text), name, lines)
                tags = tags_of(fields["Y"], fields["label_names"])
                yield TextTable(tuple(texts), tags, (), stem(name), name)

    return TextBlocks(name, parts), reading


def _chosen(blocks: Blocks, reading: Reading) -> Blocks:
    """Keep the features that are wanted, where they have names."""
    if not reading.features:
        return blocks
    if isinstance(blocks.feature_names, NumberedNames):
        raise DataError("the features of this file have no names to choose by", file=blocks.source)
    names = list(blocks.feature_names)
    chosen = matching_names(names, reading.features, blocks.source)
    columns = [names.index(feature) for feature in chosen]
    return replace(
        blocks,
        feature_names=chosen,
        parts=lambda: ((X[:, columns], Y) for X, Y in blocks.parts()),
    )


def fit_tagger_in_blocks(
    blocks: Blocks | TextBlocks,
    reading: Reading,
    *,
    method: str = "grople",
    metric: str | float = "example_f1",
    normalize: bool = False,
    text: dict[str, Any] | None = None,
    random_state: int = 0,
    report: Report = lambda step, done, total: None,
    **parameters: Any,
) -> tuple[Tagger, DataFacts]:
    """Fit a tagger on blocks; see :func:`grople.tagging.fitting.fit_tagger`.

    So that moments are matrices, whose size the rows do not change, the `WORDS` most frequent words
    of texts are kept unless ``text["max_features"]`` says otherwise. With more features than such
    matrices have room for, the sparse rows themselves are kept.

    Examples
    --------
    >>> texts = TextTable(("a chess game", "chess"), (("game", "board"), ("game",)))
    >>> blocks = TextBlocks("", lambda: iter([texts, texts]))
    >>> tagger, facts = fit_tagger_in_blocks(blocks, Reading(), method="ridge")
    >>> facts.rows, facts.labels, tagger.features.names.tolist()
    (4, 2, ['chess', 'game'])
    """
    if method not in STORABLE:
        raise ValueError(
            f"a model of {method!r} cannot be stored and updated: choose from {', '.join(STORABLE)}"
        )
    text = {"max_features": WORDS} | {k: v for k, v in (text or {}).items() if v is not None}
    report("features", 0, 2)
    texts = isinstance(blocks, TextBlocks)
    if isinstance(blocks, TextBlocks):
        features, names = _scanned(blocks, text)
    else:
        features = plain_columns(blocks.feature_names, unit_rows=normalize)
        names = [str(label) for label in blocks.label_names]
    model = make_method(method, metric, random_state=random_state, **parameters)
    unlabelled = 0

    def rows() -> Iterator[tuple[Any, Any]]:
        nonlocal unlabelled
        for X, Y in coalesced(_rows_of(part, features, names) for part in blocks):
            unlabelled += int((np.diff(Y.indptr) == 0).sum())
            yield X, named_labels(Y, names)

    started = time.perf_counter()
    model.fit_blocks(rows(), progress=told_as("fitting", report))
    seconds = time.perf_counter() - started
    outline = model.fitted_model_.outline
    facts = DataFacts(
        rows=outline.n_rows,
        features=len(features),
        labels=len(names),
        cardinality=float(outline.labels.counts.sum() / outline.n_rows),
        tail_labels=int((outline.labels.counts < TAIL).sum()),
        rows_without_labels=unlabelled,
        texts=texts,
    )
    notes = {"data": asdict(facts), "fit_seconds": seconds, "text": text if texts else {}}
    return Tagger(model, features, reading, notes), facts


def _scanned(blocks: TextBlocks, settings: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the words and the labels of texts."""
    labels: set[str] = set()

    def passing() -> Iterator[Sequence[str]]:
        for part in blocks:
            labels.update(*part.tags)
            yield part.texts

    try:
        features = scan_text(passing(), **settings)
    except DataError as error:
        if error.file is not None:
            raise
        raise DataError(error.reason, file=blocks.source) from error
    if not labels:
        raise DataError("no row has a label: nothing to learn from", file=blocks.source)
    return features, sorted(labels)


def _rows_of(part: Any, features: Any, names: Sequence[str]) -> tuple[Any, Any]:
    if isinstance(part, TextTable):
        return features.transform(part.texts), spread_labels(*label_matrix(part.tags), names)
    return features.transform(part.X), part.Y
