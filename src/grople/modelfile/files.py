"""Models to files and back: which parts of an estimator are kept, and under which names."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from grople import __version__
from grople.base import LabelClassifier, Lazy
from grople.decision import METRIC_RULES, Evidence
from grople.errors import ModelFileError
from grople.features import Features
from grople.modelfile.checks import check_model
from grople.modelfile.codec import Decoder, Encoder
from grople.modelfile.container import (
    Container,
    open_container,
    parse_json,
    write_container,
    write_json,
)
from grople.modelfile.detached import DetachedMoments, detached
from grople.modelfile.storable import (
    ATTRIBUTES,
    ESTIMATORS,
    ROW_ATTRIBUTES,
    ROW_RECORDS,
    estimator_class,
    is_in,
)
from grople.targets import Targets

__all__ = ["FORMAT_VERSION", "SavedModel", "load_model", "read_model", "save_model"]

#: Raised when files change so that earlier versions could misread them.
FORMAT_VERSION = 1
#: Parts of moments that are kept without the moments.
SUMS = ("labels", "feature_sum", "feature_squares")


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
        ``format_version``, ``library_version``, ``class``, ``parameters``, ``notes``, ``sizes``
        (features, labels, rows, arrays, bytes), ``kind`` (of the target), ``moments`` (their
        form, or None) and ``features`` (their class, or None).
    """

    model: Any
    features: Features | None
    header: dict[str, Any]


def save_model(
    path: str | Path,
    model: Any,
    *,
    features: Features | None = None,
    with_moments: bool = True,
    notes: Any = None,
) -> None:
    """Write a fitted model to a file, whole or not at all.

    All rules of decision are fitted first, so that ``decision`` can be changed after loading.

    Parameters
    ----------
    path : path
        The file, ``.grople`` by custom; one that is there is replaced.
    model : estimator
        A fitted GroPLE, GroPLECV or baseline of this library.
    features : Features, optional
        How records become rows, stored with the model.
    with_moments : bool, default=True
        Whether to keep what the model was learnt from (moments and the rows that decisions are
        fitted on), so that rows can be added and removed after loading. Without, the file is
        smaller and holds no row of the data.
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
    encoder = Encoder(leave_out=() if with_moments else ROW_RECORDS)
    with _about(path):
        try:
            content = {
                "model": _estimator_to_json(model, encoder, with_moments),
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


def read_model(path: str | Path, *, moments: bool = True, memory_map: bool = True) -> SavedModel:
    """Read a model file: the model, the features stored with it, and its header.

    Nothing in a file is ever executed. Every size is checked before memory is taken, every byte
    that is used against a checksum.

    Parameters
    ----------
    path : path
        The file.
    moments : bool, default=True
        Whether to read what the model was learnt from, where the file has it. Without, opening
        is faster, and the model predicts but does not learn.
    memory_map : bool, default=True
        Whether arrays stay in the file until they are used. The file may be replaced by another
        meanwhile, but must not be changed in place.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign or from a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from grople.baselines import Ridge
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tags.grople"
    ...     save_model(file, Ridge(2.0).fit(data.X, data.Y), notes="a trial")
    ...     saved = read_model(file)
    >>> saved.header["class"], saved.header["notes"], saved.header["parameters"]["ridge"]
    ('Ridge', 'a trial', 2.0)
    """
    with _about(path):
        container = open_container(path, memory_map=memory_map)
        _check_version(container.metadata)
        content = parse_json(container.metadata.get("content", "").encode(), "its content")
        decoder = Decoder(container, leave_out=() if moments else ROW_RECORDS)
        try:
            model = _estimator_from_json(content["model"], decoder, moments)
            features = decoder.decode(content["features"])
            notes = decoder.decode(content["notes"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"its content does not fit together ({error})") from error
        if features is not None and not isinstance(features, Features):
            raise ModelFileError("its features are none")
        if features is not None and len(features) != model.n_features_in_:
            raise ModelFileError("its features are not those of its model")
        if moments and container.unread():
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
        The fitted model; it predicts bit for bit as the one that was saved.
    """
    return read_model(path).model


def _estimator_to_json(model: Any, encoder: Encoder, with_moments: bool) -> dict[str, Any]:
    name = type(model).__name__
    if not is_in(ESTIMATORS, model):
        raise TypeError(
            f"a {name} has no model file; those that have are {', '.join(ESTIMATORS)}. Other "
            "scikit-learn estimators and pipelines can be stored with skops"
        )
    solution = _solved(model)
    state = {key: value for key, value in vars(model).items() if key in ATTRIBUTES}
    if not with_moments and "moments_" in state:
        state["moments_"] = detached(state["moments_"])
        state |= dict.fromkeys(ROW_ATTRIBUTES)
    # Class probabilities follow from moments, which the file or its reader may leave out.
    steepness = None if model._targets.kind == "multilabel" else model._class_steepness()
    return {
        "class": name,
        "parameters": _parameters(model, encoder),
        "targets": encoder.encode(model._targets, "targets"),
        "solution": {key: encoder.encode(value, key) for key, value in vars(solution).items()},
        "attributes": {key: encoder.encode(value, key) for key, value in state.items()},
        "steepness": steepness,
    }


def _estimator_from_json(node: Any, decoder: Decoder, moments: bool) -> LabelClassifier:
    cls = estimator_class(node["class"])
    parameters = {key: decoder.decode(value) for key, value in node["parameters"].items()}
    _refuse_unknown(parameters, cls._get_param_names(), "parameter")  # type: ignore[attr-defined]
    model = cls(**parameters)
    solution = Lazy()
    _refuse_unknown(node["solution"], {*vars(solution), "counts"}, "part")
    for key, value in node["solution"].items():
        part = decoder.decode(value)
        if key == "counts":  # all that early files have of the evidence
            key, part = "evidence", None if part is None else Evidence(part)
        setattr(solution, key, part)
    attributes = node["attributes"] if moments else _without_rows(node["attributes"])
    _refuse_unknown(attributes, ATTRIBUTES, "attribute")
    for key, value in attributes.items():
        setattr(model, key, decoder.decode(value))
    targets = decoder.decode(node["targets"])
    if not isinstance(targets, Targets):
        raise ModelFileError("what it predicts is missing")
    model._set_targets(targets)
    model._solution = solution
    if node["steepness"] is not None and _is_detached(model):
        model._class_steepness = partial(_stored_steepness, model, float(node["steepness"]))
    check_model(model, targets, solution)
    return model


def _is_detached(model: Any) -> bool:
    return isinstance(getattr(model, "moments_", None), DetachedMoments)


def _stored_steepness(model: Any, steepness: float) -> float:
    """Return the steepness from the file, unless the model has learnt again since."""
    return steepness if _is_detached(model) else type(model)._class_steepness(model)


def _solved(model: Any) -> Lazy:
    """Return what a model found, after finding all that may be asked of it."""
    model._model()
    if model._targets.kind == "multilabel":
        wanted = model.decision
        # One that learnt from rows without a measure in mind has not counted its scores.
        measures = METRIC_RULES if getattr(model, "_counted", True) else ()
        try:
            for rule in (*measures, "sign", wanted):
                model.decision = rule
                _ = model.decision_
        finally:
            model.decision = wanted
    return model._solution


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
                stacklevel=5,
            )
            value = default
        encoded[name] = encoder.encode(value, f"parameters.{name}")
    return encoded


def _without_rows(attributes: dict[str, Any]) -> dict[str, Any]:
    """Leave out the moments but for their sums, and all rows, without reading them."""
    kept: dict[str, Any] = {
        key: None if key in ROW_ATTRIBUTES else value for key, value in attributes.items()
    }
    if "moments_" in kept:
        fields = {key: kept["moments_"]["fields"][key] for key in SUMS}
        kept["moments_"] = {"$": "record", "class": "DetachedMoments", "fields": fields}
    return kept


def _refuse_unknown(given: Any, known: Any, what: str) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ModelFileError(
            f"its {what} {unknown[0]!r} is unknown: a newer version of grople wrote it"
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
    moments = getattr(model, "moments_", None)
    return {
        "format_version": int(container.metadata["format_version"]),
        "library_version": container.metadata.get("library_version", ""),
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "notes": notes,
        "kind": model._targets.kind,
        "moments": None if moments is None or _is_detached(model) else moments.form,
        "features": None if features is None else type(features).__name__,
        "sizes": {
            "features": int(model.n_features_in_),
            "labels": int(model._targets.n_columns),
            "rows": None if moments is None else moments.n,
            "arrays": len(container.entries),
            "bytes": container.size,
        },
    }


@contextmanager
def _about(path: str | Path) -> Iterator[None]:
    """Say in every error of a model file which file it is."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
