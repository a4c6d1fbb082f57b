"""What the figures of a model mean, in sentences."""

from __future__ import annotations

import numpy as np

from grople.inspection._quality import expected_and_true, frequency_thirds
from grople.inspection._report import ModelReport
from grople.inspection._table import format_value

__all__ = ["quality_words", "rare_label_words", "share_words"]

_NUMBERS = (
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "all ten",
)  # fmt: skip
#: By how much expected and true numbers may differ and still be called the same.
CLOSE = 0.15


def _of_ten(share: float) -> str:
    """Return a share as so many of ten, with its verb."""
    count = round(10 * min(max(share, 0.0), 1.0))
    return f"{_NUMBERS[count]} {'is' if count == 1 else 'are'}"


def share_words(precision: float, recall: float) -> str:
    """Return precision and recall as a sentence.

    Examples
    --------
    >>> share_words(0.72, 0.12)
    'Of ten labels it gives, **seven are right**; of ten labels that rows carry, **it finds one**'
    """
    found = _of_ten(recall).rpartition(" ")[0]
    return (
        f"Of ten labels it gives, **{_of_ten(precision)} right**; of ten labels that rows carry, "
        f"**it finds {found}**"
    )


def quality_words(report: ModelReport) -> str:
    """Return how good a model is in a sentence or two, or nothing where nothing was measured."""
    *_, measured = ({}, *report.cross_validated.values())
    if {"micro_precision", "micro_recall"} <= set(measured):
        words = share_words(measured["micro_precision"], measured["micro_recall"])
        return f"{words}, [cross-validated](?) when it was fitted."
    if report.given is None:
        return ""
    given = report.given
    where = (
        "measured on rows that the scores had not seen ([held-out](?))"
        if report.held_out
        else "estimated from the [moments](?) of the rows it was fitted on, which flatters"
    )
    corrected = (
        " The model itself chooses labels for each row after a [re-ranker](?) has corrected the "
        "probabilities; its scores alone, with one threshold for all labels, are measured here."
        if report.reranked
        else " One threshold serves all labels here; the model may choose better for each row."
    )
    return f"{share_words(given.precision, given.recall)}, {where}.{corrected}"


def rare_label_words(report: ModelReport) -> str:
    """Return whether rare labels are found and promised as often as they occur."""
    rare = report.reliability.get("rare labels")
    if rare is None or report.quality is None:
        return ""
    positives = report.quality.positives
    precision = report.quality.average_precision
    thirds = frequency_thirds(positives)
    rows = positives[thirds["rare"]]
    span = " to ".join(dict.fromkeys(f"{n:,.0f}" for n in (rows.min(), rows.max())))
    found, others = (
        format_value(float(np.nanmean(values)), 2) if np.isfinite(values).any() else "unknown"
        for values in (precision[thirds["rare"]], precision[thirds["frequent"]])
    )
    ranked = (
        f"[Rare labels](?) (the rarest third, on {span} rows each) are ranked with a mean "
        f"[average precision](?) of {found}, frequent ones with {others}."
    )
    expected, happened = expected_and_true(rare)
    corrected = " What the re-ranker corrects is not in these numbers." if report.reranked else ""
    return f"{ranked} {_promise_words(expected, happened)}{corrected}"


def _promise_words(expected: float, happened: float) -> str:
    """Return a verdict on how often something was promised and how often it happened."""
    numbers = f"({expected:,.0f} expected, {happened:,.0f} true)"
    if not happened:
        return "None of them occurred on the rows measured."
    ratio = expected / happened
    if abs(ratio - 1) <= CLOSE:
        return f"**They are promised as often as they occur** {numbers}."
    if ratio > 1:
        return f"**They are promised {ratio:.1f} times as often as they occur** {numbers}."
    return f"**They are promised {ratio:.0%} as often as they occur** {numbers}."
