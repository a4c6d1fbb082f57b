"""JSON lines with a text and its tags; texts become TF-IDF features.

Reading and vectorising are two steps, because the vectoriser is needed again for new texts.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from grople.datasets._matrices import label_matrix
from grople.datasets._streams import (
    DEFAULT_LIMIT,
    Source,
    bundle_or_error,
    decode,
    opened,
    stem,
)
from grople.datasets.bundle import Bundle
from grople.errors import DataError

__all__ = ["TextTable", "read_texts", "read_jsonl", "text_parts", "tfidf", "vectorise"]


@dataclass(frozen=True)
class TextTable:
    """Texts with their tags.

    Parameters
    ----------
    texts : tuple of str
        One text a document.
    tags : tuple of tuple of str
        The tags of each.
    ids : tuple of str
        What each document is called, if asked for; else empty.
    name, source : str
        What to call the data set, and where it came from.
    """

    texts: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...] = ()
    name: str = "texts"
    source: str = ""

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(
    path: str | Path,
    *,
    text: str = "text",
    labels: str = "tags",
    ids: str | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> TextTable:
    r"""Read a file with one JSON object a line, each with a text and a list of tags.

    Parameters
    ----------
    path : path
        The file, gzip or not. Blank lines are skipped.
    text, labels : str
        The fields of the text and of the list of tags.
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
    (('game', 'board'),)
    """
    file = os.fspath(path)
    name = name or stem(file)
    with opened(path, max_bytes) as source:
        parts = list(text_parts(source, text, labels, ids))
    if not parts:
        raise DataError("no documents", file=file)
    texts, tags, identifiers = (
        tuple(itertools.chain.from_iterable(getattr(part, field) for part in parts))
        for field in ("texts", "tags", "ids")
    )
    return TextTable(texts, tags, identifiers, name, file)


def text_parts(
    source: Source, text: str = "text", labels: str = "tags", ids: str | None = None
) -> Iterator[TextTable]:
    """Yield the documents of an open file, a megabyte of them at a time."""
    file = source.path
    for first, block in source.blocks():
        texts: list[str] = []
        tags: list[tuple[str, ...]] = []
        identifiers: list[str] = []
        for number, line in enumerate(block[:-1].split(b"\n"), first):
            if not line.strip():
                continue
            document = _document(decode(line, "utf-8", file, number), file, number)
            texts.append(_text(document, text, file, number))
            tags.append(_tags(document, labels, file, number))
            if ids is not None:
                identifiers.append(_text(document, ids, file, number))
        if texts:
            yield TextTable(tuple(texts), tuple(tags), tuple(identifiers), stem(file), file)


def tfidf(**settings: Any) -> TfidfVectorizer:
    """Return scikit-learn's TF-IDF with settings that suit tagging; any may be overridden.

    Sublinear term counts, words in two documents or more, float64.

    Examples
    --------
    >>> tfidf(min_df=1).sublinear_tf
    True
    """
    return TfidfVectorizer(**{"sublinear_tf": True, "min_df": 2, "dtype": np.float64, **settings})


def vectorise(table: TextTable, vectoriser: Any = None) -> tuple[Bundle, Any]:
    """Turn texts into features and tags into labels, sorted by name.

    Parameters
    ----------
    table : TextTable
        What to vectorise.
    vectoriser : transformer of texts, optional
        Anything with ``fit_transform`` and ``get_feature_names_out``; by default :func:`tfidf`.

    Returns
    -------
    bundle : Bundle
        The data set.
    vectoriser : transformer
        The fitted vectoriser, for texts to come.

    Examples
    --------
    >>> table = TextTable(("a chess game", "a chess clock"), (("game",), ("clock", "game")))
    >>> bundle, vectoriser = vectorise(table, tfidf(min_df=1))
    >>> bundle.feature_names, bundle.label_names
    (('chess', 'clock', 'game'), ('clock', 'game'))
    >>> vectoriser.transform(["game of chess"]).shape
    (1, 3)
    """
    vectoriser = tfidf() if vectoriser is None else vectoriser
    try:
        X = vectoriser.fit_transform(table.texts)
    except ValueError as error:
        raise DataError(f"the texts give no features ({error})", file=table.source) from error
    Y, names = label_matrix(table.tags)
    bundle = bundle_or_error(
        table.source,
        X,
        Y,
        feature_names=vectoriser.get_feature_names_out(),
        label_names=names,
        row_names=table.ids,
        name=table.name,
    )
    return bundle, vectoriser


def read_jsonl(
    path: str | Path,
    *,
    text: str = "text",
    labels: str = "tags",
    ids: str | None = None,
    vectoriser: Any = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
    **settings: Any,
) -> Bundle:
    r"""Read JSON lines and vectorise them in one call.

    Parameters
    ----------
    path, text, labels, ids, name, max_bytes
        As in :func:`read_texts`.
    vectoriser : transformer of texts, optional
        Fitted here, so keep it for texts to come; by default :func:`tfidf` with `settings`.
    **settings
        Settings of scikit-learn's ``TfidfVectorizer``.

    Returns
    -------
    Bundle

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "notes.jsonl"
    ...     _ = file.write_text('{"text": "a chess game", "tags": ["game"]}\n')
    ...     read_jsonl(file, min_df=1)
    Bundle('notes': 1 rows, 2 sparse features, 1 labels, 1.000 a row)
    """
    if vectoriser is not None and settings:
        raise TypeError("pass either a vectoriser or settings for one, not both")
    table = read_texts(path, text=text, labels=labels, ids=ids, name=name, max_bytes=max_bytes)
    bundle, _ = vectorise(table, tfidf(**settings) if vectoriser is None else vectoriser)
    return bundle


def _document(line: str, file: str, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at position {error.colno}"
        raise DataError(reason, file=file, line=number) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        raise DataError("unreadable JSON", file=file, line=number) from error
    if not isinstance(document, dict):
        raise DataError("expected a JSON object", file=file, line=number)
    return document


def _field(document: dict[str, Any], key: str, file: str, line: int) -> Any:
    if key not in document:
        there = ", ".join(map(repr, list(document)[:8])) or "nothing"
        raise DataError(f"no field {key!r}; there is {there}", file=file, line=line)
    return document[key]


def _text(document: dict[str, Any], key: str, file: str, line: int) -> str:
    value = _field(document, key, file, line)
    if not isinstance(value, str):
        raise DataError(f"field {key!r} must be text", file=file, line=line)
    return _whole(value, key, file, line)


def _tags(document: dict[str, Any], key: str, file: str, line: int) -> tuple[str, ...]:
    value = _field(document, key, file, line)
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise DataError(f"field {key!r} must be a list of texts", file=file, line=line)
    return tuple(_whole(tag, key, file, line) for tag in dict.fromkeys(value))


def _whole(value: str, key: str, file: str, line: int) -> str:
    """Refuse half a character, which JSON can spell but no file can hold."""
    if not value.isascii() and not value.isprintable():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"field {key!r} holds half a character", file=file, line=line
            ) from error
    return value
