"""Make the model files that every later version must open: python tools/make_golden_models.py.

One set for each version of the format, from synthetic data, with the rows and what the models
predicted for them in an .npz file of the same name. A file that is there is never made again: it
stands for those that users have.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from grople import GroPLE, GroPLECV, Solver
from grople.baselines import MLSF, Ridge
from grople.datasets import make_grouped_multilabel
from grople.decision import METRIC_RULES, Rule
from grople.features import fit_text, plain_columns
from grople.io import FORMAT_VERSION, save_model

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.io.test_golden import dense, kind_of_machine  # noqa: E402

FOLDER = ROOT / "tests" / "data"
RULES = (*METRIC_RULES, "sign")
DATA = make_grouped_multilabel(70, 8, 5, n_groups=2, random_state=7)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
FIRST = slice(0, 60)
MANY = make_grouped_multilabel(400, 8, 5, n_groups=2, random_state=7)
WIDE = make_grouped_multilabel(70, 1001, 5, n_groups=2, random_state=7)
TEXTS = [" ".join(f"word{i}" for i in np.flatnonzero(row)) for row in X]
TWICE = np.repeat(np.arange(60), 2)


def models() -> dict[str, tuple[Any, Any, Any]]:
    """Return models with their features, if any, and all rows: those they saw, and ten more."""
    names = {"columns": [f"label {i}" for i in range(Y.shape[1])]}
    kinds = np.array(["none", "one", "two"], dtype=object)[Y[:, 0] + Y[:, 1]]
    text, rows = fit_text(TEXTS[FIRST], min_df=1)
    numbers = plain_columns([f"feature {i}" for i in range(X.shape[1])], unit_rows=True)
    scaled = numbers.transform(X)
    search = GroPLECV(3, 2, alpha=[0.0, 1.0], gamma=1.0, cv=2, solver=Solver(tol=1e-3))
    linear = GroPLE(4, 2, experts=["linear"], decision="sign")
    weights = 0.5 * (1 + np.arange(60) % 3)
    return {
        "grople": (GroPLE(4, 2).fit(X[FIRST], pd.DataFrame(Y[FIRST], **names)), None, X),
        "weights": (linear.fit(X[FIRST], Y[FIRST], weights), None, X),
        "text": (GroPLE(4, 2, decision="micro_f1").fit(rows, DATA.Y[FIRST]), text,
                 text.transform(TEXTS)),
        "rows": (GroPLE(2, 2, gamma=1.0).fit(WIDE.X[FIRST], WIDE.Y[FIRST]), None, WIDE.X),
        "copies": (GroPLE(4, 2, gamma=1.0).fit(X[TWICE], Y[TWICE]), None, X),
        "chains": (MLSF(2).fit(scaled[FIRST], Y[FIRST]), numbers, scaled),
        # Rows enough for a re-ranker; too many of them to keep in the file.
        "reranker": (Ridge(1.0, decision=Rule(context=True)).fit(MANY.X, MANY.Y), None, X),
        "classes": (search.fit(X[FIRST], kinds[FIRST]), None, X),
    }  # fmt: skip


def main() -> None:
    """Write the files that are missing."""
    FOLDER.mkdir(exist_ok=True)
    for name, (model, features, rows) in models().items():
        path = FOLDER / f"model-v{FORMAT_VERSION}-{name}.grople"
        if path.exists():
            print(f"{path.name} is there")
            continue
        kept = name != "reranker"
        save_model(path, model, features=features, with_rows=kept, notes=f"golden: {name}")
        found = {
            "machine": np.array(kind_of_machine()),
            "X": dense(rows),
            "sparse": np.array(hasattr(rows, "toarray")),
            "Y": WIDE.Y.toarray() if name == "rows" else Y,
            "scores": model.decision_function(rows),
            "probabilities": model.predict_proba(rows),
        }
        if name == "weights":  # without counts of held-out scores, which are no whole numbers
            found["sign"] = dense(model.predict(rows))
        elif model._targets.kind == "multilabel":
            for rule in RULES:
                model.set_params(decision=rule)
                found[rule] = dense(model.predict(rows))
        else:
            found["classes"] = model.predict(rows).astype(str)
        np.savez_compressed(path.with_suffix(".npz"), **found)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
