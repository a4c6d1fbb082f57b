"""The exceptions a user can meet, and the one sentence for a missing extra."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["DataError", "MissingExtraError", "ModelFileError", "require"]


class DataError(ValueError):
    """A data file that cannot be read as what it claims to be.

    Parameters
    ----------
    reason : str
        What is wrong and, where it helps, what to do.
    file : path, optional
        The file.
    line : int, optional
        The line, counted from one.

    Examples
    --------
    >>> print(DataError("expected 3 columns, found 2", file="x.csv", line=7))
    x.csv, line 7: expected 3 columns, found 2
    """

    def __init__(
        self, reason: str, *, file: str | Path | None = None, line: int | None = None
    ) -> None:
        self.reason = reason
        self.file = None if file is None else str(file)
        self.line = line
        place = ", ".join(
            ([self.file] if self.file is not None else [])
            + ([f"line {line}"] if line is not None else [])
        )
        super().__init__(f"{place}: {reason}" if place else reason)


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
