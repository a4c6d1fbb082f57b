"""Units of work: what one number of the study is computed from, and which units share work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Batch", "Setting", "batches", "canonical"]

#: Parameters of a unit: plain values that JSON can hold.
Setting = Mapping[str, Any]


def canonical(setting: Setting) -> str:
    """Return a setting as text, the same for equal settings.

    Examples
    --------
    >>> canonical({"beta": 1, "alpha": 0.1})
    '{"alpha":0.1,"beta":1}'
    """
    return json.dumps(dict(setting), sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Batch:
    """Units that share work: one data set, fold and method, several settings.

    Parameters
    ----------
    task : str
        How a unit is computed: a name of :data:`grople.study.tasks.TASKS`.
    dataset, method : str
        What is computed on what.
    fold : int
        The fold left out.
    fingerprint : str
        Of the data and their folds: other data are other units.
    settings : sequence of dict
        One unit each.
    seed : int
        Seed of whatever is random.
    choices : dict
        What the nested protocol is to take instead of a search, by settings as text: a choice a
        measure. How a unit comes about, not which one it is.

    Examples
    --------
    >>> batch = Batch("published", "tiny", "PLST", 0, "abc", ({"ridge": 1.0}, {"ridge": 2.0}))
    >>> len(set(batch.unit_keys())), batch.unit_keys() == batch.unit_keys()
    (2, True)
    """

    task: str
    dataset: str
    method: str
    fold: int
    fingerprint: str
    settings: Sequence[Setting] = field(default_factory=tuple)
    seed: int = 0
    choices: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict, compare=False)

    def key(self, setting: Setting) -> str:
        """Return the name of a unit in a store."""
        return _digest(*self._identity(), canonical(setting))

    def unit_keys(self) -> list[str]:
        """Return the names of all units."""
        return [self.key(setting) for setting in self.settings]

    @property
    def name(self) -> str:
        """The name of the batch, under which it is claimed."""
        return _digest(*self._identity(), *map(canonical, self.settings))

    def __str__(self) -> str:
        return f"{self.task} {self.method} on {self.dataset}, fold {self.fold}"

    def _identity(self) -> tuple[str, ...]:
        return (
            self.task,
            self.dataset,
            self.fingerprint,
            self.method,
            str(self.fold),
            str(self.seed),
        )


def batches(plans: Iterable[Sequence[Batch]]) -> list[Batch]:
    """Return the batches of several plans, each once, those of one data set together.

    Examples
    --------
    >>> one, two = (Batch("t", d, "m", 0, "f", ({},)) for d in "ba")
    >>> [batch.dataset for batch in batches([[one, two], [one]])]
    ['b', 'a']
    """
    found = {batch.name: batch for plan in plans for batch in plan}
    order = {name: i for i, name in enumerate(dict.fromkeys(b.dataset for b in found.values()))}
    return sorted(found.values(), key=lambda batch: order[batch.dataset])


def _digest(*parts: str) -> str:
    text = "\0".join(parts)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]
