"""Mulan's XML header of labels."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.datasets._formats._mulan import labels_document, read_label_names
from grople.errors import DataError
from tests.datasets.samples import LABELS_XML, xml_names


def names(tmp_path: Path, content: bytes) -> dict[str, int]:
    file = tmp_path / "x.xml"
    file.write_bytes(content)
    return read_label_names(file)


def test_names_with_their_lines(tmp_path: Path) -> None:
    assert names(tmp_path, LABELS_XML) == {"first": 3, "second one": 4}


def test_hierarchies_prefixes_and_references(tmp_path: Path) -> None:
    content = (
        b'<m:labels xmlns:m="http://mulan.sourceforge.net/labels"><m:label name="a &amp; b">'
        b'<m:label name="&#233;"/></m:label><m:label name="c"/></m:labels>'
    )
    assert list(names(tmp_path, content)) == ["a & b", "é", "c"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"<labels>\n<label name='a'/>", 2, "damaged XML"),
        (b"", 1, "damaged XML"),
        (b"<labels/>", None, "no labels"),
        (b"<labels>\n<label/>\n</labels>", 2, "a label without a name"),
        (b"<labels>\n<label name='a'/>\n<label name='a'/></labels>", 3, "listed twice"),
        (b"<html>\n</html>", 1, "not a Mulan label header"),
        (b"<labels>\n<lable name='a'/></labels>", 2, "not a Mulan label header"),
        (b"<labels>\n<label name='\xff'/></labels>", 2, "damaged XML"),
        (b'<?xml version="1.0" encoding="nonsense"?><labels/>', None, "XML"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, line: int | None, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        names(tmp_path, content)
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize(
    "declaration",
    [
        b"<!DOCTYPE labels>",
        b'<!DOCTYPE labels SYSTEM "file:///etc/passwd">',
        b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    ],
)
def test_document_types_are_refused_before_any_entity(tmp_path: Path, declaration: bytes) -> None:
    content = b'<?xml version="1.0"?>\n' + declaration + b'<labels><label name="&b;"/></labels>'
    with pytest.raises(DataError, match="document type") as caught:
        names(tmp_path, content)
    assert caught.value.line == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(xml_names, min_size=1, unique=True, max_size=5))
def test_an_independent_parser_reads_what_is_written(written: list[str]) -> None:
    root = ElementTree.fromstring(labels_document(written))
    assert [label.get("name") for label in root] == written


def test_what_xml_cannot_hold() -> None:
    with pytest.raises(ValueError, match="XML cannot"):
        labels_document(["a\x01"])
