"""What a number was computed with."""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["environment"]

PACKAGES = ("grople", "numpy", "scipy", "scikit-learn")


@functools.cache
def environment() -> dict[str, str]:
    """Return the versions that results depend on, the code itself among them.

    Examples
    --------
    >>> sorted(environment())
    ['code', 'grople', 'machine', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    return {name: _version(name) for name in PACKAGES} | {
        "code": _code(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _code() -> str:
    """Return a fingerprint of the source of this package."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a checkout that was not installed
        import grople

        return grople.__version__ if name == "grople" else "unknown"
