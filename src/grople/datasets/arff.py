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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._arff_header import Attribute, Header, read_header
from grople.datasets._arff_rows import RowParser
from grople.datasets._arff_values import domains_of, is_ambiguous
from grople.datasets._arff_writer import write_arff
from grople.datasets._matrices import check_missing_rule, compact, one_hot, stacked
from grople.datasets._mulan import read_label_names
from grople.datasets._streams import (
    DEFAULT_LIMIT,
    Source,
    bundle_or_error,
    check_encoding,
    opened,
    stem,
)
from grople.datasets.bundle import Bundle
from grople.errors import DataError

__all__ = ["ArffTable", "read_arff", "write_arff"]

_MEKA = re.compile(r"-C\s+(-?\d{1,9})\b", re.ASCII)
_PART = re.compile(r"[-_](train|test|sparse)$", re.IGNORECASE)
_IDENTIFIER_SIZE = 10


def read_arff(
    path: str | Path,
    *,
    labels: str | Path | int | Sequence[str] | None = None,
    missing: str = "error",
    ignore: Sequence[str] = (),
    encoding: str = "utf-8",
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> Bundle:
    r"""Read an ARFF file.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    labels : path, int or sequence of str, optional
        Which attributes are labels: Mulan's XML header, a count as in MEKA's ``-C n`` (the first n
        attributes, the last if negative), or names. By default the XML file of the same name
        beside the ARFF file (``x.xml`` also for ``x-train``, ``x-test`` and ``x-sparse``), else
        ``-C n`` in the relation's name.
    missing : {"error", "zero", "nan"}
        What a ``?`` is: a :class:`DataError`, zero, or NaN (for features only).
    ignore : sequence of str
        Attributes to leave out.
    encoding : str
        How text is encoded.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a gzip file may unpack to.

    Returns
    -------
    Bundle
        With CSR features, or dense ones if the rows are mostly non-zero.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> header = "@relation 'tiny: -C 1'\n@attribute good {0,1}\n@attribute x real\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tiny.arff"
    ...     _ = file.write_text(header + "@data\n1,2.5\n")
    ...     bundle = read_arff(file)
    >>> bundle.label_names, bundle.feature_names, bundle.X.tolist(), bundle.Y.toarray().tolist()
    (('good',), ('x',), [[2.5]], [[1]])
    """
    check_missing_rule(missing)
    check_encoding(encoding)
    file = os.fspath(path)
    with opened(path, max_bytes) as source:
        table = ArffTable.of(source, labels, missing, ignore, encoding)
        cells = stacked(list(table.parts), len(table.header.attributes))
    return bundle_or_error(file, name=name, **table.fields(cells))


@dataclass(frozen=True)
class ArffTable:
    """An open ARFF file: its header, which attributes are labels or ignored, its rows in parts."""

    header: Header
    label_names: tuple[str, ...]
    ignore: tuple[str, ...]
    parts: Iterator[Any]

    @classmethod
    def of(
        cls, source: Source, labels: Any, missing: str, ignore: Sequence[str], encoding: str
    ) -> ArffTable:
        """Read the header of an open file."""
        blocks = source.blocks()
        header, line, rest = read_header(blocks, source.path, encoding)
        names = _label_names(labels, header, Path(source.path), source.max_bytes)
        for unknown in set(ignore) - {attribute.name for attribute in header.attributes}:
            raise DataError(f"no attribute {unknown!r} to ignore", file=source.path)
        domains = domains_of(header.attributes, frozenset(names), encoding)
        parser = RowParser(
            header.attributes, domains, file=source.path, encoding=encoding, missing=missing
        )
        texts = itertools.chain([(line, rest)] if rest else [], blocks)
        parts = (parser.parse(first, block) for first, block in texts)
        return cls(header, tuple(names), tuple(ignore), parts)

    def fields(self, cells: Any, identifiers: frozenset[str] | None = None) -> dict[str, Any]:
        """Return the fields of a bundle; identifiers are found among all rows unless given."""
        others = frozenset((*self.label_names, *self.ignore))
        position = {attribute.name: i for i, attribute in enumerate(self.header.attributes)}
        Y = sp.csr_array(cells[:, [position[label] for label in self.label_names]])
        fields = _features(cells, self.header, others, identifiers)
        return fields | {"Y": Y, "label_names": self.label_names}

    def identifiers(self) -> frozenset[str]:
        """Go through all rows for the attributes that name them."""
        others = {*self.label_names, *self.ignore}
        left = {
            index: np.zeros(len(attribute.values), dtype=bool)
            for index, attribute in enumerate(self.header.attributes)
            if attribute.values is not None
            and attribute.name not in others
            and len(attribute.values) >= _IDENTIFIER_SIZE
        }
        rows = 0
        for cells in self.parts if left else ():
            rows += cells.shape[0]
            for index, used in list(left.items()):
                codes = _codes(cells, index)
                whole = not np.isnan(codes).any() and np.unique(codes).size == codes.size
                if not whole or used[codes.astype(np.intp)].any():
                    del left[index]
                else:
                    used[codes.astype(np.intp)] = True
            if not left:
                break
        enough = rows >= _IDENTIFIER_SIZE
        return frozenset(self.header.attributes[index].name for index in left if enough)


def _label_names(labels: Any, header: Header, path: Path, max_bytes: int) -> list[str]:
    """Return the label attributes, in the order in which whoever names them lists them."""
    file = str(path)
    if labels is None:
        labels = _sibling(path)
    if labels is None:
        match = _MEKA.search(header.relation)
        if match is None:
            raise DataError(
                "which attributes are labels? There is neither an XML file of the same name nor "
                "'-C n' in the relation; pass labels= (an XML file, a count or names)",
                file=file,
            )
        labels = int(match[1])
    known = {attribute.name: attribute for attribute in header.attributes}
    if isinstance(labels, int):
        if not 0 < abs(labels) <= len(known):
            raise DataError(
                f"{labels} labels asked for, but there are {len(known)} attributes", file=file
            )
        names = list(known)[:labels] if labels > 0 else list(known)[labels:]
        lines: dict[str, int | None] = dict.fromkeys(names)
        origin = file
    elif isinstance(labels, str | os.PathLike):
        lines = dict(read_label_names(labels, max_bytes))
        origin = os.fspath(labels)
    else:
        lines, origin = dict.fromkeys(map(str, labels)), file
    for label, line in lines.items():
        if label not in known:
            raise DataError(
                f"label {label!r} is not an attribute of {path.name}", file=origin, line=line
            )
        _check_label(known[label], file)
    return list(lines)


def _check_label(attribute: Attribute, file: str) -> None:
    several = attribute.values is not None and len(attribute.values) > 2
    if attribute.skipped or several:
        what = f"has {len(attribute.values or ())} values" if several else "is text"
        raise DataError(
            f"label {attribute.name!r} {what}; a label is {{0,1}}", file=file, line=attribute.line
        )


def _sibling(path: Path) -> Path | None:
    """Return the XML header beside the file, if there is one."""
    whole = stem(path)
    for name in dict.fromkeys((whole, _PART.sub("", whole))):
        candidate = path.with_name(f"{name}.xml")
        if candidate.is_file():
            return candidate
    return None


def _codes(cells: Any, index: int) -> Any:
    codes = cells[:, [index]]
    return (codes.toarray() if sp.issparse(codes) else codes).ravel()


def _features(
    cells: Any, header: Header, others: frozenset[str], identifiers: frozenset[str] | None
) -> dict[str, Any]:
    """Return the features, their names, the rows' names, and notes on what was decided."""
    notes: list[str] = []
    row_names: list[str] = []
    plain: list[int] = []
    names: list[str] = []
    groups: list[tuple[int, Any]] = []
    for index, attribute in enumerate(header.attributes):
        if attribute.name in others:
            continue
        if attribute.skipped:
            notes.append(f"text attribute {attribute.name!r} left out")
        elif attribute.values is None or len(attribute.values) <= 2:
            plain.append(index)
            names.append(attribute.name)
        else:
            codes = _codes(cells, index)
            if (
                _is_identifier(codes, len(attribute.values))
                if identifiers is None
                else attribute.name in identifiers
            ):
                notes.append(f"identifier attribute {attribute.name!r} left out")
                row_names = row_names or [attribute.values[int(code)] for code in codes]
                continue
            groups.append((len(plain), one_hot(codes, len(attribute.values))))
            names.extend(f"{attribute.name}={value}" for value in attribute.values)
    unclear = {values for values in {a.values for a in header.attributes} if is_ambiguous(values)}
    guessed = [a.name for a in header.attributes if a.values in unclear]
    if guessed:
        notes.append(
            f"{len(guessed)} two-valued attributes do not say which value means yes "
            f"({guessed[0]!r} first): the second value counts as 1"
        )
    X = cells[:, plain]
    if groups:
        X = _interleave(X, groups)
    if sp.issparse(X):
        X.eliminate_zeros()
    return {"X": compact(X), "feature_names": names, "row_names": row_names, "notes": notes}


def _is_identifier(codes: Any, n_values: int) -> bool:
    """Whether every row has a value of its own (NaN, a missing value, is never one)."""
    rows = codes.size
    distinct = np.unique(codes).size == rows and not np.isnan(codes).any()
    return distinct and min(n_values, rows) >= _IDENTIFIER_SIZE


def _interleave(X: Any, groups: list[tuple[int, Any]]) -> Any:
    """Put each group of columns before the plain column it stood before in the file."""
    X = sp.csr_array(X)
    pieces, start = [], 0
    for position, group in groups:
        pieces += [X[:, start:position], group]
        start = position
    return sp.csr_array(sp.hstack([*pieces, X[:, start:]], format="csr"))
