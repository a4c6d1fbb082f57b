"""``read`` and ``write``: detection, compression, limits, round trips, whole files or none."""

from __future__ import annotations

import gzip
import itertools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grople.datasets import READERS, WRITERS, Bundle, detect, read, write
from grople.errors import DataError
from tests.datasets.samples import (
    CSV,
    DENSE_ARFF,
    JSONL,
    LABELS_XML,
    bundles,
    dense,
    npz,
    valid_files,
)

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ENDINGS = {"npz": ".npz", "extreme": ".txt", "arff": ".arff"}


def same_values(one: Bundle, two: Bundle) -> bool:
    return np.array_equal(dense(one.X), dense(two.X)) and (one.Y != two.Y).nnz == 0


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)


class TestDetection:
    @pytest.mark.parametrize(
        ("format", "content"),
        [(format, content) for format, files in valid_files().items() for content in files],
    )
    def test_by_content_whatever_the_name(
        self, tmp_path: Path, format: str, content: bytes
    ) -> None:
        for name in ("data", "data.npz", "data.csv"):
            (tmp_path / name).write_bytes(content)
            assert detect(tmp_path / name) == format
        if not content.startswith(b"\x1f\x8b"):
            (tmp_path / "packed").write_bytes(gzip.compress(content))
            assert detect(tmp_path / "packed") == format

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "an empty file"),
            (b"hello\n", "pass format="),
            (b"\x00\x01\x02,\x03", "pass format="),
            (LABELS_XML, "label header"),
        ],
    )
    def test_unknown(self, tmp_path: Path, content: bytes, reason: str) -> None:
        (tmp_path / "what").write_bytes(content)
        with pytest.raises(DataError, match=reason):
            read(tmp_path / "what")

    def test_options_reach_the_reader(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(CSV)
        assert read(tmp_path / "x", labels="tags", separator=";", name="mine").name == "mine"
        with pytest.raises(TypeError, match="separater"):
            read(tmp_path / "x", separater="|")

    def test_mistakes_in_the_call(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(npz())
        with pytest.raises(ValueError, match="unknown format 'word': choose from arff"):
            read(tmp_path / "x", format="word")
        with pytest.raises(ValueError, match="leave out labels="):
            read(tmp_path / "x", labels=["a"])


class TestOpening:
    @pytest.mark.parametrize("format", [None, *READERS])
    def test_no_such_file_and_folders(self, tmp_path: Path, format: str | None) -> None:
        with pytest.raises(DataError, match="no such file"):
            read(tmp_path / "nothing", format=format)
        with pytest.raises(DataError, match="a directory, not a file"):
            read(tmp_path, format=format)

    def test_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "x"
        file.write_bytes(CSV)

        def refuse(*_: Any, **__: Any) -> Any:
            raise PermissionError(13, "Permission denied")

        # The file's mode means nothing to the superuser, as whom tests may run.
        monkeypatch.setattr("builtins.open", refuse)
        with pytest.raises(DataError, match="no permission to read it"):
            read(file)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(DataError, match="not a regular file"):
            read(tmp_path / "pipe")

    def test_impossible_names(self) -> None:
        with pytest.raises(DataError, match="cannot be opened"):
            read("a\0b")
        with pytest.raises(DataError, match="cannot be opened"):
            read("a" * 5000)

    @pytest.mark.parametrize(("format", "contents"), valid_files().items())
    def test_gzip_is_transparent(self, tmp_path: Path, format: str, contents: list[bytes]) -> None:
        content = contents[0]
        (tmp_path / "plain").write_bytes(content)
        (tmp_path / "packed").write_bytes(gzip.compress(content))
        assert same_values(read(tmp_path / "plain"), read(tmp_path / "packed"))

    @pytest.mark.parametrize(
        "content",
        [DENSE_ARFF + b"% " + b"x" * 10**7, JSONL + b" " * 10**7, b"1 1 1\n" + b" " * 10**7],
    )
    def test_a_bomb_is_stopped_at_the_limit(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "x.gz"
        file.write_bytes(gzip.compress(content))
        assert file.stat().st_size < 20_000
        with pytest.raises(DataError, match="unpacks to more than 2,000,000 bytes; raise max_by"):
            read(file, max_bytes=2_000_000)

    @pytest.mark.parametrize("cut", [5, 30, -4])
    def test_damaged_gzip(self, tmp_path: Path, cut: int) -> None:
        file = tmp_path / "x.gz"
        file.write_bytes(gzip.compress(DENSE_ARFF)[:cut])
        with pytest.raises(DataError, match="truncated"):
            read(file)
        file.write_bytes(gzip.compress(DENSE_ARFF)[:-8] + bytes(8))
        with pytest.raises(DataError, match="damaged gzip"):
            read(file)


class TestRoundTrips:
    @pytest.mark.parametrize(("first", "second"), [*itertools.product(WRITERS, WRITERS)])
    @settings(quick, max_examples=15)
    @given(bundle=bundles())
    def test_any_to_any(self, tmp_path: Path, first: str, second: str, bundle: Bundle) -> None:
        one = write(bundle, tmp_path / f"one{ENDINGS[first]}")[0]
        two = tmp_path / f"two{ENDINGS[second]}"
        middle = read(one)
        write(middle, two)
        last = read(two)
        assert same_values(middle, bundle)
        assert same_values(last, bundle)
        if "extreme" not in (first, second):
            assert last.feature_names == bundle.feature_names
            assert last.label_names == bundle.label_names

    @quick
    @given(bundle=bundles(), format=st.sampled_from([*WRITERS]))
    def test_packed(self, tmp_path: Path, bundle: Bundle, format: str) -> None:
        files = write(bundle, tmp_path / f"x{ENDINGS[format]}.gz")
        assert files[0].read_bytes().startswith(b"\x1f\x8b")
        assert same_values(read(files[0]), bundle)

    @pytest.mark.parametrize("format", WRITERS)
    def test_single_precision_is_exact(self, tmp_path: Path, format: str) -> None:
        X = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
        X[0, 0], X[1, 1] = np.float32(1e-45), np.float32(3.4e38)
        bundle = Bundle(X, np.eye(30, 2, dtype=int))
        again = read(write(bundle, tmp_path / f"x{ENDINGS[format]}")[0])
        assert np.array_equal(dense(again.X).astype(np.float32), X)

    def test_stored_zeros_do_not_matter(self, tmp_path: Path) -> None:
        X = sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
        bundle = Bundle(X, np.array([[1]]))
        for format in WRITERS:
            assert same_values(read(write(bundle, tmp_path / f"x{ENDINGS[format]}")[0]), bundle)

    def test_features_called_like_labels(self, tmp_path: Path) -> None:
        bundle = Bundle(
            np.ones((2, 4)),
            np.eye(2),
            feature_names=["java", "c", "c", "c_2"],
            label_names=["java", "x"],
        )
        with pytest.warns(UserWarning, match=r"2 features share .*'java' to 'java_2'"):
            files = write(bundle, tmp_path / "x.arff")
        again = read(files[0])
        assert again.label_names == ("java", "x")
        assert again.feature_names == ("java_2", "c", "c_3", "c_2")
        assert same_values(again, bundle)


class TestWriting:
    bundle = Bundle(np.eye(2), np.eye(2))

    def test_formats(self, tmp_path: Path) -> None:
        assert [path.name for path in write(self.bundle, tmp_path / "x.arff")] == [
            "x.arff",
            "x.xml",
        ]
        assert detect(write(self.bundle, tmp_path / "x.dat", format="extreme")[0]) == "extreme"
        assert detect(write(self.bundle, str(tmp_path / "X.NPZ"))[0]) == "npz"
        with pytest.raises(ValueError, match="cannot tell the format from the name 'x"):
            write(self.bundle, tmp_path / "x.csv")
        with pytest.raises(ValueError, match="unknown format 'csv': choose from npz"):
            write(self.bundle, tmp_path / "x.csv", format="csv")

    @pytest.mark.parametrize("format", WRITERS)
    def test_no_place_to_write(self, tmp_path: Path, format: str) -> None:
        with pytest.raises(DataError, match="cannot be written"):
            write(self.bundle, tmp_path / "nowhere" / "x", format=format)

    @pytest.mark.parametrize("format", WRITERS)
    def test_a_failure_leaves_the_old_file(
        self, tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / f"x{ENDINGS[format]}"
        write(self.bundle, path)
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(DataError, match=r"cannot be written .No space left"):
            write(Bundle(np.ones((3, 3)), np.ones((3, 1))), path)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before

    @pytest.mark.parametrize("format", WRITERS)
    def test_missing_values_are_not_written(self, tmp_path: Path, format: str) -> None:
        with pytest.raises(ValueError, match="NaN or infinity"):
            write(Bundle(np.array([[np.nan]]), np.array([[1]])), tmp_path / "x", format=format)
        assert list(tmp_path.iterdir()) == []

    def test_names_that_a_format_cannot_hold(self, tmp_path: Path) -> None:
        named = Bundle(np.array([[1.0]]), np.array([[1]]), label_names=["a\0"])
        with pytest.raises(ValueError, match="NUL"):
            write(named, tmp_path / "x.npz")
        twice = Bundle(np.eye(2), np.eye(2), label_names=["a", "a"])
        with pytest.raises(ValueError, match="two labels have the same name"):
            write(twice, tmp_path / "x.arff")

    def test_permissions_follow_the_umask(self, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.touch()
        (path,) = write(self.bundle, tmp_path / "x.npz")
        assert path.stat().st_mode == plain.stat().st_mode

    def test_no_warning_without_need(self, tmp_path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            write(self.bundle, tmp_path / "x.arff")
