"""The exceptions a user can meet, parameters checked from a table, and missing extras."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any

__all__ = [
    "Choice",
    "DataError",
    "Flag",
    "MissingExtraError",
    "ModelFileError",
    "Number",
    "Parameter",
    "Portion",
    "Whole",
    "check_parameters",
    "require",
]


class DataError(ValueError):
    """A data file that cannot be read as what it claims to be.

    Parameters
    ----------
    reason : str
        What is wrong.
    file : path, optional
        The file.
    line : int, optional
        The line, counted from one.
    hint : str, optional
        What to do; options stand in braces.
    options : dict, optional
        The options of the hint and their values (None: whatever the caller likes). Python spells
        them as keywords, a command line as it does.

    Examples
    --------
    >>> print(DataError("expected 3 columns, found 2", file="x.csv", line=7))
    x.csv, line 7: expected 3 columns, found 2
    >>> error = DataError("it is empty", hint="pass {missing}", options={"missing": "zero"})
    >>> print(error)
    it is empty; pass missing='zero'
    >>> error.spelt(lambda name, value: f"--{name} {value}")
    'it is empty; pass --missing zero'
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        hint: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.reason = reason
        self.file = None if file is None else str(file)
        self.line = line
        self.hint = hint
        self.options = dict(options or {})
        super().__init__(self.spelt(_as_keyword))

    def spelt(self, spell: Callable[[str, Any], str]) -> str:
        """Return the message with the options of its hint as `spell` writes a name and a value."""
        hint = self.hint
        for name, value in self.options.items():
            hint = hint.replace(f"{{{name}}}", spell(name, value))
        places = [self.file, None if self.line is None else f"line {self.line}"]
        place = ", ".join(part for part in places if part is not None)
        said = f"{self.reason}; {hint}" if hint else self.reason
        return f"{place}: {said}" if place else said

    def within(self, file: str | Path | None) -> DataError:
        """Return the same error with its file, where it has none yet."""
        return DataError(
            self.reason,
            file=file if self.file is None else self.file,
            line=self.line,
            hint=self.hint,
            options=self.options,
        )


def _as_keyword(name: str, value: Any) -> str:
    return f"{name}={'' if value is None else repr(value)}"


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or from a newer version."""


class MissingExtraError(ImportError):
    """An optional dependency that is not installed."""


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module, or say in one sentence which extra brings it.

    Examples
    --------
    >>> require("json", "cli", "nothing").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {package}, which is not installed: "
            f"run `pip install 'grople[{extra}]'`."
        ) from error


@dataclass(frozen=True)
class Number:
    """A finite number from ``low`` to ``high``, whole if said so, or one of some words."""

    low: float = 0.0
    high: float = math.inf
    words: tuple[str | None, ...] = ()
    whole: bool = False

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        if isinstance(value, str) or value is None:
            fine = value in self.words
        else:
            kind = Integral if self.whole else Real
            fine = isinstance(value, kind) and not isinstance(value, bool)
            fine = fine and math.isfinite(value) and self.low <= value <= self.high
        if fine:
            return None
        top = "" if math.isinf(self.high) else f" and at most {self.high:g}"
        words = "".join(f", or {word!r}" for word in self.words)
        name = "whole" if self.whole else "finite"
        return f"a {name} number of at least {self.low:g}{top}{words}"


def Whole(low: int = 1, words: tuple[str | None, ...] = ()) -> Number:
    """Return a whole number of at least ``low``."""
    return Number(low, words=words, whole=True)


@dataclass(frozen=True)
class Portion:
    """A whole number of at least 1, or a share (a float from 0 to 1, not 0) of all there are."""

    words: tuple[str, ...] = ()

    def complaint(self, value: Any) -> str | None:
        """Return what the value should have been, or None if it is fine."""
        if isinstance(value, str):
            fine = value in self.words
        elif isinstance(value, Integral):
            fine = not isinstance(value, bool) and int(value) >= 1
        else:
            fine = isinstance(value, Real) and 0 < float(value) <= 1
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
        if isinstance(value, bool) or (isinstance(value, str) and value in self.words):
            return None
        return "True or False" + "".join(f", or {word!r}" for word in self.words)


Parameter = Number | Portion | Choice | Flag


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
        wanted = table[parameter].complaint(value) if parameter in table else None
        if wanted is not None:
            raise ValueError(f"{name}: {parameter} must be {wanted}; got {value!r}")
