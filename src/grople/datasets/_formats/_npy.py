"""Two memory-mapped ``.npy`` files: features, and labels as zeros and ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grople.datasets._bundle import NumberedNames
from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._matrices import binary_labels, finite_features
from grople.datasets._reading import Reading
from grople.errors import DataError
from grople.files import Source, opened

__all__ = ["ArraysFile"]

#: About how many bytes the features, or the labels, of a batch take.
_BATCH_BYTES = 1 << 20


class ArraysFile(Reader):
    """An array of features, with the file of its labels as the reading's ``labels``."""

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        self._labels = None if only is not None else str(reading.labels or "")
        if self._labels == "":
            raise DataError(
                "an array of features",
                file=self._file,
                hint="name the file of its labels as {labels}",
                options={"labels": None},
            )
        if source.packed:
            raise DataError("packed with gzip, which cannot be mapped: unpack it", file=self._file)
        X = _mapped(self._file)
        arrays = [X] if self._labels is None else [X, _mapped(self._labels)]
        if arrays[-1].shape[0] != X.shape[0]:
            reason = f"X has {X.shape[0]} rows but Y has {arrays[-1].shape[0]}"
            raise DataError(reason, file=self._file)
        self._n_rows = X.shape[0]
        widest = max(array.dtype.itemsize * array.shape[1] for array in arrays)
        self._step = max(1, _BATCH_BYTES // max(widest, 1))
        self.feature_names = NumberedNames("feature", X.shape[1])
        self.label_names = NumberedNames("label", arrays[-1].shape[1] if len(arrays) > 1 else 0)

    def batches(self) -> Iterator[Batch]:
        """Yield some rows at a time."""
        for start in range(0, self._n_rows, self._step):
            rows = slice(start, start + self._step)
            # Mapped anew for every batch, so that what was read does not stay in memory.
            X = np.array(_mapped(self._file)[rows])
            Y = None
            if self._labels is not None:
                Y = binary_labels(np.array(_mapped(self._labels)[rows]), self._labels)
            yield Batch(X, Y)

    def finish(self, batch: Batch) -> Batch:
        """Return rows of finite numbers."""
        return replace(batch, X=finite_features(batch.X, self._file))


def _mapped(file: str) -> Any:
    with opened(file):  # says what is wrong where it cannot be opened
        pass
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"not a readable array ({error})", file=file) from error
    if not isinstance(array, np.memmap) or array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError("not a two-dimensional array of numbers", file=file)
    return array
