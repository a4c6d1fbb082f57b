"""Units as a file of lines: what machines computed comes together, and outlives the machines.

The first line says what the file is and by which commands it was filled, every further line is a
unit. Comparisons row by row need what units hold of each test row, which is most of their size;
files to keep may leave it out.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grople.files import written
from grople.study.published import METRICS
from grople.study.store import Row, Store, StoreError
from grople.study.units import Batch

__all__ = ["Units", "export_units", "import_units", "read_units"]

#: What the first line says, and the layout of the others.
KIND, LAYOUT = "grople study", 1
#: What a unit consists of, by its names in a file, and the types that JSON gives it.
FIELDS: dict[str, tuple[type, ...]] = {
    "task": (str,), "dataset": (str,), "method": (str,), "fold": (int,), "setting": (dict,),
    "seed": (int,), "fingerprint": (str,), "result": (dict,), "seconds": (float, int),
    "environment": (dict,),
}  # fmt: skip
#: The largest whole number that a store takes, and tasks whose results are the four measures.
LARGEST, MEASURED = 2**63 - 1, ("published", "nested", "approximation")


@dataclass(frozen=True)
class Units:
    """What a file of units holds: commands, and units with their names in a store."""

    commands: list[str]
    units: dict[str, dict[str, Any]]


def export_units(store: Store, path: str | Path, *, rows: bool = True) -> int:
    """Write the units of a store to a file and return how many; ``.gz`` is compressed.

    Parameters
    ----------
    store : Store
        Where they are.
    path : path
        The file, ``.jsonl`` or ``.jsonl.gz``.
    rows : bool
        Whether to write what units hold of each test row, for comparisons row by row.

    Examples
    --------
    >>> import tempfile
    >>> batch = Batch("cost", "made", "GroPLE", 0, "abc", ({"n_rows": 10},))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/here") as store:
    ...     store.add(batch, {"n_rows": 10}, {"groups_seconds": 0.5}, seconds=0.1)
    ...     written = export_units(store, f"{folder}/units.jsonl")
    ...     with Store(f"{folder}/there") as other:
    ...         read = import_units(other, read_units(f"{folder}/units.jsonl"))
    ...         written, read, other.missing(batch)
    (1, 1, [])
    """
    found = store.rows()
    with written(path) as (stream,):
        _write(stream, {"kind": KIND, "layout": LAYOUT, "commands": store.commands()})
        for row in found:
            _write(stream, _as_line(row, rows))
    return len(found)


def import_units(store: Store, found: Units) -> int:
    """Add units of a file to a store, all or none, and return how many were new.

    What is there stays, but for units that lack the rows that the same unit of the file has.

    Parameters
    ----------
    store : Store
        Where they go.
    found : Units
        What :func:`read_units` read.
    """
    known = {row.key: row.result for row in store.rows()}
    new = {
        key: unit
        for key, unit in found.units.items()
        if key not in known or _completes(unit["result"], known[key])
    }
    store.add_all(
        (_batch(u), u["setting"], u["result"], u["seconds"], u["environment"]) for u in new.values()
    )
    for command in found.commands:
        store.remember(command)
    return len(new)


def _completes(result: dict[str, Any], known: dict[str, Any]) -> bool:
    """Tell whether a result is another one with its rows."""
    if "rows" in known or "rows" not in result:
        return False
    rest = {name: part for name, part in result.items() if name != "rows"}
    # As texts: NaN is not equal to itself.
    return json.dumps(rest, sort_keys=True) == json.dumps(known, sort_keys=True)


def read_units(path: str | Path) -> Units:
    """Read a file of :func:`export_units` to its end, and check all of it."""
    path = Path(path)
    lines = _lines(path)
    head = next(lines, (1, None))[1]
    if not isinstance(head, dict) or head.get("kind") != KIND:
        raise StoreError(f"{path}: not a file of `grople study export`")
    if head.get("layout") != LAYOUT:
        raise StoreError(f"{path}: written by a newer version of grople; update grople")
    commands = head.get("commands")
    if not isinstance(commands, list) or not all(isinstance(each, str) for each in commands):
        raise StoreError(f"{path}, line 1: commands must be a list of texts")
    units = {}
    for number, unit in lines:
        complaint = _complaint(unit)
        if complaint is not None:
            raise StoreError(f"{path}, line {number}: {complaint}")
        units[_batch(unit).key(unit["setting"])] = unit
    return Units(commands, units)


def _write(stream: IO[bytes], line: dict[str, Any]) -> None:
    stream.write(json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n")


def _as_line(row: Row, rows: bool) -> dict[str, Any]:
    line = {name: getattr(row, name) for name in FIELDS}
    if not rows:
        line["result"] = {name: part for name, part in row.result.items() if name != "rows"}
    return line


def _batch(unit: dict[str, Any]) -> Batch:
    return Batch(
        unit["task"], unit["dataset"], unit["method"], unit["fold"], unit["fingerprint"],
        (unit["setting"],), unit["seed"],
    )  # fmt: skip


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise StoreError(f"{path}, line {number}: not JSON ({error})") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{path}: cannot be read ({reason})") from error


def _is_choice(chosen: Any) -> bool:
    """Tell whether something says for each measure what a unit of the nested protocol chose."""
    each = [chosen.get(name) for name in METRICS] if isinstance(chosen, dict) else [None]
    return all(isinstance(choice, dict) and "rows" in choice for choice in each)


def _complaint(unit: Any) -> str | None:
    """Return what is wrong with a unit, None where it is fine."""
    if not isinstance(unit, dict):
        return "not a unit"
    for name, types in FIELDS.items():
        value = unit.get(name)
        if not isinstance(value, types) or isinstance(value, bool):
            return f"{name} is missing or of the wrong kind"
        if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
            return f"{name} is too large"
    if unit["task"] in MEASURED:
        lacking = [name for name in METRICS if not isinstance(unit["result"].get(name), float)]
        if lacking:
            return f"the result lacks {', '.join(lacking)}"
    if "chosen" in unit["result"] and not _is_choice(unit["result"]["chosen"]):
        return "what was chosen must name the form of the rows for each measure"
    try:
        _batch(unit).key(unit["setting"])
        json.dumps(unit, ensure_ascii=False).encode()
    except ValueError as error:
        return f"not a unit ({error})"
    return None
