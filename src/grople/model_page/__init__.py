"""A fitted model as one page: its groups, its labels, the features behind them, its quality."""

from grople.model_page.page import inspect_page

__all__ = ["inspect_page"]
