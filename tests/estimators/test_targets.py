"""Targets of every kind become 0/1 matrices and come back as they went."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from grople.baselines import Ridge
from grople.estimators import Targets, encode

MARKS = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0]])
NAMES = ["red", "green", "blue"]


def frame(columns=NAMES, marks=MARKS, **options):
    return pd.DataFrame(marks, columns=columns, **options)


def explicit_zeros(Y):
    full = sp.csr_array(np.ones_like(Y))
    full.data[:] = Y.ravel()
    return full


MATRICES = {
    "int64": MARKS,
    "bool": MARKS.astype(bool),
    "int8": MARKS.astype(np.int8),
    "uint8": MARKS.astype(np.uint8),
    "float32": MARKS.astype(np.float32),
    "float64": MARKS.astype(float),
    "object": MARKS.astype(object),
    "fortran": np.asfortranarray(MARKS),
    "lists": MARKS.tolist(),
    "csr_array": sp.csr_array(MARKS),
    "csr_matrix": sp.csr_matrix(MARKS),
    "csc_array": sp.csc_array(MARKS),
    "csc_matrix": sp.csc_matrix(MARKS),
    "coo_array": sp.coo_array(MARKS),
    "lil_array": sp.lil_array(MARKS),
    "dok_array": sp.dok_array(MARKS),
    "csr of bool": sp.csr_array(MARKS.astype(bool)),
    "csr of int8": sp.csr_array(MARKS.astype(np.int8)),
    "csr with zeros": explicit_zeros(MARKS),
    "csr with minus zeros": explicit_zeros(np.where(MARKS, 1.0, -0.0)),
    "frame": frame(),
    "frame of bool": frame(marks=MARKS.astype(bool)),
    "frame of nullable": frame().astype("Int64"),
    "frame of nullable bool": frame().astype("boolean"),
    "sparse frame": pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(MARKS), columns=NAMES),
    "mixed frame": frame().astype({"red": bool, "blue": float}),
}


@pytest.mark.parametrize("Y", MATRICES.values(), ids=MATRICES)
def test_every_matrix_becomes_zeros_and_ones(Y):
    before = Y.copy() if hasattr(Y, "copy") else Y
    B, targets = encode(Y)
    assert isinstance(B, sp.csr_array)
    assert B.dtype == np.float64
    assert B.has_canonical_format
    assert B.nnz == MARKS.sum()  # no zeros are stored
    np.testing.assert_array_equal(B.toarray(), MARKS)
    assert (targets.kind, targets.n_columns) == ("multilabel", 3)
    for old, new in [(before, Y)] if not sp.issparse(Y) else []:
        np.testing.assert_array_equal(np.asarray(old), np.asarray(new))
    if sp.issparse(Y):
        assert before.nnz == Y.nnz
        assert (before != Y).nnz == 0


@pytest.mark.parametrize("Y", MATRICES.values(), ids=MATRICES)
def test_predictions_come_in_the_container_of_the_target(Y):
    B, targets = encode(Y)
    index = getattr(Y, "index", None)
    found = targets.decode(B, index)
    if isinstance(Y, pd.DataFrame):
        pd.testing.assert_frame_equal(found, frame(), check_column_type=False)
    elif sp.issparse(Y):
        assert isinstance(found, sp.csr_array if isinstance(Y, sp.sparray) else sp.csr_matrix)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.toarray(), MARKS)
    else:
        assert type(found) is np.ndarray
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, MARKS)
    again, _ = encode(found, targets)
    np.testing.assert_array_equal(again.toarray(), MARKS)


@pytest.mark.parametrize("Y", [MARKS, sp.csr_array(MARKS), sp.csr_matrix(MARKS)])
def test_read_only_targets(Y):
    for part in [Y] if isinstance(Y, np.ndarray) else [Y.data, Y.indices, Y.indptr]:
        part.flags.writeable = False
    B, targets = encode(Y)
    B, _ = encode(Y, targets)
    np.testing.assert_array_equal(B.toarray(), MARKS)
    for part in [Y] if isinstance(Y, np.ndarray) else [Y.data, Y.indices, Y.indptr]:
        part.flags.writeable = True


def test_writing_into_the_matrix_leaves_the_target_alone():
    Y = sp.csr_array(MARKS)
    B, _ = encode(Y)
    B.data[:] = 7.0
    np.testing.assert_array_equal(Y.toarray(), MARKS)
    Y = MARKS.astype(float)
    B, _ = encode(Y)
    B.data[:] = 7.0
    np.testing.assert_array_equal(Y, MARKS)


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("column", [[0, 1, 1], [0, 0, 0], [1, 1, 1]])
def test_one_column_of_zeros_and_ones_is_a_label(dtype, column):
    for Y in (np.array(column, dtype=dtype)[:, None], sp.csr_array(np.array(column)[:, None])):
        B, targets = encode(Y)
        assert targets.kind == "multilabel"
        assert targets.n_columns == 1
        np.testing.assert_array_equal(B.toarray().ravel(), column)
        assert targets.decode(B).shape == (3, 1)


# Classes

CLASSES = {
    "names": (["cat", "dog", "cat"], "binary", ["cat", "dog"], [[0], [1], [0]]),
    "numbers": ([5, -1, 5], "binary", [-1, 5], [[1], [0], [1]]),
    "zeros and ones": ([0, 1, 1], "binary", [0, 1], [[0], [1], [1]]),
    "bools": ([True, False], "binary", [False, True], [[1], [0]]),
    "whole floats": ([2.0, 1.0], "binary", [1.0, 2.0], [[1], [0]]),
    "three": (["b", "c", "a"], "multiclass", ["a", "b", "c"], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "one": (["x", "x"], "binary", ["x"], [[1], [1]]),
    "series": (pd.Series([3, 7], index=[9, 8]), "binary", [3, 7], [[0], [1]]),
    "categories": (pd.Series(["u", "v"], dtype="category"), "binary", ["u", "v"], [[0], [1]]),
    "objects": (np.array(["u", "v"], dtype=object), "binary", ["u", "v"], [[0], [1]]),
}


@pytest.mark.parametrize(("y", "kind", "classes", "marks"), CLASSES.values(), ids=CLASSES)
def test_one_dimension_is_classes(y, kind, classes, marks):
    B, targets = encode(y)
    assert (targets.kind, targets.classes.tolist()) == (kind, classes)
    assert targets.n_columns == B.shape[1]
    assert B.toarray().tolist() == marks
    scores = 2.0 * B.toarray() - 1
    assert targets.decode_scores(scores).tolist() == list(y)


def test_a_score_of_zero_is_the_first_class():
    _, targets = encode(["cat", "dog"])
    assert targets.decode_scores(np.array([[0.0], [1e-9]])).tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    "y", [np.array([["cat"], ["dog"]]), [[2], [3]], [[-1], [1]], np.array([[0.0], [2.0]])]
)
def test_a_column_of_classes_is_taken_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        B, targets = encode(y)
    assert targets.kind == "binary"
    assert B.toarray().tolist() == [[0.0], [1.0]]


def test_declared_classes():
    B, targets = encode(["b"], classes=["c", "a", "b"])
    assert targets.classes.tolist() == ["a", "b", "c"]
    assert B.toarray().tolist() == [[0, 1, 0]]
    B, targets = encode([1, 1], classes=[0, 1])
    assert B.toarray().tolist() == [[1], [1]]
    B, targets = encode([], classes=[0, 1, 2])
    assert B.shape == (0, 3)
    B, _ = encode([2], targets)
    assert B.toarray().tolist() == [[0, 0, 1]]


@pytest.mark.parametrize("y", [["z"], ["a", "zz"], ["A"], [1]])
def test_classes_that_were_not_declared(y):
    _, targets = encode(["a", "b", "c"])
    with pytest.raises(ValueError, match=r"is not among the classes .*declare all classes"):
        encode(y, targets)


# Bad targets


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (None, "y is None"),
        ([[1, 0], [0, 2]], "only zeros and ones, but it holds .*2"),
        ([[1, 0], [-1, 1]], "only zeros and ones, but it holds .*-1"),
        ([[0.5, 1.0]], "only zeros and ones, but it holds .*0.5"),
        (sp.csr_array([[0, 3.0]]), "only zeros and ones, but it holds .*3"),
        (sp.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(1, 2)), "it holds .*2"),
        (sp.csr_array(([1, 1], [1, 1], [0, 2]), shape=(1, 2)), "it holds .*2"),
        ([[np.inf, 1.0]], "only zeros and ones, but it holds .*inf"),
        ([[1j, 0]], "zeros and ones"),
        (np.array([["a", "b"], ["c", "d"]]), r"zeros and ones, but it holds 'a'"),
        (frame(["x"], [["u"], ["v"]]), "zeros and ones.*'u'"),
        ([[1, 2], [1]], "tags that are numbers come in sets"),
        ([["red", "blue"], "red"], "row 1 of y is 'red'"),
        ([["red"], None], "row 1 of y is None"),
        ([{"red"}, {1}], "all texts or all numbers"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (5, "1d array"),
        ([0.5, 1.5, 2.25], "Unknown label type: continuous"),
        (frame(["a", "b", "a"]), "two columns of the same name"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_bad_targets(Y, message):
    with pytest.raises(ValueError, match=message):
        encode(Y)


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[1.0, np.nan]]),
        np.array([[1.0], [np.nan]]),
        sp.csr_array([[0.0, np.nan]]),
        frame(["a", "b"], [[1.0, np.nan]]),
        frame(["a", "b"], [[1, None]]).astype("Int64"),
        np.array([[1, None]], dtype=object),
    ],
    ids=["dense", "one label", "sparse", "frame", "nullable", "object"],
)
def test_missing_labels_are_refused_with_a_way_out(Y):
    with pytest.raises(ValueError, match=r"NaN.*grople\.baselines\.LEML"):
        encode(Y)


def test_kinds_do_not_change_on_the_way():
    _, matrix = encode(MARKS)
    _, classes = encode([0, 1])
    with pytest.raises(ValueError, match="earlier blocks were label matrices"):
        encode([0, 1], matrix)
    with pytest.raises(ValueError, match="earlier blocks were one-dimensional"):
        encode(MARKS, classes)


# Names and blocks


def test_named_columns_are_put_in_their_places():
    _, known = encode(frame())
    B, targets = encode(frame(["blue", "red", "green"]), known)
    np.testing.assert_array_equal(B.toarray(), MARKS[:, [1, 2, 0]])
    assert targets.classes.tolist() == NAMES
    # A label that a block does not name is on none of its rows.
    B, targets = encode(frame(["green"], MARKS[:, :1]), known)
    np.testing.assert_array_equal(B.toarray(), np.pad(MARKS[:, :1], ((0, 0), (1, 1))))
    B, targets = encode(frame(NAMES[:2], MARKS[:, :2]), known)
    assert B.shape == (4, 3)


def test_new_names_go_behind():
    _, known = encode(frame())
    B, targets = encode(frame(["grey", "red", "pink"]), known)
    assert targets.classes.tolist() == [*NAMES, "grey", "pink"]
    np.testing.assert_array_equal(B.toarray()[:, [3, 0, 4]], MARKS)
    assert not B.toarray()[:, 1:3].any()
    assert targets.decode(B).columns.tolist() == [*NAMES, "grey", "pink"]
    assert known.classes.tolist() == NAMES


def test_columns_without_names_count_from_the_left():
    _, known = encode(MARKS)
    wide = np.hstack([MARKS, MARKS])
    B, targets = encode(wide, known)
    np.testing.assert_array_equal(B.toarray(), wide)
    assert targets.classes.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="Y has 2 columns, but 3 labels are known"):
        encode(MARKS[:, :2], known)
    # Names that came later are not names of what came before.
    B, targets = encode(frame(["x", "y", "z"]), known)
    np.testing.assert_array_equal(B.toarray(), MARKS)
    assert not targets.named


def test_unnamed_columns_of_named_labels():
    _, known = encode(frame(["a", "label2"], MARKS[:, :2]))
    B, targets = encode(np.hstack([MARKS, MARKS]), known)
    assert targets.classes.tolist()[:2] == ["a", "label2"]
    assert len(set(targets.classes)) == 6  # no name twice
    assert all(isinstance(name, str) for name in targets.classes)
    np.testing.assert_array_equal(B.toarray()[:, :3], MARKS)
    B, targets = encode(MARKS[:, :2], known)
    assert targets.classes.tolist() == ["a", "label2"]


@pytest.mark.parametrize(
    "columns", [[3, 1, 2], [0, 1, 2], [1, "1", "b"], [("a", 1), ("a", 2), ("b", 1)]]
)
def test_names_of_any_kind_are_kept(columns):
    Y = pd.DataFrame(MARKS, columns=pd.Index(columns, dtype=object, tupleize_cols=False))
    B, known = encode(Y)
    assert known.named
    assert list(known.decode(B).columns) == columns
    B, targets = encode(Y[Y.columns[::-1]], known)
    np.testing.assert_array_equal(B.toarray(), MARKS)
    assert list(targets.classes) == columns


def test_declared_labels():
    B, targets = encode(frame(), classes=["blue", "black", "red", "green"])
    assert targets.classes.tolist() == ["blue", "black", "red", "green"]
    np.testing.assert_array_equal(B.toarray()[:, [2, 3, 0]], MARKS)
    B, targets = encode(MARKS, classes=NAMES)
    assert targets.named
    assert targets.classes.tolist() == NAMES
    assert targets.container == "array"
    B, targets = encode(np.zeros((0, 3)), classes=3)
    assert B.shape == (0, 3)
    assert not targets.named
    B, targets = encode(MARKS, classes=np.arange(3))
    assert targets.classes.tolist() == [0, 1, 2]
    assert not targets.named
    with pytest.raises(ValueError, match="Y has 3 columns, but 5 labels are known"):
        encode(MARKS, classes=5)
    with pytest.raises(ValueError, match="classes names 'a' twice"):
        encode(MARKS, classes=["a", "b", "a"])


def test_a_declared_number_of_labels_keeps_the_names():
    B, targets = encode(frame(), classes=5)
    assert targets.named
    assert targets.classes.tolist()[:3] == NAMES
    assert targets.n_columns == B.shape[1] == 5
    np.testing.assert_array_equal(B.toarray()[:, :3], MARKS)
    _, targets = encode(frame(["blue", "black"], MARKS[:, :2]), targets)
    assert targets.classes.tolist()[5:] == ["black"]


def test_declared_numbers_name_the_columns_of_a_frame():
    B, targets = encode(frame([2, 0, 1]), classes=[0, 1, 2])
    np.testing.assert_array_equal(B.toarray(), MARKS[:, [1, 2, 0]])
    assert targets.classes.tolist() == [0, 1, 2]


def test_predictions_keep_the_index():
    B, targets = encode(frame(index=list("wxyz")))
    assert targets.decode(B, pd.Index(list("abcd"))).index.tolist() == list("abcd")


def test_number_of_columns():
    assert Targets("binary", np.array([0, 1])).n_columns == 1
    assert Targets("multiclass", np.arange(4)).n_columns == 4
    assert Targets("multilabel", np.arange(4)).n_columns == 4


TAGS = [["red"], ["green", "blue"], [], ["green", "red", "red"]]


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (TAGS, list),
        (tuple(map(tuple, TAGS)), tuple),
        ([set(tags) for tags in TAGS], set),
        ([frozenset(tags) for tags in TAGS], set),
        (pd.Series(TAGS), list),
        (pd.Series([np.array(tags, dtype=object) for tags in TAGS]), list),
    ],
    ids=["lists", "tuples", "sets", "frozen sets", "series", "series of arrays"],
)
def test_tags_are_labels_by_name(y, kind):
    B, targets = encode(y)
    assert targets.classes.tolist() == ["blue", "green", "red"]
    assert B.toarray().tolist() == [[0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1]]
    assert isinstance(targets.decode(B), sp.csr_array)
    back = targets.decode_tags(B)
    assert {type(row) for row in back} == {kind}
    assert list(map(set, back)) == list(map(set, TAGS))
    # Blocks to come: names are put in their places, new ones go behind.
    B, wider = encode([["white", "green"]], targets)
    assert wider.classes.tolist() == ["blue", "green", "red", "white"]
    assert B.toarray().tolist() == [[0, 1, 0, 1]]
    with pytest.raises(ValueError, match="without names"):
        encode(y, encode(MARKS)[1])


def test_tags_may_be_numbers_in_sets():
    _, targets = encode([{3, 10}, {10}])
    assert targets.classes.tolist() == [3, 10]


@pytest.mark.parametrize("separator", [";", "|", ","])
def test_texts_that_hold_several_tags_warn(separator):
    tags = ["game", "clock", "server"]
    y = [f"{a}{separator}{b}" for a in tags for b in tags if a != b]
    with pytest.warns(UserWarning, match="separates tags"):
        encode(y)


@pytest.mark.parametrize("y", [["Bonn, Germany", "Ulm, Germany"], ["a", "b", "c"], [1, 2, 3]])
def test_classes_do_not_warn(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode(y)


def test_an_estimator_learns_tags_and_gives_them_back():
    X = np.repeat(np.eye(3), 10, axis=0)
    y = [["red"], ["green", "blue"], ["green"]]
    tags = [row for row in y for _ in range(10)]
    model = Ridge(0.01).fit(X, tags)
    assert model.predict_tags(np.eye(3)) == [sorted(row) for row in y]
    assert model.score(X, tags) == 1
    assert model.score(np.eye(3), [["red"], ["green", "blue"], ["new"]]) == pytest.approx(2 / 3)
    named = Ridge(0.01).fit(X, encode(tags)[0])
    assert named.predict_tags(np.eye(3)) == [[2], [0, 1], [1]]
    with pytest.raises(ValueError, match="use predict"):
        Ridge().fit(X, ["red"] * 15 + ["green"] * 15).predict_tags(X)


def test_probabilities_come_in_a_frame_where_labels_did():
    rows = pd.DataFrame(np.repeat(np.eye(2), 10, axis=0), columns=["a", "b"])
    rows.index = range(100, 120)
    Y = rows.set_axis(["x", "y"], axis=1).astype(int)
    model = Ridge().fit(rows, Y)
    chances = model.predict_proba(rows)
    assert chances.columns.tolist() == ["x", "y"]
    assert chances.index.equals(model.predict(rows).index)
    plain = Ridge().fit(rows, Y.to_numpy()).predict_proba(rows)
    np.testing.assert_array_equal(chances.to_numpy(), plain)
    lazy = pytest.importorskip("dask.array").from_array(rows.to_numpy(), chunks=(7, 2))
    model = Ridge().fit(rows.to_numpy(), Y)
    np.testing.assert_array_equal(model.predict_proba(lazy).compute(), plain)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(rows.to_numpy()))
