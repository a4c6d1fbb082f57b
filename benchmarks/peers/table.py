"""Who is measured: every competitor with its settings, every environment with its versions.

Nothing but the standard library is imported here: the harness reads the table without the packages
of the competitors, and the worker without ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

__all__ = ["COMPETITORS", "ENVIRONMENTS", "FOLDER", "ROOT", "Competitor", "Environment"]

ROOT = Path(__file__).resolve().parents[2]
#: Environments, stored splits and results; ignored by git.
FOLDER = ROOT / "build" / "peers"


@dataclass(frozen=True)
class Environment:
    """The packages of a virtual environment.

    Parameters
    ----------
    packages : tuple of str
        Pinned packages, installed with what they need.
    bare : tuple of str
        Pinned packages, installed after those and without what they say they need.
    tree : bool
        Whether the working tree's ``src`` is on the path.
    """

    packages: tuple[str, ...]
    bare: tuple[str, ...] = ()
    tree: bool = False


@dataclass(frozen=True)
class Competitor:
    """A method as it is measured.

    Parameters
    ----------
    what : str
        What it is, for a reader.
    module : str
        Its file in ``competitors``.
    environment : str
        Where it runs.
    options : mapping
        Arguments of its ``fit``.
    """

    what: str
    module: str
    environment: str
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


_SCIENTIFIC = ("numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1")

ENVIRONMENTS = {
    "scikit-learn": Environment(_SCIENTIFIC),
    "grople": Environment(_SCIENTIFIC, tree=True),
    "scikit-multilearn": Environment((*_SCIENTIFIC, "scikit-multilearn-ng==0.0.8")),
    "napkinxc": Environment((*_SCIENTIFIC[:2], "napkinxc==0.7.2")),
    "omikuji": Environment((*_SCIENTIFIC[:2], "omikuji==0.5.2", "setuptools==80.9.0")),
    # Its transformers are not measured, and what they need is gigabytes.
    "pecos": Environment(
        ("numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.5.2"), bare=("libpecos==1.2.8",)
    ),
    "libmultilabel": Environment(("libmultilabel==0.10.0", "liblinear-multicore==2.50.0")),
    "boomer": Environment(("mlrl-boomer==0.12.3",)),
}

COMPETITORS = {
    "omikuji": Competitor("omikuji, 3 balanced trees", "omikuji", "omikuji"),
    "pecos": Competitor("PECOS XR-Linear", "pecos", "pecos"),
    "napkinxc": Competitor("napkinXC probabilistic label tree", "napkinxc", "napkinxc"),
    "linear-svc": Competitor(
        "one-vs-rest LinearSVC, C = 1", "linear_svc", "scikit-learn", {"C": 1.0}
    ),
    "linear-svc-soft": Competitor(
        "one-vs-rest LinearSVC, C = 0.1", "linear_svc", "scikit-learn", {"C": 0.1}
    ),
    "logistic": Competitor(
        "one-vs-rest logistic regression, C = 3", "logistic", "scikit-learn", {"C": 3.0}
    ),
    "ridge": Competitor("RidgeClassifier, α = 1", "ridge", "scikit-learn", {"alpha": 1.0}),
    "libmultilabel": Competitor(
        "LibMultiLabel one-vs-rest, -s 1 -c 1 -B 1", "libmultilabel", "libmultilabel"
    ),
    "extra-trees": Competitor("100 extra-trees", "extra_trees", "scikit-learn"),
    "classifier-chain": Competitor(
        "ClassifierChain of logistic regressions, C = 3", "chain", "scikit-learn", {"C": 3.0}
    ),
    "multilearn-br": Competitor(
        "scikit-multilearn BinaryRelevance of logistic regressions, C = 3",
        "multilearn_br",
        "scikit-multilearn",
        {"C": 3.0},
    ),
    "multilearn-mlknn": Competitor(
        "scikit-multilearn MLkNN, k = 10", "multilearn_mlknn", "scikit-multilearn", {"k": 10}
    ),
    "boomer": Competitor("BOOMER, default settings", "boomer", "boomer"),
    "grople-ridge": Competitor("our closed-form ridge, one threshold", "our_ridge", "grople"),
    "grople-threshold": Competitor("GroPLE, one threshold", "grople_threshold", "grople"),
    "grople": Competitor("GroPLE, its own decision", "grople_default", "grople"),
    "grople-pairs": Competitor("GroPLE with pairs of features", "grople_pairs", "grople"),
}
