"""The upper half of an ARFF file: relation, attributes, and how their values become numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from grople.errors import DataError
from grople.files import decode

__all__ = ["PLAIN", "QUOTED", "SPACES", "Attribute", "Header", "quote", "read_header", "unquote"]

SPACES = " \t\r\f\v"
QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# A bare value may hold inner spaces; a chunk that starts with % is a comment.
PLAIN = r"""[^,\s'"%{}][^,\s{}]*(?:\s+[^,\s%{}][^,\s{}]*)*"""

_FLAGS = re.ASCII | re.DOTALL
_KEYWORD = re.compile(r"@(\w+)\s*(.*)", _FLAGS)
_ATTRIBUTE = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", _FLAGS)
_NOMINAL_VALUE = re.compile(rf"\s*({QUOTED}|{PLAIN})\s*(,|\}})", _FLAGS)
_TRAILER = re.compile(r"\s*(?:%.*)?", _FLAGS)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", _FLAGS)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_NUMERIC = ("numeric", "real", "integer")
_SKIPPED = ("string", "date")


@dataclass(frozen=True)
class Attribute:
    """A column: ``values`` if nominal; ``skipped`` if it holds text or dates."""

    name: str
    line: int
    values: tuple[str, ...] | None = None
    skipped: bool = False


@dataclass(frozen=True)
class Header:
    """All that stands above ``@data``."""

    relation: str
    attributes: tuple[Attribute, ...]


def read_header(blocks: Iterator[tuple[int, bytes]], file: str) -> tuple[Header, int, bytes]:
    """Read up to ``@data``; return the header, the next line's number and the rest of its block."""
    relation = ""
    attributes: dict[str, Attribute] = {}
    kinds: dict[str, tuple[str, ...]] = {}
    for first, block in blocks:
        number, start = first, 0
        while start < len(block):
            end = block.index(b"\n", start)
            text = decode(block[start:end], file, number).strip(SPACES)
            start = end + 1
            match = _KEYWORD.match(text)
            keyword = match[1].lower() if match else ""
            if match and keyword == "data":
                if not attributes:
                    raise DataError("@data before any @attribute", file=file, line=number)
                return Header(relation, tuple(attributes.values())), number + 1, block[start:]
            if match and keyword == "relation":
                relation = _relation(match[2], file, number)
            elif match and keyword == "attribute":
                attribute = _attribute(match[2], kinds, file, number)
                if attribute.name in attributes:
                    earlier = attributes[attribute.name].line
                    reason = f"two columns are called {attribute.name!r} (also line {earlier})"
                    raise DataError(reason, file=file, line=number)
                attributes[attribute.name] = attribute
            elif text and not text.startswith("%"):
                reason = f"expected @relation, @attribute or @data, found {text[:40]!r}"
                raise DataError(reason, file=file, line=number)
            number += 1
    raise DataError("no @data section: not an ARFF file, or truncated", file=file)


def _relation(text: str, file: str, line: int) -> str:
    # A bare relation may hold spaces (MEKA's "name: -C 3"): take all of it.
    match = re.match(QUOTED, text, _FLAGS)
    return unquote(match[0], file, line) if match else text


def _attribute(text: str, kinds: dict[str, tuple[str, ...]], file: str, line: int) -> Attribute:
    """Read a declaration; `kinds` remembers lists of values, of which most files repeat one."""
    fail = partial(DataError, file=file, line=line)
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise fail(f"cannot find the attribute's name in {text[:60]!r}")
    name, kind = unquote(match[1], file, line), match[2]
    if kind.startswith("{"):
        if kind not in kinds:
            kinds[kind] = _nominal_values(name, kind, file, line)
        return Attribute(name, line, values=kinds[kind])
    word = kind.split(None, 1)[0].lower() if kind else ""
    if word not in (*_NUMERIC, *_SKIPPED):
        known = "numeric, real, integer, string, date and {value, value, ...}"
        raise fail(f"attribute {name!r} has the unknown type {kind[:40]!r}; known are {known}")
    return Attribute(name, line, skipped=word in _SKIPPED)


def _nominal_values(name: str, text: str, file: str, line: int) -> tuple[str, ...]:
    fail = partial(DataError, file=file, line=line)
    values: dict[str, None] = {}
    position, separator = 1, ","
    while separator == ",":
        match = _NOMINAL_VALUE.match(text, position)
        if match is None:
            raise fail(f"attribute {name!r}: cannot read its values at {text[position:][:40]!r}")
        value = unquote(match[1], file, line)
        if value in values:
            raise fail(f"attribute {name!r} lists the value {value!r} twice")
        values[value] = None
        position, separator = match.end(), match[2]
    if not _TRAILER.fullmatch(text, position):
        raise fail(f"attribute {name!r}: unexpected {text[position:][:40]!r} after its values")
    return tuple(values)


def unquote(token: str, file: str, line: int) -> str:
    """Return what a quoted or bare token stands for; a bare token stands for itself."""
    if token[:1] not in ("'", '"'):
        return token
    if "\\" not in token:
        return token[1:-1]
    text = _ESCAPE.sub(_unescape, token[1:-1])
    try:
        # Two \u escapes may form one character; half of one is no text.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise DataError(f"{token[:40]} holds half a character", file=file, line=line) from error


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)


def quote(text: str) -> str:
    """Return the text as one ARFF token, quoted if it must be."""
    if re.fullmatch(r"[\w.:/+=;()&-]+", text):
        return text
    return "'" + re.sub(r"[\\'\"%\x00-\x1f]", _escape, text) + "'"


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char >= " ":
        return "\\" + char
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char, f"\\{ord(char):03o}")
