"""Tags for raw text: GroPLE beside TF-IDF + one-vs-rest LinearSVC, same features, same decision.

Debian's package descriptions; 25,000 to learn from, the rest to measure. Both see the same TF-IDF
rows, and both decide on held-out scores of their training rows. Seconds are those of the
processor, so that other work on the machine counts for neither.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks import data_folder, table
from grople.baselines import METHODS, make_method
from grople.datasets import TextTable, read_examples, spread_labels
from grople.features import fit_text
from grople.metrics import evaluate
from grople.tagging import Examples

#: Minutes of work.
ON_REQUEST = True
#: Features of the texts.
FORMS: dict[str, dict[str, Any]] = {
    "words": {},
    "words and pairs of words": {"ngrams": (1, 2), "max_features": 60_000},
}
NAMES = ("linearsvc", "grople")
MEASURES = ("accuracy", "example_f1", "macro_f1", "micro_f1", "precision_at_1")


def part(texts: TextTable, rows: np.ndarray) -> TextTable:
    return TextTable(
        tuple(texts.texts[i] for i in rows), tuple(texts.tags[i] for i in rows), name=texts.name
    )


def run(quick: bool = False) -> str:
    folder = data_folder()
    if folder is None:
        return "Debian's package descriptions are not here: set GROPLE_DATA."
    texts, _ = read_examples(folder / "debtags" / "debtags.jsonl.gz")
    order = np.random.RandomState(0).permutation(len(texts))
    train, test = (order[:2000], order[2000:3000]) if quick else (order[:25000], order[25000:])
    known, unseen = part(texts, train), part(texts, test)
    parts = []
    for form, settings in FORMS.items():
        if quick:
            settings = settings | {"max_features": 1000}
        parts.append(f"{form}:\n\n{measured(known, unseen, settings)}")
    return (
        f"{len(train):,} packages to learn from, {len(test):,} to measure; decisions for "
        "example-F1; 0/0 = 0.\n\n" + "\n\n".join(parts)
    )


def measured(known: TextTable, unseen: TextTable, settings: dict[str, Any]) -> str:
    features, _ = fit_text(known.texts, **settings)
    X, learnt = features.transform(known.texts), Examples.of(known)
    X_test, tested = features.transform(unseen.texts), Examples.of(unseen)
    Y, names = learnt.Y, learnt.label_names
    truth, test_names = tested.Y, tested.label_names
    truth = spread_labels(truth, test_names, names)
    rows, seconds = [], {}
    for name in NAMES:
        model = make_method(name, "example_f1", n_jobs=1)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, Y)
        seconds[name] = time.process_time() - started
        scores = np.full(truth.shape, -1e9)
        scores[:, : len(names)] = model.decision_function(X_test)
        predicted = model.predict(X_test)
        predicted.resize(truth.shape)
        found = evaluate(truth, predicted, scores)
        rows.append(
            [METHODS[name].title, *(f"{found[m]:.4f}" for m in MEASURES), f"{seconds[name]:.1f}"]
        )
    for row, name in zip(rows, NAMES, strict=True):
        row.append(f"{seconds['linearsvc'] / seconds[name]:.2f}×")
    heads = ["method", *MEASURES, "CPU s", "as fast as LinearSVC"]
    return f"{X.shape[1]:,} features, {truth.shape[1]} tags\n\n{table(heads, rows)}"
