"""``grople doctor``: what one pastes into a report of a defect."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import typer
from rich.console import Console
from threadpoolctl import threadpool_info

import grople
from grople import GroPLE
from grople.cli import options as o
from grople.cli.console import emit
from grople.datasets import find, locate, make_grouped_multilabel, names
from grople.errors import require
from grople.inspection import Table
from grople.io import load_model, save_model

__all__ = ["EXAMPLES", "doctor"]

EXAMPLES = "Example: grople doctor"
#: Rows of the test.
SELF_TEST_ROWS = 400


def doctor(json: o.Json = False, quiet: o.Quiet = False) -> None:
    """Show versions, threads, extras and data, and test itself in two seconds.

    Paste what it prints into a report of a defect. Ends with status 1 if the test fails.
    """
    found: dict[str, dict[str, Any]] = {
        "versions": _versions(),
        "machine": _machine(),
        "extras": _extras(),
        "data": _data(),
        "test": _self_test(),
    }
    emit(found, lambda console: _show(found, console), json=json, quiet=quiet)
    if not all(found["test"].values()):
        raise typer.Exit(1)


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _versions() -> dict[str, str | None]:
    core = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl")
    versions = {"grople": grople.__version__, "python": platform.python_version()}
    return versions | {package: _version_of(package) for package in core}


def _machine() -> dict[str, str]:
    pools = [f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()]
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        memory = float("nan")
    return {
        "system": platform.platform(),
        "cores": str(os.cpu_count()),
        "threads": ", ".join(sorted(set(pools))),
        "memory": f"{memory:.1f} GiB",
        "gpu": _gpu(),
    }


def _gpu() -> str:
    if _version_of("torch") is None:
        return "torch is not installed"
    torch = require("torch", "gpu", "Asking for a GPU")
    if not torch.cuda.is_available():
        return "torch finds none"
    return str(torch.cuda.get_device_name(0))


def _extras() -> dict[str, dict[str, str | None]]:
    """Return the packages of each extra with their versions."""
    found: dict[str, dict[str, str | None]] = {}
    for line in metadata.requires("grople") or ():
        requirement, _, condition = line.partition(";")
        extra = condition.partition("extra ==")[2].strip(" '\"")
        package = requirement.partition("[")[0].strip()
        package = package[: next((i for i, c in enumerate(package) if c in "<>=!~ "), None)]
        if extra and extra not in ("dev", "all") and package != "grople":
            found.setdefault(extra, {})[package] = _version_of(package)
    return found


def _data() -> dict[str, str]:
    """Return the data sets that are on this machine, and where."""
    places = {name: locate(find(name)) for name in names()}
    return {name: location.place for name, location in places.items() if location is not None}


def _self_test() -> dict[str, bool]:
    """Fit, store, add and remove rows: what must agree to the last bit does."""
    data = make_grouped_multilabel(SELF_TEST_ROWS, 30, 12, n_groups=3, random_state=0)
    half = SELF_TEST_ROWS // 2
    model = GroPLE(random_state=0).fit(data.X, data.Y)
    scores = model.decision_function(data.X)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "test.grople"
        save_model(file, model)
        stored = load_model(file)
        loaded = bool(np.array_equal(stored.decision_function(data.X), scores))
        stored.forget(data.X[half:], data.Y[half:]).partial_fit(data.X[half:], data.Y[half:])
        changed = bool(np.array_equal(stored.decision_function(data.X), scores))
    backwards = GroPLE(random_state=0).fit(data.X[::-1], data.Y[::-1], like=model)
    turned = bool(np.array_equal(backwards.decision_function(data.X), scores))
    return {
        "a stored model predicts the same": loaded,
        "removing and adding rows changes nothing": changed,
        "the order of rows changes nothing": turned,
    }


def _show(found: Mapping[str, Any], console: Console) -> None:
    lines = [(name, version or "missing") for name, version in found["versions"].items()]
    lines += found["machine"].items()
    for extra, packages in found["extras"].items():
        shown = ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())
        lines.append((f"extra {extra}", shown))
    here = [f"{name} ({place})" for name, place in found["data"].items()]
    lines.append(("data", ", ".join(here)))
    lines += [(test, "yes" if passed else "NO") for test, passed in found["test"].items()]
    console.print(Table(["", ""], lines))
