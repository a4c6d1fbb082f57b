"""Many labels on one machine: memory, seconds a stage, growth and quality on synthetic text.

Each set is made and fitted in a process of its own, so that its peak of memory is its own; seconds
are processor seconds (all threads together), so that other work on the machine counts for nothing.
The peer, one-vs-rest LinearSVC, is fitted on a sample of the labels and extrapolated to all.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from benchmarks import table
from grople import GroPLE
from grople.datasets import make_grouped_multilabel
from grople.metrics import example_f1
from grople.moments import LabelMoments
from grople.optim import block_lanczos, top_eigenvectors
from grople.solver._embedding import START_TOL
from grople.solver._label_graph import spectral_affinity, spectral_graph

#: Tens of minutes of work.
ON_REQUEST = True
#: Rows, features, labels: all three grow together, then rows alone.
SIZES = ((20_000, 10_000, 3_000), (66_000, 33_000, 10_000), (200_000, 100_000, 30_000))
ROWS = ((20_000, 10_000, 3_000), (40_000, 10_000, 3_000), (80_000, 10_000, 3_000))
QUICK_SIZES = ((2_000, 1_000, 300), (6_600, 3_300, 1_000))
QUICK_ROWS = ((2_000, 1_000, 300), (4_000, 1_000, 300))
#: Labels a topic has, rows measured, labels of the peer's sample.
PER_TOPIC, MEASURED, SAMPLE = 100, 2000, 16
STAGES = ("moments", "groups", "embedding", "mapping", "kernel", "forest", "decision")


def stage_seconds(model: GroPLE, X: Any, Y: Any) -> dict[str, float]:
    """Fit, and return the processor seconds of each stage."""
    begun = [("moments", time.process_time())]
    model.fit(X, Y, progress=lambda step, *_: begun.append((step, time.process_time())))
    spent = dict.fromkeys(STAGES, 0.0)
    for (name, start), (_, end) in itertools.pairwise(begun):
        spent[name] += end - start
    return spent


def data(n_rows: int, n_features: int, n_labels: int) -> tuple[Any, ...]:
    """Return training and test rows: topics, a natural tail, rows of unit length as of TF-IDF."""
    bundle = make_grouped_multilabel(
        n_rows + MEASURED,
        n_features,
        n_labels,
        max(2, n_labels // PER_TOPIC),
        cardinality=5.0,
        features_per_row=80.0,
        features_per_label=32,
        random_state=0,
    )
    X = normalize(bundle.X.astype(np.float32))
    return X[:n_rows], bundle.Y[:n_rows], X[n_rows:], bundle.Y[n_rows:]


def peak() -> float:
    """Return the most memory that this process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure(size: tuple[int, int, int], settings: dict[str, Any]) -> dict[str, Any]:
    """Make a set, fit and predict; return what it took and what it reached."""
    X, Y, X_test, truth = data(*size)
    found: dict[str, Any] = {"entries": X.nnz, "data_gb": peak()}
    model = GroPLE(random_state=0, **settings)
    walls = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent = stage_seconds(model, X, Y)
    found |= spent | {"fit": sum(spent.values()), "wall": time.perf_counter() - walls}
    found |= {"fit_gb": peak(), "d": len(model.components_)}
    found["reranker"] = model.decision_.reranker is not None
    started = time.process_time()
    given = model.predict(X_test)
    found["predict"] = (time.process_time() - started) * 1000 / X_test.shape[0]
    found |= {"gb": peak(), "example_f1": example_f1(truth, given)}
    found |= precision(model, X_test, truth)
    return found


def precision(model: GroPLE, X: Any, truth: Any, block: int = 200) -> dict[str, float]:
    """Return P@1, P@3 and P@5 of the scores, in blocks of rows."""
    hits = np.zeros(5)
    for first in range(0, X.shape[0], block):
        scores = model.decision_function(X[first : first + block])
        top = np.argpartition(-scores, 5, axis=1)[:, :5]
        order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
        labels = np.take_along_axis(top, order, axis=1)
        marks = truth[first : first + block].toarray()
        hits += np.take_along_axis(marks, labels, axis=1).sum(axis=0)
    share = np.cumsum(hits) / X.shape[0] / np.arange(1, 6)
    return {f"p{k}": float(share[k - 1]) for k in (1, 3, 5)}


def peer(size: tuple[int, int, int]) -> dict[str, float]:
    """Fit LinearSVC on a sample of the labels; return its seconds for all of them."""
    X, Y, X_test, _ = data(*size)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    labels = np.random.default_rng(0).choice(np.flatnonzero(counts), SAMPLE, replace=False)
    columns = Y[:, labels].toarray().astype(np.int64)
    started = time.process_time()
    models = [LinearSVC().fit(X, column) for column in columns.T]
    fit = time.process_time() - started
    started = time.process_time()
    for model in models:
        model.decision_function(X_test)
    scored = time.process_time() - started
    every = np.count_nonzero(counts) / SAMPLE
    return {
        "fit": fit * every,
        "predict": scored * every * 1000 / X_test.shape[0],
        "gb": 8e-9 * X.shape[1] * Y.shape[1],
    }


def apart(what: str, size: tuple[int, int, int], settings: dict[str, Any]) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    order = json.dumps({"what": what, "size": size, "settings": settings})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", order],
        cwd=Path(__file__).resolve().parents[1],
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{what} of {size} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def growth(found: list[dict[str, Any]], name: str, over: list[float]) -> str:
    """Return the exponent between the first and the last size."""
    first, last = found[0][name], found[-1][name]
    return f"{np.log(last / first) / np.log(over[-1] / over[0]):.2f}" if first else "–"


def seconds_table(
    sizes: Any, found: list[dict[str, Any]], title: str, over: list[float], head: str
) -> str:
    """Return the seconds of each stage, with the exponents of their growth in the last row."""
    names = ("fit", *STAGES, "predict")
    rows = [
        [
            f"{N:,} × {D:,} × {L:,}",
            run["d"],
            *(f"{run[name]:.1f}" for name in names),
            f"{run['wall']:.0f}",
        ]
        for (N, D, L), run in zip(sizes, found, strict=True)
    ]
    rows.append([head, "", *(growth(found, name, over) for name in names), ""])
    return table([title, "d", *names[:-1], "predict 1,000 rows", "fit, by the clock"], rows)


def beside(theirs: dict[str, float], ours: dict[str, Any], n_weights: int) -> str:
    """Return the peer's table."""
    faster, sooner = (theirs[name] / ours[name] for name in ("fit", "predict"))
    rows = [
        [
            f"one-vs-rest LinearSVC, {SAMPLE} labels, extrapolated to all; scores alone",
            *(f"{theirs[name]:,.1f}" for name in ("fit", "predict", "gb")),
        ],
        [
            "GroPLE, decision included",
            f"{ours['fit']:,.1f} ({faster:.1f}×)",
            f"{ours['predict']:,.1f} ({sooner:.1f}×)",
            f"{8e-9 * ours['d'] * n_weights:,.1f}",
        ],
    ]
    return table(["the largest set", "fit s", "predict 1,000 rows s", "weights GB"], rows)


def many_labels(L: int, d: int) -> str:
    """Compare the graph and the eigenvectors of many labels with dense matrices and ARPACK.

    Processor seconds, and how far eigenvalues are off, relative to LAPACK's of the dense matrix.
    """
    Y = make_grouped_multilabel(20 * L // 3, 100, L, L // PER_TOPIC, random_state=0).Y
    labels = LabelMoments.of(Y)
    labels = labels.select(np.flatnonzero(labels.counts))
    L = labels.n_labels

    def timed(work: Any) -> tuple[float, Any]:
        started = time.process_time()
        result = work()
        return time.process_time() - started, result

    def off(found: Any, exact: Any) -> str:
        return f"{np.abs(np.sort(found)[::-1] / exact - 1).max():.0e}"

    def by_dense_graph() -> Any:
        return eigh(spectral_affinity(labels), subset_by_index=[L - 10, L - 1])[0]

    def by_graph() -> Any:
        return top_eigenvectors(spectral_graph(labels).__matmul__, L, 10)[0]

    def by_arpack() -> Any:
        operator = LinearOperator((L, L), matvec=lambda v: product(v[:, None]).ravel(), dtype=float)
        return eigsh(operator, k=d, which="LA", v0=np.ones(L))[0]

    product = labels.signed_product
    dense, exact = timed(by_dense_graph)
    sparse, found = timed(by_graph)
    rows = [
        ["graph as a matrix of all pairs, LAPACK", f"{dense:.2f}", "1", "–"],
        ["graph as sparse and thin parts, Lanczos", f"{sparse:.2f}", f"{dense / sparse:.1f}×",
         off(found, exact[::-1])],
    ]  # fmt: skip
    first = table([f"stage 1, L = {L:,}, 10 eigenvectors", "CPU s", "faster", "off"], rows)
    exact = eigvalsh(labels.signed_gram())[::-1][:d]
    slow, found = timed(by_arpack)
    rows = [["ARPACK", f"{slow:.2f}", "1", off(found, exact)]]
    for tol in (1e-8, START_TOL):
        fast, (found, _) = timed(lambda tol=tol: block_lanczos(product, L, d, tol=tol))
        rows.append(
            [f"blocks, residuals below {tol:g}", f"{fast:.2f}", f"{slow / fast:.1f}×",
             off(found, exact)]
        )  # fmt: skip
    second = table([f"stage 2, its start: {d} eigenvectors", "CPU s", "faster", "off"], rows)
    return f"{first}\n\n{second}"


def run(quick: bool) -> str:
    """Return the tables."""
    sizes, rows = (QUICK_SIZES, QUICK_ROWS) if quick else (SIZES, ROWS)
    grown = [apart("fit", size, {}) for size in sizes]
    parts = [
        seconds_table(
            sizes, grown, "N × D × L", [float(size[2]) for size in sizes], "exponent, of all three"
        ),
        table(
            ["N × D × L", "entries of X", "data GB", "peak of fit GB", "and predict GB",
             "re-ranker", "example-F1", "P@1", "P@3", "P@5"],
            [
                [
                    f"{N:,} × {D:,} × {L:,}",
                    f"{run['entries']:,}",
                    *(f"{run[name]:.2f}" for name in ("data_gb", "fit_gb", "gb")),
                    "yes" if run["reranker"] else "no",
                    *(f"{run[name]:.3f}" for name in ("example_f1", "p1", "p3", "p5")),
                ]
                for (N, D, L), run in zip(sizes, grown, strict=True)
            ],
        ),
    ]  # fmt: skip
    parts.append(beside(apart("peer", sizes[-1], {}), grown[-1], sum(sizes[-1][1:])))
    more = [apart("fit", size, {}) for size in rows]
    parts.append(
        seconds_table(rows, more, "rows alone", [float(size[0]) for size in rows], "exponent of N")
    )
    parts.append(many_labels(*((900, 100) if quick else (3_000, 450))))
    return "\n\n".join(parts)


def main(order: str) -> None:
    """Measure one set and print what was found as JSON."""
    wanted = json.loads(order)
    size = tuple(wanted["size"])
    found = peer(size) if wanted["what"] == "peer" else measure(size, wanted["settings"])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
