"""Labels in, labels out: any target scikit-learn knows becomes a sparse 0/1 matrix and back.

A 2-d target (array, sparse or DataFrame) is a label matrix, and so are collections of tags, one a
row. A 1-d target with two classes is one column, with more classes one column a class, as in
one-vs-rest; predictions come back in the container the target came in.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

__all__ = ["Targets", "encode", "label_objects"]

Array = NDArray[Any]

#: What may hold the tags of a row, and what they come back in.
TAG_CONTAINERS: dict[type, str] = {
    list: "list", tuple: "tuple", set: "set", frozenset: "set", np.ndarray: "list",
}  # fmt: skip
#: What may stand between tags that came as one text.
SEPARATORS = (";", "|", ",")


@dataclass(frozen=True)
class Targets:
    """What is known of the target: its kind, its classes or labels, its container.

    Attributes
    ----------
    kind : {"multilabel", "binary", "multiclass"}
        ``binary`` also covers a single class.
    classes : ndarray
        Classes of a 1-d target; names or numbers of the labels otherwise.
    container : {"array", "csr_array", "csr_matrix", "frame", "list", "tuple", "set"}
        What a label matrix, or the tags of a row, came in.
    named : bool
        Whether the labels came with names.
    """

    kind: str
    classes: Array
    container: str = "array"
    named: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the label matrix."""
        return 1 if self.kind == "binary" else len(self.classes)

    def decode(self, marks: Any, index: Any = None) -> Any:
        """Return predicted labels (a CSR array) in the container of the target."""
        marks = marks.astype(np.int64)
        if self.container == "csr_matrix":
            return sp.csr_matrix(marks)
        if self.container in ("array", "frame"):
            return self.decode_values(marks.toarray(), index)
        return marks

    def decode_values(self, values: Array, index: Any = None) -> Any:
        """Return a column a label as a DataFrame if the target was one, else as it is."""
        if self.container != "frame":
            return values
        import pandas as pd  # the target was a pandas object, so pandas is there

        return pd.DataFrame(values, columns=self.classes, index=index)

    def decode_tags(self, marks: Any) -> list[Any]:
        """Return the names of predicted labels, row by row, in what those of the target came in."""
        collect = {"tuple": tuple, "set": set}.get(self.container, list)
        ends = marks.indptr.tolist()
        return [
            collect(self.classes[marks.indices[start:end]].tolist())
            for start, end in itertools.pairwise(ends)
        ]

    def decode_scores(self, scores: Array) -> Array:
        """Return the class of each row of a 1-d target: by sign, or the largest score."""
        if self.kind == "multiclass":
            return self.classes[scores.argmax(axis=1)]
        if len(self.classes) == 1:
            return np.repeat(self.classes, len(scores))
        return self.classes[(scores[:, 0] > 0).astype(np.intp)]


def encode(y: Any, known: Targets | None = None, classes: Any = None) -> tuple[Any, Targets]:
    """Turn a target into a label matrix.

    Parameters
    ----------
    y : array, sparse array, DataFrame or sequence of collections of tags
        The target.
    known : Targets, optional
        What earlier blocks established; label columns that are new are added behind them.
    classes : sequence or int, optional
        Classes or labels declared beforehand (for labels also their number).

    Returns
    -------
    B : csr_array of float64
        Zeros and ones.
    targets : Targets
        What is known now.

    Examples
    --------
    >>> B, targets = encode(["cat", "dog", "cat"])
    >>> B.toarray().ravel(), targets.classes.tolist()
    (array([0., 1., 0.]), ['cat', 'dog'])
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    container = _tag_container(y)
    if container is not None:
        return _encode_tags(list(y), container, known, classes)
    if not sp.issparse(y) and not hasattr(y, "columns"):
        y = _as_array(y)
    is_matrix = y.ndim == 2
    one_column_of_classes = is_matrix and not sp.issparse(y) and _is_class_column(y)
    if is_matrix and not one_column_of_classes:
        return _encode_matrix(y, known, classes)
    if one_column_of_classes:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        y = np.asarray(y).ravel()
    return _encode_classes(column_or_1d(y), known, classes)


def _is_class_column(y: Any) -> bool:
    """Tell a column of classes from a label matrix with one label."""
    if np.shape(y)[1] != 1 or hasattr(y, "columns"):
        return False
    values = np.asarray(y)
    if values.dtype.kind not in "biuf":
        return True
    return not np.all((values == 0) | (values == 1) | np.isnan(values))


def _as_array(y: Any) -> Array:
    try:
        return np.asarray(y)
    except ValueError:
        raise ValueError(
            "y is neither a matrix nor a list of classes: its rows differ in length. Lists of tags "
            "hold texts; tags that are numbers come in sets."
        ) from None


def _tag_container(y: Any) -> str | None:
    """Return what holds the tags of each row; None for a target of another kind."""
    of_objects = getattr(getattr(y, "dtype", None), "kind", "") == "O" and y.ndim == 1
    if not isinstance(y, list | tuple) and not of_objects:
        return None
    types = {type(row) for row in y}
    known = [kind for kind in TAG_CONTAINERS if kind in types]
    if not known:
        return None
    rows = [row for row in y if type(row) in TAG_CONTAINERS]
    # Lists of numbers are the rows of a matrix.
    if not types & {set, frozenset} and not any(isinstance(t, str) for row in rows for t in row):
        return None
    for place, row in enumerate(y):
        if type(row) not in TAG_CONTAINERS:
            raise ValueError(
                f"row {place} of y is {row!r:.60}, but others hold several tags: give it the same "
                "way, empty where there is none"
            )
    return TAG_CONTAINERS[known[0]]


def _encode_tags(
    rows: list[Collection[Any]], container: str, known: Targets | None, classes: Any
) -> tuple[Any, Targets]:
    distinct = [list(dict.fromkeys(row)) for row in rows]
    try:
        names = sorted(set(itertools.chain.from_iterable(distinct)))
    except TypeError:
        raise ValueError("the tags of y must be all texts or all numbers") from None
    place = {name: column for column, name in enumerate(names)}
    ends = np.cumsum([0, *map(len, distinct)])
    columns = np.array([place[tag] for row in distinct for tag in row], dtype=np.intp)
    B = sp.csr_array((np.ones(len(columns)), columns, ends), shape=(len(rows), len(names)))
    B.sort_indices()
    if known is not None and known.kind == "multilabel" and not known.named:
        raise ValueError("y holds tags, but earlier blocks were label matrices without names")
    return _placed(B, names, container, known, classes)


def _encode_classes(y: Array, known: Targets | None, classes: Any) -> tuple[Any, Targets]:
    if len(y):
        check_classification_targets(y)
    if known is None:
        found = np.unique(y) if classes is None else np.unique(np.asarray(classes))
        known = Targets("multiclass" if len(found) > 2 else "binary", found)
        _warn_of_separators(found)
    elif known.kind == "multilabel":
        raise ValueError("y is one-dimensional, but earlier blocks were label matrices")
    if len(y) == 0:
        return sp.csr_array((0, known.n_columns), dtype=np.float64), known
    position = np.searchsorted(known.classes, y)
    position[position == len(known.classes)] = 0
    unknown = known.classes[position] != y
    if np.any(unknown):
        raise ValueError(
            f"y holds {np.unique(y[unknown]).tolist()[0]!r}, which is not among the classes "
            f"{known.classes.tolist()}: declare all classes in the first call of partial_fit"
        )
    if known.kind == "binary":
        # With one class the column is constant: that class, always.
        marked = position == len(known.classes) - 1
        return sp.csr_array(marked[:, None].astype(np.float64)), known
    indptr = np.arange(len(y) + 1)
    ones = np.ones(len(y))
    return sp.csr_array((ones, position, indptr), shape=(len(y), len(known.classes))), known


def _encode_matrix(Y: Any, known: Targets | None, classes: Any) -> tuple[Any, Targets]:
    names = list(Y.columns) if hasattr(Y, "columns") else None
    if sp.issparse(Y):
        container = "csr_array" if isinstance(Y, sp.sparray) else "csr_matrix"
    else:
        container = "frame" if names is not None else "array"
    return _placed(_binary_matrix(Y), names, container, known, classes)


def _warn_of_separators(classes: Array) -> None:
    """Warn where classes look like several tags in one text: cut up, they repeat."""
    texts = [text for text in classes.tolist() if isinstance(text, str)]
    for separator in SEPARATORS:
        tags = {tag.strip() for text in texts for tag in text.split(separator)}
        joined = [text for text in texts if separator in text]
        if 2 * len(joined) >= len(texts) > len(tags):
            warnings.warn(
                f"y holds texts such as {joined[0]!r:.80}, each of which is one class: if "
                f"{separator!r} separates tags, give lists of them, [text.split({separator!r}) "
                "for text in y]",
                UserWarning,
                stacklevel=5,
            )
            return


def _placed(
    B: Any, names: list[Any] | None, container: str, known: Targets | None, classes: Any
) -> tuple[Any, Targets]:
    """Return a label matrix with its columns where their labels are known to stand."""
    if known is None:
        known = _declared(classes, names, B.shape[1], container)
    elif known.kind != "multilabel":
        raise ValueError("y is a label matrix, but earlier blocks were one-dimensional")
    if names is not None and known.named:
        return _aligned(B, names, known)
    if B.shape[1] < known.n_columns:
        raise ValueError(
            f"Y has {B.shape[1]} columns, but {known.n_columns} labels are known: give every "
            "label a column, or name them (a DataFrame)"
        )
    if B.shape[1] == known.n_columns:
        return B, known
    if known.named:
        return B, replace(known, classes=_numbered(known.classes.tolist(), B.shape[1]))
    more = np.arange(known.n_columns, B.shape[1])
    return B, replace(known, classes=np.concatenate([known.classes, more]))


def _declared(classes: Any, names: list[Any] | None, width: int, container: str) -> Targets:
    if classes is None:
        found = np.arange(width) if names is None else label_objects(names)
    elif isinstance(classes, int | np.integer):
        found = np.arange(classes) if names is None else _numbered(names, int(classes))
    else:
        found = np.asarray(classes)
        if names is not None or found.dtype.kind in "OUS":
            found = label_objects(list(classes))
    named = found.dtype == object
    twice = [name for name, times in Counter(found.tolist()).items() if times > 1]
    if twice and classes is not None:
        raise ValueError(f"classes names {twice[0]!r} twice")
    return Targets("multilabel", found, container, named)


def _numbered(names: list[Any], count: int) -> Array:
    """Give labels without a name one, up to the given number of labels."""
    fresh = (f"label{i}" for i in itertools.count(len(names)))
    taken = set(names)
    unused = (name for name in fresh if name not in taken)
    return label_objects([*names, *itertools.islice(unused, max(count - len(names), 0))])


def label_objects(values: Sequence[Any]) -> Array:
    """Return names of any kind as an array of them."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)  # whatever they are, tuples too
    return array


def _aligned(B: Any, names: Sequence[Any], known: Targets) -> tuple[Any, Targets]:
    """Put named columns where their labels are known to stand; new names go behind."""
    order = list(known.classes)
    place = {name: i for i, name in enumerate(order)}
    if len(set(names)) < len(names):
        raise ValueError("Y has two columns of the same name")
    for name in names:
        if name not in place:
            place[name] = len(order)
            order.append(name)
    columns = np.array([place[name] for name in names], dtype=np.intp)
    if not np.array_equal(columns, np.arange(len(order))):
        B = B.tocoo()
        B = sp.csr_array((B.data, (B.row, columns[B.col])), shape=(B.shape[0], len(order)))
    return B, replace(known, classes=label_objects(order))


def _real_array(Y: Any) -> Array:
    values = np.asarray(Y)
    if values.dtype.kind in "biuf":
        return values
    try:
        if hasattr(Y, "to_numpy"):  # columns that know missing values
            return Y.to_numpy(dtype=np.float64, na_value=np.nan)
        if values.dtype.kind in "OUS":
            return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    first = values.ravel()[:1].tolist()[0]
    raise ValueError(f"Y must be a label matrix of zeros and ones, but it holds {first!r}")


def _binary_matrix(Y: Any) -> Any:
    if hasattr(Y, "columns") and hasattr(Y, "sparse"):  # a DataFrame of sparse columns
        Y = Y.sparse.to_coo()
    if sp.issparse(Y):
        Y = sp.csr_array(Y)
        if not Y.has_canonical_format or not np.all(Y.data):
            Y = Y.copy()
            Y.sum_duplicates()
            Y.eliminate_zeros()
        data = Y.data
    else:
        Y = data = _real_array(Y)
    if data.dtype.kind == "f" and np.isnan(data).any():
        raise ValueError(
            "Y contains NaN: missing labels cannot be counted in moments. Leave those rows out, "
            "mark the labels absent, or use grople.baselines.LEML, which learns from observed "
            "entries only."
        )
    strange = (data != 0) & (data != 1)
    if np.any(strange):
        raise ValueError(
            f"Y must hold only zeros and ones, but it holds {data[strange].tolist()[0]!r}. "
            "Unknown label type: multilabel targets are 0/1 indicator matrices"
        )
    B = sp.csr_array(Y)
    # The places are shared with Y; only the ones are new, as float64: narrow integers overflow.
    return sp.csr_array((np.ones(B.nnz), B.indices, B.indptr), shape=B.shape)
