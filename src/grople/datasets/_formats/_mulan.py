"""Mulan's XML header, which says which attributes of an ARFF file are labels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from grople.errors import DataError
from grople.files import DEFAULT_LIMIT, opened

__all__ = ["labels_document", "read_label_names"]

_NAMESPACE = "http://mulan.sourceforge.net/labels"
# What XML 1.0 cannot hold, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_label_names(
    path: str | os.PathLike[str], max_bytes: int = DEFAULT_LIMIT
) -> dict[str, int]:
    """Return the label names of a Mulan header in order, each with its line.

    Labels may be nested (a hierarchy); they are taken in the order of the document. A document
    type is refused, so that no entity can be declared and none can blow up.
    """
    file = os.fspath(path)
    with opened(path, max_bytes) as source:
        content = source.read_all()
    names: dict[str, int] = {}
    depth = 0
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        line = parser.CurrentLineNumber
        local = tag.rpartition(":")[2]
        if local != ("labels" if depth == 1 else "label"):
            raise DataError(f"not a Mulan label header: element <{tag[:40]}>", file=file, line=line)
        if depth == 1:
            return
        if "name" not in attributes:
            raise DataError("a label without a name", file=file, line=line)
        name = attributes["name"]
        if name in names:
            raise DataError(f"label {name!r} is listed twice", file=file, line=line)
        names[name] = line

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> None:
        raise DataError(
            "a document type declaration, which a label header never needs",
            file=file,
            line=parser.CurrentLineNumber,
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = f"damaged XML ({expat.ErrorString(error.code)})"
        raise DataError(reason, file=file, line=error.lineno) from error
    except DataError:
        raise
    except (LookupError, ValueError) as error:  # an encoding Python does not know
        raise DataError(f"unreadable XML ({error})", file=file) from error
    if not names:
        raise DataError("no labels in the header", file=file)
    return names


def labels_document(names: Iterable[str]) -> bytes:
    """Return the XML header that lists these labels."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<labels xmlns="{_NAMESPACE}">']
    for name in names:
        if _UNWRITABLE.search(name):
            raise ValueError(f"label {name!r} holds a character that XML cannot: rename it")
        quoted = quoteattr(name, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
        lines.append(f"<label name={quoted}></label>")
    lines.append("</labels>\n")
    return "\n".join(lines).encode()
