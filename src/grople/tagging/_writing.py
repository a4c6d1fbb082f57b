"""Tags to a stream: JSON lines, a table, or the score files of the Extreme repository."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from grople.errors import DataError
from grople.files import written
from grople.tagging._predicting import TaggedRow

__all__ = ["FORMATS", "output", "write_tags"]

#: Formats that tags can be written in.
FORMATS = ("jsonl", "csv", "extreme")
SEPARATOR = ";"
#: Bytes of an Extreme file that are kept in memory until its number of rows is known.
KEPT = 16 << 20

Blocks = Iterable[Sequence[TaggedRow]]


def write_tags(blocks: Blocks, stream: IO[bytes], format: str, label_names: Sequence[str]) -> int:
    r"""Write blocks of tagged rows as they come; return how many rows there were.

    Parameters
    ----------
    blocks : iterable of sequences of TaggedRow
        What to write.
    stream : binary stream
        Where to.
    format : {"jsonl", "csv", "extreme"}
        ``jsonl``: an object a row with its labels, their probabilities and explanations. ``csv``:
        a column of labels and one of probabilities, separated by semicolons. ``extreme``: a line
        ``rows labels``, then ``label:probability`` pairs by label number.
    label_names : sequence of str
        The labels of the model.

    Examples
    --------
    >>> import io
    >>> from grople.tagging import Tag, TaggedRow
    >>> rows = [TaggedRow(1, "chess", (Tag(2, "game", 0.75),)), TaggedRow(2, "void", ())]
    >>> for format in FORMATS:
    ...     stream = io.BytesIO()
    ...     _ = write_tags([rows], stream, format, ["a", "b", "game"])
    ...     print(stream.getvalue().decode(), end="")
    {"row": 1, "id": "chess", "labels": [{"label": "game", "probability": 0.75}]}
    {"row": 2, "id": "void", "labels": []}
    row,id,labels,probabilities
    1,chess,game,0.75
    2,void,,
    2 3
    2:0.75
    <BLANKLINE>
    """
    return {"jsonl": _json_lines, "csv": _csv, "extreme": _extreme}[format](
        blocks, stream, label_names
    )


@contextmanager
def output(path: str | Path | None, standard: IO[bytes]) -> Iterator[IO[bytes]]:
    """Open a file that appears whole or not at all, or the standard output.

    A device or a pipe is written to directly: it must not be replaced.
    """
    if path is None or os.fspath(path) == "-":
        yield standard
        return
    path = Path(path)
    if path.is_dir():
        raise DataError("a folder, not a file to write", file=path)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        try:
            with open(path, "wb") as stream:
                yield stream
        except OSError as error:
            raise DataError(f"cannot be written ({error.strerror})", file=path) from error
        return
    with written(path) as (stream,):
        yield stream


def _json_lines(blocks: Blocks, stream: IO[bytes], label_names: Sequence[str]) -> int:
    rows = 0
    for block in blocks:
        lines = [json.dumps(_as_json(row), ensure_ascii=False) + "\n" for row in block]
        stream.write("".join(lines).encode("utf-8", "surrogatepass"))
        stream.flush()
        rows += len(block)
    return rows


def _as_json(row: TaggedRow) -> dict[str, Any]:
    labels = [
        {"label": tag.label, "probability": _short(tag.probability)}
        | ({"why": tag.why.to_dict()} if tag.why is not None else {})
        for tag in row.tags
    ]
    name = {} if row.name is None else {"id": row.name}
    return {"row": row.row} | name | {"labels": labels}


def _csv(blocks: Blocks, stream: IO[bytes], label_names: Sequence[str]) -> int:
    split = [label for label in label_names if SEPARATOR in label]
    if split:
        raise ValueError(
            f"the label {split[0]!r} holds a {SEPARATOR!r}, which separates labels in a table: "
            "write JSON lines instead"
        )
    rows, named = 0, False
    for block in blocks:
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        if rows == 0:
            named = block[0].name is not None
            table.writerow(["row", *(["id"] if named else []), "labels", "probabilities"])
        for row in block:
            labels = SEPARATOR.join(tag.label for tag in row.tags)
            chances = SEPARATOR.join(str(_short(tag.probability)) for tag in row.tags)
            table.writerow([row.row, *([row.name] if named else []), labels, chances])
        stream.write(text.getvalue().encode())
        stream.flush()
        rows += len(block)
    return rows


def _extreme(blocks: Blocks, stream: IO[bytes], label_names: Sequence[str]) -> int:
    rows = 0
    with tempfile.SpooledTemporaryFile(KEPT) as body:
        for block in blocks:
            for row in block:
                pairs = sorted((tag.column, _short(tag.probability)) for tag in row.tags)
                line = " ".join(f"{column}:{chance}" for column, chance in pairs)
                body.write(f"{line}\n".encode())
            rows += len(block)
        stream.write(f"{rows} {len(label_names)}\n".encode())
        body.seek(0)
        shutil.copyfileobj(body, stream)
        stream.flush()
    return rows


def _short(probability: float) -> float:
    """Return a probability to six places: more would be noise."""
    return round(probability, 6)
