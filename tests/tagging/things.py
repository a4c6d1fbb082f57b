"""A few dozen made-up things with texts and tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn.base import clone

from grople.datasets import spread_labels
from grople.tagging import Examples, Tagger, rows_of

__all__ = ["fitted_afresh", "make_documents", "write_documents"]

THINGS = {
    "game": ("a chess game for two players", "a card game", "an arcade game with sound"),
    "server": ("a fast http server", "a mail server daemon", "a server for files"),
    "editor": ("an editor for text files", "a small text editor", "an editor of sound files"),
}


def make_documents() -> list[dict[str, object]]:
    """Sixty-three texts; a tag says what a thing is, another what it deals with."""
    found: list[dict[str, object]] = []
    for copy in range(7):
        for tag, texts in THINGS.items():
            for number, text in enumerate(texts):
                tags = [tag, *(word for word in ("files", "sound") if word in text)]
                name = f"{tag}-{copy}-{number}"
                words = f"{text} {'old ' * (copy % 3)}thing{copy}"
                found.append({"name": name, "text": words, "tags": tags})
    return found


def fitted_afresh(tagger: Tagger, found: Any) -> Any:
    """Return a model of examples with a tagger's words, its grid and its order of labels."""
    examples = Examples.of(found)
    Y = spread_labels(examples.Y, examples.label_names, list(tagger.model.classes_))
    return clone(tagger.model).fit(rows_of(tagger.features, examples), Y, like=tagger.model)


def write_documents(folder: Path) -> None:
    """Write them as JSON lines, all and in two parts, and as a table."""
    documents = make_documents()
    lines = [json.dumps(document) for document in documents]
    for name, part in (("things", lines), ("more", lines[-9:]), ("fewer", lines[:-9])):
        (folder / f"{name}.jsonl").write_text("\n".join(part) + "\n")
    rows = [f"{d['name']},{d['text']},{';'.join(d['tags'])}" for d in documents]  # type: ignore[arg-type]
    (folder / "things.csv").write_text("\n".join(["name,text,tags", *rows]) + "\n")
