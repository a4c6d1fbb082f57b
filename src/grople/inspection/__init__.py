"""What a fitted model shows: as arrays, as tables and pictures, and as one self-contained page."""

from grople.inspection._examples import Example, choose_examples
from grople.inspection._figures import figure_svg
from grople.inspection._files import write_text
from grople.inspection._groups import Dimension, GroupPortrait
from grople.inspection._model_page import model_page
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
from grople.inspection._palette import ACCENT, FAINT, MARKS, PALETTE
from grople.inspection._plots import (
    plot_cooccurrence,
    plot_label_quality,
    plot_reliability,
    plot_row_sparsity,
    plot_tail,
)
from grople.inspection._quality import (
    GivenLabels,
    LabelQuality,
    given_labels,
    label_quality,
    reliability,
)
from grople.inspection._report import ModelReport, inspect_model
from grople.inspection._table import Cell, Table, format_value
from grople.inspection._tables import group_table, label_parts, summary_parts
from grople.inspection._templates import plain_text
from grople.inspection._terms import TERMS
from grople.inspection._weights import Ranked
from grople.inspection._words import quality_words, rare_label_words, share_words

__all__ = [
    "ACCENT",
    "Cell",
    "Columns",
    "Details",
    "Dimension",
    "FAINT",
    "Example",
    "Facts",
    "Fragment",
    "GivenLabels",
    "GroupPortrait",
    "LabelQuality",
    "MARKS",
    "ModelReport",
    "PALETTE",
    "Part",
    "Picture",
    "Ranked",
    "Section",
    "TERMS",
    "Table",
    "choose_examples",
    "figure_svg",
    "format_value",
    "given_labels",
    "group_table",
    "inspect_model",
    "label_parts",
    "label_quality",
    "model_page",
    "plain_text",
    "plot_cooccurrence",
    "plot_label_quality",
    "plot_reliability",
    "plot_row_sparsity",
    "plot_tail",
    "quality_words",
    "rare_label_words",
    "reliability",
    "render_page",
    "share_words",
    "summary_parts",
    "write_text",
]
