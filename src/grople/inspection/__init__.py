"""What a fitted model shows: as arrays, as tables and pictures, and as one self-contained page."""

from grople.inspection._figures import figure_svg
from grople.inspection._files import write_text
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
from grople.inspection._table import Cell, Table, format_value
from grople.inspection._terms import TERMS
from grople.inspection.counted import LabelQuality, Reliability, label_quality, reliability
from grople.inspection.groups import Dimension, GroupPortrait
from grople.inspection.model import Inspection, inspect_model

__all__ = [
    "ACCENT",
    "Cell",
    "Columns",
    "Details",
    "Dimension",
    "FAINT",
    "Facts",
    "Fragment",
    "GroupPortrait",
    "Inspection",
    "LabelQuality",
    "MARKS",
    "PALETTE",
    "Part",
    "Picture",
    "Reliability",
    "Section",
    "TERMS",
    "Table",
    "figure_svg",
    "format_value",
    "inspect_model",
    "label_quality",
    "reliability",
    "render_page",
    "write_text",
]
