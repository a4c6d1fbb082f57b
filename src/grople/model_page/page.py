"""The page of a model, section by section."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from grople import __version__, plots
from grople.inspection import GroupPortrait, Inspection, inspect_model
from grople.model_page.data import label_data
from grople.model_page.label_map import MOST_DOTS, label_map_svg
from grople.pages import Cell, Page, Table
from grople.pages.markup import escape
from grople.plots.axes import group_colour

__all__ = ["add_model", "inspect_page"]

#: Groups with a portrait of their own, and labels named in it.
SHOWN_GROUPS, SHOWN_MEMBERS = 60, 60
#: Rows a label must have to count among the hard ones, and how many of those are shown.
ENOUGH_ROWS, SHOWN_HARD = 20, 12
#: Classes of frequency in the table of the tail.
FREQUENCY_EDGES = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000)


def inspect_page(
    model: Any, feature_names: Sequence[str] | None = None, *, title: str = ""
) -> Page:
    """Return a page that shows a fitted model.

    Parameters
    ----------
    model : estimator or Inspection
        A fitted model whose scores are linear, or what was found of it.
    feature_names : sequence of str, optional
        Names of the features, if the model does not know them.
    title : str
        Title of the page.

    Returns
    -------
    Page

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, 20, 8, n_groups=2, random_state=0)
    >>> model = GroPLE(n_groups=2, random_state=0).fit(data.X, data.Y)
    >>> page = inspect_page(model, data.feature_names)
    >>> page.title
    'A GroPLE model of 8 labels'
    """
    seen = model if isinstance(model, Inspection) else inspect_model(model, feature_names)
    page = Page(
        title or f"A {seen.kind} model of {seen.n_labels:,} labels",
        f"A {seen.kind} model: {_subtitle(seen)}" if title else _subtitle(seen),
        f"grople {__version__}. This page is one file: it works offline and loads nothing.",
    )
    _overview(page, seen)
    add_model(page, seen)
    return page


def add_model(page: Page, seen: Inspection) -> None:
    """Add the sections that show a model to a page: map, groups, labels, structure, quality."""
    page.style(_resource("model.css"))
    if seen.n_labels > 2:
        _map(page, seen)
    if seen.groups:
        _groups(page, seen)
    _labels(page, seen)
    if seen.label_moments is not None or seen.row_lengths is not None:
        _structure(page, seen)
    if seen.reliability:
        _reliability(page, seen)
    if seen.frequencies is not None:
        _tail(page, seen)
    page.data("label-data", label_data(seen))
    page.script(_resource("model.js"))


def _subtitle(seen: Inspection) -> str:
    rows = f" from {seen.n_rows:,.0f} rows" if seen.n_rows is not None else ""
    groups = f", in {len(seen.groups)} groups" if seen.groups else ""
    return f"{len(seen.feature_names):,} features, {seen.n_labels:,} labels{groups}, learnt{rows}"


def _overview(page: Page, seen: Inspection) -> None:
    section = page.section("overview", "At a glance")
    facts: list[tuple[str, Any, str]] = []
    if seen.n_rows is not None:
        facts.append(("rows", round(seen.n_rows), ""))
    facts.append(("features", len(seen.feature_names), ""))
    if seen.frequencies is not None:
        rare = int(np.count_nonzero(np.asarray(seen.frequencies) < 10))
        facts.append(("labels", seen.n_labels, f"{rare:,} on fewer than 10 rows"))
    else:
        facts.append(("labels", seen.n_labels, ""))
    if seen.groups:
        sizes = [len(group.labels) for group in seen.groups]
        facts.append(("groups", len(sizes), f"of {min(sizes):,} to {max(sizes):,} labels"))
    if seen.row_lengths is not None:
        zero = float(np.mean(seen.row_lengths == 0)) if seen.row_lengths.size else 0.0
        remark = f"{zero:.0%} of all V^k rows are zero"
        facts.append(("latent dimensions", len(seen.row_lengths), remark))
    if seen.quality is not None and np.isfinite(seen.quality.average_precision).any():
        mean = float(np.nanmean(seen.quality.average_precision))
        facts.append(("average precision", mean, f"mean over labels, {_source(seen)}"))
    section.facts(facts)
    rows = [[name, str(value)] for name, value in sorted(seen.parameters.items())]
    section.details("Parameters").table(Table(["parameter", "value"], rows))


def _map(page: Page, seen: Inspection) -> None:
    colour = "; its colour is its group" if seen.groups else ""
    some = f" The {MOST_DOTS:,} most frequent are shown." if seen.n_labels > MOST_DOTS else ""
    section = page.section(
        "map",
        "Map of the labels",
        f"Labels lie close together when the same features speak for them. The area of a dot grows "
        f"with the rows of its label{colour}. Point at a dot for its name, press it for its "
        f"portrait.{some}",
    )
    section.html(
        '<figure id="label-map"><div class="scroll" role="group" '
        'aria-label="Map of the labels; every label is also in the list below">'
        f"{label_map_svg(seen)}</div></figure>"
    )


def _groups(page: Page, seen: Inspection) -> None:
    section = page.section(
        "groups",
        "Groups",
        "Labels that tend to occur on the same rows, and the features that speak for them more "
        "than for labels at large. Unfold a group for the latent dimensions it leans on: the share "
        "of its V^k, and what moves a row towards (+) or away from (−) the group along them.",
    )
    shown = seen.groups[:SHOWN_GROUPS]
    for group in shown:
        section.html(_group_html(seen, group))
    if len(shown) < len(seen.groups):
        section.text(f"And {len(seen.groups) - len(shown):,} smaller groups.")


def _group_html(seen: Inspection, group: GroupPortrait) -> str:
    chips = []
    for i in group.labels[:SHOWN_MEMBERS]:
        count = "" if seen.frequencies is None else f" <small>{seen.frequencies[i]:,.0f}</small>"
        chips.append(f'<a href="#label-{i}">{escape(seen.label_names[i])}{count}</a>')
    more = len(group.labels) - len(chips)
    if more > 0:
        chips.append(f"<span>and {more:,} more</span>")
    dimensions = "".join(
        f"<li><b>{d.share:.0%}</b> dimension {d.number}: "
        + ", ".join(
            f'<span class="{"for" if effect >= 0 else "against"}">'
            f"{'+' if effect >= 0 else '−'}&#x2060;{escape(name)}</span>"
            for name, effect in d.features
        )
        + "</li>"
        for d in group.dimensions
    )
    features = ", ".join(escape(name) for name, _ in group.features)
    features = f'<p class="drive">set apart by {features}</p>' if features else ""
    total = 0 if seen.row_lengths is None else len(seen.row_lengths)
    used = f"uses {group.n_dimensions} of {total} dimensions, most of all" if total else ""
    portrait = (
        f"<details><summary>{used}</summary><ul>{dimensions}</ul></details>" if dimensions else ""
    )
    what = "label" if len(group.labels) == 1 else "labels"
    quality = ""
    if seen.quality is not None:
        values = seen.quality.average_precision[group.labels]
        if np.isfinite(values).any():
            quality = f" · average precision {np.nanmean(values):.2f}"
    return (
        f'<article class="group" style="--group:{group_colour(group.number)}">'
        f"<h3>Group {group.number} <small>{len(group.labels):,} {what}{quality}</small></h3>"
        f'<p class="chips">{" ".join(chips)}</p>'
        f"{features}{portrait}</article>"
    )


def _labels(page: Page, seen: Inspection) -> None:
    together = " and the labels it is seen with" if seen.together is not None else ""
    source = f", both {_source(seen)}" if seen.quality is not None else ""
    section = page.section(
        "labels",
        "Labels",
        f"Search for a label to see the features behind it, the labels that the model treats most "
        f"alike{together}. AP is average precision, AUC the area under the ROC curve{source}.",
    )
    section.html(
        '<div class="browser"><div class="find"><input type="search" id="label-search" '
        'autocomplete="off" placeholder="Search among the labels" aria-label="Search among the '
        'labels"><span role="status"></span></div>'
        '<div class="panes"><article id="portrait" aria-live="polite" tabindex="-1"></article>'
        '<div><div class="scroll long" tabindex="0" role="region" aria-label="Labels">'
        '<table data-own></table></div><button type="button" class="more" hidden></button></div>'
        "</div></div><noscript><p>The list of labels needs JavaScript.</p></noscript>"
    )


def _structure(page: Page, seen: Inspection) -> None:
    section = page.section("structure", "Structure")
    if seen.label_moments is not None and seen.n_labels > 1:
        section.figure(
            plots.plot_cooccurrence(seen),
            "cooccurrence",
            "Which labels occur together, ordered by group, the most frequent label of a group "
            "first. Coloured blocks on the diagonal are groups that live on the same rows."
            if seen.groups
            else "Which labels occur together.",
            "Matrix of the shares of rows that labels have in common",
        )
    if seen.row_lengths is not None and seen.row_lengths.size:
        section.figure(
            plots.plot_row_sparsity(seen),
            "row-sparsity",
            "The row lengths of V^k, relative to the longest of the group: which latent "
            "dimensions each group uses. Blank is exactly zero; a larger λ2 gives more of it.",
            "Matrix of latent dimensions by groups",
        )


def _reliability(page: Page, seen: Inspection) -> None:
    section = page.section(
        "reliability",
        "Can the probabilities be believed?",
        "Probabilities are fitted on "
        + ("rows that the scoring models had not seen" if seen.held_out else "the moments")
        + ", for all labels together; the question is whether they hold for rare labels too. Above "
        "the dotted line labels are promised too little, below it too much."
        + (
            " The model's re-ranker corrects them further for the labels that score highest on a "
            "row; that is not shown here."
            if seen.reranked
            else ""
        ),
    )
    section.figure(
        plots.plot_reliability(seen),
        "reliability-curve",
        f"Share of the pairs of a row and a label that were true, against their predicted "
        f"probability, {_source(seen)}.",
        "Observed share against predicted probability, close to the diagonal if reliable",
    )
    rows = [
        [
            curve.name,
            round(curve.expected),
            round(curve.happened),
            Cell(
                curve.expected / curve.happened if curve.happened else None,
                title="1 is right, above promises too much",
            ),
        ]
        for curve in seen.reliability
    ]
    section.table(Table(["labels", "expected marks", "true marks", "ratio"], rows, digits=2))


def _tail(page: Page, seen: Inspection) -> None:
    section = page.section(
        "tail",
        "Quality and the tail",
        "Most labels are rare, and rare labels are hard. Average precision is the area under "
        "precision against recall when the rows are ranked by a label's score.",
    )
    if seen.quality is not None:
        section.figure(
            plots.plot_label_quality(seen),
            "label-quality",
            f"Average precision of each label against its frequency, {_source(seen)}; dotted: a "
            "ranking by chance.",
            "Dots of labels, average precision against frequency",
        )
    section.figure(
        plots.plot_tail(seen),
        "tail-curve",
        "Rows with each label, the most frequent first.",
        "Falling curve of label frequencies on logarithmic scales",
    )
    section.table(_frequency_table(seen))
    hard = _hard_labels(seen)
    if hard is not None:
        section.table(hard)


def _frequency_table(seen: Inspection) -> Table:
    counts = np.asarray(seen.frequencies, dtype=np.float64)
    total = max(float(counts.sum()), 1e-300)
    rows: list[list[Any]] = []
    edges = [*FREQUENCY_EDGES, np.inf]
    for low, high in itertools.pairwise(edges):
        inside = (counts >= low) & (counts < high)
        if not inside.any():
            continue
        span = f"{low:,} or more" if np.isinf(high) else f"{low:,} to {high - 1:,}"
        span = f"{low:,}" if high - low == 1 else span
        row: list[Any] = [
            Cell(low, span),
            int(inside.sum()),
            Cell(float(counts[inside].sum()) / total, f"{counts[inside].sum() / total:.1%}"),
        ]
        if seen.quality is not None:
            for values in (seen.quality.average_precision[inside], seen.quality.auc[inside]):
                row.append(float(np.nanmean(values)) if np.isfinite(values).any() else None)
        rows.append(row)
    columns = ["rows with the label", "labels", "share of marks"]
    if seen.quality is not None:
        columns += ["average precision", "AUC"]
    return Table(columns, rows, "Quality by frequency", "Means over the labels of a class.")


def _hard_labels(seen: Inspection) -> Table | None:
    if seen.quality is None or seen.frequencies is None:
        return None
    counts = np.asarray(seen.frequencies)
    precision = seen.quality.average_precision
    candidates = np.flatnonzero((counts >= ENOUGH_ROWS) & np.isfinite(precision))
    if not len(candidates):
        return None
    worst = candidates[np.argsort(precision[candidates], kind="stable")[:SHOWN_HARD]]
    return Table(
        ["label", "rows", "average precision", "AUC"],
        [[seen.label_names[i], int(counts[i]), precision[i], seen.quality.auc[i]] for i in worst],
        f"The labels it finds hardest, of those on {ENOUGH_ROWS} rows or more",
    )


def _source(seen: Inspection) -> str:
    return "on held-out rows" if seen.held_out else "as the moments imply"


def _resource(name: str) -> str:
    return resources.files("grople.model_page").joinpath(name).read_text(encoding="utf-8")
