"""What a number was computed with."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["environment"]

PACKAGES = ("grople", "numpy", "scipy", "scikit-learn")


@functools.cache
def environment() -> dict[str, str]:
    """Return the versions that results depend on.

    Examples
    --------
    >>> sorted(environment())
    ['grople', 'machine', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    return {name: _version(name) for name in PACKAGES} | {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a checkout that was not installed
        import grople

        return grople.__version__ if name == "grople" else "unknown"
