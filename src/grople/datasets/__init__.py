"""Multi-label data: load by name, read and write files, describe, make."""

from grople.datasets._blocks import Blocks, read_blocks
from grople.datasets._bundle import Bundle, MixedTable, NumberedNames, TextTable
from grople.datasets._catalogue import Entry, find, names
from grople.datasets._detect import READERS, detect
from grople.datasets._download import Progress
from grople.datasets._labels import label_matrix, spread_labels
from grople.datasets._places import Location, fetch, is_a_file, load, locate, read_examples
from grople.datasets._read import read
from grople.datasets._reading import Reading
from grople.datasets._records import Records, aligned_features, open_records
from grople.datasets._summary import Summary, describe
from grople.datasets._synthetic import make_grouped_multilabel
from grople.datasets._tags import TagColumn, find_separator
from grople.datasets._writers import WRITERS, write

__all__ = [
    "Bundle",
    "TextTable",
    "MixedTable",
    "load",
    "read",
    "read_examples",
    "Reading",
    "TagColumn",
    "find_separator",
    "read_blocks",
    "Blocks",
    "open_records",
    "Records",
    "aligned_features",
    "NumberedNames",
    "label_matrix",
    "spread_labels",
    "detect",
    "READERS",
    "write",
    "WRITERS",
    "names",
    "is_a_file",
    "find",
    "Entry",
    "locate",
    "Location",
    "fetch",
    "Progress",
    "describe",
    "Summary",
    "make_grouped_multilabel",
]
