"""Time and memory of each stage as the data grow, next to the paper's complexity analysis."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from grople.datasets import make_grouped_multilabel
from grople.inspection import Cell, Picture, Table
from grople.moments import summarise
from grople.solver import MappingProblem, embed_labels, group_labels
from grople.study._experiment import Exhibit, Experiment, Finding, Scope
from grople.study._plots import plot_lines
from grople.study._store import Run, setting_text
from grople.study._tables import picture_id

#: Around this size one dimension grows at a time.
BASE = {"n_rows": 4000, "n_features": 400, "n_labels": 200, "n_components": 50}
QUICK_BASE = {"n_rows": 1000, "n_features": 150, "n_labels": 80, "n_components": 20}
FACTORS, QUICK_FACTORS = (1, 2, 4, 8), (1, 2, 4)
LETTERS = {"n_rows": "N", "n_features": "D", "n_labels": "L", "n_components": "d"}
#: By how much a measured exponent may exceed a leading term: timings are noisy.
SLACK = 0.3
#: Exponents of N, D, L and d in the leading terms of the paper's analysis (on rows), by stage.
PAPER = pd.DataFrame(
    {
        "moments": [1, 2, 1, 0],
        "groups": [1, 0, 3, 0],
        "embedding": [1, 0, 1, 3],
        "mapping": [1, 3, 0, 1],
    },
    index=["N", "D", "L", "d"],
)
#: Each stage is timed as often as this, and the fastest counts.
REPEATS = 3


def plan(scope: Scope) -> list[Run]:
    """Return made data that grow in one dimension at a time."""
    base, factors = (QUICK_BASE, QUICK_FACTORS) if scope.quick else (BASE, FACTORS)
    grown = [base | {name: value * k} for name, value in base.items() for k in factors]
    # d cannot exceed L.
    sizes = [each | {"n_components": min(each["n_components"], each["n_labels"])} for each in grown]
    texts = dict.fromkeys(map(setting_text, sizes))
    return [Run("cost", "made", "GroPLE", 0, text, scope.seed, "made") for text in texts]


def cost_runs(job: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Measure processor seconds and memory (MB) of every stage on made data of a given size."""
    for run in job:
        yield run, _stage_costs(**run.parameters, seed=run.seed)


def _stage_costs(n_components: int, seed: int, **size: Any) -> dict[str, float]:
    data = make_grouped_multilabel(**size, n_groups=3, random_state=seed)
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    result: dict[str, float] = {}

    def measured(stage: str, work: Callable[[], Any]) -> Any:
        seconds = []
        for _ in range(REPEATS):
            begun = time.process_time()
            work()
            seconds.append(time.process_time() - begun)
        result[f"{stage}_seconds"] = min(seconds)
        tracemalloc.start()
        found = work()
        result[f"{stage}_megabytes"] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        return found

    moments = measured("moments", lambda: summarise(X, data.Y).matrices())
    groups = measured("groups", lambda: group_labels(moments.labels, "spectral", 5, seed))
    # A fixed number of iterations: a certificate would stop earlier on easier data.
    fixed: dict[str, Any] = {"n_components": n_components, "tol": 0.0, "max_iter": 5}
    embedding = measured("embedding", lambda: embed_labels(moments.labels, groups, **fixed))
    measured("mapping", lambda: MappingProblem(moments, embedding).solve(0.1, 0.0, 1.0))
    return result


def show(runs: pd.DataFrame) -> Exhibit:
    """Return seconds, memory and exponents of each stage, and what became of the claim."""
    rows: list[list[Any]] = []
    pictures, above, told = [], [], []
    for letter, results in _lines(runs[runs["task"] == "cost"]).items():
        seconds = results[[f"{stage}_seconds" for stage in PAPER]].set_axis(list(PAPER), axis=1)
        exponents = seconds.apply(_exponent)
        for stage, found in exponents.items():
            memory, theirs = results[f"{stage}_megabytes"], int(PAPER.loc[letter, stage])
            shown = [Cell(e, f"{e:.2f}") for e in (found, _exponent(memory))]
            last = seconds[stage].iloc[-1], memory.iloc[-1]
            rows.append([letter, stage, shown[0], theirs, shown[1], *last])
            above += [f"{stage} in {letter} {found:.2f}"] if found > theirs + SLACK else []
            told += [f"{stage} {found:.2f}"] if letter == "N" and stage != "moments" else []
        pictures.append(_picture(letter, seconds, exponents))
    if not rows:
        return Exhibit()
    columns = ["grows", "stage", "exponent", "paper's leading term", "of memory",
               "seconds at the largest", "megabytes at the largest"]  # fmt: skip
    note = (
        "Exponents by least squares of logarithms; at small sizes fixed costs flatten them. The "
        "paper's stages work on rows and so grow with N; here only the moments do."
    )
    finding = Finding(
        "refuted" if above else "confirmed",
        f"As an upper bound: of {len(rows)} exponents {len(above)} exceed the paper's leading term "
        f"by more than {SLACK:g}{': ' + ', '.join(above) if above else ''}. Once the moments are "
        "there the stages work without the rows: as N grows their exponents are "
        f"{', '.join(told)}, where the paper's terms are linear.",
    )
    table = Table(columns, rows, caption="Growth of time and memory", note=note)
    return Exhibit((), {"exponents": table}, pictures, [finding])


def _lines(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return for each dimension the results that differ in it alone, of the largest base run."""
    found: dict[str, pd.DataFrame] = {}
    for base in (BASE, QUICK_BASE):
        for name, letter in LETTERS.items():
            rest = {key: value for key, value in base.items() if key != name}.items()
            line = {
                size[name]: result
                for size, result in zip(runs["parameters"], runs["result"], strict=True)
                if rest <= size.items()
            }
            if len(line) > 1 and letter not in found:
                found[letter] = pd.DataFrame(line).T.sort_index()
    return found


def _exponent(values: pd.Series) -> float:
    """Return p of ``value ~ size^p`` by least squares of the logarithms."""
    x, y = (np.log(np.maximum(np.asarray(part, float), 1e-12)) for part in (values.index, values))
    return float(np.polyfit(x, y, 1)[0])


def _picture(letter: str, seconds: pd.DataFrame, exponents: pd.Series) -> Picture:
    title = f"Time as {letter} grows"
    drawn = plot_lines(seconds, (letter, "processor seconds"), title, logarithmic=True)
    caption = "Processor seconds of each stage, both axes logarithmic."
    told = "; ".join(f"{stage} grows with exponent {e:.2f}" for stage, e in exponents.items())
    # Not by letter: files may be called alike in either case.
    name = next(name for name, known in LETTERS.items() if known == letter)
    return Picture(drawn, picture_id("cost", name), title, caption, told)


EXPERIMENT = Experiment(
    "cost",
    "Cost",
    "How do time and memory grow, and is that what the paper's analysis says?",
    9,
    "The cost of each stage grows as analysed.",
    {"cost": cost_runs},
    plan,
    show,
)
