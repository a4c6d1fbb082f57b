"""Readers: ours beside the packages that read the same files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import arff as liac
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from benchmarks import best_seconds, data_folder, table
from grople.datasets import Bundle, read, write

# Those for which three times is promised come first.
ARFF = ("bibtex", "delicious", "Corel5k-sparse", "medical", "genbase", "cal500")


def liac_arff(path: Path) -> Any:
    """Load with liac-arff, in the form that suits the file best."""
    sparse = path.stem not in ("genbase", "cal500")
    with open(path, encoding="utf-8") as stream:
        return liac.load(stream, return_type=liac.LOD if sparse else liac.DENSE)


def svmlight(path: Path) -> Any:
    """Load with scikit-learn, whose labels are lists and not yet a matrix."""
    return load_svmlight_file(str(path), multilabel=True, zero_based=True)


def matlab(path: Path) -> Any:
    """Load with scipy, and make the sparse matrices a bundle holds."""
    variables = scipy.io.loadmat(path)
    return sp.csr_array(variables["data"]), sp.csr_array(variables["target"].T)


def cases(folder: Path, scratch: Path, quick: bool) -> list[tuple[Any, ...]]:
    """Return (reader, file, ours, name of the peer, theirs)."""
    result: list[tuple[Any, ...]] = [
        ("ARFF", folder / "mulan" / f"{name}.arff", read, "liac-arff", liac_arff)
        for name in (ARFF[:2] if quick else ARFF)
    ]
    for name in ("delicious",) if quick else ("delicious", "CAL500"):
        file = scratch / f"{name}.svm"
        write(read(folder / "npz" / f"{name}.npz"), file, "extreme")
        # Without its first line it is a LIBSVM file that counts from zero.
        file.write_bytes(file.read_bytes().partition(b"\n")[2])
        ours = partial(read, format="libsvm", first_index=0)
        result.append(("LIBSVM", file, ours, "load_svmlight_file", svmlight))
    mat = folder / "mat" / "rcv1s1.mat"
    result.append(("MATLAB 5", mat, read, "scipy.io.loadmat", matlab))
    return result


def row(
    kind: str, file: Path, ours: Callable[[Path], Bundle], peer: str, theirs: Any, repeats: int
) -> list[str]:
    mine, other = best_seconds(partial(ours, file), partial(theirs, file), repeats=repeats)
    size = file.stat().st_size / 1e6
    return [
        kind,
        file.name,
        f"{size:.1f} MB",
        f"{mine * 1e3:.0f} ms",
        f"{other * 1e3:.0f} ms",
        f"{other / mine:.1f}×",
        peer,
    ]


def run(quick: bool = False) -> str:
    """Return a table of reading times and their ratios."""
    folder = data_folder()
    if folder is None:
        return "No real files found: set GROPLE_DATA."
    repeats = 2 if quick else 5
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row(*case, repeats) for case in cases(folder, Path(scratch), quick)]
    header = ["format", "file", "size", "ours", "peer", "faster", "which peer"]
    return (
        f"From the file to a bundle, best of {repeats}, taking turns. The peers stop earlier: "
        "liac-arff at lists of\nPython values, load_svmlight_file at lists of labels.\n\n"
        + table(header, rows)
    )


if __name__ == "__main__":
    print(run())
