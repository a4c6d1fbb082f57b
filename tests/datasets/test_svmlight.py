"""The Extreme Classification format and LIBSVM multi-label, against scikit-learn's reader."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer

from grople.datasets import Bundle, read
from grople.datasets._formats._svmlight_rows import RowGrammar
from grople.errors import DataError
from tests.datasets.samples import EXTREME, LIBSVM, dense

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def extreme(tmp_path: Path) -> Any:
    def read_content(content: bytes) -> Bundle:
        (tmp_path / "x.txt").write_bytes(content)
        return read(tmp_path / "x.txt", format="extreme")

    return read_content


@pytest.fixture
def libsvm(tmp_path: Path) -> Any:
    def read_content(content: bytes, **options: Any) -> Bundle:
        (tmp_path / "x.svm").write_bytes(content)
        return read(tmp_path / "x.svm", format="libsvm", **options)

    return read_content


class TestExtreme:
    def test_rows(self, extreme: Any) -> None:
        bundle = extreme(EXTREME)
        assert bundle.X.toarray().tolist() == [[1.5, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 0]]
        assert bundle.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
        assert bundle.X.dtype == np.float64

    @pytest.mark.parametrize(
        "content",
        [
            EXTREME.replace(b"\n", b"\r\n"),
            EXTREME.rstrip(),
            EXTREME + b"\n\n",
            EXTREME.replace(b"0:1.5 3:2", b"3:2  0:1.5 "),
            EXTREME.replace(b"0,1", b"1,0,1"),
            EXTREME.replace(b" 1:1", b" 1:1 2:0"),
        ],
    )
    def test_variants(self, extreme: Any, content: bytes) -> None:
        bundle, expected = extreme(content), extreme(EXTREME)
        assert (bundle.X != expected.X).nnz == 0
        assert (bundle.Y != expected.Y).nnz == 0

    def test_empty_rows_count(self, extreme: Any) -> None:
        bundle = extreme(b"4 2 2\n\n0 1:1\n\n\n")
        assert bundle.Y.toarray().tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]

    @pytest.mark.parametrize(
        ("content", "line", "reason"),
        [
            (b"", 1, "expected a header"),
            (b"3 4\n", 1, "expected a header"),
            (b"3 4 -2\n", 1, "expected a header"),
            (b"1 9999999999999 2\n0 1:1\n", 1, "too many"),
            (b"3 4 2\n0 1:1\n", 2, "promises 3 rows, the file has 1: truncated"),
            (b"1 4 2\n0 1:1\n1 1:1\n", 3, "the file has more"),
            (b"2 4 2\n0 1:1\n2 1:1\n", 3, "label 2 is out of range: 2 labels"),
            (b"2 4 2\n0 1:1\n-1 1:1\n", 3, "label -1 is out of range"),
            (b"2 4 2\n0 1:1\n0 4:1\n", 3, "feature index 4 is out of range: 0 to 3"),
            (b"2 4 2\n0 1:1\n0 -1:1\n", 3, "expected index:value, found '-1:1'"),
            (b"2 4 2\n0 1:1\n0 1:1 1:2\n", 3, "feature index 1 occurs twice"),
            (b"2 4 2\n0 1:1\n0 1:\n", 3, "feature 1: '' is not a number"),
            (b"2 4 2\n0 1:1\n0 1:x\n", 3, "feature 1: 'x' is not a number"),
            (b"2 4 2\n0 1:1\n0 1:nan\n", 3, "'nan' is not a finite number"),
            (b"2 4 2\n0 1:1\n0 1:1e999\n", 3, "not a finite number"),
            (b"2 4 2\n0 1:1\n0 1:1_0\n", 3, "'1_0' is not a number"),
            (b"2 4 2\n0 1:1\n0 1:\xff\n", 3, "is not a number"),
            (b"2 4 2\n0 1:1\na 1:1\n", 3, "label 'a' is not a whole number"),
            (b"2 4 2\n0 1:1\n0,,1 1:1\n", 3, "label '' is not a whole number"),
            (b"2 4 2\n0 1:1\n0 \xff:1\n", 3, "expected index:value"),
            (b"0 4 2\n", None, "no rows"),
        ],
    )
    def test_refused(self, extreme: Any, content: bytes, line: int | None, reason: str) -> None:
        with pytest.raises(DataError, match=reason) as caught:
            extreme(content)
        assert caught.value.line == line

    def test_a_header_alone_allocates_nothing(self, extreme: Any) -> None:
        tracemalloc.start()
        with pytest.raises(DataError, match="truncated"):
            extreme(b"999999999999 2147483647 2147483647\n0 1:1\n")
        bundle = extreme(b"1 2147483647 2147483647\n0 2147483646:1\n")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 50e6  # a list of the names alone would take gigabytes
        assert bundle.feature_names[2147483646] == "feature2147483646"


class TestLibsvm:
    def test_rows(self, libsvm: Any) -> None:
        bundle = libsvm(LIBSVM)
        assert bundle.label_names == ("3", "7")
        assert bundle.X.toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0], [3, 0, 0, 0]]
        assert bundle.Y.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]

    def test_given_sizes_line_up_test_and_training_files(self, libsvm: Any) -> None:
        bundle = libsvm(b"2 1:1\n", n_features=5, n_labels=4)
        assert bundle.X.shape == (1, 5)
        assert bundle.label_names == ("0", "1", "2", "3")
        assert bundle.Y.toarray().tolist() == [[0, 0, 1, 0]]

    def test_base(self, libsvm: Any) -> None:
        assert libsvm(b"1 1:1 3:1\n").n_features == 3
        assert libsvm(b"1 0:1 3:1\n").n_features == 4
        assert libsvm(b"1 1:1 3:1\n", first_index=0).n_features == 4

    @pytest.mark.parametrize(
        ("content", "options", "line", "reason"),
        [
            (b"1 1:1\n1 0:1\n", {"first_index": 1}, 2, "index 0 is out of range: 1 to"),
            (
                b"1 1:1\n1 3:1\n",
                {"n_features": 2, "first_index": 1},
                2,
                "index 3 is out of range",
            ),
            (b"1 0:1\n1 2:1\n", {"n_features": 2}, None, "past 2 features"),
            (b"1 1:1\n5 1:1\n", {"n_labels": 2}, 2, "label 5 is out of range"),
            (b"1.5 1:1\n", {}, 1, "label '1.5' is not a whole number"),
            (b"1 qid:3 1:1\n", {}, 1, "expected index:value, found 'qid:3'"),
            (b"1 99999999999:3\n", {}, 1, "out of range"),
            (b"1 1 1\n", {}, 1, "expected index:value"),
            (b"# nothing\n\n", {}, None, "no rows"),
            (b" 1:1\n", {}, None, "no labels"),
            (b"1\n", {}, None, "no features"),
        ],
    )
    def test_refused(
        self, libsvm: Any, content: bytes, options: Any, line: int | None, reason: str
    ) -> None:
        with pytest.raises(DataError, match=reason) as caught:
            libsvm(content, **options)
        assert caught.value.line == line

    @quick
    @given(data=st.data(), one_based=st.booleans())
    def test_agrees_with_scikit_learn(self, tmp_path: Path, data: Any, one_based: bool) -> None:
        n_rows, n_features = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
        # scikit-learn writes sixteen digits, which turns the largest numbers into infinity.
        cells = st.one_of(st.just(0.0), st.floats(-1e300, 1e300))
        X = np.array(
            data.draw(st.lists(cells, min_size=n_rows * n_features, max_size=n_rows * n_features))
        ).reshape(n_rows, n_features)
        label_sets = st.lists(st.integers(0, 4), unique=True, max_size=3).map(sorted)
        sets = data.draw(st.lists(label_sets, min_size=n_rows, max_size=n_rows))
        sets[0] = [*sets[0], 5]
        X[:, 0] = 1.0  # a row without anything is a blank line, which both skip
        Y = MultiLabelBinarizer(classes=range(6)).fit_transform(sets)
        stream = io.BytesIO()
        dump_svmlight_file(sp.csr_matrix(X), sp.csr_matrix(Y), stream, zero_based=not one_based,
                           multilabel=True, comment="by scikit-learn")  # fmt: skip
        file = tmp_path / "x.svm"
        file.write_bytes(stream.getvalue())
        theirs, their_sets = load_svmlight_file(
            str(file), multilabel=True, zero_based=not one_based, n_features=n_features
        )
        ours = read(file, format="libsvm", first_index=int(one_based), n_features=n_features)
        assert np.array_equal(dense(ours.X), theirs.toarray())
        names = np.array(ours.label_names, dtype=float)
        our_sets = [tuple(names[row.indices]) for row in (ours.Y[[i]] for i in range(n_rows))]
        assert our_sets == [tuple(sorted(labels)) for labels in their_sets]


LABELS = ["", "0", "1", "0,1", "2,0", "1,", "-1", "1.0", "7", "x"]
PAIRS = ["0:1", "1:2.5", "2:-3e1", "3:0", "9:1", "1:", ":1", "1:nan", "+1:1", "1:1_0", "1:1:1", "1"]
row = st.tuples(
    st.sampled_from(LABELS),
    st.lists(st.sampled_from(PAIRS), max_size=3),
    st.sampled_from(["", " "]),
).map(lambda parts: f"{parts[0]} {' '.join(parts[1])}{parts[2]}")
plain_row = st.tuples(
    st.sampled_from(LABELS[:5]), st.lists(st.sampled_from(PAIRS[:4]), max_size=3)
).map(lambda parts: " ".join([parts[0], *parts[1]]))


@settings(quick, max_examples=300)
@given(
    rows=st.one_of(st.lists(plain_row, max_size=4), st.lists(row, max_size=4)),
    extreme=st.booleans(),
)
def test_the_fast_path_agrees_with_the_precise_one(rows: list[str], extreme: bool) -> None:
    grammar = RowGrammar("f", feature_end=5, label_end=3 if extreme else None, blank_rows=extreme)
    block = "".join(line + "\n" for line in rows).encode() or b"\n"

    def attempt(parse: Any) -> Any:
        try:
            rows = parse(1, block)
        except DataError as error:
            return error.line, error.reason
        return dense(rows.features()).tolist(), rows.label_counts.tolist(), rows.labels.tolist()

    assert attempt(grammar.parse) == attempt(grammar._precise)
