"""Models to files and back: a model, its features and notes, and what a file says of itself."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grople import __version__
from grople.errors import ModelFileError
from grople.estimators import SummaryClassifier
from grople.features import Features
from grople.io._checks import check_model
from grople.io._codec import MISFITS, Decoder, Encoder
from grople.io._container import Container, open_container, write_container
from grople.io._json import parse_json, write_json
from grople.io._storable import ESTIMATORS, is_stored_as, stored_class

__all__ = ["FORMAT_VERSION", "SavedModel", "load_model", "read_model", "save_model"]

#: Raised when files change so that earlier versions could misread them.
FORMAT_VERSION = 1
#: The parts of a model in a file.
PARTS = ("class", "parameters", "targets", "fitted", "attributes", "summary")
#: Attributes of a fitted estimator that are kept as they are.
ATTRIBUTES = (
    "n_features_in_",
    "feature_names_in_",
    "best_params_",
    "best_index_",
    "best_score_",
    "cv_results_",
    "_context",
    "_has_evidence",
    "_incomplete",
)


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds.

    Attributes
    ----------
    model : estimator
        The fitted model.
    features : Features or None
        How records become the rows that the model takes, if stored with it.
    header : dict
        ``format_version``, ``library_version``, ``class``, ``parameters``, ``notes``, ``kind`` (of
        the target), ``with_rows`` (whether the model can learn on), ``features`` (their class, or
        None) and ``sizes`` (features, labels, rows, arrays, bytes and the bytes of each array).
    """

    model: Any
    features: Features | None
    header: dict[str, Any]


def save_model(
    path: str | Path,
    model: Any,
    *,
    features: Features | None = None,
    with_rows: bool = True,
    notes: Any = None,
) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced.
    model : estimator
        A fitted :class:`~grople.GroPLE`, :class:`~grople.GroPLECV` or baseline. One that has not
        been solved since rows were added or removed is solved first.
    features : Features, optional
        How records become rows, stored with the model.
    with_rows : bool, default=True
        Whether to keep what is known of rows (``summary_``: moments, and the rows that decisions
        are fitted on), so that rows can be added and removed after loading. Without, the file is
        smaller and holds the features of no row; where rows repeat each other it still holds a key
        of each distinct one, and its labels.
    notes : str, number, list or dict, optional
        Anything to remember with the model.

    Raises
    ------
    ModelFileError
        If the model cannot be stored, or the file not be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from grople import GroPLE, load_model
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> model = GroPLE(n_components=5, n_groups=3).fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(pathlib.Path(folder) / "tags.grople", model, notes="a trial")
    ...     loaded = load_model(pathlib.Path(folder) / "tags.grople")
    ...     bool((loaded.predict(data.X) != model.predict(data.X)).nnz == 0)
    True
    """
    if os.fspath(path).endswith(".gz"):
        raise ModelFileError(f"{path}: a model file is not compressed; leave out .gz")
    encoder = Encoder()
    with _about(path):
        try:
            content = {
                "model": _model_to_json(model, encoder, with_rows),
                "features": encoder.encode(features, "features"),
                "notes": encoder.encode(notes, "notes"),
            }
        except TypeError as error:
            raise ModelFileError(str(error)) from error
    metadata = {
        "format": "grople",
        "format_version": str(FORMAT_VERSION),
        "library_version": __version__,
        "content": write_json(content),
    }
    write_container(path, encoder.arrays, metadata)


def read_model(path: str | Path, *, with_rows: bool = True) -> SavedModel:
    """Read a model file: the model, the features stored with it, and its header.

    Nothing in a file is ever executed. Every size is checked before memory is taken, every byte
    that is used against a checksum. Large arrays stay in the file until they are used: it may be
    replaced by another meanwhile, but must not be changed in place.

    Parameters
    ----------
    path : path
        The file.
    with_rows : bool, default=True
        Whether to read what is known of rows, where the file has it. Without, opening is faster,
        and the model predicts but does not learn.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign or written by another version in a way that this one does
        not read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tags.grople"
    ...     save_model(file, GroPLE(gamma=2.0).fit(data.X, data.Y), notes="a trial")
    ...     saved = read_model(file)
    >>> saved.header["class"], saved.header["notes"], saved.header["parameters"]["gamma"]
    ('GroPLE', 'a trial', 2.0)
    """
    with _about(path):
        container = open_container(path)
        _check_version(container.metadata)
        content = parse_json(container.metadata.get("content", "").encode(), "its content")
        try:
            decoder = Decoder(container)
            model = _model_from_json(content["model"], decoder, with_rows, container.metadata)
            features = decoder.decode(content["features"])
            notes = decoder.decode(content["notes"])
        except ModelFileError:
            raise
        except MISFITS as error:
            raise ModelFileError(f"its content does not fit together ({error})") from error
        if not isinstance(features, Features | None):
            raise ModelFileError("its features are none")
        if features is not None and len(features) != model.n_features_in_:
            raise ModelFileError("its features are not those of its model")
        if with_rows and container.unread():
            raise ModelFileError(f"it holds an array that nothing uses, {container.unread()[0]!r}")
        return SavedModel(model, features, _header(container, model, features, notes))


def load_model(path: str | Path) -> Any:
    """Return the model of a file; see :func:`read_model`.

    Parameters
    ----------
    path : path
        A file that :func:`save_model` wrote.

    Returns
    -------
    estimator
        The fitted model; it predicts and learns on bit for bit as the one that was saved.
    """
    return read_model(path).model


def _model_to_json(model: Any, encoder: Encoder, with_rows: bool) -> dict[str, Any]:
    """Return the parts of a fitted estimator; the encoder collects their arrays."""
    if not is_stored_as(ESTIMATORS, model):
        raise TypeError(
            f"a {type(model).__name__} has no model file; those that have are "
            f"{', '.join(ESTIMATORS)}. Other scikit-learn estimators and pipelines can be stored "
            "with skops"
        )
    fitted = model.fitted_model_  # solved now, if it has not been
    state = {key: value for key, value in vars(model).items() if key in ATTRIBUTES}
    summary = getattr(model, "summary_", None) if with_rows else None
    return {
        "class": type(model).__name__,
        "parameters": _parameters(model, encoder),
        "targets": encoder.encode(model._targets, "targets"),
        "fitted": encoder.encode(fitted, "fitted"),
        "attributes": {key: encoder.encode(value, key) for key, value in state.items()},
        "summary": encoder.encode(summary, "summary"),
    }


def _parameters(model: Any, encoder: Encoder) -> dict[str, Any]:
    """Encode the parameters; one that is not plain values gives way to its default."""
    encoded = {}
    for name, value in model.get_params(deep=False).items():
        try:
            Encoder().encode(value, name)  # on trial: nothing is left behind of half a value
        except TypeError:
            default = type(model)().get_params(deep=False)[name]
            warnings.warn(
                f"{name}={value!r} cannot be stored in a model file: the loaded model will have "
                f"the default, {name}={default!r}. Its predictions are the same.",
                UserWarning,
                stacklevel=4,
            )
            value = default
        encoded[name] = encoder.encode(value, f"parameters.{name}")
    return encoded


def _model_from_json(node: Any, decoder: Decoder, with_rows: bool, metadata: dict[str, str]) -> Any:
    """Return an estimator, after checking that its parts belong together."""
    if not set(PARTS) <= set(node):
        raise ModelFileError(
            f"it was written by another version of grople ({metadata.get('library_version')}), in "
            f"parts that this one ({__version__}) does not read: fit and save the model again"
        )
    _refuse_unknown(node, PARTS, "part")
    cls: Any = stored_class(ESTIMATORS, node["class"])
    _refuse_unknown(node["parameters"], cls._get_param_names(), "parameter")
    model = cls(**{key: decoder.decode(value) for key, value in node["parameters"].items()})
    _refuse_unknown(node["attributes"], ATTRIBUTES, "attribute")
    for key, value in node["attributes"].items():
        setattr(model, key, decoder.decode(value))
    targets, fitted = decoder.decode(node["targets"]), decoder.decode(node["fitted"])
    summary = decoder.decode(node["summary"]) if with_rows else None
    model._model = fitted
    if isinstance(model, SummaryClassifier):
        model.summary_, model._grid, model._stored_without_rows = summary, None, summary is None
    if hasattr(targets, "classes"):
        model._set_targets(targets)
    check_model(model, targets, fitted, summary)
    return model


def _refuse_unknown(given: Any, known: Any, what: str) -> None:
    for key in given:
        if key not in known:
            raise ModelFileError(
                f"its {what} {key!r} is unknown: a newer version of grople wrote it"
            )


def _check_version(metadata: dict[str, str]) -> None:
    version = metadata.get("format_version", "")
    if metadata.get("format") != "grople" or not version.isdecimal() or len(version) > 9:
        raise ModelFileError("not a grople model")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"it has format {version}, written by grople {metadata.get('library_version')}; this "
            f"is grople {__version__}, which reads formats up to {FORMAT_VERSION}: upgrade grople"
        )


def _header(
    container: Container, model: Any, features: Features | None, notes: Any
) -> dict[str, Any]:
    outline = model.fitted_model_.outline
    return {
        "format_version": int(container.metadata["format_version"]),
        "library_version": container.metadata.get("library_version", ""),
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "notes": notes,
        "kind": model._targets.kind,
        "with_rows": getattr(model, "summary_", None) is not None,
        "features": None if features is None else type(features).__name__,
        "sizes": {
            "features": int(model.n_features_in_),
            "labels": int(model._targets.n_columns),
            "rows": None if outline is None else outline.n_rows,
            "arrays": len(container.entries),
            "bytes": container.size,
            "array_bytes": {name: e.end - e.begin for name, e in container.entries.items()},
        },
    }


@contextmanager
def _about(path: str | Path) -> Iterator[None]:
    """Say in every error of a model file which file it is."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
