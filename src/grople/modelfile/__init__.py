"""Model files that one can trust: one file, no code in it, every byte checked.

:func:`save_model` writes a fitted estimator, :func:`load_model` returns it, :func:`read_model`
also what was stored beside it. The format is described in ``docs/models.md``.
"""

from grople.modelfile.files import SavedModel, load_model, read_model, save_model

__all__ = ["SavedModel", "load_model", "read_model", "save_model"]
