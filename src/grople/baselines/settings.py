"""The published setting of a data set, found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

__all__ = ["approximation_setting", "published_setting"]

Setting = TypeVar("Setting")


def published_setting(settings: Mapping[str, Setting], name: str) -> Setting:
    """Return the setting of a data set; a suffix as in ``"genbase-authors"`` is fine.

    Examples
    --------
    >>> published_setting({"CAL500": 0.1, "genbase": 1.0}, "genbase-authors")
    1.0
    >>> published_setting({"CAL500": 0.1}, "iris")
    Traceback (most recent call last):
        ...
    ValueError: there is no published setting for 'iris'; there is one for CAL500
    """
    by_name = {key.lower(): setting for key, setting in settings.items()}
    for key in (name.lower(), name.lower().partition("-")[0]):
        if key in by_name:
            return by_name[key]
    raise ValueError(
        f"there is no published setting for {name!r}; there is one for {', '.join(settings)}"
    )


#: Where the published approximation of the labels had another setting than the comparison.
_APPROXIMATION: dict[tuple[str, str], dict[str, Any]] = {
    ("CPLST", "CAL500"): {"ridge": 0.1},
    ("FaIE", "CAL500"): {"n_components": 0.2, "ridge": 0.1},
}


def approximation_setting(method: str, name: str) -> dict[str, Any]:
    """Return the parameters in which a published approximation differs from the comparison.

    Examples
    --------
    >>> approximation_setting("CPLST", "CAL500"), approximation_setting("PLST", "CAL500")
    ({'ridge': 0.1}, {})
    """
    return _APPROXIMATION.get((method, name), {})
