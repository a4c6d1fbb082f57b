"""Runs competitors in their environments and keeps what was measured, a JSON line a run."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import environments
from benchmarks.peers.splits import Split, stored_split
from benchmarks.peers.table import COMPETITORS, ENVIRONMENTS, FOLDER, ROOT
from grople.metrics import Counts, counts

__all__ = ["LIMIT", "RESULTS", "key", "load_counts", "records", "run_all", "run_one"]

RESULTS = FOLDER / "results.jsonl"
#: Processor seconds of a run: fit, out-of-fold fits and prediction together.
LIMIT = 600
MEASURES = ("example_f1", "micro_f1")
#: Raise when the worker measures otherwise: everything is then measured again.
PROTOCOL = 1
THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS",
     "NUMBA_NUM_THREADS"), "1",
)  # fmt: skip


def key(name: str, split: Split) -> str:
    """Return what a result depends on: settings, versions, data and, for ours, the sources."""
    competitor = COMPETITORS[name]
    environment = ENVIRONMENTS[competitor.environment]
    digest = hashlib.sha256()
    parts = PROTOCOL, name, sorted(competitor.options.items()), environment, split.fingerprint
    digest.update(repr(parts).encode())
    if environment.tree:
        for path in sorted((ROOT / "src").rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def records(path: Path | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the latest result of every competitor and data set."""
    path = path or RESULTS
    lines = path.read_text().splitlines() if path.is_file() else []
    found = (json.loads(line) for line in lines)
    return {(record["competitor"], record["data"]): record for record in found}


def run_all(
    names: Iterable[str], data: Iterable[str], limit: float = LIMIT, again: bool = False
) -> None:
    """Measure what has not been measured yet, data set by data set."""
    names = list(names)
    for dataset in data:
        split = stored_split(dataset)
        for name in names:
            known = records().get((name, dataset))
            if known and known["key"] == key(name, split) and not again:
                continue
            if not environments.installed(COMPETITORS[name].environment):
                print(f"{dataset:22} {name:18} not installed", flush=True)
                continue
            record = run_one(name, split, limit)
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            with open(RESULTS, "a") as lines:
                lines.write(json.dumps(record) + "\n")
            print(f"{dataset:22} {name:18} {summary(record)}", flush=True)


def summary(record: dict[str, Any]) -> str:
    """Return a result in one line."""
    if record["status"] != "ok":
        return f"{record['status']}: {record['reason']}"
    return (
        f"example-F1 {record['example_f1']:.4f}  micro-F1 {record['micro_f1']:.4f}  CPU s: fit "
        f"{record['fit_cpu']:.2f}, decision {record['decision_cpu']:.2f}, predict "
        f"{record['predict_cpu']:.2f}"
    )


def run_one(name: str, split: Split, limit: float = LIMIT) -> dict[str, Any]:
    """Measure a competitor on a split, in a process of its own."""
    competitor = COMPETITORS[name]
    record = {
        "competitor": name, "data": split.name, "key": key(name, split), "limit": limit,
        "threads": 1,
    }  # fmt: skip
    path = [str(ROOT)] + [str(ROOT / "src")] * ENVIRONMENTS[competitor.environment].tree
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        result = Path(folder) / "result"
        command = (
            str(environments.interpreter(competitor.environment)), "-m", "benchmarks.peers.worker",
            name, str(split.path), str(result), str(limit),
        )  # fmt: skip
        settings = os.environ | THREADS | {"PYTHONPATH": os.pathsep.join(path), "TMPDIR": folder}
        done = subprocess.run(
            command, cwd=folder, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
        report = result.with_suffix(".json")
        found = json.loads(report.read_text()) if report.is_file() else {}
        record |= found
        if "over" in found or done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            reason = found.get("over", f"more than {limit:g} processor seconds")
            return record | {"status": "over the limit", "reason": reason}
        if done.returncode or not found.get("done"):
            return record | {"status": "failed", "reason": environments.last_line(done.stderr)}
        kept = prediction_path(name, split.name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(result.with_suffix(".npz").read_bytes())
    return record | {"status": "ok", "reason": ""} | quality(name, split)


def prediction_path(name: str, dataset: str) -> Path:
    return FOLDER / "predictions" / f"{dataset}--{name}.npz"


def load_counts(name: str, split: Split, measure: str) -> Counts:
    """Return the counts of the label sets that a competitor predicted for a measure."""
    with np.load(prediction_path(name, split.name)) as stored:
        indices, indptr = stored[f"{measure}_indices"], stored[f"{measure}_indptr"]
    sets = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=split.truth.shape)
    return counts(split.truth, sets)


def quality(name: str, split: Split) -> dict[str, float]:
    """Measure the predictions of a competitor; 0/0 counts 0."""
    found = {measure: load_counts(name, split, measure) for measure in MEASURES}
    with np.load(prediction_path(name, split.name)) as stored:
        top = stored["top"]
    truth = split.truth.tocoo()
    keys = truth.coords[0].astype(np.int64) * truth.shape[1] + truth.coords[1]
    hits = np.isin(np.arange(len(top))[:, None] * truth.shape[1] + top, keys) & (top >= 0)
    return {
        "example_f1": found["example_f1"].example_f1(),
        "micro_f1": found["micro_f1"].micro_f1(),
        "macro_f1": found["micro_f1"].macro_f1(),
        **{f"precision_at_{k}": float(hits[:, :k].mean()) for k in (1, 3, 5)},
    }
