"""Labels that imply others, and the closed label sets with the largest expected measure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.decision._expected import best_prefix
from grople.decision._rules import first_labels

__all__ = ["LabelHierarchy"]

Array = NDArray[Any]


@dataclass(frozen=True)
class LabelHierarchy:
    """Which labels imply which: a tree or a directed graph without cycles.

    Parameters
    ----------
    names : tuple
        The labels.
    ancestors : tuple of tuple of int
        The labels that each label implies, itself first.

    Examples
    --------
    >>> hierarchy = LabelHierarchy.of_names(["game::board", "game::cards", "tool"], "::")
    >>> hierarchy.names
    ('game::board', 'game::cards', 'tool', 'game')
    >>> p = np.array([[0.7, 0.1, 0.1, 0.5]])
    >>> hierarchy.coherent(p).round(2)
    array([[0.6, 0.1, 0.1, 0.6]])
    >>> hierarchy.labels(p, "example_f1").indices.tolist()
    [0, 3]
    """

    names: tuple[Any, ...]
    ancestors: tuple[tuple[int, ...], ...]

    @classmethod
    def of_parents(
        cls, names: Sequence[Any], parents: Mapping[Any, Collection[Any]]
    ) -> LabelHierarchy:
        """Return the hierarchy of labels with these parents; parents that are new become labels."""
        found: dict[Any, set[Any]] = {}

        def implied(name: Any, below: tuple[Any, ...]) -> set[Any]:
            if name in below:
                raise ValueError(f"the label {name!r} is among its own ancestors")
            if name not in found:
                above = [implied(parent, (*below, name)) for parent in parents.get(name, ())]
                found[name] = {name}.union(*above)
            return found[name]

        for name in names:
            implied(name, ())
        place = {name: i for i, name in enumerate([*names, *(n for n in found if n not in names)])}
        every = [
            (i, *sorted(place[other] for other in found[name] if other != name))
            for name, i in place.items()
        ]
        return cls(tuple(place), tuple(every))

    @classmethod
    def of_names(cls, names: Sequence[str], separator: str) -> LabelHierarchy:
        """Return the hierarchy of names such as ``a::b::c``, which implies ``a::b`` and ``a``."""
        parents = {}
        for name in names:
            while (above := name.rpartition(separator)[0]) and name not in parents:
                parents[name] = [above]
                name = above
        return cls.of_parents(names, parents)

    def close(self, Y: Any) -> Any:
        """Return labels (of the first names) with all that they imply, as a CSR array."""
        rows = np.repeat(np.arange(len(self.names)), [len(every) for every in self.ancestors])
        columns = np.concatenate([np.array(every) for every in self.ancestors])
        implies = sp.csr_array((np.ones(len(rows)), (rows, columns)))
        closed = sp.csr_array(sp.csr_array(Y) @ implies[: Y.shape[1]])
        closed.sort_indices()
        closed.data[:] = 1.0
        return closed

    def coherent(self, probabilities: Array) -> Array:
        """Return probabilities that are at no label above those of the labels it implies.

        They are the means of the least ones that are nowhere below those given, and of the
        greatest ones that are nowhere above them.
        """
        least, greatest = probabilities.copy(), probabilities.copy()
        for label, every in enumerate(self.ancestors):
            if len(every) > 1:
                own = probabilities[:, [label]]
                least[:, every] = np.maximum(least[:, every], own)
                greatest[:, label] = probabilities[:, every].min(axis=1)
        return (least + greatest) / 2

    def labels(self, probabilities: Array, rule: str) -> Any:
        """Return the closed label sets whose expected measure is largest, as a CSR array of ones.

        By coherent probabilities the k most probable labels are a closed set, if of equally
        probable ones the implied come first; and no other k labels are better.

        Parameters
        ----------
        probabilities : ndarray of shape (n_rows, n_labels)
            The probability of each label.
        rule : {"accuracy", "example_f1"}
            The measure.
        """
        if rule not in ("accuracy", "example_f1"):
            raise ValueError(f"closed label sets are chosen for example_f1 or accuracy, not {rule}")
        found = self.coherent(probabilities)[:, self._from_the_top]
        order = np.argsort(-found, axis=1, kind="stable")
        ranked = np.take_along_axis(found, order, axis=1)
        sizes = best_prefix(ranked, ranked.sum(axis=1), rule)
        return first_labels(self._from_the_top[order], sizes, len(self.names))

    @cached_property
    def _from_the_top(self) -> Array:
        """The labels in an order in which all that a label implies comes before it."""
        return np.argsort([len(every) for every in self.ancestors], kind="stable")
