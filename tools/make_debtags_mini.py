#!/usr/bin/env python3
"""Make the embedded data set ``debtags-mini`` from the Debian package descriptions and their tags.

    python tools/make_debtags_mini.py DEBTAGS.jsonl.gz [-o OUT.npz]

The input is one JSON object a line with ``package``, ``text`` and ``tags``. The output holds term
counts, tags and package names, no sentences, in the layout of every other ``.npz`` data set.
The same input gives the same arrays everywhere and, with the same zlib, the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "grople" / "datasets" / "bundled" / "debtags-mini.npz"

SEED = "debtags-mini"
N_PACKAGES = 4000
MIN_TAGS = 2  # a package with one tag is nearly always "this is a library"
MIN_TAG_SUPPORT = 15
MIN_TERM_SUPPORT = 10
MAX_TERM_SHARE = 0.5
TERM = re.compile(r"[a-z][a-z0-9]*(?:\+\+|#|[a-z0-9])")  # two characters or more, and c++, c#

SOURCE = (
    "Debian package descriptions and debtags; term counts, tags and package names only "
    "(tools/make_debtags_mini.py)"
)


class Package(NamedTuple):
    """One Debian package."""

    name: str
    text: str
    tags: tuple[str, ...]


def read_packages(path: Path) -> Iterator[Package]:
    """Yield the packages of a JSON-lines file, without the tags that only say "to do"."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            tags = tuple(t for t in sorted(set(record["tags"])) if not t.endswith("TODO"))
            yield Package(record["package"], record["text"], tags)


def first_paragraph(text: str) -> str:
    """Return what siblings such as ``libfoo1`` and ``libfoo-dev`` share: the first paragraph.

    The first line is the package's own synopsis; a paragraph ends at a line with one full stop.
    """
    _, _, body = text.partition("\n")
    return body.partition("\n.\n")[0].strip()


def choose(packages: Iterable[Package]) -> list[Package]:
    """Return ``N_PACKAGES`` of them in an order that only a hash of the name decides.

    Of packages with the same first paragraph one is kept: a test row must not meet its twin in
    the training rows. Packages with a synopsis only ("transitional package") are left out.
    """

    def draw(package: Package) -> bytes:
        return hashlib.sha256(f"{SEED}:{package.name}".encode()).digest()

    families: dict[str, Package] = {}
    for package in sorted(packages, key=draw):
        paragraph = first_paragraph(package.text)
        if paragraph and len(package.tags) >= MIN_TAGS:
            families.setdefault(paragraph, package)
    return list(families.values())[:N_PACKAGES]


def vectorise(packages: list[Package]) -> dict[str, Any]:
    """Return the arrays of the data set: counts of frequent terms, frequent tags, names."""
    support = Counter(tag for package in packages for tag in package.tags)
    frequent = sorted(tag for tag, count in support.items() if count >= MIN_TAG_SUPPORT)
    packages = [package for package in packages if not set(frequent).isdisjoint(package.tags)]

    terms = CountVectorizer(
        tokenizer=TERM.findall,
        token_pattern=None,
        min_df=MIN_TERM_SUPPORT,
        max_df=MAX_TERM_SHARE,
    )
    X = terms.fit_transform([package.text for package in packages])
    names = terms.get_feature_names_out()
    informative = np.flatnonzero(~np.isin(names, sorted(ENGLISH_STOP_WORDS)))
    X, names = X[:, informative], names[informative]

    tags = CountVectorizer(analyzer=lambda package: package.tags, vocabulary=frequent)
    Y = tags.fit_transform(packages)
    X.sort_indices()
    Y.sort_indices()
    return {
        "X_data": np.minimum(X.data, 255).astype(np.uint8),
        "X_indices": X.indices.astype(np.uint16),
        "X_indptr": X.indptr.astype(np.int32),
        "X_shape": np.array(X.shape, dtype=np.int64),
        "Y_indices": Y.indices.astype(np.uint16),
        "Y_indptr": Y.indptr.astype(np.int32),
        "Y_shape": np.array(Y.shape, dtype=np.int64),
        "label_names": np.array(frequent),
        "feature_names": names.astype(str),
        "row_names": np.array([package.name for package in packages]),
        "source": np.array(SOURCE),
    }


def write_archive(arrays: dict[str, Any], path: Path) -> None:
    """Write an ``.npz`` whose bytes depend on the arrays only (``np.savez`` may add the date)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array), version=(1, 0))
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # the same on every system
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content.getvalue(), compresslevel=9)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("source", type=Path, help="debtags.jsonl.gz")
    parser.add_argument("-o", "--output", type=Path, default=TARGET, help=f"default: {TARGET.name}")
    options = parser.parse_args()
    arrays = vectorise(choose(read_packages(options.source)))
    write_archive(arrays, options.output)
    (rows, terms), (_, tags) = arrays["X_shape"], arrays["Y_shape"]
    print(
        f"{options.output}: {rows} packages, {terms} terms ({len(arrays['X_data'])} counts), "
        f"{tags} tags ({len(arrays['Y_indices']) / rows:.3f} a package), "
        f"{options.output.stat().st_size} bytes"
    )


if __name__ == "__main__":
    main()
