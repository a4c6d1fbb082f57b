"""What a fitted model shows: as arrays, as tables and pictures, and as one self-contained page."""

from grople.inspection._examples import Example, choose_examples
from grople.inspection._figures import figure_svg
from grople.inspection._files import write_text
from grople.inspection._groups import Dimension, GroupPortrait
from grople.inspection._model_page import (
    FOOTER,
    MODEL_ASSETS,
    model_data,
    model_page,
    model_sections,
)
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
from grople.inspection._tables import (
    expert_table,
    frequent_labels,
    group_table,
    hard_labels,
    label_table,
    label_tables,
    measures_table,
)
from grople.inspection._templates import plain_text
from grople.inspection._terms import TERMS
from grople.inspection._words import quality_words, rare_label_words, share_words

__all__ = [
    "ACCENT",
    "Cell",
    "Columns",
    "Details",
    "Dimension",
    "FAINT",
    "FOOTER",
    "Example",
    "Facts",
    "Fragment",
    "GivenLabels",
    "GroupPortrait",
    "LabelQuality",
    "MARKS",
    "MODEL_ASSETS",
    "ModelReport",
    "PALETTE",
    "Part",
    "Picture",
    "Section",
    "TERMS",
    "Table",
    "choose_examples",
    "expert_table",
    "figure_svg",
    "format_value",
    "frequent_labels",
    "given_labels",
    "group_table",
    "hard_labels",
    "inspect_model",
    "label_quality",
    "label_table",
    "label_tables",
    "measures_table",
    "model_data",
    "model_page",
    "model_sections",
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
    "write_text",
]
