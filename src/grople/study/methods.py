"""The table of methods: how each is run as published, and what the nested protocol searches.

To add a method, or to change what is searched for one, add or change one entry.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grople import GroPLE
from grople.baselines import (
    BSVM,
    CPLST,
    LEML,
    LLSF,
    MLSF,
    PLST,
    FaIE,
    cplst_path,
    faie_path,
    leml_path,
    llsf_path,
    plst_path,
)
from grople.baselines.bsvm import mean_square
from grople.moments import Moments
from grople.study import paths
from grople.study.splits import FOLDS, Data, Split
from grople.study.units import Setting, canonical

__all__ = ["METHODS", "Method", "find_method", "product"]

Found = Iterator[tuple[Setting, Any]]
Published = Callable[[Split, Sequence[Setting], Sequence[Setting], int], Found]
Search = Callable[[Moments, Sequence[Setting], int], Found]

#: The weights of the paper's grids, and its dimensions as shares of the labels.
POWERS = tuple(10.0**k for k in range(-4, 5))
SHARES = tuple(k / 10 for k in range(1, 9))
#: The paper's GroPLE, but for α and β.
FIXED = {"n_components": 100, "n_groups": 10, "lambda_1": 1e-3, "lambda_2": 1.0}
#: Of each list in a grid, the values that a quick run takes.
QUICK_POWERS, QUICK_SHARES = (1e-4, 1.0, 1e4), (0.2, 0.5, 0.8)
#: Mean squared length of a row from which on LIBSVM at C = 1 takes longer in proportion.
LONG_ROW = 500.0
#: Ridge weights and sizes that the nested protocol searches, for every method alike.
RIDGES = (0.1, 1.0, 10.0, 100.0)
SIZES = (0.4, 1.0)


def product(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return every combination of parameters.

    Examples
    --------
    >>> product(a=[1, 2], b=[3])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Attributes
    ----------
    name : str
        Its name.
    make : callable
        The estimator, from parameters and ``decision=``.
    published : callable
        The published behaviour along settings: see :mod:`grople.study.paths`.
    grid, quick_grid : list of dict
        The published grid, and a small part of it.
    parameters : tuple of str
        What a published setting consists of.
    search : callable or None
        The library's own behaviour along settings, from moments; None learns from rows and
        has its parameters set from the training rows by the estimator itself.
    nested_grid : list of dict
        What the nested protocol chooses from; a quick run from every third of them.
    seconds : callable
        A guess of the seconds that a published setting takes on a data set: beyond the budget it
        is left out. Zero where moments make it cheap.
    """

    name: str
    make: Callable[..., Any]
    published: Published
    grid: Sequence[Setting]
    quick_grid: Sequence[Setting]
    parameters: tuple[str, ...]
    search: Search | None = None
    nested_grid: Sequence[Setting] = ({},)
    seconds: Callable[[Data, Setting], float] = lambda data, setting: 0.0

    def searched(self, grid: str) -> list[Setting]:
        """Return what the nested protocol chooses from, the ``"full"`` grid or a ``"small"`` one.

        Examples
        --------
        >>> len(METHODS["PLST"].searched("full")), len(METHODS["PLST"].searched("small"))
        (8, 3)
        """
        return list(self.nested_grid if grid == "full" else self.nested_grid[::3])

    def known(self, dataset: str) -> dict[str, Any] | None:
        """Return the paper's setting for a data set, None where it is not known."""
        try:
            model = self.make.published(dataset)  # type: ignore[attr-defined]
        except ValueError:
            return None
        return {name: getattr(model, name) for name in self.parameters}

    def settings(
        self, data: Data, *, quick: bool = False, budget: float = math.inf
    ) -> Sequence[Setting]:
        """Return the published grid and the paper's setting, as far as a budget allows.

        Parameters
        ----------
        data : Data
            What it is for.
        quick : bool
            Whether a small part of the grid will do.
        budget : float
            Seconds that a fold may take, by the guess of :attr:`seconds`: the paper's setting
            comes first, then the grid; where LIBSVM is too slow, LIBLINEAR takes its place.
        """
        grid = list(self.quick_grid if quick else self.grid)
        known = self.known(data.name)
        if known is not None:
            grid = [known, *(s for s in grid if canonical(s) != canonical(known))]
        for solver in ("libsvm", "liblinear"):
            tried = [s | {"solver": solver} if "solver" in s else s for s in map(dict, grid)]
            spent = itertools.accumulate(self.seconds(data, setting) for setting in tried)
            kept = [s for s, total in zip(tried, spent, strict=True) if total <= budget]
            if kept:
                return kept
        return []


def _along(path: Callable[..., Any], *names: str) -> Search:
    """Return a search from one of the library's paths over moments."""

    def search(moments: Moments, settings: Sequence[Setting], seed: int) -> Found:
        asked = {canonical(setting): setting for setting in settings}
        values = [list(dict.fromkeys(setting[name] for setting in settings)) for name in names]
        for setting, scores in path(moments, *values):
            if canonical(setting) in asked:
                yield asked[canonical(setting)], scores

    return search


def _svm_seconds(data: Data, setting: Setting) -> float:
    """Guess the time of one SVM a label: LIBSVM's grows with the square of the rows.

    The constants fit what a core of 2024 takes on the paper's data sets within a factor of two.
    """
    n, labels = data.B.shape
    values = (data.X.nnz / n if hasattr(data.X, "nnz") else data.X.shape[1]) + 5.0
    n *= (FOLDS - 1) / FOLDS
    each = 1e-9 * n * n * values if setting["solver"] == "libsvm" else 1e-7 * n * values
    if setting["solver"] == "libsvm":  # long rows keep it busy: C is too large for them
        each *= max(1.0, mean_square(data.X) / LONG_ROW)
    return float(labels * (each + 0.005))


def _grople_grid(weights: Sequence[float]) -> list[dict[str, Any]]:
    return [FIXED | pair for pair in product(alpha=weights, beta=weights)]


def _mlsf_grid(gammas: Sequence[float]) -> list[dict[str, Any]]:
    return product(gamma=gammas, alpha=[0.0], meta_label_size=[10], solver=["libsvm"])


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "GroPLE",
            GroPLE,
            paths.published_grople,
            _grople_grid(POWERS),
            _grople_grid(QUICK_POWERS),
            (*FIXED, "alpha", "beta"),
            paths.grople_path,
            product(n_components=[100, 400], n_groups=[10], alpha=[0.0, 1.0, 10.0], gamma=RIDGES),
        ),
        Method(
            "LLSF",
            LLSF,
            paths.published_llsf,
            product(alpha=POWERS, beta=POWERS, gamma=[0.1]),
            product(alpha=QUICK_POWERS, beta=QUICK_POWERS, gamma=[0.1]),
            ("alpha", "beta", "gamma"),
            _along(llsf_path, "alpha", "beta", "gamma"),
            product(alpha=[0.0, 1.0, 10.0], beta=[0.0], gamma=RIDGES),
        ),
        Method(
            "PLST",
            PLST,
            paths.published_plst,
            product(n_components=SHARES, ridge=POWERS),
            product(n_components=QUICK_SHARES, ridge=QUICK_POWERS),
            ("n_components", "ridge"),
            _along(plst_path, "n_components", "ridge"),
            product(n_components=SIZES, ridge=RIDGES),
        ),
        Method(
            "CPLST",
            CPLST,
            paths.published_cplst,
            product(n_components=SHARES, ridge=POWERS),
            product(n_components=QUICK_SHARES, ridge=QUICK_POWERS),
            ("n_components", "ridge"),
            _along(cplst_path, "n_components", "ridge"),
            product(n_components=SIZES, ridge=RIDGES),
        ),
        Method(
            "FaIE",
            FaIE,
            paths.published_faie,
            product(n_components=SHARES, ridge=POWERS, alpha=POWERS),
            product(n_components=QUICK_SHARES, ridge=[1e-4, 1.0], alpha=[0.1, 1e3]),
            ("n_components", "ridge", "alpha"),
            _along(faie_path, "n_components", "ridge", "alpha"),
            product(n_components=SIZES, ridge=RIDGES, alpha=[1.0, 100.0]),
        ),
        Method(
            "LEML",
            LEML,
            paths.published_leml,
            product(n_components=SHARES, ridge=POWERS),
            product(n_components=QUICK_SHARES, ridge=QUICK_POWERS),
            ("n_components", "ridge"),
            _along(leml_path, "n_components", "ridge"),
            product(n_components=SIZES, ridge=RIDGES),
        ),
        Method(
            "MLSF",
            MLSF,
            paths.published_mlsf,
            _mlsf_grid([10.0, 1.0, 0.1, 0.01]),
            [],
            ("gamma", "alpha", "meta_label_size", "solver"),
            seconds=_svm_seconds,
        ),
        Method(
            "BSVM",
            BSVM,
            paths.published_bsvm,
            [{"C": 1.0, "solver": "libsvm"}],
            [],
            ("C", "solver"),
            seconds=_svm_seconds,
        ),
    )
}


def find_method(name: str) -> Method:
    """Return a method by its name or the paper's, in any case.

    Examples
    --------
    >>> find_method("faie").name
    'FaIE'
    >>> find_method("svm")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: no method is called 'svm'; there are GroPLE, LLSF, PLST, CPLST, FaIE, LEML, MLSF...
    """
    known = {key.casefold(): method for key, method in METHODS.items()}
    if name.casefold() not in known:
        raise ValueError(f"no method is called {name!r}; there are {', '.join(METHODS)}")
    return known[name.casefold()]
