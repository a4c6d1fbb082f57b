"""From moments to a fitted linear model."""

from grople.solver._embedding import Embedding, automatic_components, embed_labels
from grople.solver._groups import GROUPINGS, Groups, group_labels
from grople.solver._mapping import Mapping, MappingProblem
from grople.solver._model import FittedModel, LinearScores
from grople.solver._ridge import choose_gamma
from grople.solver._settings import EXPERTS, Settings, Solver
from grople.solver._solve import LinearFit, fit_linear, map_features, solve

__all__ = [
    "EXPERTS",
    "Embedding",
    "FittedModel",
    "GROUPINGS",
    "Groups",
    "LinearFit",
    "LinearScores",
    "Mapping",
    "MappingProblem",
    "Settings",
    "Solver",
    "automatic_components",
    "choose_gamma",
    "embed_labels",
    "fit_linear",
    "group_labels",
    "map_features",
    "solve",
]
