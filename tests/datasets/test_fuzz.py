"""Any byte string gives a bundle or a DataError: never another exception, never a hang."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grople.datasets import READERS, Bundle, Reading, read, read_blocks, read_examples
from grople.datasets._formats._mulan import read_label_names
from grople.errors import DataError
from tests.datasets.samples import dense, valid_files

VALID = valid_files()
TRIED = [format for format in READERS if format != "excel" or find_spec("openpyxl")]
fuzz = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Pieces of all the formats, so that random files get past the first line.
TOKENS = [
    *(b"@relation ", b"@attribute ", b"@data\n", b" numeric\n", b" {0,1}\n", b"string\n", b"-C 1"),
    *(b"{", b"}", b"'", b'"', b"\\", b",", b" ", b"\t", b"\n", b"\r\n", b"%", b"?", b"#", b":"),
    *(b"0", b"1", b"2", b"-1", b"1.5", b"1e999", b"nan", b"99999999999999999999", b"1 1 1\n", b"_"),
    *(b"0:1", b"1:1 ", b"tags", b"text", b'{"text": "', b'", "tags": ["', b'"]}', b"[", b"]"),
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", "é".encode()),
]


def attempt(call: Callable[[], Any]) -> Any:
    """What the call returns, or the DataError it raises; anything else it raises is a failure."""
    try:
        return call()
    except DataError as error:
        return error


def outcome(path: Path, content: bytes, format: str | None) -> None:
    path.write_bytes(content)
    whole = attempt(lambda: read_examples(path, Reading(format=format))[0])
    blocks = attempt(lambda: list(read_blocks(path, format=format)))
    if isinstance(whole, DataError) or isinstance(blocks, DataError):
        assert str(whole) == str(blocks), "one rule in both uses"
    elif isinstance(whole, Bundle):
        assert np.array_equal(np.vstack([dense(block.X) for block in blocks]), dense(whole.X))
        assert sum(block.Y.nnz for block in blocks) == whole.Y.nnz
    result = attempt(lambda: read(path, format=format))
    if isinstance(result, DataError):
        assert result.reason
        assert str(path) in str(result)
    else:
        assert isinstance(result, Bundle)
        assert min(result.n_rows, result.n_features, result.n_labels) > 0


@fuzz
@given(content=st.binary(max_size=200), format=st.sampled_from([None, *TRIED]))
def test_any_bytes(tmp_path: Path, content: bytes, format: str | None) -> None:
    outcome(tmp_path / "any", content, format)


@settings(fuzz, max_examples=300)
@given(
    tokens=st.lists(st.sampled_from(TOKENS), max_size=40),
    format=st.sampled_from([None, "arff", "extreme", "libsvm", "csv", "tsv", "jsonl"]),
)
def test_any_text(tmp_path: Path, tokens: list[bytes], format: str | None) -> None:
    outcome(tmp_path / "any", b"".join(tokens), format)


@st.composite
def damaged(draw: st.DrawFn, contents: list[bytes]) -> bytes:
    """A valid file with bytes replaced, removed, doubled, inserted or cut off."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(1, 4))):
        if not content:
            break
        start = draw(st.integers(0, len(content) - 1))
        end = min(start + draw(st.integers(1, 8)), len(content))
        match draw(st.sampled_from(["byte", "remove", "double", "insert", "cut"])):
            case "byte":
                content[start] = draw(st.sampled_from([0, 1, 127, 255]) | st.integers(0, 255))
            case "remove":
                del content[start:end]
            case "double":
                content[start:start] = content[start:end]
            case "insert":
                content[start:start] = draw(st.sampled_from(TOKENS))
            case "cut":
                del content[start:]
    return bytes(content)


def test_a_table_of_labels_alone_is_refused_for_one_reason(tmp_path: Path) -> None:
    outcome(tmp_path / "labels", b"label_a\tlabel_b\n1\t0\t1\n2\t1\t0\n", "tsv")


@pytest.mark.parametrize("format", VALID)
@fuzz
@given(data=st.data())
def test_damaged_files(tmp_path: Path, format: str, data: st.DataObject) -> None:
    content = data.draw(damaged(VALID[format]))
    outcome(tmp_path / "damaged", content, data.draw(st.sampled_from([None, format])))


@fuzz
@given(content=damaged([gzip.compress(content) for files in VALID.values() for content in files]))
def test_damaged_gzip(tmp_path: Path, content: bytes) -> None:
    outcome(tmp_path / "damaged.gz", content, None)


@fuzz
@given(
    content=damaged(
        [
            b'<?xml version="1.0"?><labels><label name="a"/><label name="b&amp;"></label></labels>',
            b'<!DOCTYPE labels [<!ENTITY a "b">]><labels><label name="&a;"/></labels>',
        ]
    )
)
def test_damaged_label_header(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.xml"
    file.write_bytes(content)
    result = attempt(lambda: read_label_names(file))
    assert str(file) in str(result) if isinstance(result, DataError) else result


@pytest.mark.parametrize(("format", "contents"), VALID.items())
def test_the_samples_are_valid(tmp_path: Path, format: str, contents: list[bytes]) -> None:
    for content in contents:
        file = tmp_path / "valid"
        file.write_bytes(content)
        assert read(file).n_rows > 1
