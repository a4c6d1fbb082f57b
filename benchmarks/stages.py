"""GroPLE's own claims about speed and memory, each a ratio measured in one run."""

from __future__ import annotations

import os
import time
import tracemalloc
import warnings
from functools import partial

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks import best_seconds, data_folder, table
from grople import GroPLE, GroPLECV, summarise
from grople.datasets import load, make_grouped_multilabel
from grople.decision import Rule
from grople.metrics import example_f1
from grople.moments import LabelMoments
from grople.published import published_embedding
from grople.solver import embed_labels, group_labels

#: The paper's grid for α and β.
GRID = [10.0**k for k in range(-4, 5)]


def run(quick: bool) -> str:
    parts = [size_of_the_data(quick), memory(quick)]
    folder = data_folder()
    if folder is None:
        return "\n\n".join([*parts, "the other tables need the real data sets: set GROPLE_DATA"])
    os.environ.setdefault("GROPLE_DATA", str(folder))
    parts += [embedding(quick), against_linear_svc(), search(quick)]
    return "\n\n".join(parts)


def embedding(quick: bool) -> str:
    """Compare stage 2 with 200 outer iterations of the published scheme, both in Gram form."""
    labels = LabelMoments.of(load("corel5k").Y)
    groups = group_labels(labels)
    [ours] = best_seconds(lambda: embed_labels(labels, groups, n_components=100), repeats=3)
    result = embed_labels(labels, groups, n_components=100)
    started = time.perf_counter()
    published = published_embedding(
        labels.n,
        labels.signed_gram(),
        groups.membership,
        counts=labels.counts,
        max_iter=20 if quick else 200,
        tol=-1.0,
        random_state=0,
    )
    theirs = time.perf_counter() - started
    rows = [
        ["published, random start", f"{published.n_iter}", f"{published.objective_path[-1]:.0f}",
         f"{theirs:.2f}", "1"],
        ["balanced, spectral start", f"{result.n_iter}", f"{result.objective_path[-1]:.0f}",
         f"{ours:.3f}", f"{theirs / ours:.0f}×"],
    ]  # fmt: skip
    head = ["stage 2 on corel5k, d = 100, K = 10, λ1 = .001, λ2 = 1", "outer iterations",
            "objective", "seconds", "faster"]  # fmt: skip
    return table(head, rows)


def size_of_the_data(quick: bool) -> str:
    """Show that learning from moments as matrices does not depend on N."""
    few, many = 10_000, 100_000 if quick else 1_000_000
    data = make_grouped_multilabel(many, 500, 100, n_groups=10, random_state=0)
    total, small = summarise(data.X, data.Y), summarise(data.X[:few], data.Y[:few])
    model = GroPLE(decision="sign", random_state=0)
    first, last = best_seconds(
        lambda: model.fit_summary(small), lambda: model.fit_summary(total), repeats=5
    )
    rows = [
        [f"{few:,}", f"{first:.3f}", "1.00"],
        [f"{many:,}", f"{last:.3f}", f"{last / first:.2f}"],
    ]
    return table(["fit_summary, D = 500, L = 100: rows", "seconds", "ratio"], rows)


def memory(quick: bool) -> str:
    """Measure the peak of fit beyond its input, against the size of the moments."""
    n, D, L = (50_000 if quick else 200_000), 400, 100
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D))
    Y = make_grouped_multilabel(n, D, L, n_groups=5, random_state=0).Y
    rows = []
    for name, settings in {
        "decision='sign', no rows kept": {"decision": "sign", "max_kept_rows": 0},
        "decision='example_f1', 2,000 rows kept": {"max_kept_rows": 2000},
    }.items():
        model = GroPLE(random_state=0, **settings)
        tracemalloc.start()
        model.fit(X, Y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        held = 8 * (D * D + D * L + L * L)
        labels = Y.nnz * 8  # the ones of the label matrix as float64
        rows.append(
            [name, f"{X.nbytes / 2**20:.0f}", f"{peak / 2**20:.1f}", f"{labels / 2**20:.1f}",
             f"{(peak - labels) / held:.1f}"]
        )  # fmt: skip
    head = [f"memory of fit, N = {n:,}, D = {D}, L = {L}", "input MiB", "peak beyond it MiB",
            "of which labels MiB", "rest / moments"]  # fmt: skip
    return table(head, rows)


def against_linear_svc() -> str:
    """Compare GroPLE's whole fit, decision included, with one-vs-rest LinearSVC on bibtex."""
    data = load("bibtex")
    Y = data.Y.astype(np.int64)
    contenders = {
        "one-vs-rest LinearSVC, two jobs": OneVsRestClassifier(LinearSVC(), n_jobs=2),
        "GroPLE, decision='sign'": GroPLE(decision="sign", random_state=0),
        "GroPLE, γ = 10, decision='sign'": GroPLE(gamma=10.0, decision="sign", random_state=0),
        "GroPLE, default (decision on held-out scores)": GroPLE(random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = best_seconds(
            *(partial(model.fit, data.X, Y) for model in contenders.values()), repeats=2
        )
    rows = [
        [name, f"{own:.2f}", f"{seconds[0] / own:.2f}×"]
        for name, own in zip(contenders, seconds, strict=True)
    ]
    return table(["fit on bibtex", "seconds", "faster"], rows)


def search(quick: bool) -> str:
    """Compare GroPLECV with GridSearchCV over the same estimator, grid and folds on bibtex.

    Processor seconds, so that other work on the machine counts for neither; the same calibrated
    decision on both sides, without a re-ranker, which the search does not take.
    """
    data = load("bibtex")
    folds = KFold(5, shuffle=True, random_state=0)
    grid = GRID[::4] if quick else GRID
    rule = Rule("example_f1", context=False)
    started = time.process_time()
    fast = GroPLECV(alpha=grid, beta=grid, gamma=10.0, cv=folds, decision=rule, random_state=0)
    fast.fit(data.X, data.Y)
    ours = time.process_time() - started
    points = [(1e-4, 1e-4), (1.0, 1.0), (1e4, 1e4)]
    sub = [{"alpha": [a], "beta": [b]} for a, b in points]
    started = time.process_time()
    model = GroPLE(gamma=10.0, decision=rule, random_state=0)
    slow = GridSearchCV(model, sub, scoring=make_scorer(example_f1), cv=folds, refit=False)
    slow.fit(data.X, data.Y)
    measured = time.process_time() - started
    theirs = measured / len(points) * len(grid) ** 2
    found = {
        (p["alpha"], p["beta"]): s
        for p, s in zip(
            fast.cv_results_["params"], fast.cv_results_["mean_test_score"], strict=True
        )
    }
    rows = [
        ["GroPLECV", f"{ours:.0f}", f"{theirs / ours:.0f}×"],
        [f"GridSearchCV, {len(points)} points in {measured:.0f} s, extrapolated", f"{theirs:.0f}",
         "1"],
    ]  # fmt: skip
    first = table([f"bibtex, {len(grid)}×{len(grid)} grid, 5 folds", "CPU seconds", "faster"], rows)
    second = table(
        ["α, β", "example-F1, GroPLECV", "GridSearchCV"],
        [
            [f"{a:g}, {b:g}", f"{found[a, b]:.4f}", f"{s:.4f}"]
            for (a, b), s in zip(points, slow.cv_results_["mean_test_score"], strict=True)
        ],
    )
    return f"{first}\n\n{second}"
