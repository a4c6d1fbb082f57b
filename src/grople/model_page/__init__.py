"""A fitted model as one page: its groups, its labels, the features behind them, its quality."""

from grople.model_page.page import add_model, inspect_page

__all__ = ["add_model", "inspect_page"]
