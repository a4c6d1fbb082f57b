"""Where else the work can be done: Dask's collections, and PyTorch's devices.

Neither library is imported before something of it is asked for.
"""

from grople.backends._dask import (
    as_blocks,
    declared,
    first_of_partitions,
    is_lazy,
    map_rows,
    partitions,
    reduce_partitions,
)
from grople.backends._gpu import grid_scores, usable_device

__all__ = [
    "as_blocks",
    "declared",
    "first_of_partitions",
    "grid_scores",
    "is_lazy",
    "map_rows",
    "partitions",
    "reduce_partitions",
    "usable_device",
]
