"""What the study searches for each method, as far as the registry of methods does not say it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.model_selection import ParameterGrid

from grople.baselines import METHODS, method_names
from grople.published import published_setting
from grople.study._data import N_FOLDS, Data
from grople.study._printed import PAPER_METHODS

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
#: Fits of the nested protocol on one fold.
NESTED_FITS = 6

Values = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Searched:
    """What is searched for a method: values of its parameters.

    Attributes
    ----------
    quick : mapping
        A small part of the published grid; empty where a quick run takes the known setting alone.
    nested : mapping
        What the nested protocol chooses from besides the form of the rows; a quick run takes the
        first of each. Ridge weights are left to each method's own criterion.
    fixed : mapping
        Parameters that all published settings name.
    separate : tuple of str
        Parameters by which published settings share no work, so that they are separate jobs.
    """

    quick: Values = field(default_factory=dict)
    nested: Values = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    separate: tuple[str, ...] = ()


_QUICK_EMBEDDING = {"n_components": QUICK_SHARES, "ridge": QUICK_POWERS}
_EMBEDDING = Searched(_QUICK_EMBEDDING, {"n_components": (1.0, 0.4)})
#: The estimator of a one-vs-rest classifier in its pipeline in the wrapper that decides.
_ONE_LABEL = "estimator__onevsrestclassifier__estimator__C"

_SEARCHED = {
    "GroPLE": Searched(
        {"alpha": QUICK_POWERS, "beta": QUICK_POWERS}, {"margin": (0.0, 0.3)}, FIXED, tuple(FIXED)
    ),
    # Where its known settings lie: the corners of the grid are far from all of them.
    "LLSF": Searched(
        {"alpha": (0.01, 1e3, 1e4), "beta": (0.1, 1.0, 10.0), "gamma": (0.1,)},
        {"alpha": (1.0, 0.0)},
    ),
    "PLST": _EMBEDDING,
    "CPLST": _EMBEDDING,
    "FaIE": Searched(
        {"n_components": QUICK_SHARES, "ridge": (1e-4, 1.0), "alpha": (0.1, 1e3)},
        _EMBEDDING.nested,
        separate=("alpha",),
    ),
    "LEML": _EMBEDDING,
    "MLSF": Searched(fixed={"alpha": 0.0, "solver": "libsvm"}, separate=("alpha", "gamma")),
    "BSVM": Searched(fixed={"solver": "libsvm"}),
    "LinearSVC": Searched(nested={_ONE_LABEL: (0.1, 1.0)}),
    "Logistic": Searched(nested={_ONE_LABEL: (1.0, 10.0)}),
    "ExtraTrees": Searched(nested={"estimator__min_samples_leaf": (1e-3, 1)}),
}


def searched(name: str) -> Searched:
    """Return what is searched for a method; nothing for one that is not named here."""
    return _SEARCHED.get(name, Searched())


def chosen_methods(names: Sequence[str]) -> list[str]:
    """Return methods by any spelling of their names; ``paper`` and ``others`` for all of a kind."""
    kinds = {"paper": PAPER_METHODS, "others": OTHER_METHODS}
    spelt = {name.lower(): name for name in (*PAPER_METHODS, *OTHER_METHODS)}
    found: list[str] = []
    for name in names or ["paper"]:
        found += kinds.get(name.lower()) or [spelt.get(key, key) for key in method_names(name)]
    return list(dict.fromkeys(found))


def method_order(name: str) -> tuple[int, str]:
    """Return the key that sorts methods: the paper's in its order, others behind them."""
    known = [*PAPER_METHODS, *OTHER_METHODS]
    return (known.index(name) if name in known else len(known), name)


def known_setting(name: str, dataset: str) -> dict[str, Any] | None:
    """Return the paper's setting of a method for a data set, None where it is not known."""
    try:
        return {**searched(name).fixed, **published_setting(name, dataset)}
    except ValueError:
        return None


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
    """
    known, fixed = known_setting(name, data.name), searched(name).fixed
    values = METHODS[name.lower()].grid if grid == "full" else searched(name).quick
    tried = [{**fixed, **setting} for setting in ParameterGrid(dict(values))] if values else []
    if known is not None:
        tried = [known, *(s for s in tried if grid != "paper" and s != known)]
    for solver in ("libsvm", "liblinear"):
        each = [s | {"solver": solver} if "solver" in s else s for s in tried]
        spent = itertools.accumulate(_svm_seconds(data, setting.get("solver")) for setting in each)
        kept = [s for s, total in zip(each, spent, strict=True) if total <= budget]
        if kept:
            return kept
    return []


def nested_within(name: str, data: Data, budget: float) -> bool:
    """Tell whether the fits of the nested protocol stay within the budget."""
    solver = "liblinear" if "solver" in searched(name).fixed else None
    return _svm_seconds(data, solver) * NESTED_FITS <= budget


def _svm_seconds(data: Data, solver: str | None) -> float:
    """Guess the time of one SVM a label: LIBSVM's grows with the square of the rows.

    The constants fit what a core of 2024 takes on the paper's data sets within a factor of two.
    """
    if solver is None:
        return 0.0
    n, labels = data.B.shape
    values = (data.X.nnz / n if hasattr(data.X, "nnz") else data.X.shape[1]) + 5.0
    rows = n * (N_FOLDS - 1) / N_FOLDS
    if solver == "liblinear":
        return float(labels * (1e-7 * rows * values + 0.005))
    squares = data.X.multiply(data.X) if hasattr(data.X, "multiply") else data.X**2
    long = max(1.0, squares.sum() / n / LONG_ROW)  # C is too large for long rows
    return float(labels * (1e-9 * rows**2 * values * long + 0.005))
