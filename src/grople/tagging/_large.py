"""Taggers from files that need not fit into memory, gone through block by block.

The words of texts are found in a pass of their own, before the one that sums up rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from grople.baselines import STORABLE, Report, make_method
from grople.datasets import (
    Blocks,
    Reading,
    TextTable,
    is_a_file,
    label_matrix,
    read_blocks,
    spread_labels,
)
from grople.errors import DataError
from grople.features import plain_columns, scan_text
from grople.tagging._fitting import TAIL, DataFacts, Tagger, named_labels, told_as

__all__ = ["WORDS", "fit_tagger_in_blocks", "is_large", "open_blocks"]

#: The most frequent words of texts that are kept unless the person says otherwise: the products of
#: all pairs of words must fit into memory.
WORDS = 5000
#: A file is read in blocks if it is larger than this share of the memory: the arrays of a whole
#: file take several times its size.
SHARE = 8
#: How much a file may grow when it is unpacked, as a rule.
PACKED = 5


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


def open_blocks(path: str | Path, reading: Reading | None = None) -> tuple[Blocks, Reading]:
    r"""Open a file with labels to be read in blocks.

    Parameters
    ----------
    path : path
        The file.
    reading : Reading, optional
        How to read it.

    Returns
    -------
    blocks : Blocks
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
    ([(('board', 'game'), ('tool',))], 'text')
    """
    if not is_a_file(os.fspath(path)):
        raise DataError("only files are read in blocks, not names of the catalogue", file=path)
    blocks = read_blocks(path, reading or Reading())
    return blocks, blocks.reading


def fit_tagger_in_blocks(
    blocks: Blocks,
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
    r"""Fit a tagger on blocks; see :func:`grople.tagging.fit_tagger`.

    So that moments are matrices, whose size the rows do not change, the `WORDS` most frequent words
    of texts are kept unless ``text["max_features"]`` says otherwise. With more features than such
    matrices have room for, the sparse rows themselves are kept.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "notes.csv"
    ...     _ = file.write_text("text,tags\na chess game,game;board\nchess,game\ngame,board\n")
    ...     blocks, reading = open_blocks(file)
    ...     tagger, facts = fit_tagger_in_blocks(blocks, reading, method="ridge")
    >>> facts.rows, facts.labels, tagger.features.names.tolist()
    (3, 2, ['chess', 'game'])
    """
    if method not in STORABLE:
        raise ValueError(
            f"a model of {method!r} cannot be stored and updated: choose from {', '.join(STORABLE)}"
        )
    text = {"max_features": WORDS} | {k: v for k, v in (text or {}).items() if v is not None}
    report("features", 0, 2)
    names = [str(label) for label in blocks.label_names]
    features: Any
    if blocks.texts:
        features = _scanned(blocks, text)
    else:
        features = plain_columns(blocks.feature_names, unit_rows=normalize)
    model = make_method(method, metric, random_state=random_state, **parameters)
    unlabelled = 0

    def rows() -> Iterator[tuple[Any, Any]]:
        nonlocal unlabelled
        for X, Y in (_rows_of(part, features, names) for part in blocks):
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
        texts=blocks.texts,
    )
    notes = {"data": asdict(facts), "fit_seconds": seconds, "text": text if blocks.texts else {}}
    return Tagger(model, features, reading, notes), facts


def _scanned(blocks: Blocks, settings: dict[str, Any]) -> Any:
    """Return the words of texts."""
    try:
        return scan_text((part.texts for part in blocks), **settings)
    except DataError as error:
        raise error.within(blocks.source) from error


def _rows_of(part: Any, features: Any, names: Sequence[str]) -> tuple[Any, Any]:
    if isinstance(part, TextTable):
        return features.transform(part.texts), spread_labels(*label_matrix(part.tags), names)
    return features.transform(part.X), part.Y
