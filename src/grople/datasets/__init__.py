"""Multi-label data: load by name, read and write files, describe, make."""

from grople.datasets.blocks import Blocks, read_blocks
from grople.datasets.bundle import Bundle
from grople.datasets.catalogue import fetch, find, load, locate, names
from grople.datasets.reading import read, write
from grople.datasets.summary import Summary, describe
from grople.datasets.synthetic import make_grouped_multilabel

__all__ = [
    "Bundle",
    "load",
    "read",
    "read_blocks",
    "Blocks",
    "write",
    "names",
    "find",
    "locate",
    "fetch",
    "describe",
    "Summary",
    "make_grouped_multilabel",
]
