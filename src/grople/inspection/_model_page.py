"""The page of a model, section by section; what it says is in the templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grople import __version__
from grople.inspection._label_data import label_columns
from grople.inspection._label_map import HEIGHT, WIDTH, map_dots, map_names
from grople.inspection._page import (
    Columns,
    Details,
    Facts,
    Fragment,
    Part,
    Picture,
    Section,
    render_page,
)
from grople.inspection._palette import NO_GROUP, GroupStyle, group_style
from grople.inspection._plots import (
    plot_cooccurrence,
    plot_label_quality,
    plot_reliability,
    plot_row_sparsity,
    plot_tail,
)
from grople.inspection._report import ModelReport, inspect_model
from grople.inspection._table import Table
from grople.inspection._tables import (
    frequency_table,
    hard_labels,
    overview_parts,
    promise_table,
)

__all__ = ["model_page"]

#: Groups with a portrait of their own, labels named in it, labels shown among the hardest.
SHOWN_GROUPS, SHOWN_MEMBERS, SHOWN_HARD = 60, 60, 12
#: Sizes of the names on the map, on a wide and on a narrow screen.
NAME_SIZES = {"wide": 12.0, "narrow": 30.0}


def model_page(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    title: str = "",
    first: Sequence[Section] = (),
) -> str:
    """Return a page that shows a fitted model, as HTML.

    Parameters
    ----------
    model : estimator or ModelReport
        A fitted model, or what was found of it.
    feature_names : sequence of str, optional
        Names of the features, if the model does not know them.
    title : str
        Title of the page.
    first : sequence of Section
        Sections before those of the model.

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, 20, 8, n_groups=2, random_state=0)
    >>> model = GroPLE(n_groups=2, random_state=0).fit(data.X, data.Y)
    >>> "<title>A GroPLE model of 8 labels</title>" in model_page(model, data.feature_names)
    True
    """
    report = model if isinstance(model, ModelReport) else inspect_model(model, feature_names)
    styles = _group_styles(report)
    groups = {g.number: {"name": g.name, **styles[g.number]._asdict()} for g in report.groups}
    drawn = {"styles": groups, "noGroup": styles[-1]._asdict()}
    shown: dict[str, tuple[str, list[Part]]] = {
        "overview": ("How good is it?", _overview(report)),
        "map": ("Map of the labels", _map(report, styles)),
        "groups": ("Groups", _groups(report, styles)),
        "labels": ("Labels", [Fragment("labels.html", {"report": report})]),
        "structure": ("Structure", _structure(report)),
        "reliability": ("Can the probabilities be believed?", _reliability(report)),
        "tail": ("Frequent and rare labels", _tail(report)),
    }
    sections = [Section(id, title, parts) for id, (title, parts) in shown.items() if parts]
    return render_page(
        title or f"A {report.kind} model of {report.n_labels:,} labels",
        [*first, *sections],
        subtitle=f"{report.kind}: {report.summary}",
        footer=f"grople {__version__}. This page is one file: it works offline and loads nothing.",
        assets=("model",),
        data={"label-data": label_columns(report) | drawn},
    )


def _group_styles(report: ModelReport) -> dict[int, GroupStyle]:
    """Return how each group is drawn, the largest in the clearest colours; −1 is no group."""
    styles = {group.number: group_style(i) for i, group in enumerate(report.groups)}
    return styles | {-1: NO_GROUP if styles else group_style(0)}


def _overview(report: ModelReport) -> list[Part]:
    facts: list[tuple[str, Any, str]] = [("features", len(report.feature_names), "")]
    if report.n_rows is not None:
        facts.insert(0, ("rows", round(report.n_rows), ""))
    facts.append(("labels", report.n_labels, ""))
    if report.groups:
        sizes = [len(group.labels) for group in report.groups]
        facts.append(("groups", len(sizes), f"of {min(sizes):,} to {max(sizes):,} labels"))
    if report.row_lengths is not None:
        facts.append(("[latent dimensions](?)", len(report.row_lengths), ""))
    if report.mean_precision is not None:
        remark = f"mean over labels, {report.source}"
        facts.append(("[average precision](?)", report.mean_precision, remark))
    settings = [[name, str(value)] for name, value in sorted(report.parameters.items())]
    parameters = Details("Parameters", [Table(["parameter", "value"], settings)])
    return [*overview_parts(report), Facts(facts), parameters]


def _map(report: ModelReport, styles: dict[int, GroupStyle]) -> list[Part]:
    if report.n_labels <= 2 or report.label_map is None:
        return []
    dots = map_dots(report, styles)
    names = {kind: map_names(dots, report.label_names, size) for kind, size in NAME_SIZES.items()}
    shown = {"report": report, "dots": dots, "names": names, "width": WIDTH, "height": HEIGHT}
    return [Fragment("map.html", shown)]


def _groups(report: ModelReport, styles: dict[int, GroupStyle]) -> list[Part]:
    shown = {"report": report, "styles": styles, "most": SHOWN_GROUPS, "members": SHOWN_MEMBERS}
    return [Fragment("groups.html", shown)] if report.groups else []


def _structure(report: ModelReport) -> list[Part]:
    parts: list[Part] = []
    if report.label_moments is not None and report.n_labels > 1:
        parts.append(
            Picture(
                plot_cooccurrence(report),
                "cooccurrence",
                "Which labels occur together",
                "Labels by group, the most frequent of a group first. Coloured blocks on the "
                "diagonal are groups whose labels occur on the same rows.",
                "Matrix of the shares of rows that labels have in common",
            )
        )
    if report.row_lengths is not None and report.row_lengths.size:
        zero = float((report.row_lengths == 0).mean())
        parts.append(
            Picture(
                plot_row_sparsity(report),
                "row-sparsity",
                "Which latent dimensions each group uses",
                "Lengths of the rows of Vᵏ, relative to the longest of the group. Blank is exactly "
                f"zero: {zero:.0%} of them; a larger λ₂ gives more.",
                "Matrix of latent dimensions by groups",
            )
        )
    return [Columns(parts)] if parts else []


def _reliability(report: ModelReport) -> list[Part]:
    if not report.reliability:
        return []
    picture = Picture(
        plot_reliability(report),
        "reliability-curve",
        "What happened against what was predicted",
        f"Pairs of a row and a label in ten intervals of probability, {report.source}. Above the "
        "dashed line labels are promised too seldom, below it too often.",
        "Observed share against predicted probability, near the diagonal if right",
    )
    introduction = Fragment("reliability.html", {"report": report})
    return [introduction, Columns([picture, promise_table(report)])]


def _tail(report: ModelReport) -> list[Part]:
    if report.frequencies is None:
        return []
    pictures: list[Part] = []
    if report.quality is not None:
        pictures.append(
            Picture(
                plot_label_quality(report),
                "label-quality",
                "Quality of each label by frequency",
                f"One dot a label, {report.source}; dashed: a ranking by chance.",
                "Dots of labels, average precision against frequency",
            )
        )
    pictures.append(
        Picture(
            plot_tail(report),
            "tail-curve",
            "How rare labels are",
            "Rows with each label, the most frequent first; both scales are logarithmic.",
            "Falling curve of label frequencies on logarithmic scales",
        )
    )
    return [Columns(pictures), frequency_table(report), *hard_labels(report, SHOWN_HARD)]
