"""Rows that Dask holds: summed up where they lie, and scored there.

Every partition leaves a summary behind and summaries are joined in a tree, so that only the last
one travels to the client. Nothing here knows what a summary is. Dask is imported only where one
of its collections was passed, so it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from grople.errors import require

__all__ = [
    "as_blocks",
    "declared",
    "first_of_partitions",
    "is_lazy",
    "map_rows",
    "partitions",
    "reduce_partitions",
]

Summary = Any
Block = tuple[Any, Any, Any]
Found = TypeVar("Found")

#: Summaries joined at a time: as many are in the memory of the worker that joins them.
SPLIT_EVERY = 4


def _dask(module: str) -> Any:
    return require(module, "dask", "A Dask collection")


def is_lazy(value: Any) -> bool:
    """Tell whether a value is a Dask collection, or a list of delayed ones.

    Examples
    --------
    >>> is_lazy([[0.0, 1.0]])
    False
    """
    if isinstance(value, list | tuple):
        return bool(value) and all(map(is_lazy, value))
    # Classes have the method too; only a collection has a graph.
    return not isinstance(value, type) and getattr(value, "__dask_graph__", None) is not None


def as_blocks(part: Any) -> Iterator[Block]:
    """Yield the blocks of a partition: (X, y), (X, y, weights), or anything with an X and a Y.

    Examples
    --------
    >>> [len(block) for block in as_blocks([("X", "y"), ("X", "y", "weights")])]
    [3, 3]
    """
    for block in part:
        if hasattr(block, "X") and hasattr(block, "Y"):
            yield block.X, block.Y, None
        elif isinstance(block, list | tuple) and len(block) in (2, 3):
            yield block[0], block[1], block[2] if len(block) == 3 else None
        else:
            raise ValueError(
                f"a block is (X, y) or (X, y, sample_weight), not a {type(block).__name__}"
            )


def partitions(X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Return a Dask bag of blocks of rows, cut as X is.

    Parameters
    ----------
    X : dask array or DataFrame, bag, delayed block or list of delayed blocks
        Features; without `y`, blocks of features and labels.
    y : dask array or DataFrame, optional
        Labels, cut into rows as X is or as it can be.
    sample_weight : dask array, optional
        Weights.
    """
    if y is None:
        if sample_weight is not None:
            raise ValueError("blocks bring their own weights: (X, y, sample_weight)")
        return _bag_of_blocks(X)
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    for name, value in given.items():
        if _is_delayed(value) or not hasattr(value, "to_delayed"):
            raise ValueError(
                f"{name} is a {type(value).__name__}: give X, y and weights all as Dask arrays, or "
                "blocks (X, y) as a bag or a list of delayed ones"
            )
    X, *others = given.values()
    X = _cut_between_rows(X)
    heights = getattr(X, "chunks", [None])[0]
    aligned = [X, *(_cut_alike(value, heights) for value in others)]
    pieces = [list(np.ravel(value.to_delayed())) for value in aligned]
    if len({len(part) for part in pieces}) > 1:
        counts = ", ".join(str(len(part)) for part in pieces)
        raise ValueError(f"X, y and weights have different numbers of partitions: {counts}")
    return _bag_of_blocks(list(zip(*pieces, strict=True)))


def _bag_of_blocks(blocks: Any) -> Any:
    if _is_delayed(blocks):
        blocks = [blocks]
    if hasattr(blocks, "chunks") or hasattr(blocks, "divisions"):
        raise ValueError("requires y to be passed, but the target y is None")
    if hasattr(blocks, "map_partitions"):
        return blocks  # a bag already
    delayed = _dask("dask.delayed").delayed
    return _dask("dask.bag").from_delayed([delayed([block]) for block in blocks])


def _is_delayed(value: Any) -> bool:
    return isinstance(value, _dask("dask.delayed").Delayed)


def _cut_between_rows(X: Any) -> Any:
    """Return an array that is cut between rows only."""
    numblocks: tuple[int, ...] = getattr(X, "numblocks", ())  # DataFrames keep columns together
    return X.rechunk({1: -1}) if len(numblocks) == 2 and numblocks[1] > 1 else X


def _cut_alike(value: Any, heights: Any) -> Any:
    """Return a collection cut into blocks of these heights, as far as they are known."""
    value = _cut_between_rows(value)
    if heights is None or not hasattr(value, "chunks") or value.chunks[0] == heights:
        return value
    if np.isnan([*heights, *value.chunks[0]]).any():
        return value  # partitions must match one by one
    if sum(heights) != sum(value.chunks[0]):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{sum(heights)}, {sum(value.chunks[0])}]"
        )
    return value.rechunk({0: heights})


def declared(y: Any) -> Any:
    """Return the classes of a 1-d target that Dask holds, or the number of labels, if known."""
    if getattr(y, "ndim", 0) == 2 and not hasattr(y, "columns"):
        return int(y.shape[1])
    if getattr(y, "ndim", 0) != 1:
        return None
    dask = _dask("dask")
    found = dask.compute(*(dask.delayed(np.unique)(part) for part in np.ravel(y.to_delayed())))
    return np.unique(np.concatenate(found))


def first_of_partitions(parts: Any, function: Callable[[Any], Found | None]) -> Found | None:
    """Return the first result that is not None, going from one partition to the next.

    Parameters
    ----------
    parts : dask bag
        Blocks of rows.
    function : callable
        From the blocks of a partition to a result, computed where they lie.
    """
    there = _dask("dask").delayed(function)
    results = (there(part).compute() for part in parts.to_delayed())
    return next((result for result in results if result is not None), None)


def reduce_partitions(
    parts: Any,
    gather: Callable[[Any], Summary],
    join: Callable[[Any], Summary],
    progress: Callable[[str, int, int], None],
) -> Summary:
    """Sum up every partition where it lies, and join the summaries in a tree.

    A partition that is lost with its worker is summed up again.

    Parameters
    ----------
    parts : dask bag
        Blocks of rows.
    gather : callable
        From the blocks of a partition to their summary; sent to each worker once.
    join : callable
        From a few summaries to that of all their rows, in whatever order.
    progress : callable
        Told ``("partitions", done, total)``: after each of them where Dask works in this process,
        at the beginning and the end where a cluster does (its dashboard shows more).
    """
    n_parts = parts.npartitions
    if not n_parts:
        raise ValueError("no partitions: nothing to learn from")
    dask = _dask("dask")
    summaries = parts.map_partitions(_gathered, dask.delayed(gather))
    total = summaries.reduction(join, join, split_every=SPLIT_EVERY, name=summaries.name)
    finished: set[Any] = set()

    def count(key: Any, *others: Any) -> None:
        # Dask fuses what it does with one partition into one task, named after the last step.
        if isinstance(key, tuple) and key[0].startswith(f"{summaries.name}-part"):
            finished.add(key)
            progress("partitions", min(len(finished), n_parts - 1), n_parts)

    progress("partitions", 0, n_parts)
    with _dask("dask.callbacks").Callback(posttask=count):
        # Bags would be computed in new processes, delayed values are in threads.
        [whole] = dask.compute(total.to_delayed())
    progress("partitions", n_parts, n_parts)
    return whole


def _gathered(part: Any, gather: Callable[[Any], Summary]) -> list[Summary]:
    return [gather(part)]


def map_rows(model: Any, method: str, X: Any) -> Any:
    """Return a Dask array of what a method of a model gives for every block of rows.

    Parameters
    ----------
    model : object
        Sent to each worker once.
    method : str
        Its method: from rows to one row of output each.
    X : dask array
        Rows.
    """
    if not hasattr(X, "map_blocks") or not hasattr(X, "chunks"):
        raise ValueError(f"give rows to predict as a Dask array, not as a {type(X).__name__}")
    X = _cut_between_rows(X)
    # What one row of zeros gives tells the shape and the kind of the output.
    sample = getattr(model, method)(np.zeros((1, X.shape[1])))
    shape: dict[str, Any] = {"drop_axis": 1}
    if sample.ndim == 2:
        shape = {"chunks": (X.chunks[0], (sample.shape[1],))}
    return X.map_blocks(
        _apply, model=_dask("dask").delayed(model), method=method,
        dtype=sample.dtype, meta=sample[:0], **shape,
    )  # fmt: skip


def _apply(rows: Any, *, model: Any, method: str) -> Any:
    return getattr(model, method)(rows)
