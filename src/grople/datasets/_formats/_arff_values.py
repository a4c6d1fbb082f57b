"""How the values of an ARFF attribute become numbers."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grople.datasets._formats._arff_header import Attribute
from grople.datasets._matrices import number_or_reason, zeros_and_ones

__all__ = ["Domain", "domains_of", "is_ambiguous"]

_TRUE = frozenset({"1", "+1", "true", "t", "yes", "y", "on", "present", "positive", "pos", "+"})
_FALSE = frozenset({"0", "-1", "false", "f", "no", "n", "off", "absent", "negative", "neg", "-"})


@dataclass(frozen=True, eq=False)
class Domain:
    """The values a column may take, and the number each stands for.

    Parameters
    ----------
    codes : dict or None
        Number of each nominal value; None for a numeric column.
    first : float
        What a sparse row leaves out: the first nominal value, or zero.
    label : bool
        Whether only zero and one may come out.
    skipped : bool
        Whether the column is not read at all.
    """

    codes: dict[str, float] | None = None
    first: float = 0.0
    label: bool = False
    skipped: bool = False

    @property
    def several(self) -> bool:
        """Whether the column becomes one column a value."""
        return self.codes is not None and len(self.codes) > 2

    @property
    def largest_literal(self) -> int:
        """The largest whole number n such that 0 … n, written plainly, stand for themselves.

        Negative where even that fails; such a column cannot be read as plain integers.
        """
        if self.skipped or self.codes is None:
            return 1 if self.label else 2**53
        literal = {str(index): float(index) for index in range(len(self.codes))}
        return len(literal) - 1 if self.codes == literal else -1

    @cached_property
    def _encoded(self) -> dict[bytes, float]:
        # A bare ? means a missing value even where '?' is one of the values.
        codes = self.codes or {}
        return {value.encode(): code for value, code in codes.items() if value != "?"}

    def number(self, value: str, quoted: bool) -> float | str:
        """Return the number of a value, or the reason why it has none."""
        if self.skipped:
            return 0.0
        if self.codes is not None:
            code = self.codes.get(value)
            return f"unknown value {value!r}" if code is None else code
        result = f"{value!r} is not a number" if quoted else number_or_reason(value)
        if not self.label or isinstance(result, str):
            return result
        marks, wrong = zeros_and_ones(np.array([result]))
        return float(marks[0]) if wrong is None else f"a label must be 0 or 1, not {value}"

    def convert(self, tokens: Sequence[bytes]) -> Any | None:
        """Return the numbers of bare tokens at once, or None if one needs a closer look."""
        if self.skipped:
            # Nobody reads these, but they must be there and be text.
            plain = all(tokens) and b"".join(tokens).isascii()
            return np.zeros(len(tokens)) if plain else None
        if self.codes is not None:
            try:
                return np.fromiter(map(self._encoded.__getitem__, tokens), np.float64, len(tokens))
            except KeyError:
                return None
        try:
            numbers = np.fromiter(map(float, tokens), np.float64, len(tokens))
        except ValueError:
            return None
        # float() takes "1_000" and "nan", a data file must not.
        if not np.isfinite(numbers).all() or b"_" in b"".join(tokens):
            return None
        if self.label:
            numbers, wrong = zeros_and_ones(numbers)
            return numbers if wrong is None else None
        return numbers


def domains_of(
    attributes: Sequence[Attribute], labels: Container[int], read: Container[int]
) -> list[Domain]:
    """Return a domain for each attribute; those of one kind share one."""
    made: dict[Any, Domain] = {}
    result = []
    for index, attribute in enumerate(attributes):
        kind = attribute.values, index in labels, attribute.skipped or index not in read
        if kind not in made:
            made[kind] = _domain(*kind)
        result.append(made[kind])
    return result


def _domain(values: tuple[str, ...] | None, label: bool, skipped: bool) -> Domain:
    if skipped:
        return Domain(skipped=True)
    if values is None:
        return Domain(label=label)
    codes = _codes(values)
    return Domain(codes, codes[values[0]], label)


def is_ambiguous(values: tuple[str, ...] | None) -> bool:
    """Whether there are two values that do not say which of them means yes."""
    if values is None or len(values) != 2:
        return False
    return not _is_yes_no(*values) and not all(map(_is_number, values))


def _codes(values: tuple[str, ...]) -> dict[str, float]:
    """Return the number of each value: yes is 1 and no is 0; three and more are counted."""
    if len(values) > 2:
        return {value: float(index) for index, value in enumerate(values)}
    if len(values) == 1:
        only = values[0].lower()
        no = float(only) <= 0 if _is_number(only) else only in _FALSE
        return {values[0]: 0.0 if no else 1.0}
    first, second = values
    if _is_yes_no(first, second):
        one = first if first.lower() in _TRUE else second
    elif all(map(_is_number, values)):
        one = max(values, key=float)
    else:
        one = second
    return {value: float(value == one) for value in values}


def _is_yes_no(first: str, second: str) -> bool:
    pair = {first.lower(), second.lower()}
    return len(pair & _TRUE) == 1 and len(pair & _FALSE) == 1


def _is_number(text: str) -> bool:
    return not isinstance(number_or_reason(text), str)
