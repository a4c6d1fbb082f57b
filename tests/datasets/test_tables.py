"""CSV, TSV and Parquet tables."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grople.datasets import Bundle, read
from grople.errors import DataError, MissingExtraError
from tests.datasets.samples import TSV, dense, finite, parquet, workbook


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def read_content(content: bytes | str, **options: Any) -> Bundle:
        file = tmp_path / "x.csv"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(file, format="csv", **options)

    return read_content


@pytest.fixture
def arrow(tmp_path: Path) -> Any:
    def read_columns(columns: dict[str, Any] | bytes, **options: Any) -> Bundle:
        file = tmp_path / "x.parquet"
        if isinstance(columns, bytes):
            file.write_bytes(columns)
        else:
            pyarrow.parquet.write_table(pyarrow.table(columns), file)
        return read(file, format="parquet", **options)

    return read_columns


class TestLabels:
    def test_prefix_found_or_given(self, table: Any) -> None:
        bundle = table(TSV)
        assert bundle.label_names == ("label_a", "label_b")
        assert bundle.Y.toarray().tolist() == [[0, 1], [1, 0]]
        assert table(TSV, labels="label_b*").label_names == ("label_b",)

    def test_names(self, table: Any) -> None:
        text = "x,a,b\n5,yes,TRUE\n6,no,-1\n"
        bundle = table(text, labels=["b", "a"])
        assert bundle.label_names == ("b", "a")
        assert bundle.Y.toarray().tolist() == [[1, 1], [0, 0]]

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({}, "which columns are labels"),
            ({"labels": ["c"]}, "no column 'c' for labels; there are 'x', 'a'"),
            ({"labels": "c"}, "no column 'c'"),
            ({"labels": "c*"}, "no column starts with 'c'"),
            ({"labels": ["x"]}, "line 2: label column 'x' holds 5, not 0 or 1"),
            ({"labels": ["a"], "ignore": ["c"]}, "no column 'c' for ignore"),
            ({"labels": ["a"], "ignore": ["x"]}, "no features"),
        ],
    )
    def test_refused(self, table: Any, options: Any, reason: str) -> None:
        with pytest.raises(DataError, match=reason):
            table("x,a\n5,1\n", **options)


class TestFeatures:
    def test_ignored_columns(self, table: Any) -> None:
        bundle = table("id,x,city,tags\n7,1,Rome,a\n8,2,Bonn,b\n", ignore=["id", "City"])
        assert bundle.feature_names == ("x",)

    def test_row_numbers_of_pandas(self, table: Any) -> None:
        frame = pd.DataFrame({"x": [1.5, 2.5], "flag": [True, False], "tags": ["a", "b"]})
        bundle = table(frame.to_csv())
        assert bundle.feature_names == ("x", "flag")
        assert dense(bundle.X).tolist() == [[1.5, 1], [2.5, 0]]
        assert "row numbers" in bundle.notes[0]

    def test_missing(self, table: Any) -> None:
        text = "x,y,tags\n1,,a\nNA,2,a\n"
        with pytest.raises(DataError, match="line 3: column 'x' is missing a value"):
            table(text)
        assert dense(table(text, missing="zero").X).tolist() == [[1, 0], [0, 2]]
        assert np.isnan(dense(table(text, missing="nan").X)).tolist() == [
            [False, True],
            [True, False],
        ]

    @pytest.mark.parametrize("cell", ["1_000", "inf", "1e999", "x", "٣", "0x10", "1,5"])
    def test_not_a_number(self, table: Any, cell: str) -> None:
        with pytest.raises(DataError, match=r"line 3: column 'x': .*pass ignore=\['x'\]"):
            table(f'x,tags\n1,a\n"{cell}",a\n')


class TestStructure:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    def test_delimiters(self, table: Any, mark: str) -> None:
        text = mark.join(["x", "y", "tags"]) + "\n" + mark.join(["1", "2", "a"]) + "\n"
        assert table(text).feature_names == ("x", "y")

    def test_quotes_lines_and_marks(self, table: Any) -> None:
        text = '\ufeff"a ""b""","c\nd",tags\r\n1,2,"x,y;z"\r\n\r\n3,4,z\r\n'
        bundle = table(text)
        assert bundle.feature_names == ('a "b"', "c\nd")
        assert bundle.label_names == ("x,y", "z")
        assert dense(bundle.X).tolist() == [[1, 2], [3, 4]]

    @pytest.mark.parametrize(
        ("content", "line", "reason"),
        [
            (b"", None, "empty file"),
            (b"x,tags\n", None, "no rows"),
            (b"x,x,tags\n1,2,a\n", None, "two columns are called 'x'"),
            (b"1,2,3\n4,5,6\n", 1, "the first line must name the columns"),
            (b"x,tags\n1,a\n1\n", 3, "expected 2 columns, found 1"),
            (b"x,tags\n1,a\n1,a,b\n", 3, "expected 2 columns, found 3"),
            (b'x,tags\n1,a\n1,"a\n', 3, "damaged table"),
            (b"x,tags\n1,a\n1,\xe9\n", 3, "byte 0xe9"),
            (b'x,tags\n"1\n",a\nz,a\n', 4, "'z' is not a number"),
        ],
    )
    def test_refused(self, table: Any, content: bytes, line: int | None, reason: str) -> None:
        with pytest.raises(DataError, match=reason) as caught:
            table(content)
        assert caught.value.line == line

    @settings(
        max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        rows=st.lists(st.tuples(finite, finite, st.booleans()), min_size=1, max_size=6),
        mark=st.sampled_from(",;\t"),
    )
    def test_reads_what_pandas_writes(self, table: Any, rows: Any, mark: str) -> None:
        frame = pd.DataFrame(rows, columns=["x", "y z", "good"])
        text = frame.to_csv(index=False, sep=mark)
        bundle = table(text, labels=["good"])
        assert np.array_equal(dense(bundle.X), frame[["x", "y z"]].to_numpy())
        assert np.array_equal(bundle.Y.toarray()[:, 0], frame["good"].to_numpy())


class TestParquet:
    def test_columns(self, arrow: Any) -> None:
        bundle = arrow({"n": [1, 2], "label_a": [True, False], "label_b": [0, 1]})
        assert bundle.feature_names == ("n",)
        assert bundle.label_names == ("label_a", "label_b")
        assert bundle.Y.toarray().tolist() == [[1, 0], [0, 1]]
        tags = arrow({"n": [1, 2, 3], "tags": ["a;b", None, "b"]})
        assert tags.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]

    @pytest.mark.parametrize(
        ("columns", "reason"),
        [
            ({"n": [1, None], "tags": ["a", "b"]}, "row 2: column 'n' is missing a value"),
            ({"n": [1.0, np.inf], "tags": ["a", "b"]}, "row 2: column 'n' is infinite"),
            ({"n": ["x", "y"], "tags": ["a", "b"]}, "row 1: column 'n': 'x' is not a number"),
            ({"n": [1, 2], "tags": [[[1]], [[2]]]}, "row 1: tags must be text or a list of texts"),
            ({"n": [1, 2], "label_a": [1, 2]}, "row 2: label column 'label_a' holds 2"),
            (parquet()[:-20], "damaged Parquet"),
            (b"PAR1", "damaged Parquet"),
        ],
    )
    def test_refused(self, arrow: Any, columns: Any, reason: str) -> None:
        with pytest.raises(DataError, match=reason):
            arrow(columns)

    def test_more_cells_than_allowed(self, arrow: Any) -> None:
        columns = {"n": np.zeros(10_000), "tags": ["a"] * 10_000}
        with pytest.raises(DataError, match="unpacks to more than 100,000 bytes"):
            arrow(columns, max_bytes=100_000)

    def test_without_pyarrow(self, arrow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        content = parquet()
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(MissingExtraError, match=r"grople\[tables\]"):
            arrow(content)


class TestExcel:
    def test_read(self, tmp_path: Path) -> None:
        rows = [["x", "flag", "tags", None], [1.5, True, "a;b", None], [2, False, None, None]]
        (tmp_path / "x.xlsx").write_bytes(workbook(rows))
        bundle = read(tmp_path / "x.xlsx")
        assert bundle.feature_names == ("x", "flag")
        assert dense(bundle.X).tolist() == [[1.5, 1], [2, 0]]
        assert bundle.Y.toarray().tolist() == [[1, 1], [0, 0]]

    def test_cells_as_openpyxl_gives_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = [("x", "flag", "tags", None), (None, None, None, None), (1.5, True, "a;b", None),
                (2, False, None, None)]  # fmt: skip
        sheet = SimpleNamespace(iter_rows=lambda values_only: iter(rows))
        book = SimpleNamespace(worksheets=[sheet])
        stand_in = SimpleNamespace(load_workbook=lambda stream, **options: book)
        monkeypatch.setitem(sys.modules, "openpyxl", stand_in)
        with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        bundle = read(tmp_path / "x.xlsx")
        assert dense(bundle.X).tolist() == [[1.5, 1], [2, 0]]
        assert bundle.Y.toarray().tolist() == [[1, 1], [0, 0]]
        rows[3] = ("word", False, None, None)
        with pytest.raises(DataError, match="line 4: column 'x': 'word' is not a number"):
            read(tmp_path / "x.xlsx")

    def test_damaged(self, tmp_path: Path) -> None:
        content = workbook([["x", "tags"], [1, "a"]])
        (tmp_path / "x.xlsx").write_bytes(content[: len(content) // 2])
        with pytest.raises(DataError, match="damaged"):
            read(tmp_path / "x.xlsx", format="excel")

    def test_without_openpyxl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(MissingExtraError, match=r"Excel file needs openpyxl.*grople\[tables\]"):
            read(tmp_path / "x.xlsx")
