"""Small files of things and tags, and a tagger fitted on them."""

from __future__ import annotations

import json

import pytest

from grople.tagging.fitting import fit_tagger
from grople.tagging.reading import read_examples

THINGS = {
    "game": ("a chess game for two players", "a card game", "an arcade game with sound"),
    "server": ("a fast http server", "a mail server daemon", "a server for files"),
    "editor": ("an editor for text files", "a small text editor", "an editor of sound files"),
}


@pytest.fixture(scope="session")
def documents():
    """Sixty texts; a tag says what a thing is, another what it deals with."""
    found = []
    for copy in range(7):
        for tag, texts in THINGS.items():
            for number, text in enumerate(texts):
                tags = [tag]
                tags += ["files"] if "files" in text else []
                tags += ["sound"] if "sound" in text else []
                found.append(
                    {
                        "name": f"{tag}-{copy}-{number}",
                        "text": f"{text} {'old ' * (copy % 3)}thing{copy}",
                        "tags": tags,
                    }
                )
    return found


@pytest.fixture(scope="session")
def folder(documents, tmp_path_factory):
    """The documents as JSON lines and as tables."""
    path = tmp_path_factory.mktemp("things")
    lines = [json.dumps(document) for document in documents]
    (path / "things.jsonl").write_text("\n".join(lines) + "\n")
    (path / "more.jsonl").write_text("\n".join(lines[-9:]) + "\n")
    (path / "fewer.jsonl").write_text("\n".join(lines[:-9]) + "\n")
    rows = [f"{d['name']},{d['text']},{';'.join(d['tags'])}" for d in documents]
    (path / "things.csv").write_text("\n".join(["name,text,tags", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def tagger(folder):
    """A tagger of those texts."""
    examples, reading = read_examples(folder / "things.jsonl")
    return fit_tagger(examples, reading, method="ridge", text={"min_df": 1})[0]
