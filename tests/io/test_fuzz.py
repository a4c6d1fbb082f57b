"""No change to a file goes unnoticed, and no content, however sealed, does more than be refused."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grople import GroPLE, ModelFileError, Solver, save_model
from grople.baselines import MLSF, Ridge
from grople.datasets import make_grouped_multilabel
from grople.decision import Rule
from grople.estimators import LabelClassifier
from grople.features import plain_columns
from grople.io import read_model
from tests.io.forge import ITEM_SIZES, sealed, taken_apart

DATA = make_grouped_multilabel(40, 6, 4, n_groups=2, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
MANY = make_grouped_multilabel(400, 6, 4, n_groups=2, random_state=1)
WIDE = make_grouped_multilabel(40, 1200, 4, n_groups=2, random_state=1)
TWICE = np.repeat(np.arange(40), 2)
fuzz = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("models")
    models = {
        "GroPLE": GroPLE(3, 2, solver=Solver(tol=1e-3)).fit(X, Y),
        "rows": GroPLE(3, 2, gamma=1.0).fit(WIDE.X, Y),
        "context": GroPLE(3, 2, decision=Rule(context=True)).fit(MANY.X, MANY.Y),
        "copies": GroPLE(3, 2, max_kept_rows=20).fit(X[TWICE], Y[TWICE]),
        "weights": Ridge(1.0).fit(X, Y, sample_weight=0.5 * (1 + np.arange(40) % 3)),
        "MLSF": MLSF(2, random_state=0).fit(X, Y),
        "classes": Ridge(1.0).fit(X, np.array(["a", "b", "c"], dtype=object)[Y[:, 0] + Y[:, 1]]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models.items():
            features = plain_columns([f"f{i}" for i in range(model.n_features_in_)])
            save_model(folder / name, model, features=features, notes={"n": [1.5, "x"]})
    return {name: (folder / name).read_bytes() for name in models}


def attempt(path: Path, content: bytes, **options: Any) -> Any:
    """Return what was read, or None; anything but a ModelFileError is a failure."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read_model(path, **options)
        except ModelFileError:
            return None


@settings(fuzz, max_examples=400)
@given(st.data())
def test_no_change_of_a_byte_goes_unnoticed(
    files: dict[str, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(files["GroPLE"])
    header = 8 + int.from_bytes(content[:8], "little")
    places = st.integers(0, 7) | st.integers(8, header - 1) | st.integers(header, len(content) - 1)
    place = data.draw(places)
    match data.draw(st.sampled_from(["flip", "set", "cut", "insert", "remove", "append"])):
        case "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        case "set":
            content[place] = data.draw(st.integers(0, 255))
        case "cut":
            del content[place:]
        case "insert":
            content[place:place] = data.draw(st.binary(min_size=1, max_size=20))
        case "remove":
            del content[place : place + data.draw(st.integers(1, 20))]
        case "append":
            content += data.draw(st.binary(min_size=1, max_size=20))
    if bytes(content) != files["GroPLE"]:
        assert attempt(tmp_path / "f", bytes(content)) is None


def test_no_flipped_bit_goes_unnoticed(files: dict[str, bytes], tmp_path: Path) -> None:
    # All bits of the first bytes, and one bit in every 97th byte of the whole file.
    original = files["GroPLE"]
    places = [(place, bit) for place in range(12) for bit in range(8)]
    places += [(place, place % 8) for place in range(12, len(original), 97)]
    for place, bit in places:
        content = bytearray(original)
        content[place] ^= 1 << bit
        assert attempt(tmp_path / "f", bytes(content)) is None, (place, bit)


def test_two_halves_of_two_files(files: dict[str, bytes], tmp_path: Path) -> None:
    first, second = files["GroPLE"], files["rows"]
    for place in (8, 1000, len(first) // 2):
        assert attempt(tmp_path / "f", first[:place] + second[place:]) is None


def nodes(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all values in a piece of JSON."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    found = [path] if path else []
    for key, value in inner:
        if isinstance(value, dict | list):
            found += nodes(value, (*path, key))
        else:
            found.append((*path, key))
    return found


def parent(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        tree = tree[key]
    return tree


odd = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=3), st.just([]),
    st.just({}), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [{"$": "float", "value": "nan"}, {"$": "tuple", "items": []}, {"$": "dict", "items": []}]
    ),
)  # fmt: skip


@settings(fuzz, max_examples=300)
@given(data=st.data())
def test_any_content_is_a_model_or_refused(
    files: dict[str, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    """Change values of the content, with checksums that are right for it."""
    name = data.draw(st.sampled_from(sorted(files)))
    header, values = taken_apart(files[name])
    content = json.loads(header["__metadata__"]["content"])
    for _ in range(data.draw(st.integers(1, 2))):
        places = nodes(content)
        place = data.draw(st.sampled_from(places))
        holder = parent(content, place)
        match data.draw(st.sampled_from(["odd", "other", "remove"])):
            case "odd":
                holder[place[-1]] = copy.deepcopy(data.draw(odd))  # examples share what is drawn
            case "other":
                other = data.draw(st.sampled_from(places))
                holder[place[-1]] = copy.deepcopy(parent(content, other)[other[-1]])
            case "remove":
                del holder[place[-1]]
    header["__metadata__"]["content"] = json.dumps(content)
    found = attempt(tmp_path / "f", sealed(header, values), with_rows=data.draw(st.booleans()))
    if found is not None:
        assert isinstance(found.model, LabelClassifier)
        assert found.model.predict_proba(np.zeros((2, found.model.n_features_in_))).shape[0] == 2


@settings(fuzz, max_examples=200)
@given(data=st.data())
def test_any_arrays_are_a_model_or_refused(
    files: dict[str, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    """Change shapes, types, places and values of arrays, with checksums that are right for them."""
    name = data.draw(st.sampled_from(sorted(files)))
    header, values = taken_apart(files[name])
    names = sorted(header.keys() - {"__metadata__"})
    chosen = data.draw(st.sampled_from(names))
    entry = header[chosen]
    match data.draw(st.sampled_from(["shape", "dtype", "swap", "values"])):
        case "shape":
            sizes = [*entry["shape"], 1]
            entry["shape"] = data.draw(
                st.permutations(sizes) | st.just([int(np.prod(sizes))]) | st.just([0, 2**39])
            )
        case "dtype":
            entry["dtype"] = data.draw(st.sampled_from(sorted(ITEM_SIZES)))
            size = entry["data_offsets"][1] - entry["data_offsets"][0]
            entry["shape"] = [size // ITEM_SIZES[entry["dtype"]]]
        case "swap":
            other = data.draw(st.sampled_from(names))
            header[chosen], header[other] = header[other], header[chosen]
        case "values":
            begin, end = entry["data_offsets"]
            random = data.draw(st.binary(min_size=end - begin, max_size=end - begin))
            values = values[:begin] + random + values[end:]
    found = attempt(tmp_path / "f", sealed(header, values), with_rows=data.draw(st.booleans()))
    if found is not None:
        assert found.model.predict_proba(np.zeros((2, found.model.n_features_in_))).shape[0] == 2


def test_files_of_other_versions_and_programs(files: dict[str, bytes], tmp_path: Path) -> None:
    cases = {
        "upgrade grople": {"format_version": "2", "library_version": "9.9"},
        "not a grople model": {"format": "pt"},
        "its content is damaged": {"content": ""},
    }
    for message, change in cases.items():
        header, values = taken_apart(files["GroPLE"])
        header["__metadata__"] |= change
        (tmp_path / "f").write_bytes(sealed(header, values))
        with pytest.raises(ModelFileError, match=message):
            read_model(tmp_path / "f")
    for version in ("", "-1", "1.0", "one", "²", "9" * 5000):
        header, values = taken_apart(files["GroPLE"])
        header["__metadata__"]["format_version"] = version
        assert attempt(tmp_path / "f", sealed(header, values)) is None


@pytest.mark.parametrize(
    ("where", "key", "message"),
    [
        ("parameters", "colour", "parameter 'colour' is unknown: a newer version"),
        ("attributes", "colour_", "attribute 'colour_' is unknown: a newer version"),
        ("attributes", "__class__", "attribute '__class__' is unknown"),
        ("attributes", "predict", "attribute 'predict' is unknown"),
        ("", "colour", "part 'colour' is unknown"),
    ],
)
def test_what_a_newer_version_may_add(
    files: dict[str, bytes], tmp_path: Path, where: str, key: str, message: str
) -> None:
    def add(model: Any) -> None:
        (model[where] if where else model)[key] = 1

    (tmp_path / "f").write_bytes(changed(files["GroPLE"], add))
    with pytest.raises(ModelFileError, match=message):
        read_model(tmp_path / "f")


def changed(content: bytes, change: Any, more: np.ndarray | None = None) -> bytes:
    """Return a file whose model ``change`` has changed, with one more array, called "more"."""
    header, values = taken_apart(content)
    parts = json.loads(header["__metadata__"]["content"])
    change(parts["model"])
    header["__metadata__"]["content"] = json.dumps(parts)
    if more is not None:
        names = {"float64": "F64", "int64": "I64", "uint64": "U64", "float32": "F32"}
        place = [len(values), len(values) + more.nbytes]
        header["more"] = {
            "dtype": names[str(more.dtype)], "shape": list(more.shape), "data_offsets": place
        }  # fmt: skip
        values += more.tobytes()
    return sealed(header, values)


def test_a_parameter_that_came_later_has_its_default(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    content = changed(files["GroPLE"], lambda model: model["parameters"].pop("margin"))
    assert attempt(tmp_path / "f", content).model.margin == 0.0


def test_files_of_the_time_before_the_first_release(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    def as_it_was(model: dict[str, Any]) -> None:
        model["solution"] = model.pop("fitted")

    (tmp_path / "f").write_bytes(changed(files["GroPLE"], as_it_was))
    with pytest.raises(ModelFileError, match="written by another version of grople"):
        read_model(tmp_path / "f")


SAMPLE = ("summary", "sample")
GRID = ("summary", "grid")
COPIES = ("fitted", "decision", "copies")
RERANKER = ("fitted", "decision", "reranker")
ONES = np.ones(6)


@pytest.mark.parametrize(
    ("name", "path", "values", "message"),
    [
        ("MLSF", ("fitted", "scorer", "position"), np.array([0, 1, 2, 2**60]), "places beyond"),
        ("MLSF", ("fitted", "scorer", "position"), np.array([0, 1, 2]), "position of its Chain"),
        ("GroPLE", ("fitted", "scorer", "offset"), ONES, "offset of its LinearScores"),
        ("GroPLE", ("fitted", "groups"), np.zeros(3, int), "groups of its FittedModel"),
        ("GroPLE", ("fitted", "outline", "feature_mean"), np.ones(5), "of its Outline"),
        ("GroPLE", (*GRID, "steps"), 3 * ONES, "not powers of two"),
        ("GroPLE", (*GRID, "steps"), -ONES, "not powers of two"),
        ("GroPLE", (*GRID, "steps"), np.inf * ONES, "not powers of two"),
        ("GroPLE", (*GRID, "shifts"), 2.0**-30 * ONES, "not multiples"),
        ("GroPLE", (*GRID, "shifts"), np.nan * ONES, "not multiples"),
        ("GroPLE", (*GRID, "steps"), np.ones(5), "steps of its Grid"),
        ("GroPLE", (*GRID, "weight_scale"), 3.0, "not powers of two"),
        ("GroPLE", (*GRID, "keeps_rows"), True, "not that of its labels and grid"),
        ("GroPLE", (*GRID, "sparse"), True, "not those of its grid"),
        ("GroPLE", (*SAMPLE, "keys"), np.zeros(3, np.uint64), "keys of its Sample"),
        ("GroPLE", (*SAMPLE, "feature_keys"), np.arange(40, dtype=np.uint64)[::-1], "the order"),
        ("GroPLE", (*SAMPLE, "copies"), 0.5 + np.ones(40), "impossible weights"),
        ("GroPLE", (*SAMPLE, "copies"), np.zeros(40), "impossible weights"),
        ("GroPLE", (*SAMPLE, "weights"), -np.ones(40), "impossible weights"),
        ("GroPLE", (*SAMPLE, "complete_to"), {"$": "tuple", "items": [1, -1]}, "complete"),
        ("GroPLE", (*SAMPLE, "complete_to"), {"$": "tuple", "items": [1]}, "complete"),
        ("GroPLE", (*SAMPLE, "capacity"), -1, "complete"),
        ("GroPLE", ("summary", "n_labels"), 5, "not that of its labels and grid"),
        ("GroPLE", ("summary", "sums"), None, "not that of its labels and grid"),
        ("GroPLE", ("summary", "sums", "plain", "cross", "low"), np.ones((4, 6)), "cross of its"),
        ("GroPLE", ("fitted", "decision", "curve_scores"), np.array([]), "Decision"),
        ("GroPLE", ("fitted", "evidence", "shared"), np.ones((2, 7)), "shared of its ScoreCounts"),
        ("rows", (*GRID, "keeps_rows"), False, "not that of its labels and grid"),
        ("copies", (*COPIES, "keys"), np.zeros(20, np.uint64), "copies of rows"),
        ("copies", (*COPIES, "strength"), 0.0, "copies of rows"),
        ("copies", (*COPIES, "times"), np.ones(7), "of its Copies"),
        ("context", (*RERANKER, "n_candidates"), 5, "as candidates"),
        ("context", (*RERANKER, "n_candidates"), 0, "as candidates"),
        ("context", (*RERANKER, "networks"), None, "networks of its re-ranker are missing"),
        ("context", (*RERANKER, "cooccurrence"), None, "take 21 inputs"),
        ("context", (*RERANKER, "networks", "biases2"), np.ones((9, 7), np.float32), "Networks"),
        ("context", (*RERANKER, "mean"), ONES, "mean of its Reranker"),
    ],
)  # fmt: skip
def test_parts_that_do_not_belong_together(
    files: dict[str, bytes], tmp_path: Path, name: str, path: Any, values: Any, message: str
) -> None:
    """Exchange one part for another that is a value of its kind."""
    array = isinstance(values, np.ndarray)

    def exchange(model: dict[str, Any]) -> None:
        node = model[path[0]]
        for key in path[1:-1]:
            node = node["fields"][key]
        fields = model if len(path) == 1 else node["fields"]
        assert path[-1] in fields
        fields[path[-1]] = {"$": "array", "at": "more"} if array else values

    content = changed(files[name], exchange, np.ascontiguousarray(values) if array else None)
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        read_model(tmp_path / "f")
