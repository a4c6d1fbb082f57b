"""The paper's experiments: declared, run, stored, compared with the printed ones, reported."""

from grople.errors import require

# All of the study works on tables of pandas.
require("pandas", "report", "The study")

from grople.study._data import N_FOLDS, Data, Fold, load_data, load_fold, measures  # noqa: E402
from grople.study._planning import STUDY_DATASETS, make_plan, present_datasets  # noqa: E402
from grople.study._printed import (  # noqa: E402
    METRICS,
    PAPER_METHODS,
    PRINTED,
    printed_ranks,
    printed_table,
)
from grople.study._report import duration, write_report  # noqa: E402
from grople.study._runner import Outcome, compute_job, run_plan  # noqa: E402
from grople.study._statistics import (  # noqa: E402
    Friedman,
    Interval,
    Nemenyi,
    RowRatio,
    corrected_t,
    friedman,
    holm,
    nemenyi,
    paired_bootstrap,
    rank_scores,
    signed_ranks,
)
from grople.study._store import RESULTS_FILE, Run, Store, StoreError, setting_text  # noqa: E402  # noqa: E402
from grople.study.experiments import (  # noqa: E402
    EXPERIMENTS,
    TASKS,
    Exhibit,
    Experiment,
    Finding,
    Scope,
    find_experiments,
)

__all__ = [
    "EXPERIMENTS",
    "METRICS",
    "N_FOLDS",
    "PAPER_METHODS",
    "PRINTED",
    "RESULTS_FILE",
    "STUDY_DATASETS",
    "TASKS",
    "Data",
    "Exhibit",
    "Experiment",
    "Finding",
    "Fold",
    "Friedman",
    "Interval",
    "Nemenyi",
    "Outcome",
    "RowRatio",
    "Run",
    "Scope",
    "Store",
    "StoreError",
    "compute_job",
    "corrected_t",
    "duration",
    "find_experiments",
    "friedman",
    "holm",
    "load_data",
    "load_fold",
    "make_plan",
    "measures",
    "nemenyi",
    "paired_bootstrap",
    "present_datasets",
    "printed_ranks",
    "printed_table",
    "rank_scores",
    "run_plan",
    "setting_text",
    "signed_ranks",
    "write_report",
]
