"""A tagger of a file in blocks is that of the whole file, in a memory that no file sets."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from grople.datasets import Reading, make_grouped_multilabel, read_blocks, read_examples, write
from grople.errors import DataError
from grople.tagging import Examples, FeatureSettings, _large, fit_tagger, load_tagger, rows_of
from grople.tagging._large import fit_tagger_in_blocks, is_large, open_blocks
from tests.tagging.things import fitted_afresh

DATA = make_grouped_multilabel(240, 12, 6, n_groups=2, random_state=3)
SMALL = 700


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr("grople.files._sources.BLOCK_BYTES", 700)
    monkeypatch.setattr("grople.datasets._formats._tables._ROWS_AT_ONCE", 9)
    monkeypatch.setattr(_large, "read_blocks", partial(read_blocks, block_bytes=SMALL))


def write_file(kind, folder, things):
    if kind in ("things.jsonl", "things.csv"):
        return things / kind
    path = folder / kind
    X, Y = DATA.X.toarray(), DATA.Y.toarray()
    if kind.endswith((".txt", ".npz", ".arff")):
        write(DATA, path)
    elif kind == "rows.svm":
        lines = []
        for row, marks in zip(X, Y, strict=True):
            pairs = [f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v]
            lines.append(" ".join([",".join(map(str, np.flatnonzero(marks))), *pairs]))
        path.write_text("\n".join(lines) + "\n")
    else:
        head = ["id", *(f"f{j}" for j in range(12)), "word", *(f"l{j}" for j in range(6))]
        rows = [
            [f"r{i}", *(repr(float(v)) for v in X[i]), "blue", *map(str, Y[i])]
            for i in range(len(X))
        ]
        path.write_text("\n".join(",".join(cells) for cells in [head, *rows]) + "\n")
    return path


CASES = {
    "things.jsonl": Reading(),
    "things.csv": Reading(ids="name"),
    "rows.txt": Reading(),
    "rows.npz": Reading(features=("feature1*", "feature3")),
    "rows.arff": Reading(),
    "rows.svm": Reading(),
    "rows.csv": Reading(labels="l*", features=("f*",), ids="id"),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("method", ["grople", "ridge"])
def test_blocks_give_the_tagger_of_the_whole_file(kind, method, tmp_path, folder):
    path = write_file(kind, tmp_path, folder)
    examples, reading = read_examples(path, CASES[kind])
    text = {"max_features": 25, "ngrams": (1, 2)}
    normalize = kind == "rows.txt"
    settings = FeatureSettings(
        normalize=normalize, ngrams=text.get("ngrams", (1, 1))[1], characters=False,
        max_features=text.get("max_features", 20_000),
    )  # fmt: skip
    expected, facts = fit_tagger(examples, reading, method=method, features=settings)
    blocks, how = open_blocks(path, CASES[kind])
    assert len(list(blocks)) > 2
    tagger, found = fit_tagger_in_blocks(blocks, how, method=method, normalize=normalize, text=text)
    assert how == reading
    assert found == facts
    assert tagger.notes["data"] == asdict(facts)
    assert tagger.features.names.tolist() == expected.features.names.tolist()
    assert tagger.model.classes_.tolist() == expected.model.classes_.tolist()
    X = rows_of(expected.features, Examples.of(examples))
    # The same to the last bit on the grid of the first block, which is coarser than that of all.
    fresh = fitted_afresh(tagger, examples)
    np.testing.assert_array_equal(tagger.model.predict_proba(X), fresh.predict_proba(X))
    np.testing.assert_allclose(
        tagger.model.decision_function(X), expected.model.decision_function(X), atol=1e-4
    )
    assert (tagger.model.predict(X) != expected.model.predict(X)).nnz == 0
    tagger.save(tmp_path / "m.grople")
    again = load_tagger(tmp_path / "m.grople", with_rows=True)
    np.testing.assert_array_equal(again.model.predict_proba(X), tagger.model.predict_proba(X))


def test_only_what_can_be_stored_is_fitted(folder):
    with pytest.raises(ValueError, match="cannot be stored"):
        fit_tagger_in_blocks(*open_blocks(folder / "things.jsonl"), method="bsvm")


def test_as_many_words_are_kept_as_matrices_have_room_for(folder):
    blocks, reading = open_blocks(folder / "things.jsonl")
    tagger, _ = fit_tagger_in_blocks(blocks, reading, method="ridge")
    assert tagger.notes["text"]["max_features"] == _large.WORDS


@pytest.mark.parametrize(
    ("name", "content", "reading", "message"),
    [
        ("a.jsonl", '{"text": "a word", "tags": []}\n' * 3, Reading(), "no labels"),
        ("a.jsonl", '{"text": "!", "tags": ["x"]}\n', Reading(), "no features"),
        ("a.jsonl", '{"text": "a word", "tags": ["x"]}\n{"tex', Reading(), "line 2: not JSON"),
        ("a.csv", "f,g\n1,2\n", Reading(labels="x"), "no column 'x'"),
        ("a.txt", "1 2 1\n0 0:1\n", Reading(features=("a",)), "no names to choose by"),
        ("a.txt", "1 2 1\n0 0:1\n", Reading(text="a"), "leave out text="),
        ("medical", None, Reading(), "only files"),
    ],
)
def test_mistakes_are_named(name, content, reading, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        fit_tagger_in_blocks(*open_blocks(name, reading), method="ridge")


def test_a_file_larger_than_its_share_of_the_memory_is_large(tmp_path, monkeypatch):
    path = tmp_path / "rows.txt"
    path.write_text("x" * 1000)
    assert not is_large(path)
    sizes = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 7999}
    monkeypatch.setattr(_large.os, "sysconf", sizes.__getitem__)
    assert is_large(path)
    sizes["SC_PHYS_PAGES"] = 8000
    assert not is_large(path)
    path.write_bytes(b"PK" + b"x" * 998)  # unpacks to several times its size
    assert is_large(path)


MEASURE = """
import sys
from grople.baselines import Ridge
from grople.datasets import read_blocks
def peak():
    # Not ru_maxrss, which begins with the memory of the process that started this one.
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
def fit(path):
    options = {"labels": path.replace("X", "Y")} if path.endswith("npy") else {}
    model = Ridge(max_kept_rows=100).fit_blocks(read_blocks(path, block_bytes=1 << 20, **options))
    return model.summary_.n_rows
for small, large in zip(sys.argv[1::2], sys.argv[2::2]):
    fit(small)
    before = peak()
    print(fit(large), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_is_bounded_by_the_block(tmp_path, monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    paths, sizes = [], {"npy": (50_000, 300_000), "txt": (20_000, 60_000)}
    for kind, rows in [(key, number) for key, pair in sizes.items() for number in pair]:
        paths.append(tmp_path / f"X{rows}.{kind}")
        X = rng.integers(1, 9, size=(rows, 40))
        if kind == "npy":
            np.save(paths[-1], X.astype(np.float64))
            np.save(tmp_path / f"Y{rows}.npy", (X[:, :3] > 6).astype(np.int8))
        else:
            pairs = "".join(f" {j}:%d" for j in range(40))
            body = "\n".join("0" + pairs % tuple(row) for row in X.tolist())
            paths[-1].write_text(f"{rows} 40 3\n{body}\n")
    # An allocator that gives back at once what is freed: its reserves are not what is measured.
    frugal = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, paths)],
        capture_output=True, text=True, check=True, env=os.environ | frugal,
    )  # fmt: skip
    for line, rows in zip(found.stdout.splitlines(), sizes.values(), strict=True):
        n, growth = map(int, line.split())
        assert n == rows[1]
        # The arrays of the further rows alone would take 80 and 19 MB.
        assert growth < 4 << 20
