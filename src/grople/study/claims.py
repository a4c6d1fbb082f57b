"""The paper's claims, in short: what the report answers one by one."""

from __future__ import annotations

__all__ = ["CLAIMS", "unanswered"]

#: Number, what is claimed, and the experiment that answers.
CLAIMS: tuple[tuple[int, str, str], ...] = (
    (1, "GroPLE ranks first on average, on all four measures.", "comparison"),
    (
        2,
        "Friedman's test rejects that all methods rank alike (F_F 7.758, 8.810, 7.234, 4.318 "
        "against 2.143), and GroPLE is ahead of the others (CD 3.1658).",
        "statistics",
    ),
    (
        3,
        "Labels of one group use the same latent dimensions, different groups different ones.",
        "heatmap",
    ),
    (4, "A large λ1 hurts; λ2 matters little, but λ2 > 1 often harms.", "sensitivity"),
    (
        5,
        "K hardly matters when d is small; with d large more groups help; micro-F1 falls for very "
        "many groups.",
        "groups",
    ),
    (
        6,
        "GroPLE approximates the labels best, then PLST, CPLST, FAiE; PLST approximates better "
        "than FAiE, yet predicts worse.",
        "approximation",
    ),
    (7, "GroPLE ranks best of the embedding methods at every dimension.", "dimension"),
    (8, "The correlation term helps GroPLE and LLSF and slightly hurts MLSF.", "ablation"),
    (9, "The cost of each stage grows as analysed.", "cost"),
    (
        10,
        "Future work: features that help to embed the labels, other groupings, an embedding for "
        "each group, groups for rare labels without a given K.",
        "",
    ),
)


def unanswered(experiment: str) -> str:
    """Say why a claim has no answer yet: its experiment was not run, or there is none.

    Examples
    --------
    >>> unanswered("cost")
    'Not run: grople study run cost.'
    """
    if experiment:
        return f"Not run: grople study run {experiment}."
    return (
        "No experiment of the paper's. GroPLE has each as an option: feature_weight; grouping "
        "(cosine, kmeans, hierarchical, or given); group_components; n_groups='auto'."
    )
