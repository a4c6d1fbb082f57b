"""Make the model files that every later version must open: python tools/make_golden_models.py.

One set for each version of the format, from synthetic data, with the rows and what the models
predicted for them beside each file. A file that is there is never made again: it stands for those
that users have.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from grople import GroPLE, GroPLECV
from grople.baselines import MLSF, Ridge
from grople.datasets import make_grouped_multilabel
from grople.decision import METRIC_RULES, Rule
from grople.features import Features
from grople.modelfile import save_model
from grople.modelfile.files import FORMAT_VERSION

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "data"
RULES = (*METRIC_RULES, "sign")
DATA = make_grouped_multilabel(70, 8, 5, n_groups=2, random_state=7)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
FIRST = slice(0, 60)
MANY = make_grouped_multilabel(400, 8, 5, n_groups=2, random_state=7)
TEXTS = [" ".join(f"word{i}" for i in np.flatnonzero(row)) for row in X]


def models() -> dict[str, tuple[Any, Any, Any]]:
    """Return models with their features, if any, and all rows: those they saw, and ten more."""
    names = {"columns": [f"label {i}" for i in range(Y.shape[1])]}
    kinds = np.array(["none", "one", "two"], dtype=object)[Y[:, 0] + Y[:, 1]]
    text, rows = Features.fit_text(TEXTS[FIRST], min_df=1)
    numbers = Features.plain([f"feature {i}" for i in range(X.shape[1])], unit_rows=True)
    scaled = numbers.transform(X)
    twice = Ridge(1.0, decision=Rule("example_f1", context=True))
    search = GroPLECV(3, 2, alpha=[0.0, 1.0], gamma=1.0, cv=2, random_state=0)
    return {
        "grople": (GroPLE(4, 2, random_state=0).fit(X[FIRST], pd.DataFrame(Y[FIRST], **names)),
                   None, X),
        "text": (Ridge(1.0, form="implicit", decision="micro_f1").fit(rows, DATA.Y[FIRST]), text,
                 text.transform(TEXTS)),
        "chains": (MLSF(2, random_state=0).fit(scaled[FIRST], Y[FIRST]), numbers, scaled),
        # Rows enough for a second look at candidates; too many of them to keep in the file.
        "decoder": (twice.fit(MANY.X, MANY.Y), None, X),
        "classes": (search.fit(X[FIRST], kinds[FIRST]), None, X),
    }  # fmt: skip


def dense(values: Any) -> Any:
    """Return a plain array."""
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def main() -> None:
    """Write the files that are missing."""
    FOLDER.mkdir(exist_ok=True)
    for name, (model, features, rows) in models().items():
        path = FOLDER / f"model-v{FORMAT_VERSION}-{name}.grople"
        if path.exists():
            print(f"{path.name} is there")
            continue
        kept = name != "decoder"
        save_model(path, model, features=features, with_moments=kept, notes=f"golden: {name}")
        found = {
            "X": dense(rows),
            "Y": Y,
            "scores": model.decision_function(rows),
            "probabilities": model.predict_proba(rows),
        }
        if model._targets.kind == "multilabel":
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
