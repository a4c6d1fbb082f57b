"""The words of the field that pages use, each explained in a sentence where it appears."""

from __future__ import annotations

__all__ = ["TERMS", "explain"]

TERMS = {
    "F_F": "Friedman's statistic of average ranks, after Iman and Davenport: large where methods "
    "do not all rank alike.",
    "CD": "Nemenyi's critical difference: average ranks further apart than this differ, p < .05.",
    "p (Wilcoxon)": "Probability of signed ranks like these over data sets if neither is better.",
    "p (Holm)": "The same, made larger as several methods are compared.",
    "label": "One of the tags, topics or classes of which a row may carry several.",
    "row": "One example: a text, a package, a picture, with its features and its labels.",
    "feature": "One number known of every row, such as the weight of a word in a text.",
    "label group": "Labels that tend to occur on the same rows, as the model grouped them.",
    "held-out": "Measured on rows that the scoring model had not seen (cross-validation).",
    "cross-validated": "Each part of the rows was predicted by a model fitted on the other parts.",
    "moments": "Means and products of features and labels: all that the model keeps of its rows.",
    "average precision": "Area under precision against recall when the rows are ranked by a "
    "label's score: 1 is perfect, the label's share of the rows is chance.",
    "AUC": "Probability that a row with the label gets a higher score than a row without it: "
    "1 is perfect, 0.5 is chance.",
    "precision": "Of the labels given, the share that is right.",
    "recall": "Of the labels that rows carry, the share that is given.",
    "example-F1": "Twice the labels that are right over the labels given plus the labels carried, "
    "for each row, and then the mean over rows.",
    "micro-F1": "Twice the labels that are right over the labels given plus the labels carried, "
    "over all rows and labels at once.",
    "macro-F1": "The F1 of each label, and then the mean over labels: rare ones count as much as "
    "frequent ones.",
    "accuracy": "For each row the labels that are both given and carried over those that are "
    "either, and then the mean over rows.",
    "re-ranker": "Networks that correct the probabilities of a row's best labels by looking at "
    "the other labels that the row probably has.",
    "latent dimension": "One of the directions into which features and labels are mapped; scores "
    "are products there.",
    "effect": "A feature's weight times its standard deviation: how far the score moves when the "
    "feature does.",
    "cosine": "Likeness of two labels by the effects of all features on them: 1 is the same, "
    "0 is unrelated.",
    "log loss": "Mean of −log of the probability of what happened, on held-out rows: smaller is "
    "better.",
    "calibration error": "Mean distance between predicted probabilities and what happened.",
    "rare label": "A label that few rows carry, here the rarest third of all labels.",
    "expert": "One of the models whose scores are joined: linear, kernel or forest.",
}
_KEYS = {name.lower(): name for name in TERMS} | {"ap": "average precision"}


def explain(term: str) -> tuple[str, str] | None:
    """Return the name and the meaning of a term, in whatever case or number it is written.

    Examples
    --------
    >>> explain("latent dimensions")[0], explain("example_f1")[0], explain("banana")
    ('latent dimension', 'example-F1', None)
    """
    word = term.lower().replace("_", "-")
    name = _KEYS.get(word) or _KEYS.get(word.removesuffix("s")) or _KEYS.get(word.split(",")[0])
    return None if name is None else (name, TERMS[name])
