"""How the values of an ARFF attribute become numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grople.datasets._arff_header import Attribute
from grople.datasets._matrices import number_or_reason

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
    encoded : dict or None
        The same by the bytes of a bare value.
    first : float
        What a sparse row leaves out: the first nominal value, or zero.
    binary : bool
        Whether only zero and one may come out (labels).
    skipped : bool
        Whether the column is not read at all (text, dates).
    """

    codes: dict[str, float] | None = None
    encoded: dict[bytes, float] | None = None
    first: float = 0.0
    binary: bool = False
    skipped: bool = False

    @property
    def largest_literal(self) -> int:
        """The largest whole number n such that 0 … n, written plainly, stand for themselves.

        Negative where even that fails; such a column cannot be read as plain integers.
        """
        if self.skipped:
            return -1
        if self.codes is None:
            return 1 if self.binary else 2**53
        literal = {str(index): float(index) for index in range(len(self.codes))}
        return len(literal) - 1 if self.codes == literal else -1

    def number(self, value: str, quoted: bool) -> float | str:
        """Return the number of a value, or the reason why it has none."""
        if self.skipped:
            return 0.0
        if self.codes is not None:
            code = self.codes.get(value)
            return f"unknown value {value!r}" if code is None else code
        result = f"{value!r} is not a number" if quoted else number_or_reason(value)
        if self.binary and result not in (0.0, 1.0) and not isinstance(result, str):
            return f"a label must be 0 or 1, not {value}"
        return result

    def convert(self, tokens: Sequence[bytes]) -> Any | None:
        """Return the numbers of bare tokens at once, or None if one needs a closer look."""
        if self.skipped:
            # Nobody reads these, but they must be there and be text.
            plain = all(tokens) and b"".join(tokens).isascii()
            return np.zeros(len(tokens)) if plain else None
        if self.encoded is not None:
            try:
                return np.fromiter(map(self.encoded.__getitem__, tokens), np.float64, len(tokens))
            except KeyError:
                return None
        try:
            numbers = np.fromiter(map(float, tokens), np.float64, len(tokens))
        except ValueError:
            return None
        # float() takes "1_000" and "nan", a data file must not.
        if not np.isfinite(numbers).all() or b"_" in b"".join(tokens):
            return None
        if self.binary and not ((numbers == 0) | (numbers == 1)).all():
            return None
        return numbers


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


def domains_of(
    attributes: Iterable[Attribute], labels: frozenset[str], encoding: str
) -> list[Domain]:
    """Return a domain for each attribute; columns of one kind share one."""
    made: dict[Any, Domain] = {}
    result = []
    for attribute in attributes:
        key = (attribute.values, attribute.skipped, attribute.name in labels)
        if key not in made:
            made[key] = _domain(attribute, attribute.name in labels, encoding)
        result.append(made[key])
    return result


def _domain(attribute: Attribute, label: bool, encoding: str) -> Domain:
    if attribute.values is None:
        return Domain(binary=label, skipped=attribute.skipped)
    codes = _codes(attribute.values)
    return Domain(
        codes=codes,
        # A bare ? means a missing value even where '?' is one of the values.
        encoded={_bytes(v, encoding): code for v, code in codes.items() if v != "?"},
        first=codes[attribute.values[0]],
        binary=label,
    )


def _bytes(value: str, encoding: str) -> bytes:
    """Return how a bare value is written; one that only an escape can write matches nothing."""
    try:
        return value.encode(encoding)
    except UnicodeEncodeError:
        return b"\n"
