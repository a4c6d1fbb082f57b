"""Virtual environments of the competitors, made on demand."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.table import ENVIRONMENTS, FOLDER, Environment

__all__ = ["install", "installed", "interpreter", "versions"]

#: An installation that takes longer is given up.
INSTALL_SECONDS = 480
STAMP = "installed.json"


def place(name: str) -> Path:
    return FOLDER / "environments" / name


def interpreter(name: str) -> Path:
    """Return the Python of an environment."""
    return place(name) / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def digest(environment: Environment) -> str:
    """Return what changes when the pins change."""
    return hashlib.sha256(repr((environment.packages, environment.bare)).encode()).hexdigest()[:12]


def installed(name: str) -> bool:
    """Return whether an environment is there, with the present pins."""
    try:
        return json.loads((place(name) / STAMP).read_text())["pins"] == digest(ENVIRONMENTS[name])
    except (OSError, ValueError, KeyError):
        return False


def versions(name: str) -> dict[str, str]:
    """Return the versions of all packages in an environment, as they were when it was made."""
    return json.loads((place(name) / STAMP).read_text())["versions"]


def install(name: str) -> str:
    """Make an environment afresh and return an empty text, or why that failed."""
    environment, folder = ENVIRONMENTS[name], place(name)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    for packages, options in ((environment.packages, ()), (environment.bare, ("--no-deps",))):
        if packages and (reason := pip(name, "install", *options, *packages)):
            return reason
    listed = pip_output(name, "list", "--format", "json")
    found = {package["name"]: package["version"] for package in json.loads(listed.stdout)}
    stamp = {"pins": digest(environment), "versions": found}
    (folder / STAMP).write_text(json.dumps(stamp, indent=1))
    return ""


def pip(name: str, *arguments: str) -> str:
    """Run pip in an environment; return an empty text, or the end of what it said."""
    try:
        done = pip_output(name, *arguments)
    except subprocess.TimeoutExpired:
        return f"pip took more than {INSTALL_SECONDS} s"
    return last_line(done.stderr or done.stdout) if done.returncode else ""


def pip_output(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = (
        str(interpreter(name)), "-m", "pip", "--disable-pip-version-check", *arguments,
    )  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)


def last_line(text: str) -> str:
    """Return the last line with an error in it, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    return ([line for line in lines if "error" in line.lower()] or lines)[-1][:300]
