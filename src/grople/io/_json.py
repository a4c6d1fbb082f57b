"""JSON with one reading: no doubled keys, no infinite numbers, objects only."""

from __future__ import annotations

import json
import math
from typing import Any

from grople.errors import ModelFileError

__all__ = ["parse_json", "write_json"]


def write_json(value: Any) -> str:
    """Return compact JSON, in which there are no infinite numbers."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def parse_json(text: bytes, what: str) -> dict[str, Any]:
    """Return a JSON object, refusing what JSON has two readings of."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_without_doubles,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:  # also UnicodeDecodeError, JSONDecodeError
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ModelFileError(f"{what} is damaged ({reason[:200]})") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} is not a JSON object")
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value
