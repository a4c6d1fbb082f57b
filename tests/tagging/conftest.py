"""Small files of things and tags, and a tagger fitted on them."""

from __future__ import annotations

import pytest

from grople.datasets import read_examples
from grople.tagging import FeatureSettings, fit_tagger
from tests.tagging.things import make_documents, write_documents


@pytest.fixture(scope="session")
def documents():
    return make_documents()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The documents as JSON lines and as a table."""
    path = tmp_path_factory.mktemp("things")
    write_documents(path)
    return path


@pytest.fixture(scope="session")
def tagger(folder):
    """A tagger of those texts."""
    examples, reading = read_examples(folder / "things.jsonl")
    return fit_tagger(examples, reading, method="ridge", features=FeatureSettings(min_df=1))[0]
