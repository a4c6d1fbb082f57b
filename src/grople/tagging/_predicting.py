"""Tags for records, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.datasets import Reading, Records, open_records
from grople.solver._model import row_blocks
from grople.tagging._explaining import Explainer, Explanation
from grople.tagging._features import number_names, table_columns
from grople.tagging._fitting import Tagger

__all__ = [
    "Selection", "Tag", "TaggedRow", "open_tagger_records", "select_labels", "tag_records",
]  # fmt: skip

Array = NDArray[Any]


@dataclass(frozen=True)
class Selection:
    """Which labels of a row to give, most probable first.

    Parameters
    ----------
    top_k : int, optional
        At most so many.
    threshold : float, optional
        Only labels at least so probable.
    decided : bool
        Only labels that the model's decision gives.
    """

    top_k: int | None = None
    threshold: float | None = None
    decided: bool = True

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top-k must be at least 1, not {self.top_k}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold is a probability between 0 and 1, not {self.threshold}")

    @classmethod
    def of(
        cls, top_k: int | None = None, threshold: float | None = None, decision: object = None
    ) -> Selection:
        """Return what a person means: a number or a threshold replaces the model's decision."""
        return cls(top_k, threshold, decision is not None or (top_k is None and threshold is None))


@dataclass(frozen=True)
class Tag:
    """A label with its probability, and why."""

    column: int
    label: str
    probability: float
    why: Explanation | None = None


@dataclass(frozen=True)
class TaggedRow:
    """A record with its tags; ``row`` counts from one."""

    row: int
    name: str | None
    tags: tuple[Tag, ...]


def open_tagger_records(
    tagger: Tagger,
    path: str,
    reading: Reading,
) -> AbstractContextManager[Iterator[Records]]:
    """Open a file, or the standard input, as blocks of what a tagger takes."""
    columns = table_columns(tagger.features)
    names = None if tagger.texts else number_names(tagger.features)
    return open_records(
        path,
        reading,
        feature_names=names,
        n_features=len(names or ()),
        columns=columns,
    )


def tag_records(
    model: Any,
    blocks: Iterable[Records],
    features: Any = None,
    *,
    selection: Selection | None = None,
    explainer: Explainer | None = None,
) -> Iterator[list[TaggedRow]]:
    """Yield the tags of blocks of records.

    Parameters
    ----------
    model : estimator
        Fitted.
    blocks : iterable of Records
        What to tag.
    features : Features, optional
        How records become rows of the model; as they are where None.
    selection : Selection, optional
        Which labels to give; by default those that the model's decision gives.
    explainer : Explainer, optional
        Explains each tag.

    Yields
    ------
    list of TaggedRow

    Examples
    --------
    >>> from grople.baselines import Ridge
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, random_state=0)
    >>> model = Ridge().fit(data.X, data.Y)
    >>> [rows] = tag_records(model, [Records(data.X[:3])], selection=Selection(top_k=2))
    >>> [len(row.tags) for row in rows], rows[2].row
    ([2, 2, 2], 3)
    """
    selection = selection or Selection()
    labels = [str(label) for label in model.classes_]
    done = 0
    for block in blocks:
        X = block.content if features is None else features.transform(block.content)
        for part in row_blocks(X.shape[0], len(labels)):
            rows = X[part]
            chosen, chances = select_labels(model, rows, selection)
            tagged = []
            for i in range(rows.shape[0]):
                own = chosen[i]
                why: list[Explanation | None] = [None] * len(own)
                if explainer is not None and len(own):
                    why = list(explainer.explain(rows[[i]], own.tolist()))
                name = None if block.names is None else block.names[part.start + i]
                tags = tuple(
                    Tag(int(j), labels[int(j)], float(p), w)
                    for j, p, w in zip(own, chances[i], why, strict=True)
                )
                tagged.append(TaggedRow(done + i + 1, name, tags))
            yield tagged
            done += rows.shape[0]


def select_labels(model: Any, X: Any, selection: Selection) -> tuple[list[Array], list[Array]]:
    """Return the chosen columns of each row, most probable first, and their probabilities."""
    chances = np.asarray(model.predict_proba(X))
    offered = chances.shape[1]
    marks = _decided(model, X) if selection.decided else None
    chosen, probabilities = [], []
    for i, row in enumerate(chances):
        columns = (
            np.arange(offered) if marks is None else marks.indices[slice(*marks.indptr[i : i + 2])]
        )
        if selection.threshold is not None:
            columns = columns[row[columns] >= selection.threshold]
        if selection.top_k is not None and len(columns) > selection.top_k:
            # Ties at the edge go to the first labels, as in a stable sort.
            edge = -np.partition(-row[columns], selection.top_k - 1)[selection.top_k - 1]
            columns = columns[row[columns] >= edge]
        columns = columns[np.argsort(-row[columns], kind="stable")][: selection.top_k]
        chosen.append(columns)
        probabilities.append(row[columns])
    return chosen, probabilities


def _decided(model: Any, X: Any) -> Any:
    """Return the labels that the model gives as a CSR array, one column a label or class."""
    predicted = model.predict(X)
    if model._targets.kind == "multilabel":
        return sp.csr_array(predicted if sp.issparse(predicted) else np.asarray(predicted))
    columns = np.searchsorted(model.classes_, predicted)
    ones = np.ones(len(columns), dtype=np.int64)
    return sp.csr_array(
        (ones, columns, np.arange(len(columns) + 1)), (len(columns), len(model.classes_))
    )
