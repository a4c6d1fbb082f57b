"""Files made by hand: any header over any data, with checksums that are right."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

ITEM_SIZES = {"BOOL": 1, "U8": 1, "U16": 2, "U32": 4, "I32": 4, "F32": 4, "I64": 8, "F64": 8}


def taken_apart(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header and the data of a file."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def sealed(header: dict[str, Any], data: bytes) -> bytes:
    """Return a file of this header and data whose checksums are those of its content."""
    digests = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            digests[name] = hashlib.sha256(data[begin:end]).hexdigest()
    metadata = header["__metadata__"] | {"checksums": json.dumps(digests)}
    return stamped(json.dumps(header | {"__metadata__": metadata}, separators=(",", ":")), data)


def stamped(text: str, data: bytes) -> bytes:
    """Return a file of a header as text, with the checksum of the header put into it."""
    prefix, _, rest = text.partition('"sha256":"')
    blank = (prefix + '"sha256":"' + "0" * 64 + rest[64:]).encode()
    start = len(blank).to_bytes(8, "little") + blank
    digest = hashlib.sha256(start).hexdigest()
    whole = prefix + '"sha256":"' + digest + rest[64:]
    return len(blank).to_bytes(8, "little") + whole.encode() + data


def container(arrays: dict[str, np.ndarray], **changes: Any) -> bytes:
    """Return a small file of arrays; ``changes`` replace entries of the header."""
    header: dict[str, Any] = {"__metadata__": {"format": "test", "sha256": "0" * 64}}
    names = {"float64": "F64", "int64": "I64", "uint8": "U8", "bool": "BOOL", "float32": "F32"}
    data = b""
    for name, values in arrays.items():
        place = [len(data), len(data) + values.nbytes]
        header[name] = {
            "dtype": names[str(values.dtype)],
            "shape": list(values.shape),
            "data_offsets": place,
        }
        data += values.tobytes()
    return sealed(header | changes, data)
