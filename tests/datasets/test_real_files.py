"""The real files: shapes and cardinalities as published, and all formats value for value alike."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from grople.datasets import Bundle, Reading, read, read_examples, write
from grople.datasets._formats._arff_rows import RowParser

pytestmark = pytest.mark.data

MULAN = {
    "genbase": "genbase",
    "medical": "medical",
    "cal500": "CAL500",
    "Corel5k-sparse": "corel5k",
    "bibtex": "bibtex",
    "delicious": "delicious",
}


def differences(one: Any, two: Any) -> int:
    """How many values differ after both take the narrower type."""
    dtype = min(one.dtype, two.dtype, key=lambda kind: np.dtype(kind).itemsize)
    return (sp.csr_array(one).astype(dtype) != sp.csr_array(two).astype(dtype)).nnz


@pytest.fixture(scope="module", params=MULAN)
def mulan(request: pytest.FixtureRequest, shared_data: Path) -> tuple[Bundle, Bundle]:
    """A data set read from its ARFF file and from its ``.npz`` file."""
    name = MULAN[request.param]
    return (
        read(shared_data / "mulan" / f"{request.param}.arff", name=name),
        read(shared_data / "npz" / f"{name}.npz"),
    )


def test_as_published(mulan: tuple[Bundle, Bundle], paper_tables: Path) -> None:
    bundle, _ = mulan
    with open(paper_tables / "datasets.csv", newline="") as stream:
        row = next(row for row in csv.DictReader(stream) if row["dataset"] == bundle.name)
    published = (int(row["instances"]), int(row["features"]), int(row["labels"]))
    assert (bundle.n_rows, bundle.n_features, bundle.n_labels) == published
    assert f"{bundle.cardinality:.3f}" == row["cardinality"]


def test_arff_equals_npz(mulan: tuple[Bundle, Bundle]) -> None:
    arff, npz = mulan
    assert differences(arff.X, npz.X) == 0
    assert (arff.Y != npz.Y).nnz == 0
    assert arff.feature_names == npz.feature_names
    assert arff.label_names == npz.label_names


@pytest.mark.parametrize("file", MULAN)
def test_plain_files_never_need_the_precise_path(
    shared_data: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: Any) -> None:
        raise AssertionError("a plain block was read row by row")

    monkeypatch.setattr(RowParser, "_precise", slow)
    assert read(shared_data / "mulan" / f"{file}.arff").n_rows > 500


def test_the_identifier_of_genbase(shared_data: Path) -> None:
    bundle = read(shared_data / "mulan" / "genbase.arff")
    assert bundle.notes == ("identifier attribute 'protein' left out",)
    assert "protein" not in bundle.feature_names
    assert bundle.row_names[:2] == ("O00060", "O00139")


@pytest.mark.parametrize("name", ["genbase", "cal500"])
def test_converted_and_back(shared_data: Path, tmp_path: Path, name: str) -> None:
    bundle = read(shared_data / "mulan" / f"{name}.arff")
    for ending in (".npz", ".txt.gz", ".arff"):
        again = read(write(bundle, tmp_path / f"x{ending}")[0])
        assert differences(again.X, bundle.X) == 0
        assert (again.Y != bundle.Y).nnz == 0


@pytest.mark.parametrize("number", [1, 2, 3])
def test_matlab(shared_data: Path, number: int) -> None:
    file = shared_data / "mat" / f"rcv1s{number}.mat"
    bundle = read(file)
    published = read(shared_data / "npz" / f"rcv1subset{number}.npz")
    assert differences(bundle.X, published.X) == 0
    assert (bundle.Y != published.Y).nnz == 0
    theirs = scipy.io.loadmat(file)
    assert differences(bundle.X, theirs["data"].astype(float)) == 0


def test_every_npz_file(shared_data: Path) -> None:
    files = sorted((shared_data / "npz").glob("*.npz"))
    assert len(files) >= 10
    for file in files:
        bundle = read(file)
        with np.load(file, allow_pickle=False) as arrays:
            X = sp.csr_array(
                (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), arrays["X_shape"]
            )
            assert differences(bundle.X, X) == 0
            assert bundle.X.dtype == arrays["X_data"].dtype
            assert bundle.Y.nnz == arrays["Y_indices"].size
            assert bundle.source == str(arrays["source"])


def test_debian_tags(shared_data: Path) -> None:
    file = shared_data / "debtags" / "debtags.jsonl.gz"
    table, _ = read_examples(file, Reading(ids="package"))
    assert len(table) == 30_303
    assert table.ids[0] == "0ad"
    labels = sorted({tag for tags in table.tags for tag in tags})
    assert len(labels) == 598
    assert round(sum(map(len, table.tags)) / len(table), 1) == 3.7
