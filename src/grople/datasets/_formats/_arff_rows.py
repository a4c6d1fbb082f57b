"""The lower half of an ARFF file: blocks of rows become matrices.

A block is first tried as a whole with a few passes of C code. Whatever is not plain (a quote, a
comment, a missing value, any mistake) sends that block to the precise path, which goes row by row
and names the line of an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from grople.datasets._formats._arff_header import PLAIN, QUOTED, SPACES, Attribute, unquote
from grople.datasets._formats._arff_values import Domain
from grople.datasets._matrices import compact, rises_within_rows
from grople.errors import DataError
from grople.files import decode

__all__ = ["RowParser"]

_FLAGS = re.ASCII | re.DOTALL
_DENSE_ITEM = re.compile(rf"\s*({QUOTED}|{PLAIN})\s*(?:(,)|(?:%.*)?$)", _FLAGS)
_SPARSE_ITEM = re.compile(rf"\s*(\d+)\s+({QUOTED}|{PLAIN})\s*(,|\}})", _FLAGS)
_SPARSE_EMPTY = re.compile(r"\{\s*\}", _FLAGS)
_AFTER_BRACE = re.compile(r"\s*(?:%.*)?", _FLAGS)
_LEADING_ZERO = re.compile(rb" 0[0-9]")

_STRUCTURE = b"{}, \n\t\r\f\v'\"%?"
_PLAIN_BYTES = bytes(set(range(256)) - set(_STRUCTURE))
_DIGITS = b"0123456789"
_TO_SPACES = bytes.maketrans(b"{},\n", b"    ")


class RowParser:
    """Turns blocks of lines into matrices with one column an attribute."""

    def __init__(
        self, attributes: Sequence[Attribute], domains: Sequence[Domain], file: str, missing: str
    ) -> None:
        self._attributes = attributes
        self._domains = domains
        self._file = file
        self._missing = missing
        self._width = len(attributes)
        self._first = np.array([domain.first for domain in domains])
        self._kinds = list(dict.fromkeys(domains))
        number = {domain: index for index, domain in enumerate(self._kinds)}
        self._kind = np.array([number[domain] for domain in domains])
        largest = np.array([domain.largest_literal for domain in self._kinds], dtype=np.int64)
        self._largest = largest[self._kind]

    def parse(self, first: int, block: bytes) -> Any:
        """Return the rows of a block of whole lines, the first of which has the given number."""
        fast = self._fast_sparse if block.startswith(b"{") else self._fast_dense
        matrix = fast(block)
        return self._precise(first, block) if matrix is None else matrix

    # The fast paths return None for any block that is not plain and right.

    def _fast_sparse(self, block: bytes) -> Any | None:
        block = block.replace(b", ", b",")
        outlines = block.translate(None, _PLAIN_BYTES).split(b"\n")
        if not all(map(_is_sparse_outline, set(outlines))):
            return None
        counts = (np.fromiter(map(len, filter(None, outlines)), np.int64) - 1) // 2
        # Nothing outside the braces and nothing inside empty ones: then there is room for exactly
        # two tokens a pair, and counting them below proves that each stands in its place.
        if not (
            block.count(b"}\n") == block.count(b"\n{") + block.startswith(b"{") == counts.size
            and block.count(b"{}") == np.count_nonzero(counts == 0)
        ):
            return None
        pairs = int(counts.sum())
        flat = block.translate(_TO_SPACES)
        if (
            not block.translate(None, _DIGITS + b"{}, \n")
            and self._largest.min() >= 0
            and not _LEADING_ZERO.search(block)
        ):
            numbers = np.fromstring(flat, np.int64, sep=" ")
            if numbers.size != 2 * pairs:
                return None
            columns, values = numbers[::2], numbers[1::2]
            if not self._in_order(columns, counts) or (values > self._largest[columns]).any():
                return None
            # float64 holds these integers exactly.
            return self._csr(counts, columns, values.astype(np.float64))
        tokens = flat.split()
        indices = tokens[::2]
        if len(tokens) != 2 * pairs or not all(map(bytes.isdigit, indices)):
            return None
        columns = np.fromstring(b" ".join(indices), np.int64, sep=" ")
        if not self._in_order(columns, counts):
            return None
        converted = self._by_kind(columns, tokens[1::2])
        return None if converted is None else self._csr(counts, columns, converted)

    def _by_kind(self, columns: Any, tokens: list[bytes]) -> Any | None:
        values = np.empty(len(tokens))
        kinds = self._kind[columns]
        for index, domain in enumerate(self._kinds):
            where = np.flatnonzero(kinds == index)
            converted = domain.convert([tokens[i] for i in where.tolist()])
            if converted is None:
                return None
            values[where] = converted
        return values

    def _in_order(self, columns: Any, counts: Any) -> bool:
        """Whether all columns exist and rise within each row."""
        return bool((columns < self._width).all()) and rises_within_rows(columns, counts)

    def _fast_dense(self, block: bytes) -> Any | None:
        if any(mark in block for mark in (b"'", b'"', b"%", b"?", b"{", b"}")):
            return None
        rows = list(filter(None, block.replace(b", ", b",").split(b"\n")))
        if any(row.count(b",") != self._width - 1 for row in rows):
            return None
        cells = b",".join(rows).split(b",")
        if b" " in block or b"\t" in block:
            cells = [cell.strip() for cell in cells]
        matrix = np.empty((len(rows), self._width))
        for column, domain in enumerate(self._domains):
            converted = domain.convert(cells[column :: self._width])
            if converted is None:
                return None
            matrix[:, column] = converted
        return compact(matrix)

    def _precise(self, first: int, block: bytes) -> Any:
        counts: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        dense = True
        for line, raw in enumerate(block[:-1].split(b"\n"), first):
            text = decode(raw, self._file, line).strip(SPACES)
            if not text or text.startswith("%"):
                continue
            before = len(values)
            if text.startswith("{"):
                dense = False
                self._sparse_row(text, line, columns, values)
            else:
                self._dense_row(text, line, values)
                columns.extend(range(self._width))
            counts.append(len(values) - before)
        if dense:
            return compact(np.array(values).reshape(len(counts), self._width))
        return self._csr(np.array(counts), np.array(columns, dtype=np.int64), np.array(values))

    def _dense_row(self, text: str, line: int, values: list[float]) -> None:
        tokens: list[str] = []
        position, more = 0, True
        while more:
            match = _DENSE_ITEM.match(text, position)
            if match is None:
                self._fail_at(text, position, line)
            tokens.append(match[1])
            position, more = match.end(), match[2] is not None
        if len(tokens) != self._width:
            self._fail(f"expected {self._width} columns, found {len(tokens)}", line)
        values.extend(self._value(column, token, line) for column, token in enumerate(tokens))

    def _sparse_row(self, text: str, line: int, columns: list[int], values: list[float]) -> None:
        row: dict[int, float] = {}
        empty = _SPARSE_EMPTY.match(text)
        position, more = (empty.end(), False) if empty else (1, True)
        while more:
            match = _SPARSE_ITEM.match(text, position)
            if match is None:
                if "}" not in text[position:]:
                    self._fail("the row does not end with a brace: truncated file?", line)
                self._fail_at(text, position, line)
            # More digits than any width has would take long to convert.
            column = int(match[1]) if len(match[1]) < 20 else self._width
            if column >= self._width:
                self._fail(f"index {match[1][:20]} is out of range: {self._width} attributes", line)
            if column in row:
                self._fail(f"index {column} occurs twice in the row", line)
            row[column] = self._value(column, match[2], line)
            position, more = match.end(), match[3] == ","
        if not _AFTER_BRACE.fullmatch(text, position):
            self._fail_at(text, position, line)
        columns.extend(row)
        values.extend(row.values())

    def _value(self, column: int, token: str, line: int) -> float:
        domain = self._domains[column]
        if token == "?":
            return self._missing_value(column, line)
        quoted = token[0] in "'\""
        number = domain.number(unquote(token, self._file, line), quoted)
        if isinstance(number, str):
            self._fail(f"attribute {self._attributes[column].name!r}: {number}", line)
        return number

    def _missing_value(self, column: int, line: int) -> float:
        domain = self._domains[column]
        if domain.skipped:
            return 0.0
        name = self._attributes[column].name
        if self._missing == "error":
            self._fail_missing(f"attribute {name!r} is missing (?)", line)
        if self._missing == "zero":
            # In a one-hot group, NaN stands for "none of the values".
            return np.nan if domain.several else 0.0
        if domain.label:
            self._fail_missing(f"label {name!r} is missing (?)", line)
        return np.nan

    def _csr(self, counts: Any, columns: Any, values: Any) -> Any:
        """Assemble rows, giving what a row leaves out the first value of its domain."""
        shape = (len(counts), self._width)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        if not self._first.any():
            return sp.csr_array((values, columns.astype(np.int32), indptr), shape=shape)
        difference = values - self._first[columns]
        matrix = sp.csr_array((difference, columns.astype(np.int32), indptr), shape=shape)
        ones = sp.csr_array(np.ones((shape[0], 1))) @ sp.csr_array(self._first[np.newaxis, :])
        return matrix + ones

    def _fail_at(self, text: str, position: int, line: int) -> NoReturn:
        rest = text[position:].lstrip(SPACES)
        self._fail(
            f"cannot read {rest[:40]!r}" if rest else "the row ends where a value should be", line
        )

    def _fail_missing(self, reason: str, line: int) -> NoReturn:
        raise DataError(
            reason,
            file=self._file,
            line=line,
            hint="fill it in, or pass {missing} to take it for 0",
            options={"missing": "zero"},
        )

    def _fail(self, reason: str, line: int) -> NoReturn:
        raise DataError(reason, file=self._file, line=line)


def _is_sparse_outline(outline: bytes) -> bool:
    """Whether a line without its values is ``{ , , }``: pairs between braces, or nothing."""
    if len(outline) <= 2:
        return outline in (b"", b"{}")
    return outline == b"{ " + b", " * ((len(outline) - 3) // 2) + b"}"
