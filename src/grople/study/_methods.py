"""What is searched for each method: the published grid, and that of the nested protocol.

How a method is made, its name and its published settings come from :mod:`grople.baselines`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grople.baselines import method_names
from grople.published import published_setting
from grople.study._data import N_FOLDS, Data
from grople.study._printed import PAPER_METHODS
from grople.study._store import Setting, setting_text

#: The weights of the paper's grids, and its dimensions as shares of the labels.
POWERS = tuple(10.0**k for k in range(-4, 5))
SHARES = tuple(k / 10 for k in range(1, 9))
#: Of each, what a quick run takes.
QUICK_POWERS, QUICK_SHARES = (1e-4, 1.0, 1e4), (0.2, 0.5, 0.8)
#: The paper's GroPLE, but for α and β.
FIXED = {"n_components": 100, "n_groups": 10, "lambda_1": 1e-3, "lambda_2": 1.0}
#: What one would pick instead of the paper's methods; in the nested protocol alone.
OTHER_METHODS = ("Ridge", "LinearSVC", "Logistic", "ExtraTrees")
#: Mean squared length of a row from which on LIBSVM at C = 1 takes longer in proportion.
LONG_ROW = 500.0
#: Share of the budget that one of the about six fits of the nested protocol may take.
NESTED_FITS = 6


def product(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return every combination of parameters.

    Examples
    --------
    >>> product(a=[1, 2], b=[3])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


@dataclass(frozen=True)
class StudyMethod:
    """What is searched for a method.

    Attributes
    ----------
    name : str
        As the study writes it; its key in :data:`grople.baselines.METHODS` in lower case.
    grid, quick_grid : sequence of dict
        The published grid, and a small part of it.
    nested_grid : sequence of dict
        What the nested protocol chooses from besides the form of the rows, by values that
        ``GridSearchCV`` takes; a quick run takes the first of each. Ridge weights are left to each
        method's own criterion.
    separate : tuple of str
        Parameters by which published settings share nothing, so that they are separate jobs.
    seconds : callable
        A guess of the seconds that a published setting takes on a data set; zero where it is cheap.
    """

    name: str
    grid: Sequence[Setting] = ()
    quick_grid: Sequence[Setting] = ()
    nested_grid: Setting | None = None
    separate: tuple[str, ...] = ()
    seconds: Callable[[Data, Setting], float] = lambda data, setting: 0.0


def _svm_seconds(data: Data, setting: Setting) -> float:
    """Guess the time of one SVM a label: LIBSVM's grows with the square of the rows.

    The constants fit what a core of 2024 takes on the paper's data sets within a factor of two.
    """
    n, labels = data.B.shape
    values = (data.X.nnz / n if hasattr(data.X, "nnz") else data.X.shape[1]) + 5.0
    rows = n * (N_FOLDS - 1) / N_FOLDS
    if setting["solver"] == "liblinear":
        return float(labels * (1e-7 * rows * values + 0.005))
    squares = data.X.multiply(data.X) if hasattr(data.X, "multiply") else data.X**2
    long = max(1.0, squares.sum() / n / LONG_ROW)  # C is too large for long rows
    return float(labels * (1e-9 * rows**2 * values * long + 0.005))


_EMBEDDED = product(n_components=SHARES, ridge=POWERS)
_QUICK_EMBEDDED = product(n_components=QUICK_SHARES, ridge=QUICK_POWERS)
_SIZES = {"n_components": [1.0, 0.4]}
#: The estimator of a one-vs-rest classifier in its pipeline in the wrapper that decides.
_ONE_LABEL = "estimator__onevsrestclassifier__estimator__C"

_TABLE = {
    method.name: method
    for method in (
        StudyMethod(
            "GroPLE",
            [FIXED | pair for pair in product(alpha=POWERS, beta=POWERS)],
            [FIXED | pair for pair in product(alpha=QUICK_POWERS, beta=QUICK_POWERS)],
            {"margin": [0.0, 0.3]},
            separate=tuple(FIXED),
        ),
        StudyMethod(
            "LLSF",
            product(alpha=POWERS, beta=POWERS, gamma=[0.1]),
            # Where its known settings lie: the corners of the grid are far from all of them.
            product(alpha=[0.01, 1e3, 1e4], beta=[0.1, 1.0, 10.0], gamma=[0.1]),
            {"alpha": [1.0, 0.0]},
        ),
        StudyMethod("PLST", _EMBEDDED, _QUICK_EMBEDDED, _SIZES),
        StudyMethod("CPLST", _EMBEDDED, _QUICK_EMBEDDED, _SIZES),
        StudyMethod(
            "FaIE",
            product(n_components=SHARES, ridge=POWERS, alpha=POWERS),
            product(n_components=QUICK_SHARES, ridge=[1e-4, 1.0], alpha=[0.1, 1e3]),
            _SIZES,
            separate=("alpha",),
        ),
        StudyMethod("LEML", _EMBEDDED, _QUICK_EMBEDDED, _SIZES),
        StudyMethod(
            "MLSF",
            product(gamma=[10.0, 1.0, 0.1, 0.01], alpha=[0.0], meta_label_size=[10],
                    solver=["libsvm"]),
            separate=("gamma", "alpha"),
            seconds=_svm_seconds,
        ),
        StudyMethod("BSVM", [{"C": 1.0, "solver": "libsvm"}], seconds=_svm_seconds),
        StudyMethod("Ridge"),
        StudyMethod("LinearSVC", nested_grid={_ONE_LABEL: [0.1, 1.0]}),
        StudyMethod("Logistic", nested_grid={_ONE_LABEL: [1.0, 10.0]}),
        StudyMethod("ExtraTrees", nested_grid={"estimator__min_samples_leaf": [1e-3, 1]}),
    )
}  # fmt: skip


def study_method(name: str) -> StudyMethod:
    """Return what is searched for a method; nothing for one that has no entry here.

    Examples
    --------
    >>> len(study_method("GroPLE").grid), len(study_method("groplecv").grid)
    (81, 0)
    """
    return _TABLE.get(name) or StudyMethod(name)


def chosen_methods(names: Sequence[str]) -> list[str]:
    """Return methods by any spelling of their names; ``paper`` and ``others`` for all of a kind.

    Examples
    --------
    >>> chosen_methods(["FAiE", "others"])
    ['FaIE', 'Ridge', 'LinearSVC', 'Logistic', 'ExtraTrees']
    >>> len(chosen_methods([]))  # the paper's
    8
    """
    kinds = {"paper": PAPER_METHODS, "others": OTHER_METHODS}
    spelt = {name.lower(): name for name in _TABLE}
    found: list[str] = []
    for name in names or ["paper"]:
        if name.lower() in kinds:
            found += kinds[name.lower()]
        else:
            found += [spelt.get(key, key) for key in method_names(name)]
    return list(dict.fromkeys(found))


def method_order(name: str) -> tuple[int, str]:
    """Return the key that sorts methods: the paper's in its order, others behind them."""
    known = [*PAPER_METHODS, *OTHER_METHODS]
    return (known.index(name) if name in known else len(known), name)


def known_setting(name: str, dataset: str) -> dict[str, Any] | None:
    """Return the paper's setting of a method for a data set, None where it is not known.

    Examples
    --------
    >>> known_setting("PLST", "medical"), known_setting("PLST", "debtags-mini")
    ({'n_components': 0.7, 'ridge': 1.0}, None)
    """
    grid = study_method(name).grid
    try:
        known = published_setting(name, dataset)
    except ValueError:
        return None
    # What the table of settings leaves out is the same for every data set.
    return dict(grid[0]) | known if grid else None


def settings_within(name: str, data: Data, grid: str, budget: float) -> list[dict[str, Any]]:
    """Return the paper's setting and the published grid, as far as a budget allows.

    Parameters
    ----------
    name : str
        The method.
    data : Data
        What it is for.
    grid : {"full", "small", "paper"}
        The published grid, a small part of it, or (``"paper"``) nothing but the paper's setting;
        the small part where that is not known.
    budget : float
        Seconds that a fold may take, by guess: the paper's setting comes first, then the grid;
        where LIBSVM is too slow, LIBLINEAR takes its place.

    Examples
    --------
    >>> from grople.study import load_data
    >>> [len(settings_within("PLST", load_data("debtags-mini"), g, 9.0)) for g in ("full", "small")]
    [72, 9]
    """
    method = study_method(name)
    known = known_setting(name, data.name)
    searched = list(method.grid if grid == "full" else method.quick_grid)
    if known is not None:
        others = [] if grid == "paper" else searched
        searched = [known, *(s for s in others if setting_text(s) != setting_text(known))]
    for solver in ("libsvm", "liblinear"):
        tried = [s | {"solver": solver} if "solver" in s else s for s in map(dict, searched)]
        spent = itertools.accumulate(method.seconds(data, setting) for setting in tried)
        kept = [s for s, total in zip(tried, spent, strict=True) if total <= budget]
        if kept:
            return kept
    return []


def nested_within(name: str, data: Data, budget: float) -> bool:
    """Tell whether the fits of the nested protocol stay within the budget."""
    return study_method(name).seconds(data, {"solver": "liblinear"}) * NESTED_FITS <= budget


def nested_grid(name: str, size: str) -> dict[str, list[Any]]:
    """Return the values that the nested protocol searches: all, or of a small grid the first."""
    values = study_method(name).nested_grid or {}
    return {key: list(some if size == "full" else some[:1]) for key, some in values.items()}
