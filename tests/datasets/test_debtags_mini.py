"""The embedded data set is what the tool makes from the public file."""

from __future__ import annotations

import importlib.util
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EMBEDDED = Path(str(resources.files("grople.datasets") / "bundled" / "debtags-mini.npz"))


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools" / "make_debtags_mini.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_small_and_free_of_sentences():
    assert EMBEDDED.stat().st_size <= 600_000
    with np.load(EMBEDDED, allow_pickle=False) as archive:
        words = [str(word) for word in archive["feature_names"]]
        assert str(archive["source"]).startswith("Debian package descriptions")
        assert set(archive.files) == {
            *("X_data", "X_indices", "X_indptr", "X_shape", "Y_indices", "Y_indptr", "Y_shape"),
            *("label_names", "feature_names", "row_names", "source"),
        }
    assert not any(" " in word for word in words)


@pytest.mark.data
def test_rerun_gives_the_embedded_file(tool, shared_data, tmp_path):
    source = shared_data / "debtags" / "debtags.jsonl.gz"
    arrays = tool.vectorise(tool.choose(tool.read_packages(source)))
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    tool.write_archive(arrays, first)
    tool.write_archive(arrays, second)
    assert first.read_bytes() == second.read_bytes()
    with (
        np.load(first, allow_pickle=False) as made,
        np.load(EMBEDDED, allow_pickle=False) as kept,
    ):
        assert made.files == kept.files
        for name in kept.files:
            assert made[name].dtype == kept[name].dtype, name
            assert np.array_equal(made[name], kept[name]), name


def test_one_package_of_a_family_and_none_without_description(tool):
    text = "synopsis of {}\nThe same paragraph.\n.\nAnother one."
    packages = [
        *(tool.Package(name, text.format(name), ("a::b", "c::d")) for name in ("one", "two")),
        tool.Package("bare", "synopsis only", ("a::b", "c::d")),
        tool.Package("single", "synopsis\nIts own paragraph.", ("a::b",)),
        tool.Package("other", "synopsis\nIts own words.", ("a::b", "c::d")),
    ]
    chosen = [package.name for package in tool.choose(packages)]
    assert len(chosen) == 2
    assert set(chosen) < {"one", "two", "other"}
    assert [package.name for package in tool.choose(packages[::-1])] == chosen


def test_terms(tool):
    assert tool.TERM.findall("a c++ and c# gtk+ x11, mp3; libfoo-dev 3d") == [
        *("c++", "and", "c#", "gtk", "x11", "mp3", "libfoo", "dev"),
    ]
