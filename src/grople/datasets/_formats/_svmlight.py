"""Text files with one sparse row a line: the Extreme Classification format and LIBSVM multi-label.

Both write a row as ``label,label index:value index:value``. The Extreme Classification format
opens with a line ``rows features labels`` and counts from zero. LIBSVM has no such line, counts
features from one as a rule, and names labels by numbers that need not be consecutive.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._bundle import NumberedNames
from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._formats._svmlight_rows import RowGrammar, Rows
from grople.datasets._labels import LabelIndex
from grople.datasets._matrices import compact
from grople.datasets._reading import MAX_COLUMNS, Reading
from grople.errors import DataError
from grople.files import Source

__all__ = ["ExtremeFile", "LibsvmFile"]

_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")


class ExtremeFile(Reader):
    """An open file of the Extreme Classification repository."""

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        blocks = source.blocks()
        _, block = next(blocks, (1, b"\n"))
        first, _, rest = block.partition(b"\n")
        match = _HEADER.fullmatch(first)
        if match is None:
            raise DataError("expected a header 'rows features labels'", file=self._file, line=1)
        self._n_rows, n_features, n_labels = (int(number) for number in match.groups())
        for what, number in (("features", n_features), ("labels", n_labels)):
            if number > MAX_COLUMNS:
                reason = f"the header claims {number:,} {what}: too many"
                raise DataError(reason, file=self._file, line=1)
        self.feature_names = NumberedNames("feature", n_features)
        self.label_names = NumberedNames("label", n_labels)
        self._blocks = itertools.chain([(2, rest)] if rest else [], blocks)
        self._grammar = RowGrammar(self._file, n_features, blank_rows=True, label_end=n_labels)

    def batches(self) -> Iterator[Batch]:
        """Yield the rows, as many as the header promises."""
        seen = 0
        for line, text in self._blocks:
            rows = self._grammar.parse(line, text)
            keep = min(rows.n_rows, self._n_rows - seen)
            if rows.label_counts[keep:].any() or rows.counts[keep:].any():
                raise DataError(
                    f"the header promises {self._n_rows:,} rows, the file has more",
                    file=self._file,
                    line=self._n_rows + 2,
                )
            seen += keep
            if keep:
                rows = rows.head(keep)
                labels = rows.label_matrix(rows.labels, len(self.label_names))
                yield Batch(rows.features(), labels)
        if seen < self._n_rows:
            raise DataError(
                f"the header promises {self._n_rows:,} rows, the file has {seen:,}: truncated?",
                file=self._file,
                line=seen + 1,
            )

    def finish(self, batch: Batch) -> Batch:
        """Return rows as wide as the header says."""
        return replace(batch, X=_shifted(batch.X, 0, len(self.feature_names)))


class LibsvmFile(Reader):
    """An open LIBSVM file; blank lines and what follows a ``#`` are skipped."""

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        self.declared = None not in (reading.n_labels, reading.n_features, reading.first_index)
        self._index = LabelIndex()
        self._index.numbers(range(reading.n_labels or 0))
        # While the base is unknown, an index may be one too large for counting from zero.
        base = reading.first_index
        end = MAX_COLUMNS
        if reading.n_features is not None:
            end = min(end, reading.n_features + (1 if base is None else base))
        self._grammar = RowGrammar(
            source.path, end, blank_rows=False, feature_start=base or 0, label_end=reading.n_labels
        )
        self._settle(MAX_COLUMNS if base is None else base, -1)

    def batches(self) -> Iterator[Batch]:
        """Yield the rows, columns numbered as in the file."""
        lowest, highest = MAX_COLUMNS, -1
        for line, text in self._source.blocks():
            rows = self._grammar.parse(line, text)
            if not rows.n_rows:
                continue
            lowest = min(lowest, int(rows.columns.min(initial=MAX_COLUMNS)))
            highest = max(highest, int(rows.columns.max(initial=-1)))
            yield Batch(rows.features(), self._labels(rows) if self._labelled else None)
        self._settle(lowest, highest)

    def finish(self, batch: Batch) -> Batch:
        """Return features from the first index on, and labels in the order of their numbers."""
        width, base = len(self.feature_names), self.reading.first_index or 0
        if batch.X.shape[1] - base > width:
            raise DataError(f"an index reaches past {width} features", file=self._file)
        Y = None if batch.Y is None else self._index.in_order(batch.Y)
        return replace(batch, X=_shifted(batch.X, base, width), Y=Y)

    def _settle(self, lowest: int, highest: int) -> None:
        """Note where the features begin, how many there are, and which labels occur."""
        base = self.reading.first_index
        base = int(lowest > 0) if base is None else base
        width = self.reading.n_features or max(highest + 1 - base, 0)
        if highest >= 0:
            self.reading = replace(self.reading, first_index=base, n_features=width or None)
        self.feature_names = NumberedNames("feature", width)
        self.label_names = self._index.names

    def _labels(self, rows: Rows) -> Any:
        numbers, inverse = np.unique(rows.labels, return_inverse=True)
        columns = np.array(self._index.numbers(numbers.tolist()), dtype=np.int64)
        return rows.label_matrix(columns[inverse], len(self._index))


def _shifted(X: Any, base: int, width: int) -> Any:
    """Return features with as many columns, counted from a base."""
    if not sp.issparse(X):  # compact already: as wide as the widest row
        X = sp.csr_array(X)
    return compact(sp.csr_array((X.data, X.indices - base, X.indptr), shape=(X.shape[0], width)))
