"""Texts with their tags: JSON lines or a JSON array of objects; and plain lines of text."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._names import TAGS, TEXT, known_name, listed
from grople.datasets._reading import Reading
from grople.datasets._tags import TagCells, is_whole
from grople.errors import DataError
from grople.files import Source, decode

__all__ = ["JsonFile", "LinesFile"]


class JsonFile(Reader):
    """An open file of JSON objects, each with a text and its tags."""

    texts = True
    declared = False

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        self._documents = _documents(source)
        self._tags = TagCells(reading.separator, self._file)
        self._field = ""
        first = next(self._documents, [])
        if first:  # the fields of all are those of the first, whatever their case
            self._documents = itertools.chain([first], self._documents)
            there = list(first[0].values)
            where: dict[str, Any] = {"file": self._file, "kind": "field", "line": first[0].line}
            text = known_name(there, reading.text, TEXT, "the text", option="text", **where)
            self.reading = replace(reading, text=text)
            if self._labelled:
                self._field = known_name(
                    there, reading.tags, TAGS, "the tags", option="tags", **where
                )

    def batches(self) -> Iterator[Batch]:
        """Yield texts, a megabyte of them at a time, with tags in columns as they came."""
        text = str(self.reading.text)
        for documents in self._documents:
            texts = [document.text(text) for document in documents]
            Y = None
            if self._labelled:
                cells = [document.field(self._field) for document in documents]
                Y = self._tags.matrix(cells, [document.line for document in documents])
            yield Batch(texts, Y, self._row_names(documents))
        if self._labelled:
            self.label_names = self._tags.index.names
            self.tag_column = self._tags.column
            self.notes = self.tag_column.notes
            self.reading = replace(self.reading, separator=self._tags.decided)

    def finish(self, batch: Batch) -> Batch:
        """Return tags in the order of their names."""
        return batch if batch.Y is None else replace(batch, Y=self._tags.index.in_order(batch.Y))

    def _row_names(self, documents: list[_Document]) -> list[str] | None:
        ids = self.reading.ids
        if ids is None:
            return None
        optional = self.reading.ids_optional
        names = [str(d.field(ids)) for d in documents if ids in d.values or not optional]
        return names if len(names) == len(documents) else None


@dataclass(frozen=True)
class _Document:
    """A JSON object with its place: a line, or its number in an array."""

    values: dict[str, Any]
    file: str
    line: int | None
    item: int | None = None

    def field(self, key: str) -> Any:
        if key not in self.values:
            self.fail(f"no field {key!r}; {listed(list(self.values))}")
        return self.values[key]

    def text(self, key: str) -> str:
        value = self.field(key)
        if not isinstance(value, str):
            self.fail(f"field {key!r} must be text")
        if not is_whole(value):
            self.fail(f"field {key!r} holds half a character")
        return str(value)

    def fail(self, reason: str) -> NoReturn:
        place = "" if self.item is None else f"item {self.item}: "
        raise DataError(f"{place}{reason}", file=self.file, line=self.line)


class LinesFile(Reader):
    """An open file of one text a line, without labels."""

    texts = True

    texts = True

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        if only is None:
            raise DataError("a file of plain lines holds no labels", file=source.path)
        super().__init__(source, reading, only)

    def batches(self) -> Iterator[Batch]:
        """Yield the lines, as they arrive."""
        for first, block in self._source.blocks():
            lines = enumerate(block[:-1].split(b"\n"), first)
            yield Batch([decode(line, self._source.path, number) for number, line in lines])


def _documents(source: Source) -> Iterator[list[_Document]]:
    """Yield documents, a megabyte at a time; those of an array at once."""
    blocks = source.blocks()
    for first, block in blocks:
        if first == 1 and block.lstrip().startswith(b"["):
            yield from _array(b"".join([block, *(more for _, more in blocks)]), source.path)
            return
        documents = [
            _document(decode(line, source.path, number), source.path, number)
            for number, line in enumerate(block[:-1].split(b"\n"), first)
            if line.strip()
        ]
        if documents:
            yield documents


def _array(content: bytes, file: str) -> Iterator[list[_Document]]:
    items = _parsed(decode(content, file, 1), file, 1)
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            raise DataError(f"item {number} of the array is no JSON object", file=file)
    if items:
        yield [_Document(item, file, None, number) for number, item in enumerate(items, 1)]


def _document(line: str, file: str, number: int) -> _Document:
    values = _parsed(line, file, number)
    if not isinstance(values, dict):
        raise DataError("expected a JSON object", file=file, line=number)
    return _Document(values, file, number)


def _parsed(text: str, file: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at position {error.colno}"
        raise DataError(reason, file=file, line=line + error.lineno - 1) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        raise DataError("unreadable JSON", file=file, line=line) from error
