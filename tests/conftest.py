"""Where the real data sets are, and one visible line when they are not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def data_dir() -> Path | None:
    """Return the folder of real data sets: ``$GROPLE_DATA``, else ``../shared/data``."""
    named = os.environ.get("GROPLE_DATA")
    candidates = [Path(named)] if named else [ROOT.parent / "shared" / "data"]
    return next((path for path in candidates if (path / "npz").is_dir()), None)


def chromium() -> str | None:
    """Return a Chromium to drive, if the machine has one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = {
        "data": None if data_dir() else "real data sets not found: set GROPLE_DATA",
        "browser": None if chromium() else "no Chromium found",
    }
    for item in items:
        for marker, reason in missing.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_report_header() -> list[str]:
    found, browser = data_dir(), chromium()
    return [
        f"real data sets: {found or 'none found; tests on them skip (set GROPLE_DATA)'}",
        f"chromium: {browser or 'none found; browser tests skip'}",
    ]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets (tests that use it are marked ``data``)."""
    found = data_dir()
    if found is None:
        pytest.skip("real data sets not found: set GROPLE_DATA")
    os.environ.setdefault("GROPLE_DATA", str(found))  # where load(name) looks
    return found


@pytest.fixture(scope="session")
def paper_tables(shared_data: Path) -> Path:
    """The published tables that lie beside the real data sets."""
    folder = shared_data.parent / "paper"
    if not folder.is_dir():
        pytest.skip("published tables not found beside the data sets")
    return folder
