"""Rows that Dask holds: blocks to gather over a cluster, and rows to score there.

Moments are a tree reduction over partitions: every partition leaves a summary behind, neighbours
are joined, and only the last summary travels to the client. Nothing here knows what a summary is.
Dask is imported only where one of its collections was passed, so it is there.
"""

from __future__ import annotations

import queue
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from grople.errors import require

__all__ = ["as_blocks", "declared", "is_lazy", "map_rows", "partitions", "reduce_partitions"]

#: Summaries joined at a time: as many are in the memory of the worker that joins them.
FAN_IN = 4
#: Seconds between two looks at what was finished.
LOOK = 0.1

Summary = Any
Block = tuple[Any, Any, Any]


def is_lazy(value: Any) -> bool:
    """Tell whether a value is a Dask collection, or a list of delayed ones.

    Examples
    --------
    >>> is_lazy([[0.0, 1.0]])
    False
    """
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_collection, value))
    return _is_collection(value)


def _is_collection(value: Any) -> bool:
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


def partitions(X: Any, y: Any = None, sample_weight: Any = None) -> list[Any]:
    """Return delayed lists of blocks, one a partition.

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
        return _parts_of_blocks(X)
    given = [X, y] if sample_weight is None else [X, y, sample_weight]
    for name, value in zip(("X", "y", "sample_weight"), given, strict=False):
        if _is_delayed(value) or not hasattr(value, "to_delayed"):
            raise ValueError(
                f"{name} is a {type(value).__name__}: give X, y and weights all as Dask arrays, or "
                "blocks (X, y) as a bag or a list of delayed ones"
            )
    given[0] = _whole_rows(X)
    rows = getattr(given[0], "chunks", [None])[0]
    cut = [given[0], *(_cut_alike(value, rows) for value in given[1:])]
    pieces = [list(np.ravel(value.to_delayed())) for value in cut]
    if len({len(part) for part in pieces}) > 1:
        counts = ", ".join(str(len(part)) for part in pieces)
        raise ValueError(f"X, y and weights have different numbers of partitions: {counts}")
    return [[tuple(block)] for block in zip(*pieces, strict=True)]


def _parts_of_blocks(blocks: Any) -> list[Any]:
    if _is_delayed(blocks):
        return [[blocks]]
    if isinstance(blocks, list | tuple):
        return [[block] for block in blocks]
    if hasattr(blocks, "chunks") or hasattr(blocks, "divisions"):
        raise ValueError("requires y to be passed, but the target y is None")
    return list(blocks.to_delayed())  # a bag: a partition is a list of blocks


def _is_delayed(value: Any) -> bool:
    return isinstance(value, require("dask.delayed", "dask", "A Dask collection").Delayed)


def _whole_rows(X: Any) -> Any:
    """Return an array that is cut between rows only."""
    cut: tuple[int, ...] = getattr(X, "numblocks", ())  # a DataFrame is never cut between columns
    return X.rechunk({1: -1}) if len(cut) == 2 and cut[1] > 1 else X


def _cut_alike(value: Any, rows: Any) -> Any:
    """Return a collection cut into rows as another one is, as far as the sizes are known."""
    value = _whole_rows(value)
    if rows is None or not hasattr(value, "chunks") or value.chunks[0] == rows:
        return value
    if any(np.isnan(size) for size in (*rows, *value.chunks[0])):
        return value  # sizes are not known: partitions must match one by one
    if sum(rows) != sum(value.chunks[0]):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{sum(rows)}, {sum(value.chunks[0])}]"
        )
    return value.rechunk({0: rows})


def declared(y: Any) -> Any:
    """Return the classes of a 1-d target that Dask holds, or the number of labels, if known."""
    if getattr(y, "ndim", 0) == 2 and not hasattr(y, "columns"):
        return int(y.shape[1])
    if getattr(y, "ndim", 0) != 1:
        return None
    dask = require("dask", "dask", "A Dask collection")
    found = dask.compute(*(dask.delayed(np.unique)(part) for part in np.ravel(y.to_delayed())))
    return np.unique(np.concatenate(found))


def reduce_partitions(
    parts: Sequence[Any],
    gather: Callable[[Any], Summary],
    join: Callable[[Sequence[Summary]], Summary],
    finished: Callable[[], None] = lambda: None,
) -> Summary:
    """Gather every partition where it lies, and join the summaries in a tree.

    Neighbours are joined in order, so the result does not depend on which worker is the first. A
    partition that is lost with its worker is gathered again.

    Parameters
    ----------
    parts : sequence
        Partitions: delayed lists of blocks, or lists of delayed blocks.
    gather : callable
        From a partition to its summary.
    join : callable
        From a few summaries to that of all their rows.
    finished : callable
        Told whenever one more partition is gathered.

    Returns
    -------
    Summary
    """
    dask = require("dask", "dask", "A Dask collection")
    if not parts:
        raise ValueError("no partitions: nothing to learn from")
    client = _client()
    topic = f"grople-{uuid.uuid4().hex}"
    leaf = dask.delayed(_gathered, pure=False)
    level = [leaf(gather, i, part, topic if client else None) for i, part in enumerate(parts)]
    leaves = {part.key for part in level}
    joined = dask.delayed(join, pure=False)
    while len(level) > 1:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        level = [joined(group) if len(group) > 1 else group[0] for group in groups]
    if client is None:
        with _counting(leaves, finished):
            return level[0].compute()
    return _watched(client, level[0], topic, finished)


def _gathered(gather: Callable[[Any], Summary], number: int, part: Any, topic: str | None) -> Any:
    summary = gather(part)
    if topic is not None:
        # Told by an event: a future for every partition would keep all summaries in memory.
        from distributed import get_worker

        get_worker().log_event(topic, number)
    return summary


def _client() -> Any:
    """Return the client of a cluster, None where Dask works in this process."""
    with suppress(ImportError, ValueError):
        from distributed import get_client

        return get_client()
    return None


@contextmanager
def _counting(leaves: set[Any], finished: Callable[[], None]) -> Iterator[None]:
    """Tell about finished tasks of a scheduler in this process."""
    callbacks = require("dask.callbacks", "dask", "A Dask collection")

    def after(key: Any, *others: Any) -> None:
        if key in leaves:
            finished()

    with callbacks.Callback(posttask=after):
        yield


def _watched(client: Any, total: Any, topic: str, finished: Callable[[], None]) -> Summary:
    """Wait for a result of a cluster, telling about partitions as they are gathered."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    seen: set[int] = set()

    def tell(seconds: float) -> None:
        with suppress(queue.Empty):
            while True:
                number = events.get(timeout=seconds)
                if number not in seen:  # one that was lost comes twice
                    seen.add(number)
                    finished()

    client.subscribe_topic(topic, lambda event: events.put(event[1]))
    try:
        future = client.compute(total)
        while not future.done():
            tell(LOOK)
        result = future.result()
        tell(LOOK)
        return result
    finally:
        client.unsubscribe_topic(topic)


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
    dask = require("dask", "dask", "A Dask collection")
    if not hasattr(X, "map_blocks") or not hasattr(X, "chunks"):
        raise ValueError(f"give rows to predict as a Dask array, not as a {type(X).__name__}")
    X = _whole_rows(X)
    # What one row of zeros gives tells the shape and the kind of the output.
    sample = getattr(model, method)(np.zeros((1, X.shape[1])))
    shape: dict[str, Any] = {"drop_axis": 1}
    if sample.ndim == 2:
        shape = {"chunks": (X.chunks[0], (sample.shape[1],))}
    return X.map_blocks(
        _apply, model=dask.delayed(model), method=method,
        dtype=sample.dtype, meta=sample[:0], **shape,
    )  # fmt: skip


def _apply(rows: Any, *, model: Any, method: str) -> Any:
    return getattr(model, method)(rows)
