"""Arrays of other libraries: where they lie, how they come there and back.

The work on a device is written once, over the array API standard; :mod:`array_api_compat` makes
PyTorch, CuPy and others speak it. NumPy, SciPy and pandas objects are at home here and need none
of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import require

__all__ = [
    "Place",
    "beside",
    "check_rows",
    "counted",
    "cumulated",
    "is_foreign",
    "looked_up",
    "namespace",
    "place_of",
    "returned",
    "taken",
    "to_numpy",
    "whole",
]

#: Libraries whose arrays are computed with where they lie, and their namespaces.
NAMESPACES = {
    "torch": "array_api_compat.torch",
    "cupy": "array_api_compat.cupy",
    "array_api_strict": "array_api_strict",
}
PURPOSE = "computing on a device"


@dataclass(frozen=True)
class Place:
    """A library of arrays and a device of it.

    Parameters
    ----------
    library : str
        A key of :data:`NAMESPACES`.
    device : object
        What the library calls the device.
    """

    library: str
    device: Any

    @property
    def xp(self) -> Any:
        """The namespace of the library."""
        return require(NAMESPACES[self.library], "gpu", PURPOSE)

    def floats(self, *, wide: bool) -> Any:
        """Return float64 where wanted and known to the device, else float32."""
        return self.xp.float64 if wide and "mps" not in str(self.device) else self.xp.float32

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Return values as a dense array at this place."""
        if sp.issparse(values):
            values = values.toarray()
        if is_foreign(values) and _library(values) != self.library:
            values = to_numpy(values)
        if isinstance(values, np.ndarray) and not values.flags.writeable:
            values = values.copy()  # libraries that share memory refuse what is read-only
        return self.xp.asarray(values, dtype=dtype, device=self.device)


def is_foreign(X: Any) -> bool:
    """Tell whether X is an array of another library than NumPy.

    Examples
    --------
    >>> is_foreign([[1.0]]), is_foreign(np.eye(2))
    (False, False)
    """
    return _library(X) in NAMESPACES


def place_of(X: Any, device: Any = None) -> Place | None:
    """Return where to compute with X: on a device of PyTorch's, or where it lies; None: at home.

    Parameters
    ----------
    X : array, optional
        The input.
    device : str or torch.device, optional
        What was asked for; it goes before where X lies.

    Examples
    --------
    >>> place_of(np.eye(2)) is None
    True
    """
    if device is not None:
        torch = require("torch", "gpu", PURPOSE)
        try:
            found = torch.empty(0, device=device).device
        except (RuntimeError, AssertionError, TypeError) as error:
            raise ValueError(f"device={device!r} is not to be had here: {error}") from error
        place = Place("torch", found)
    elif is_foreign(X):
        compat = require("array_api_compat", "gpu", PURPOSE)
        place = Place(_library(X), compat.device(X))
    else:
        return None
    assert place.xp is not None  # the extra is there, or it says so now
    return place


def check_rows(X: Any, least: int = 1) -> None:
    """Raise a ValueError unless an array is a finite matrix with at least so many rows.

    Examples
    --------
    >>> check_rows(np.array([1.0]))
    Traceback (most recent call last):
        ...
    ValueError: X must be a matrix, a row for each example; got 1 dimensions
    """
    xp = namespace(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix, a row for each example; got {X.ndim} dimensions")
    if X.shape[0] < least or X.shape[1] < 1:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) while a minimum "
            f"of {least} and 1 is required."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("X holds complex numbers, which are not supported")
    if xp.isdtype(X.dtype, "real floating") and not bool(xp.all(xp.isfinite(X))):
        raise ValueError("X contains NaN or infinity: fill or remove such values before fitting")


def namespace(array: Any) -> Any:
    """Return the functions that take this array: NumPy's, or those of its library.

    Examples
    --------
    >>> namespace(np.eye(2)).__name__
    'numpy'
    """
    library = _library(array)
    return require(NAMESPACES[library], "gpu", PURPOSE) if library in NAMESPACES else np


def to_numpy(array: Any) -> Any:
    """Bring an array home; what is at home already is returned as it is.

    Examples
    --------
    >>> to_numpy([1, 2])
    [1, 2]
    """
    if not is_foreign(array):
        return array
    if hasattr(array, "detach"):
        array = array.detach()
    if hasattr(array, "get"):  # CuPy
        return array.get()
    if hasattr(array, "cpu"):
        array = array.cpu()
    return np.asarray(array)


def returned(values: Any, X: Any) -> Any:
    """Return results where the input lay: numbers go to its library and device.

    Examples
    --------
    >>> returned(np.ones(2), X=np.eye(2))
    array([1., 1.])
    """
    place = place_of(X)
    if place is None:
        return to_numpy(values)
    numbers = is_foreign(values) or (isinstance(values, np.ndarray) and values.dtype.kind in "biuf")
    return place.array(values) if numbers else values


def beside(array: Any, values: NDArray[Any], dtype: Any = None) -> Any:
    """Return NumPy values as an array where another lies, of its type unless said otherwise.

    Examples
    --------
    >>> beside(np.ones(1, np.float32), np.array([1.5, 2.5]))
    array([1.5, 2.5], dtype=float32)
    """
    place = place_of(array)
    if place is None:
        return values.astype(array.dtype if dtype is None else dtype)
    if dtype is None:
        return place.array(values, array.dtype)
    return place.array(values.astype(dtype))


def cumulated(values: Any) -> Any:
    """Return the running sums along the last axis.

    Examples
    --------
    >>> cumulated(np.array([[1, 2, 3]]))
    array([[1, 3, 6]])
    """
    if is_foreign(values):
        return namespace(values).cumulative_sum(values, axis=-1)
    return np.cumsum(values, axis=-1)


def taken(array: Any, which: NDArray[np.intp], axis: int = 0) -> Any:
    """Return some rows (or columns, by ``axis``) of an array or sparse array.

    Examples
    --------
    >>> taken(np.eye(3), np.array([2]))
    array([[0., 0., 1.]])
    """
    if is_foreign(array):
        return namespace(array).take(array, beside(array, which, which.dtype), axis=axis)
    return array[which] if axis == 0 else np.take(array, which, axis=axis)


def looked_up(table: Any, positions: Any) -> Any:
    """Return the entries of a 1-d table at whole numbers of any shape.

    Examples
    --------
    >>> looked_up(np.array([5.0, 7.0]), np.array([[1, 0]]))
    array([[7., 5.]])
    """
    if not is_foreign(table):
        return table[positions]
    xp = namespace(table)
    return xp.reshape(xp.take(table, xp.reshape(positions, (-1,))), positions.shape)


def whole(values: Any) -> Any:
    """Return values without their fractions, as whole numbers.

    Examples
    --------
    >>> whole(np.array([0.0, 1.7]))
    array([0, 1])
    """
    xp = namespace(values)
    return xp.astype(values, xp.int64) if is_foreign(values) else values.astype(np.intp)


def counted(bins: Any, weights: Any, length: int) -> NDArray[Any]:
    """Return how often (or with what total weight) each bin occurs, as a NumPy array.

    The array API has no such function, but every library with devices does.

    Examples
    --------
    >>> counted(np.array([0, 2, 2]), None, 4)
    array([1, 0, 2, 0])
    """
    xp = namespace(bins)
    if not hasattr(xp, "bincount"):
        bins, weights, xp = to_numpy(bins), to_numpy(weights), np
    return to_numpy(xp.bincount(bins, weights, length))


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]
