"""The features that a tagger learns from examples, and examples as rows of its model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grople.errors import DataError
from grople.features import (
    BlockFeatures,
    FeatureBlock,
    Features,
    PlainFeatures,
    TableColumns,
    TableFeatures,
    TextFeatures,
    plain_columns,
    scan_text,
    with_interactions,
    without_interactions,
)
from grople.tagging._examples import EMBEDDINGS, RECORDS, Examples

__all__ = [
    "FeatureSettings", "check_embeddings", "learn_features", "number_names", "record_kind",
    "rows_of", "table_columns",
]  # fmt: skip

#: Terms of texts that are kept, of words and of characters.
MAX_TERMS = 15_000
#: Characters are features too where so many of the words in texts stand in no other text.
LONELY_WORDS = 0.1


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


def learn_features(examples: Examples, settings: FeatureSettings) -> tuple[Features, Any]:
    """Return how examples become rows, and their rows.

    Examples
    --------
    >>> from grople.datasets import TextTable
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


def table_columns(features: Features) -> list[str] | None:
    """Return the columns that a map of features takes from a table of mixed kinds."""
    first = _first(features)
    if not isinstance(first, TableColumns):
        return None
    return list(dict.fromkeys(column.source for column in first.columns))


def has_embeddings(features: Features) -> bool:
    """Tell whether records come with embeddings."""
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


def check_embeddings(features: Features, embeddings: Any) -> None:
    """Raise an error where embeddings are missing, not wanted, or of another length."""
    if not has_embeddings(features):
        if embeddings is not None:
            raise DataError("the model learnt without embeddings: leave them out")
        return
    single: Any = without_interactions(features)
    width = len(single.parts[-1].features)
    if embeddings is None or embeddings.shape[1] != width:
        raise DataError(
            f"the model learnt with embeddings of {width} dimensions",
            hint="give those of these records, made in the same way, with {embeddings}",
            options={"embeddings": "FILE.npy"},
        )
