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

from grople import GroPLE, ModelFileError
from grople.base import LabelClassifier
from grople.baselines import MLSF, Ridge
from grople.datasets import make_grouped_multilabel
from grople.decision import Rule
from grople.features import Features
from grople.modelfile import read_model, save_model
from tests.modelfile.forge import ITEM_SIZES, sealed, taken_apart

DATA = make_grouped_multilabel(40, 6, 4, n_groups=2, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
MANY = make_grouped_multilabel(400, 6, 4, n_groups=2, random_state=1)
fuzz = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("models")
    models = {
        "GroPLE": GroPLE(3, 2, random_state=0, row_check=True).fit(X, Y),
        "implicit": Ridge(1.0, form="implicit").fit(DATA.X, Y),
        "context": Ridge(1.0, decision=Rule(context=True)).fit(MANY.X, MANY.Y),
        "MLSF": MLSF(2, random_state=0).fit(X, Y),
        "classes": Ridge(1.0).fit(X, np.array(["a", "b", "c"], dtype=object)[Y[:, 0] + Y[:, 1]]),
    }
    features = Features.plain([f"f{i}" for i in range(6)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models.items():
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
        assert attempt(tmp_path / "f", bytes(content), memory_map=False) is None, (place, bit)


def test_two_halves_of_two_files(files: dict[str, bytes], tmp_path: Path) -> None:
    first, second = files["GroPLE"], files["implicit"]
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
    found = attempt(tmp_path / "f", sealed(header, values), moments=data.draw(st.booleans()))
    if found is not None:
        assert isinstance(found.model, LabelClassifier)
        assert found.model.predict_proba(np.zeros((2, 6))).shape[0] == 2


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
    found = attempt(tmp_path / "f", sealed(header, values), moments=data.draw(st.booleans()))
    if found is not None:
        assert found.model.predict_proba(np.zeros((2, 6))).shape[0] == 2


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
        ("solution", "colour", "part 'colour' is unknown"),
    ],
)
def test_what_a_newer_version_may_add(
    files: dict[str, bytes], tmp_path: Path, where: str, key: str, message: str
) -> None:
    header, values = taken_apart(files["GroPLE"])
    content = json.loads(header["__metadata__"]["content"])
    content["model"][where][key] = 1
    header["__metadata__"]["content"] = json.dumps(content)
    (tmp_path / "f").write_bytes(sealed(header, values))
    with pytest.raises(ModelFileError, match=message):
        read_model(tmp_path / "f")


def test_a_parameter_that_came_later_has_its_default(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    header, values = taken_apart(files["GroPLE"])
    content = json.loads(header["__metadata__"]["content"])
    del content["model"]["parameters"]["row_check"]
    header["__metadata__"]["content"] = json.dumps(content)
    found = attempt(tmp_path / "f", sealed(header, values))
    assert found.model.row_check is False


def test_chains_that_would_never_end(files: dict[str, bytes], tmp_path: Path) -> None:
    header, values = taken_apart(files["MLSF"])
    content = json.loads(header["__metadata__"]["content"])
    position = content["model"]["solution"]["model"]["fields"]["scores"]["fields"]["position"]
    assert position["at"].endswith("position")
    position.pop("dtype", None)
    begin = len(values)
    header["endless"] = {"dtype": "I64", "shape": [4], "data_offsets": [begin, begin + 32]}
    position["at"] = "endless"
    header["__metadata__"]["content"] = json.dumps(content)
    far = np.array([0, 1, 2, 2**60]).tobytes()
    (tmp_path / "f").write_bytes(sealed(header, values + far))
    with pytest.raises(ModelFileError, match="places beyond"):
        read_model(tmp_path / "f")
