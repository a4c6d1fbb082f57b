"""Lines ``label,label index:value index:value`` become arrays.

As with ARFF, a block of plain lines is read at once, and any other goes to a precise path that
names the line of a mistake.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import compress
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from grople.datasets._matrices import number_or_reason, rises_within_rows
from grople.errors import DataError

__all__ = ["RowGrammar", "Rows"]

_LABEL = re.compile(rb"[+-]?\d{1,18}(?:\.0*)?")
_STRUCTURE = b",: \n\t\r\f\v#"
_PLAIN_BYTES = bytes(set(range(256)) - set(_STRUCTURE))
_DIGITS = b"0123456789"
_TO_SPACES = bytes.maketrans(b",:\n", b"   ")


@dataclass(frozen=True)
class Rows:
    """Rows of a file: how many labels and features each has, and all of them in a line."""

    label_counts: Any
    labels: Any
    counts: Any
    columns: Any
    values: Any

    @property
    def n_rows(self) -> int:
        return int(self.counts.size)

    def head(self, n_rows: int) -> Rows:
        """Drop rows at the end, which must be empty."""
        return Rows(
            self.label_counts[:n_rows], self.labels, self.counts[:n_rows], self.columns, self.values
        )

    def features(self) -> Any:
        """Return the features as CSR, as many as the largest index says."""
        width = int(self.columns.max(initial=-1)) + 1
        X = self._csr(self.values, self.columns, self.counts, width)
        X.sum_duplicates()  # there are none: this sorts
        X.eliminate_zeros()
        return X

    def label_matrix(self, numbers: Any, width: int) -> Any:
        """Return the labels, renumbered, as CSR; one named twice in a row is still one label."""
        Y = self._csr(np.ones(numbers.size, dtype=np.int64), numbers, self.label_counts, width)
        Y.sum_duplicates()
        Y.data[:] = 1
        return Y

    def _csr(self, values: Any, columns: Any, counts: Any, width: int) -> Any:
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return sp.csr_array((values, columns.astype(np.int32), indptr), shape=(counts.size, width))


@dataclass(frozen=True)
class RowGrammar:
    """What a row may look like, and how to read it: a block at once, or precisely.

    With `blank_rows` (the Extreme format) a blank line is a row and a leading space says that a
    row has no labels; without (LIBSVM) blank lines and comments are skipped.
    """

    file: str
    feature_end: int
    blank_rows: bool
    feature_start: int = 0
    label_end: int | None = None

    def parse(self, first: int, block: bytes) -> Rows:
        rows = self._fast(block)
        return self._precise(first, block) if rows is None else rows

    def _fast(self, block: bytes) -> Rows | None:
        """Read a plain block without mistakes, or return None."""
        block = block.replace(b" \n", b"\n")
        lines = block[:-1].split(b"\n")
        outlines = block[:-1].translate(None, _PLAIN_BYTES).split(b"\n")
        if not all(map(_is_outline, set(outlines))):
            return None
        counts = np.fromiter((outline.count(b":") for outline in outlines), np.int64)
        label_counts = np.fromiter((outline.count(b",") + 1 for outline in outlines), np.int64)
        label_counts[[line[:1] in (b"", b" ") for line in lines]] = 0
        sizes = label_counts + 2 * counts
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        is_label = within < np.repeat(label_counts, sizes)
        parsed = _parsed(block, is_label)
        if parsed is None:
            return None
        labels, columns, values = parsed
        if (
            not rises_within_rows(columns, counts)
            or (labels.size and self.label_end is not None and labels.max() >= self.label_end)
            or (columns.size and columns.max() >= self.feature_end)
            or (columns.size and columns.min() < self.feature_start)
        ):
            return None
        if not self.blank_rows:
            filled = np.array([line != b"" for line in lines])
            label_counts, counts = label_counts[filled], counts[filled]
        return Rows(label_counts, labels, counts, columns, values)

    def _precise(self, first: int, block: bytes) -> Rows:
        label_counts: list[int] = []
        labels: list[int] = []
        counts: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for number, line in enumerate(block[:-1].split(b"\n"), first):
            if not self.blank_rows:
                line = line.partition(b"#")[0]
                if not line.strip():
                    continue
            tokens = line.split()
            row_labels: list[int] = []
            unlabelled = self.blank_rows and line[:1].isspace()
            if tokens and b":" not in tokens[0] and not unlabelled:
                row_labels = [self._label(text, number) for text in tokens.pop(0).split(b",")]
            row = self._features(tokens, number)
            label_counts.append(len(row_labels))
            labels.extend(row_labels)
            counts.append(len(row))
            columns.extend(row)
            values.extend(row.values())
        return Rows(
            np.array(label_counts, dtype=np.int64),
            np.array(labels, dtype=np.int64),
            np.array(counts, dtype=np.int64),
            np.array(columns, dtype=np.int64),
            np.array(values, dtype=np.float64),
        )

    def _label(self, text: bytes, line: int) -> int:
        if not _LABEL.fullmatch(text):
            self._fail(f"label {_shown(text)} is not a whole number", line)
        label = int(text.partition(b".")[0])
        if self.label_end is not None and not 0 <= label < self.label_end:
            self._fail(f"label {label} is out of range: {self.label_end} labels", line)
        return label

    def _features(self, tokens: list[bytes], line: int) -> dict[int, float]:
        row: dict[int, float] = {}
        for token in tokens:
            index, colon, text = token.partition(b":")
            if not (colon and index.isdigit() and len(index) <= 18):
                self._fail(f"expected index:value, found {_shown(token)}", line)
            column, value = int(index), number_or_reason(text.decode("utf-8", "replace"))
            if not self.feature_start <= column < self.feature_end:
                self._fail(
                    f"feature index {column} is out of range: "
                    f"{self.feature_start} to {self.feature_end - 1}",
                    line,
                )
            if column in row:
                self._fail(f"feature index {column} occurs twice in the row", line)
            if isinstance(value, str):
                self._fail(f"feature {column}: {value}", line)
            row[column] = value
        return row

    def _fail(self, reason: str, line: int) -> NoReturn:
        raise DataError(reason, file=self.file, line=line)


def _is_outline(outline: bytes) -> bool:
    """Whether a line without its numbers is ``,,, : : :``."""
    pairs = outline.lstrip(b",")
    return pairs == b" :" * (len(pairs) // 2)


def _parsed(block: bytes, is_label: Any) -> tuple[Any, Any, Any] | None:
    """Return labels, columns and values of a block that has room for this many numbers.

    If as many tokens are there, each stands in its place; else, or if one is odd, return None.
    """
    flat = block.translate(_TO_SPACES)
    if not flat.translate(None, _DIGITS + b" "):
        numbers = np.fromstring(flat, np.int64, sep=" ")
        # Beyond this, float64 is not exact.
        if numbers.size != is_label.size or numbers.max(initial=0) >= 2**53:
            return None
        pairs = numbers[~is_label]
        return numbers[is_label], pairs[::2], pairs[1::2].astype(np.float64)
    tokens = flat.split()
    if len(tokens) != is_label.size or b"_" in block:
        return None
    pairs = list(compress(tokens, (~is_label).tolist()))
    labels = _whole_numbers(list(compress(tokens, is_label.tolist())))
    columns = _whole_numbers(pairs[::2])
    try:
        values = np.fromiter(map(float, pairs[1::2]), np.float64, len(pairs) // 2)
    except ValueError:
        return None
    if labels is None or columns is None or not np.isfinite(values).all():
        return None
    return labels, columns, values


def _whole_numbers(tokens: list[bytes]) -> Any | None:
    """Return the tokens as integers if they are nothing but digits."""
    # Those too long for an integer are for the precise path to refuse.
    if not all(map(bytes.isdigit, tokens)) or max(map(len, tokens), default=0) > 18:
        return None
    return np.fromstring(b" ".join(tokens), np.int64, sep=" ")


def _shown(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "replace"))
