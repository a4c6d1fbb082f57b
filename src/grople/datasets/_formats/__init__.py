"""One module a file format: open a source, know its names, iterate over batches of rows."""

from __future__ import annotations

from grople.datasets._formats._arff import ArffFile
from grople.datasets._formats._batch import Batch, Reader, stack
from grople.datasets._formats._columns import NoNumberError
from grople.datasets._formats._jsonl import JsonFile, LinesFile
from grople.datasets._formats._matlab import MatlabFile
from grople.datasets._formats._npy import ArraysFile
from grople.datasets._formats._npz import NpzFile
from grople.datasets._formats._svmlight import ExtremeFile, LibsvmFile
from grople.datasets._formats._tables import TableFile

__all__ = ["FORMATS", "Batch", "NoNumberError", "Reader", "stack"]

#: What opens a file of each format: called with a source, a reading and, where labels are not
#: wanted, the names of the features that are.
FORMATS: dict[str, type[Reader]] = {
    "arff": ArffFile,
    "extreme": ExtremeFile,
    "libsvm": LibsvmFile,
    "matlab": MatlabFile,
    "npz": NpzFile,
    "npy": ArraysFile,
    "csv": TableFile,
    "tsv": TableFile,
    "parquet": TableFile,
    "excel": TableFile,
    "jsonl": JsonFile,
    "lines": LinesFile,
}
