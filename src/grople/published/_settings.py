"""The settings behind the published tables, of GroPLE and of the methods it is compared with."""

from __future__ import annotations

import csv
import functools
from importlib.resources import files
from typing import Any

__all__ = ["approximation_setting", "published_data", "published_setting"]

Setting = dict[str, Any]
#: Stands for every data set: the choices of the reference that do not vary.
EVERY = "*"


@functools.cache
def _settings(table: str) -> dict[str, dict[str, Setting]]:
    """Return method → data set → parameters, as far as a table of the paper needed them."""
    settings: dict[str, dict[str, Setting]] = {}
    text = files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["table"] == table:
            of_data = settings.setdefault(row["method"], {}).setdefault(row["data"], {})
            of_data[row["parameter"]] = _value(row["value"])
    return settings


def _value(text: str) -> float | str | bool:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def published_data(method: str) -> tuple[str, ...]:
    """Return the data sets for which a method has a published setting.

    Examples
    --------
    >>> published_data("LLSF")
    ('genbase', 'medical', 'CAL500', 'corel5k', 'rcv1subset1')
    """
    settings = _settings("comparison")
    if method not in settings:
        raise ValueError(f"{method!r} has no published settings; {', '.join(settings)} have")
    return tuple(name for name in settings[method] if name != EVERY)


def published_setting(method: str, name: str, *, reference: bool = False) -> Setting:
    """Return the parameters behind a method's published results on a data set.

    Parameters
    ----------
    method : str
        The name of a class, ``"GroPLE"`` or a baseline.
    name : str
        One of the paper's data sets; a suffix as in ``"genbase-authors"`` is fine.
    reference : bool
        Whether to add the choices of the reference that are the same for all data sets (the
        intercept, the decision, ...).

    Examples
    --------
    >>> published_setting("GroPLE", "genbase-authors")
    {'alpha': 0.1, 'beta': 0.0001}
    >>> published_setting("LLSF", "iris")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: LLSF has no published setting for 'iris'; it has one for genbase, medical, ...
    """
    known = published_data(method)
    settings = _settings("comparison")[method]
    found = _named(settings, name)
    if found is None:
        raise ValueError(
            f"{method} has no published setting for {name!r}; it has one for {', '.join(known)}"
        )
    return settings.get(EVERY, {}) | found if reference else found


def approximation_setting(method: str, name: str) -> Setting:
    """Return the parameters in which a published approximation differs from the comparison.

    Examples
    --------
    >>> approximation_setting("CPLST", "CAL500"), approximation_setting("PLST", "CAL500")
    ({'ridge': 0.1}, {})
    """
    return _named(_settings("approximation").get(method, {}), name) or {}


def _named(settings: dict[str, Setting], name: str) -> Setting | None:
    """Return a copy of the setting of a data set, by its name with or without a suffix."""
    by_name = {data.lower(): setting for data, setting in settings.items() if data != EVERY}
    for key in (name.lower(), name.lower().partition("-")[0]):
        if key in by_name:
            return dict(by_name[key])
    return None
