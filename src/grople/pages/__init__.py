"""Self-contained HTML pages: text, sortable tables and figures in one file that works offline.

Everything a page shows is escaped. The page carries its own style and script and forbids any
other (a content security policy), so it loads nothing and runs nothing that was not put there.
"""

from grople.pages.figures import figure_svg
from grople.pages.page import Block, Page, Section
from grople.pages.table import Cell, Table

__all__ = ["Block", "Cell", "Page", "Section", "Table", "figure_svg"]
