"""ARFF files of Mulan and MEKA, dense or sparse.

Numbers become float64. A nominal attribute with two values becomes one 0/1 column: yes, true, 1
or the larger number is 1, else the second value is. One with three or more values becomes one
column a value (``name=value``). Text and date attributes, and nominal ones that name the row
(ten or more rows, no value used twice), are left out with a note; the latter name the rows.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._formats._arff_header import Attribute, Header, read_header
from grople.datasets._formats._arff_rows import RowParser
from grople.datasets._formats._arff_values import domains_of, is_ambiguous
from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._formats._mulan import read_label_names
from grople.datasets._matrices import compact
from grople.datasets._reading import Reading, label_names_of
from grople.errors import DataError
from grople.files import Source

__all__ = ["ArffFile"]

_MEKA = re.compile(r"-C\s+(-?\d{1,9})\b", re.ASCII)
_PART = re.compile(r"[-_](train|test|sparse)$", re.IGNORECASE)
_IDENTIFIER_SIZE = 10


class ArffFile(Reader):
    """An open ARFF file."""

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        blocks = source.blocks()
        header, line, rest = read_header(blocks, source.path)
        self._attributes = header.attributes
        self._blocks = itertools.chain([(line, rest)] if rest else [], blocks)
        place = {attribute.name: i for i, attribute in enumerate(self._attributes)}
        for unknown in set(reading.ignore) - set(place):
            raise DataError(f"no attribute {unknown!r} to ignore", file=source.path)
        left_out = set(reading.ignore)
        if only is None:
            self.label_names = tuple(_label_names(reading.labels, header, source))
            left_out |= set(self.label_names)
        else:
            wanted = set(only)
            left_out = {a.name for a in self._attributes if wanted.isdisjoint(_columns_of(a))}
        self._labels = [place[name] for name in self.label_names]
        self._features = [i for i, a in enumerate(self._attributes) if a.name not in left_out]
        read = {*self._labels, *self._features}
        domains = domains_of(self._attributes, set(self._labels), read)
        self._parser = RowParser(self._attributes, domains, source.path, reading.missing)
        # Attributes that may name the rows, with the values that were used so far.
        self._identifiers = {
            index: np.zeros(len(self._attributes[index].values or ()), dtype=bool)
            for index in self._features
            if only is None and len(self._attributes[index].values or ()) >= _IDENTIFIER_SIZE
        }
        self._named_by: list[int] = []
        self.declared = not self._identifiers
        self._settle()

    def batches(self) -> Iterator[Batch]:
        """Yield the cells of the rows, one column an attribute."""
        n_rows = 0
        for first, block in self._blocks:
            cells = self._parser.parse(first, block)
            n_rows += cells.shape[0]
            for index, used in list(self._identifiers.items()):
                codes = _codes(cells, index)
                whole = not np.isnan(codes).any() and np.unique(codes).size == codes.size
                if not whole or used[codes.astype(np.intp)].any():
                    del self._identifiers[index]
                else:
                    used[codes.astype(np.intp)] = True
            yield Batch(cells)
        if self._identifiers and n_rows >= _IDENTIFIER_SIZE:
            self._named_by = list(self._identifiers)
            self._settle()

    def finish(self, batch: Batch) -> Batch:
        """Return features, labels and the names of the rows, made of their cells."""
        cells = batch.X
        plain: list[int] = []
        groups: list[tuple[int, Any]] = []
        for index in self._features:
            if self._attributes[index].skipped or index in self._named_by:
                continue
            values = self._attributes[index].values
            if values is None or len(values) <= 2:
                plain.append(index)
            else:
                groups.append((len(plain), _one_hot(_codes(cells, index), len(values))))
        X = cells[:, plain]
        if groups:
            X = _interleave(X, groups)
        if sp.issparse(X):
            X.eliminate_zeros()
        names = None
        for index in self._named_by[:1]:
            values = self._attributes[index].values or ()
            names = [values[int(code)] for code in _codes(cells, index)]
        return Batch(compact(X), sp.csr_array(cells[:, self._labels]), names)

    def _settle(self) -> None:
        """Note the columns, what was left out, and what was guessed."""
        names, notes = [], []
        for index in self._features:
            attribute = self._attributes[index]
            if attribute.skipped:
                notes.append(f"text attribute {attribute.name!r} left out")
            elif index in self._named_by:
                notes.append(f"identifier attribute {attribute.name!r} left out")
            else:
                names += _columns_of(attribute)
        unclear = {kind for kind in {a.values for a in self._attributes} if is_ambiguous(kind)}
        guessed = [a.name for a in self._attributes if a.values in unclear]
        if guessed:
            notes.append(
                f"{len(guessed)} two-valued attributes do not say which value means yes "
                f"({guessed[0]!r} first): the second value counts as 1"
            )
        self.feature_names, self.notes = names, notes


def _columns_of(attribute: Attribute) -> list[str]:
    """Return the features that an attribute becomes: itself, or each of several values."""
    if attribute.values is None or len(attribute.values) <= 2:
        return [attribute.name]
    return [f"{attribute.name}={value}" for value in attribute.values]


def _label_names(labels: Any, header: Header, source: Source) -> list[str]:
    """Return the label attributes, in the order in which whoever names them lists them."""
    path = Path(source.path)
    labels = _sibling(path) if labels is None else label_names_of(labels)
    if isinstance(labels, str) and re.fullmatch(r"-?\d{1,9}", labels):
        labels = int(labels)
    if labels is None:
        match = _MEKA.search(header.relation)
        if match is None:
            raise DataError(
                "which attributes are labels? There is neither an XML file of the same name nor "
                "'-C n' in the relation",
                file=path,
                hint="pass {labels} (an XML file, a count or names)",
                options={"labels": None},
            )
        labels = int(match[1])
    known = {attribute.name: attribute for attribute in header.attributes}
    origin: Any = path
    if isinstance(labels, int):
        if not 0 < abs(labels) <= len(known):
            raise DataError(
                f"{labels} labels asked for, but there are {len(known)} attributes", file=path
            )
        names = list(known)[:labels] if labels > 0 else list(known)[labels:]
        lines: dict[str, int | None] = dict.fromkeys(names)
    elif isinstance(labels, os.PathLike) or (isinstance(labels, str) and _is_header(labels)):
        lines, origin = dict(read_label_names(labels, source.max_bytes)), labels
    else:
        lines = dict.fromkeys([labels] if isinstance(labels, str) else labels)
    for label, line in lines.items():
        if label not in known:
            raise DataError(
                f"label {label!r} is not an attribute of {path.name}", file=origin, line=line
            )
        _check_label(known[label], path)
    return list(lines)


def _is_header(name: str) -> bool:
    return name.lower().endswith(".xml") or os.path.isfile(name)


def _check_label(attribute: Attribute, path: Path) -> None:
    several = attribute.values is not None and len(attribute.values) > 2
    if attribute.skipped or several:
        what = f"has {len(attribute.values or ())} values" if several else "is text"
        raise DataError(
            f"label {attribute.name!r} {what}; a label is {{0,1}}", file=path, line=attribute.line
        )


def _sibling(path: Path) -> Path | None:
    """Return the XML header next to the file, if there is one."""
    whole = Path(path.name.removesuffix(".gz")).stem
    for name in dict.fromkeys((whole, _PART.sub("", whole))):
        candidate = path.with_name(f"{name}.xml")
        if candidate.is_file():
            return candidate
    return None


def _codes(cells: Any, index: int) -> Any:
    codes = cells[:, [index]]
    return (codes.toarray() if sp.issparse(codes) else codes).ravel()


def _one_hot(codes: Any, n_values: int) -> Any:
    """Return one column a value, with a one where the code says so and nothing where it is NaN."""
    known = np.flatnonzero(~np.isnan(codes))
    columns = codes[known].astype(np.int32)
    return sp.csr_array((np.ones(known.size), (known, columns)), shape=(codes.size, n_values))


def _interleave(X: Any, groups: list[tuple[int, Any]]) -> Any:
    """Put each group of columns before the plain column it stood before in the file."""
    X = sp.csr_array(X)
    pieces, start = [], 0
    for position, group in groups:
        pieces += [X[:, start:position], group]
        start = position
    return sp.csr_array(sp.hstack([*pieces, X[:, start:]], format="csr"))
