"""Several maps into one latent space (linear, kernel, forest) and the stack that joins them."""

from grople.experts._forest import ForestScores
from grople.experts._kernel import FARTHEST, KernelScores, Landmarks
from grople.experts._solve import solve_experts
from grople.experts._stack import Expert, Stack

__all__ = [
    "FARTHEST",
    "Expert",
    "ForestScores",
    "KernelScores",
    "Landmarks",
    "Stack",
    "solve_experts",
]
