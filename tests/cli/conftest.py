"""The command line in a process of its own, in this one, and on a pseudo-terminal."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys

import pytest

from grople.cli import main
from grople.datasets import Reading, read_examples
from grople.tagging import fit_tagger
from tests.tagging.things import write_documents


@pytest.fixture
def isolated(tmp_path, monkeypatch):
    """An empty folder, an empty cache, no data and no network."""
    for key in [key for key in os.environ if key.startswith("GROPLE_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("GROPLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GROPLE_MIRROR", "file:///does/not/exist")
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def grople_process(isolated):
    """Run ``python -m grople``, or other code, in a process of its own."""

    def run(*arguments: str, code: str | None = None, **settings: str):
        start = ["-m", "grople"] if code is None else ["-c", code]
        return subprocess.run(
            [sys.executable, *start, *arguments],
            env=os.environ | settings,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    return run


@pytest.fixture
def grople_command(isolated, monkeypatch, capsys):
    """Run the command line as ``python -m grople`` does, in this process: twenty times quicker."""

    def run(*arguments: str, **settings: str):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["grople", *arguments])
            for key, value in settings.items():
                patch.setenv(key, value)
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code or 0, out, err)

    return run


@pytest.fixture(scope="session")
def stored_model(tmp_path_factory):
    """A model file of a few texts."""
    folder = tmp_path_factory.mktemp("stored")
    write_documents(folder)
    examples, reading = read_examples(folder / "things.jsonl", Reading(ids="name"))
    fit_tagger(examples, reading, method="ridge")[0].save(folder / "m.grople")
    return folder / "m.grople"


@pytest.fixture
def things(isolated, tmp_path, stored_model):
    """Texts with tags in the working folder, and a model of them."""
    write_documents(tmp_path)
    shutil.copy(stored_model, tmp_path / "m.grople")
    return tmp_path


@pytest.fixture
def standard_input(monkeypatch):
    """Give the command a standard input."""

    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give
