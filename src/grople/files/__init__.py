"""Files read with care and written whole or not at all; arrays checked before they are trusted."""

from grople.files._arrays import csr_complaint, indptr_complaint
from grople.files._sources import (
    DEFAULT_LIMIT,
    NO_LIMIT,
    Source,
    decode,
    opened,
    standard_input,
    too_large,
)
from grople.files._written import written

__all__ = [
    "DEFAULT_LIMIT",
    "NO_LIMIT",
    "Source",
    "csr_complaint",
    "decode",
    "indptr_complaint",
    "opened",
    "standard_input",
    "too_large",
    "written",
]
