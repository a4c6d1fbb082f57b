"""Examples as records with labels, and the features that a tagger learns from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.datasets import Bundle
from grople.datasets._matrices import label_matrix
from grople.datasets.bundle import NumberedNames
from grople.datasets.text import TextTable
from grople.decision import LabelHierarchy
from grople.errors import DataError
from grople.features import (
    BlockFeatures,
    FeatureBlock,
    Features,
    PlainFeatures,
    TableFeatures,
    TextFeatures,
    plain_columns,
    scan_text,
    with_interactions,
    without_interactions,
)
from grople.tagging.records import Records

__all__ = [
    "Examples",
    "FeatureSettings",
    "check_embeddings",
    "learn_features",
    "load_embeddings",
    "number_names",
    "record_kind",
    "rows_of",
    "with_embeddings",
]

Array = NDArray[Any]

#: Terms of texts that are kept, of words and of characters.
MAX_TERMS = 20_000
#: Characters are features too where so many of the words in texts stand in no other text.
LONELY_WORDS = 0.1
#: The blocks of a record with embeddings.
RECORDS, EMBEDDINGS = "records", "embeddings"


@dataclass(frozen=True)
class FeatureSettings:
    """How records become features.

    Parameters
    ----------
    normalize : bool
        Whether rows of numbers are scaled to unit length (those of texts are).
    pairs : bool
        Whether to add interaction features (:class:`grople.features.InteractionFeatures`).
    max_features : int
        Terms of texts that are kept, the most frequent ones.
    ngrams : int, optional
        Longest run of words that is a term; by default 2, with `pairs` 1.
    characters : bool, optional
        Whether runs of characters within words are terms of texts too; by default where many words
        stand in one text only, as in small collections and in languages that build long words.
    min_df : int
        Texts that have a term at least.
    """

    normalize: bool = False
    pairs: bool = False
    max_features: int = MAX_TERMS
    ngrams: int | None = None
    characters: bool | None = None
    min_df: int = 2


@dataclass(frozen=True)
class Examples:
    """What a file holds: records with labels.

    Attributes
    ----------
    records : list of str, matrix or dict of columns
        Texts, rows of numbers, or the columns of a table of mixed kinds.
    Y : csr_array of shape (n_rows, n_labels)
        Labels.
    label_names : list of str
        Their names.
    feature_names : list of str, optional
        The names of columns of numbers, where the file has any.
    embeddings : ndarray of shape (n_rows, n_dimensions), optional
        Dense features beside the records.
    source : str
        The file.
    row_names : sequence of str
        What the rows are called, where they have names.
    notes : tuple of str
        What a person should know of how the file was read.
    """

    records: Any
    Y: Any
    label_names: list[str]
    feature_names: list[str] | None = None
    embeddings: Array | None = None
    source: str = ""
    row_names: Sequence[str] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Bundle | TextTable | Examples) -> Examples:
        """Return what was read from a file."""
        if isinstance(found, Examples):
            return found
        if isinstance(found, TextTable):
            Y, names = label_matrix(found.tags)
            if not names:
                raise DataError("no row has a label: nothing to learn from", file=found.source)
            return cls(list(found.texts), Y, names, source=found.source, row_names=found.ids)
        labels = list(map(str, found.label_names))
        numbered = isinstance(found.feature_names, NumberedNames)
        names = None if numbered else list(map(str, found.feature_names))
        return cls(
            found.X, found.Y, labels, names, source=found.source, row_names=found.row_names,
            notes=tuple(found.notes),
        )  # fmt: skip

    @property
    def kind(self) -> str:
        """What the records are: ``"texts"``, ``"numbers"`` or ``"columns"``."""
        kinds = {list: "texts", dict: "columns"}
        return kinds.get(type(self.records), "numbers")

    @property
    def content(self) -> Any:
        """The records as a map of features takes them."""
        if self.embeddings is None:
            return self.records
        return {RECORDS: self.records, EMBEDDINGS: self.embeddings}

    def closed(self, separator: str) -> Examples:
        """Return the examples with all labels that theirs imply, by the levels of their names."""
        hierarchy = LabelHierarchy.of_names(self.label_names, separator)
        return replace(self, Y=hierarchy.close(self.Y), label_names=list(hierarchy.names))

    def first_rows(self, count: int = 3) -> list[tuple[str, list[str]]]:
        """Return the first rows as they were understood: the text or the name, and the labels."""
        shown = []
        for row in range(min(count, self.Y.shape[0])):
            what = self.row_names[row] if len(self.row_names) else f"row {row + 1}"
            if self.kind == "texts":
                what = " ".join(self.records[row].split())
            columns = self.Y.indices[slice(*self.Y.indptr[row : row + 2])]
            shown.append((str(what), [self.label_names[column] for column in columns]))
        return shown

    def take(self, rows: Array) -> Examples:
        """Return some of the examples."""
        if self.kind == "texts":
            records: Any = [self.records[i] for i in rows]
        elif self.kind == "columns":
            records = {name: cells[rows] for name, cells in self.records.items()}
        else:
            records = self.records[rows]
        embeddings = None if self.embeddings is None else self.embeddings[rows]
        return replace(self, records=records, Y=self.Y[rows], embeddings=embeddings, row_names=())


def learn_features(examples: Examples, settings: FeatureSettings) -> tuple[Features, Any]:
    """Return how examples become rows, and their rows.

    Examples
    --------
    >>> table = TextTable(("a chess game", "a chess clock"), (("game",), ("tool",)))
    >>> features, X = learn_features(Examples.of(table), FeatureSettings(characters=False))
    >>> features.names.tolist(), X.shape
    (['chess'], (2, 1))
    """
    try:
        parts = _blocks(examples, settings)
        if examples.embeddings is not None:
            names = [f"embedding {i}" for i in range(examples.embeddings.shape[1])]
            unit = plain_columns(names, unit_rows=True)
            parts = [replace(part, column=RECORDS) for part in parts]
            parts.append(FeatureBlock(EMBEDDINGS, "embeddings", unit, EMBEDDINGS))
        features: Any = parts[0].features if len(parts) == 1 else BlockFeatures(tuple(parts))
        X = features.transform(examples.content)
        return with_interactions(features, X) if settings.pairs else (features, X)
    except DataError as error:
        raise error.within(examples.source) from error


def _blocks(examples: Examples, settings: FeatureSettings) -> list[FeatureBlock]:
    if examples.kind == "texts":
        return _text_blocks(examples.records, settings)
    if examples.kind == "columns":
        return [FeatureBlock("columns", "columns", TableFeatures().fit(examples.records).table_)]
    names = examples.feature_names or [f"feature{i}" for i in range(examples.records.shape[1])]
    numbers = plain_columns(names, unit_rows=settings.normalize)
    return [FeatureBlock("columns", "columns", numbers)]


def _text_blocks(texts: list[str], settings: FeatureSettings) -> list[FeatureBlock]:
    """Return the words of texts, and runs of characters where they are asked for or of use."""
    characters = settings.characters
    if characters is None:
        characters = not settings.pairs and _lonely_words(texts) > LONELY_WORDS
    longest = settings.ngrams or (1 if settings.pairs else 2)
    wanted = {"words": (1, longest)} | ({"characters": (3, 5)} if characters else {})
    for min_df in (settings.min_df, 1):  # terms of a single text are better than none
        found = {
            unit: _terms(texts, unit=unit, ngrams=ngrams, min_df=min_df,
                         max_features=settings.max_features)
            for unit, ngrams in wanted.items()
        }  # fmt: skip
        blocks = [FeatureBlock(unit, unit, terms) for unit, terms in found.items() if terms]
        if blocks:
            return blocks
    raise DataError("the texts hold no words: nothing to learn from")


def _terms(texts: list[str], **settings: Any) -> TextFeatures | None:
    try:
        return scan_text([texts], **settings)
    except DataError:  # there are none
        return None


def _lonely_words(texts: list[str]) -> float:
    """Return the share of the words in texts that stand in no other text."""
    words = _terms(texts, min_df=1)
    if words is None:
        return 1.0
    texts_with = np.rint((1 + len(texts)) / np.exp(words.idf - 1) - 1)
    return float((texts_with == 1).sum() / texts_with.sum())


def _first(features: Features) -> Any:
    single = without_interactions(features)
    return single.parts[0].features if isinstance(single, BlockFeatures) else single


def record_kind(features: Features) -> str:
    """Return what records a map of features takes, as :attr:`Examples.kind` calls them."""
    first = _first(features)
    if isinstance(first, TextFeatures):
        return "texts"
    return "numbers" if isinstance(first, PlainFeatures) else "columns"


def number_names(features: Features) -> list[str]:
    """Return the names of the columns of numbers that a map of features takes."""
    return [str(name) for name in _first(features).names]


def has_embeddings(features: Features) -> bool:
    """Tell whether records need embeddings beside them."""
    single = without_interactions(features)
    return isinstance(single, BlockFeatures) and single.parts[-1].kind == "embeddings"


def rows_of(features: Features, examples: Examples) -> Any:
    """Return examples as rows of a model that was learnt with these features."""
    kind, wanted = examples.kind, record_kind(features)
    if kind != wanted:
        raise DataError(f"holds {kind}, but the model learnt from {wanted}", file=examples.source)
    check_embeddings(features, examples.embeddings)
    try:
        if kind == "numbers":
            columns = plain_columns(number_names(features))
            records = columns.transform(examples.records, examples.feature_names)
            examples = replace(examples, records=records)
        return features.transform(examples.content)
    except DataError as error:
        raise error.within(examples.source) from error


def load_embeddings(path: str | Path, n_rows: int | None = None) -> Array:
    """Return the embeddings in a ``.npy`` file: a row of numbers for each record, in their order.

    Parameters
    ----------
    path : path
        The file.
    n_rows : int, optional
        How many rows it must have.
    """
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"not a file of numpy.save ({error})", file=path) from error
    if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind != "f":
        raise DataError("embeddings are a matrix of real numbers, a row a record", file=path)
    if n_rows is not None and len(found) != n_rows:
        raise DataError(f"{len(found):,} embeddings for {n_rows:,} records", file=path)
    if not np.isfinite(found).all():
        raise DataError("some embeddings are not finite", file=path)
    return found


def check_embeddings(features: Features, embeddings: Array | None) -> None:
    """Raise an error where embeddings are missing, not wanted, or of another length."""
    if not has_embeddings(features):
        if embeddings is not None:
            raise DataError("the model learnt without embeddings: leave them out")
        return
    single: Any = without_interactions(features)
    width = len(single.parts[-1].features)
    if embeddings is None or embeddings.shape[1] != width:
        raise DataError(
            f"the model learnt with embeddings of {width} dimensions beside the records",
            hint="give those of these records, made in the same way, with {embeddings}",
            options={"embeddings": "FILE.npy"},
        )


def with_embeddings(blocks: Iterable[Records], embeddings: Array) -> Iterator[Records]:
    """Yield blocks of records with the embeddings of their rows."""
    start = 0
    for block in blocks:
        stop = start + len(block)
        if stop > len(embeddings):
            raise DataError(f"there are more records than the {len(embeddings):,} embeddings")
        content = {RECORDS: block.content, EMBEDDINGS: embeddings[start:stop]}
        yield Records(content, block.names)
        start = stop
    if start < len(embeddings):
        raise DataError(f"{len(embeddings):,} embeddings for {start:,} records")
