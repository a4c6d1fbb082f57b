"""Estimators to JSON and back: which of their parts are kept, and under which names."""

from __future__ import annotations

import warnings
from typing import Any

from grople import __version__
from grople.errors import ModelFileError
from grople.estimators import SummaryClassifier
from grople.io._checks import check_model
from grople.io._decoder import Decoder
from grople.io._encoder import Encoder
from grople.io._storable import ESTIMATORS, estimator_class, is_in

__all__ = ["ATTRIBUTES", "estimator_from_json", "estimator_to_json"]

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


def estimator_to_json(model: Any, encoder: Encoder, with_rows: bool) -> dict[str, Any]:
    """Return the parts of a fitted estimator as JSON; the encoder collects their arrays."""
    if not is_in(ESTIMATORS, model):
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


def estimator_from_json(
    node: Any, decoder: Decoder, with_rows: bool, metadata: dict[str, str]
) -> Any:
    """Return the estimator of some JSON, after checking that its parts belong together."""
    if not set(PARTS) <= set(node):
        raise ModelFileError(
            f"it was written by another version of grople ({metadata.get('library_version')}), in "
            f"parts that this one ({__version__}) does not read: fit and save the model again"
        )
    _refuse_unknown(node, PARTS, "part")
    cls: Any = estimator_class(node["class"])
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


def _refuse_unknown(given: Any, known: Any, what: str) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ModelFileError(
            f"its {what} {unknown[0]!r} is unknown: a newer version of grople wrote it"
        )
