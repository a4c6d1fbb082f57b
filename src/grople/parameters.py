"""Parameters checked from one table: what each may be, and a sentence when it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = [
    "Anything",
    "Choice",
    "Flag",
    "Number",
    "Parameter",
    "Portion",
    "Whole",
    "check_parameters",
]


@dataclass(frozen=True)
class Number:
    """A finite number from ``low`` to ``high``; ``words`` are names it also accepts."""

    low: float = 0.0
    high: float = math.inf
    words: tuple[str, ...] = ()

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        if isinstance(value, str):
            fine = value in self.words
        else:
            fine = isinstance(value, Real) and not isinstance(value, bool)
            fine = fine and math.isfinite(value) and self.low <= value <= self.high
        if fine:
            return None
        top = "" if math.isinf(self.high) else f" and at most {self.high:g}"
        words = "".join(f", or {word!r}" for word in self.words)
        return f"a finite number of at least {self.low:g}{top}{words}"


@dataclass(frozen=True)
class Whole:
    """A whole number of at least ``low``; ``words`` are names it also accepts."""

    low: int = 1
    words: tuple[str, ...] = ()

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        if isinstance(value, str):
            fine = value in self.words
        else:
            fine = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
            fine = fine and value >= self.low
        if fine:
            return None
        words = "".join(f", or {word!r}" for word in self.words)
        return f"a whole number of at least {self.low}{words}"


@dataclass(frozen=True)
class Portion:
    """A whole number of at least 1, or a share (a float from 0 to 1, not 0) of all there are."""

    words: tuple[str, ...] = ()

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
        share = isinstance(value, Real) and not isinstance(value, Integral)
        if isinstance(value, str):
            fine = value in self.words
        else:
            fine = (whole and value >= 1) or (share and 0 < value <= 1)
        if fine:
            return None
        words = "".join(f", or {word!r}" for word in self.words)
        return f"a whole number of at least 1, or a share above 0.0 and at most 1.0{words}"


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        if (value is None or isinstance(value, str)) and value in self.values:
            return None
        return "one of " + ", ".join(map(repr, self.values))


@dataclass(frozen=True)
class Flag:
    """True or False; ``words`` are names it also accepts."""

    words: tuple[str, ...] = ()

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        if isinstance(value, bool | np.bool_) or (isinstance(value, str) and value in self.words):
            return None
        return "True or False" + "".join(f", or {word!r}" for word in self.words)


@dataclass(frozen=True)
class Anything:
    """A parameter that its own room checks."""

    def complaint(self, value: Any) -> str | None:
        """Accept every value."""
        return None


Parameter = Number | Whole | Portion | Choice | Flag | Anything


def check_parameters(name: str, table: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first parameter out of place.

    Examples
    --------
    >>> check_parameters("GroPLE", {"beta": Number()}, {"beta": -1})
    Traceback (most recent call last):
        ...
    ValueError: GroPLE: beta must be a finite number of at least 0; got -1
    """
    for parameter, value in values.items():
        wanted = table[parameter].complaint(value)
        if wanted is not None:
            raise ValueError(f"{name}: {parameter} must be {wanted}; got {value!r}")
