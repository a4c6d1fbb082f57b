"""The table of methods: how each is run as published, and what the nested protocol searches.

To add a method, or to change what is searched for one, add or change one entry.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.extmath import row_norms

from grople import GroPLE
from grople.baselines import (
    BSVM,
    CPLST,
    LEML,
    LLSF,
    MLSF,
    PLST,
    FaIE,
    LabelTrees,
    Ridge,
)
from grople.estimators import MultilabelDecisionClassifier
from grople.study import paths
from grople.study.splits import FOLDS, Data, Split
from grople.study.units import Setting, canonical

__all__ = [
    "EVERY",
    "METHODS",
    "NONLINEAR",
    "RIVALS",
    "Method",
    "chosen_methods",
    "find_method",
    "product",
]

Found = Iterator[tuple[Setting, Any]]
Published = Callable[[Split, Sequence[Setting], Sequence[Setting], int], Found]

#: The weights of the paper's grids, and its dimensions as shares of the labels.
POWERS = tuple(10.0**k for k in range(-4, 5))
SHARES = tuple(k / 10 for k in range(1, 9))
#: The paper's GroPLE, but for α and β.
FIXED = {"n_components": 100, "n_groups": 10, "lambda_1": 1e-3, "lambda_2": 1.0}
#: Of each list in a grid, the values that a quick run takes.
QUICK_POWERS, QUICK_SHARES = (1e-4, 1.0, 1e4), (0.2, 0.5, 0.8)
#: Mean squared length of a row from which on LIBSVM at C = 1 takes longer in proportion.
LONG_ROW = 500.0
#: Sizes of the code that the nested protocol chooses from, as shares of the labels.
SIZES = (1.0, 0.4)


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
    nested_grid : list of dict
        What the nested protocol chooses from beside the form of the rows; a quick run takes the
        first. Ridge weights are left to each method's own generalised cross-validation.
    seconds : callable
        A guess of the seconds that a published setting takes on a data set: beyond the budget it
        is left out. Zero where moments make it cheap.
    nonlinear : bool
        Whether the nested protocol may also give it features that are not linear in the rows.
    scaled : bool
        Whether it also chooses between forms of the rows; trees take them as they are.
    """

    name: str
    make: Callable[..., Any]
    published: Published
    grid: Sequence[Setting]
    quick_grid: Sequence[Setting]
    parameters: tuple[str, ...]
    nested_grid: Sequence[Setting] = ({},)
    seconds: Callable[[Data, Setting], float] = lambda data, setting: 0.0
    nonlinear: bool = False
    scaled: bool = True

    def searched(self, grid: str) -> list[Setting]:
        """Return what the nested protocol chooses from, the ``"full"`` grid or a ``"small"`` one.

        Examples
        --------
        >>> len(METHODS["PLST"].searched("full")), len(METHODS["PLST"].searched("small"))
        (2, 1)
        """
        return list(self.nested_grid if grid == "full" else self.nested_grid[:1])

    def known(self, dataset: str) -> dict[str, Any] | None:
        """Return the paper's setting for a data set, None where it is not known."""
        if not self.parameters:  # not in the paper
            return None
        try:
            model = self.make.published(dataset)  # type: ignore[attr-defined]
        except ValueError:
            return None
        return {name: getattr(model, name) for name in self.parameters}

    def settings(
        self, data: Data, *, grid: str = "full", budget: float = math.inf
    ) -> Sequence[Setting]:
        """Return the paper's setting and the published grid, as far as a budget allows.

        Parameters
        ----------
        data : Data
            What it is for.
        grid : {"full", "small", "paper"}
            The published grid, a small part of it, or (``"paper"``) nothing beside the paper's
            setting; the small part where that is not known.
        budget : float
            Seconds that a fold may take, by the guess of :attr:`seconds`: the paper's setting
            comes first, then the grid; where LIBSVM is too slow, LIBLINEAR takes its place.
        """
        known = self.known(data.name)
        searched = list(self.grid if grid == "full" else self.quick_grid)
        if known is not None:
            others = () if grid == "paper" else searched
            searched = [known, *(s for s in others if canonical(s) != canonical(known))]
        for solver in ("libsvm", "liblinear"):
            tried = [s | {"solver": solver} if "solver" in s else s for s in map(dict, searched)]
            spent = itertools.accumulate(self.seconds(data, setting) for setting in tried)
            kept = [s for s, total in zip(tried, spent, strict=True) if total <= budget]
            if kept:
                return kept
        return []


def _svm_seconds(data: Data, setting: Setting) -> float:
    """Guess the time of one SVM a label: LIBSVM's grows with the square of the rows.

    The constants fit what a core of 2024 takes on the paper's data sets within a factor of two.
    """
    n, labels = data.B.shape
    values = (data.X.nnz / n if hasattr(data.X, "nnz") else data.X.shape[1]) + 5.0
    n *= (FOLDS - 1) / FOLDS
    each = 1e-9 * n * n * values if setting["solver"] == "libsvm" else 1e-7 * n * values
    if setting["solver"] == "libsvm":  # long rows keep it busy: C is too large for them
        each *= max(1.0, row_norms(data.X, squared=True).mean() / LONG_ROW)
    return float(labels * (each + 0.005))


def _grople_grid(weights: Sequence[float]) -> list[dict[str, Any]]:
    return [FIXED | pair for pair in product(alpha=weights, beta=weights)]


def _mlsf_grid(gammas: Sequence[float]) -> list[dict[str, Any]]:
    return product(gamma=gammas, alpha=[0.0], meta_label_size=[10], solver=["libsvm"])


def _unpublished(*_: Any) -> Found:
    """Yield nothing: the paper has no such method."""
    return iter(())


def _decided(estimator: Any, decision: Any) -> Any:
    cv = None if decision == "sign" else 5  # scores alone need no folds
    return MultilabelDecisionClassifier(estimator, decision, cv=cv, labels="sparse")


def _linear_svc(decision: Any, C: float, random_state: int = 0) -> Any:
    return _decided(OneVsRestClassifier(LinearSVC(C=C, random_state=random_state)), decision)


def _logistic(decision: Any, C: float, random_state: int = 0) -> Any:
    model = LogisticRegression(C=C, solver="liblinear", random_state=random_state)
    return _decided(OneVsRestClassifier(model), decision)


def _extra_trees(decision: Any, min_samples_leaf: float, random_state: int = 0) -> Any:
    return _decided(
        LabelTrees(100, min_samples_leaf=min_samples_leaf, random_state=random_state), decision
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "GroPLE",
            GroPLE,
            paths.published_scores("grople"),
            _grople_grid(POWERS),
            _grople_grid(QUICK_POWERS),
            (*FIXED, "alpha", "beta"),
            product(margin=[0.0, 0.3]),
        ),
        Method(
            "LLSF",
            LLSF,
            paths.published_scores("llsf"),
            product(alpha=POWERS, beta=POWERS, gamma=[0.1]),
            # Where its known settings lie: the corners of the grid are far from all of them.
            product(alpha=[0.01, 1e3, 1e4], beta=[0.1, 1.0, 10.0], gamma=[0.1]),
            ("alpha", "beta", "gamma"),
            product(alpha=[1.0, 0.0], beta=[0.0]),
        ),
        Method(
            "PLST",
            PLST,
            paths.published_scores("plst"),
            product(n_components=SHARES, ridge=POWERS),
            product(n_components=QUICK_SHARES, ridge=QUICK_POWERS),
            ("n_components", "ridge"),
            product(n_components=SIZES),
        ),
        Method(
            "CPLST",
            CPLST,
            paths.published_scores("cplst"),
            product(n_components=SHARES, ridge=POWERS),
            product(n_components=QUICK_SHARES, ridge=QUICK_POWERS),
            ("n_components", "ridge"),
            product(n_components=SIZES),
        ),
        Method(
            "FaIE",
            FaIE,
            paths.published_scores("faie"),
            product(n_components=SHARES, ridge=POWERS, alpha=POWERS),
            product(n_components=QUICK_SHARES, ridge=[1e-4, 1.0], alpha=[0.1, 1e3]),
            ("n_components", "ridge", "alpha"),
            product(n_components=SIZES),
        ),
        Method(
            "LEML",
            LEML,
            paths.published_scores("leml"),
            product(n_components=SHARES, ridge=POWERS),
            product(n_components=QUICK_SHARES, ridge=QUICK_POWERS),
            ("n_components", "ridge"),
            product(n_components=SIZES),
        ),
        Method(
            "MLSF",
            MLSF,
            paths.published_scores("mlsf"),
            _mlsf_grid([10.0, 1.0, 0.1, 0.01]),
            [],
            ("gamma", "alpha", "meta_label_size", "solver"),
            seconds=_svm_seconds,
        ),
        Method(
            "BSVM",
            BSVM,
            paths.published_scores("bsvm"),
            [{"C": 1.0, "solver": "libsvm"}],
            [],
            ("C", "solver"),
            seconds=_svm_seconds,
        ),
    )
}
#: What one would pick instead; no methods of the paper, so in the nested protocol alone.
RIVALS: dict[str, Method] = {
    name: Method(name, make, _unpublished, [], [], (), grid, scaled=name != "ExtraTrees")
    for name, make, grid in (
        ("Ridge", Ridge, [{}]),
        ("LinearSVC", _linear_svc, product(C=[0.1, 1.0])),
        ("Logistic", _logistic, product(C=[1.0, 10.0])),
        ("ExtraTrees", _extra_trees, product(min_samples_leaf=[1, 1e-3])),
    )
}
#: The same with a choice more in the nested protocol: features that are not linear in the rows.
NONLINEAR: dict[str, Method] = {
    f"{name}-nonlinear": Method(
        f"{name}-nonlinear", make, _unpublished, [], [], (), grid, nonlinear=True
    )
    for name, make, grid in (
        ("GroPLE", GroPLE, [{}]),
        ("LinearSVC", _linear_svc, RIVALS["LinearSVC"].nested_grid),
    )
}

#: All of them, the paper's first.
EVERY = METHODS | RIVALS | NONLINEAR


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
    known = {key.casefold(): method for key, method in EVERY.items()}
    if name.casefold() not in known:
        there = ", ".join(EVERY)
        raise ValueError(f"no method is called {name!r}; there are {there}")
    return known[name.casefold()]


def chosen_methods(names: Sequence[str]) -> list[str]:
    """Return methods by their names; ``paper``, ``rivals``, ``nonlinear`` for all of a kind.

    Examples
    --------
    >>> chosen_methods(["plst", "rivals"])
    ['PLST', 'Ridge', 'LinearSVC', 'Logistic', 'ExtraTrees']
    >>> len(chosen_methods([]))  # the paper's
    8
    """
    kinds = {"paper": list(METHODS), "rivals": list(RIVALS), "nonlinear": list(NONLINEAR)}
    found = [kinds.get(name.casefold()) or [find_method(name).name] for name in names or ["paper"]]
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))
