"""Moments against explicit NumPy, whatever the rows came in, and sums against the whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from grople.moments import LabelMoments, Moments, explicit, labels

FORMS = ["explicit", "implicit"]


def data(seed=0, n=40, n_features=7, n_labels=5):
    """Whole numbers, so that sums are exact whatever their order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, n_features)) * (rng.random((n, n_features)) < 0.6)
    return X.astype(float), (rng.random((n, n_labels)) < 0.3).astype(int)


def assert_are_moments_of(moments, X, B, weights=None, **tolerance):
    """Compare all products of the moments with dense ones."""
    X, B = np.asarray(X, dtype=float), np.asarray(B, dtype=float)
    w = np.ones(len(X)) if weights is None else weights
    XtX, XtB = X.T @ (X * w[:, None]), X.T @ (B * w[:, None])
    Y = 2 * B - 1
    rng = np.random.default_rng(1)
    Z, W = rng.standard_normal((X.shape[1], 3)), rng.standard_normal((B.shape[1], 3))
    same = {"rtol": 1e-10, "atol": 1e-10} | tolerance
    for found, expected in [
        (moments.n, w.sum()),
        (moments.feature_sum, w @ X),
        (moments.feature_squares, np.diagonal(XtX)),
        (moments.gram(Z), XtX @ Z),
        (moments.cross(W), XtB @ W),
        (moments.cross_transposed(Z), XtB.T @ Z),
        (moments.cross_diagonal(XtB + 1.0), np.diagonal(XtB.T @ (XtB + 1.0))),
        (moments.signed_cross(W), X.T @ (Y * w[:, None]) @ W),
        (moments.labels.counts, w @ B),
        (moments.labels.sums, w @ Y),
        (moments.labels.signed_product(W), Y.T @ (Y * w[:, None]) @ W),
        (moments.labels.signed_gram(), Y.T @ (Y * w[:, None])),
        (moments.labels.total, np.sum(w[:, None] * Y**2)),
    ]:
        np.testing.assert_allclose(found, expected, **same)
    assert (moments.n_features, moments.n_labels) == (X.shape[1], B.shape[1])
    if moments.gram_matrix() is not None:
        np.testing.assert_allclose(moments.gram_matrix(), XtX, **same)


def unsorted_with_duplicates(X):
    """The same matrix with every entry split in two and rows back to front."""
    X = sp.csr_array(X)
    order = np.concatenate([np.arange(*X.indptr[i : i + 2])[::-1] for i in range(X.shape[0])])
    return sp.csr_array(
        (np.repeat(X.data[order] / 2, 2), np.repeat(X.indices[order], 2), 2 * X.indptr), X.shape
    )


CONTAINERS = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "bool": lambda X: X > 0,
    "fortran": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "csr of int": lambda X: sp.csr_array(X.astype(np.int32)),
    "csr of bool": lambda X: sp.csr_array(X > 0),
    "csr of float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr unsorted": unsorted_with_duplicates,
}


def parts_of(X):
    return [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_moments_of_every_container(container, weighted, form):
    X, B = data()
    held = container(X)
    plain = X > 0 if "bool" in str(held.dtype) else X
    weights = np.random.default_rng(2).random(len(X)) if weighted else None
    parts = [*parts_of(held), B] if weights is None else [*parts_of(held), B, weights]
    before = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    moments = Moments.from_data(held, B, weights, form=form)
    assert moments.form == form
    assert_are_moments_of(moments, plain, B, weights)
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix, sp.csc_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, float])
def test_labels_of_every_container(container, dtype, form):
    X, B = data()
    assert_are_moments_of(Moments.from_data(X, container(B.astype(dtype)), form=form), X, B)


@pytest.mark.parametrize("sparse_cost", [0.0, 1e9], ids=["sparse product", "dense product"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_small_blocks(monkeypatch, sparse_cost, weighted):
    X, B = data(n=61)
    weights = np.random.default_rng(3).random(61) if weighted else None
    monkeypatch.setattr(explicit, "BLOCK_VALUES", (1, 20))
    monkeypatch.setattr(labels, "LEAST_MARKS", 1)
    monkeypatch.setattr(explicit, "SPARSE_COST", sparse_cost)
    for container in (np.asarray, sp.csr_array, sp.csc_array):
        moments = Moments.from_data(container(X), B, weights, form="explicit")
        assert_are_moments_of(moments, X, B, weights)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("container", ["float64", "float32", "fortran", "csr_array", "int8"])
def test_rows_are_never_copied_whole(container, weighted, monkeypatch):
    n = 50_000
    rng = np.random.default_rng(4)
    X = (rng.random((n, 50)) < 0.1).astype(float)
    B = sp.csr_array(rng.random((n, 5)) < 0.02)
    held = CONTAINERS[container](X)
    weights = rng.random(n) if weighted else None
    size = sum(part.nbytes for part in parts_of(held))
    monkeypatch.setattr(explicit, "BLOCK_VALUES", (1 << 15, 1 << 15))
    monkeypatch.setattr(labels, "LEAST_MARKS", 1000)
    tracemalloc.start()
    Moments.from_data(held, B, weights, form="explicit")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The moments take 25 kB, a block 256 kB; the labels are small.
    assert peak < size / 2


def test_form_is_chosen_from_the_sizes():
    X, B = data()
    assert Moments.from_data(X, B).form == "explicit"
    assert Moments.from_data(sp.csr_array(X), B).form == "explicit"
    assert Moments.from_data(sp.csr_array(X), B, memory_budget=100).form == "implicit"
    assert Moments.from_data(X, B, memory_budget=100).form == "explicit"
    with pytest.raises(ValueError, match="form must be"):
        Moments.from_data(X, B, form="both")


def test_rows_must_match():
    with pytest.raises(ValueError, match="X has 3 rows but the labels have 4"):
        Moments.from_data(np.ones((3, 2)), np.ones((4, 2)))


# Sums and differences


def counts_of(moments):
    pairs = moments.labels.cooccurrence
    pairs = pairs.toarray() if sp.issparse(pairs) else pairs
    return moments.labels.counts, pairs


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 40), max_size=5), shuffle=st.booleans()
)
def test_any_split_adds_up_to_the_whole(form, seed, cuts, shuffle):
    X, B = data(seed)
    X = X + 0.1 * np.random.default_rng(seed).random(X.shape)
    order = np.random.default_rng(seed).permutation(40)
    whole = Moments.from_data(X, B, form=form)
    total = None
    for rows in np.split(order, sorted(cuts)):  # some of them empty
        part = Moments.from_data(X[rows], B[rows], form=form)
        total = part if total is None else total + part
    assert_are_moments_of(total, X, B)
    assert isinstance(total.n, int)
    for found, expected in zip(counts_of(total), counts_of(whole), strict=True):
        assert found.dtype == expected.dtype == np.int64
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), size=st.integers(0, 40))
def test_removing_rows_leaves_the_others(form, weighted, seed, size):
    X, B = data(seed)
    X = X + 0.1 * np.random.default_rng(seed).random(X.shape)
    weights = np.random.default_rng(seed + 1).random(40) if weighted else None
    gone, left = np.split(np.random.default_rng(seed).permutation(40), [size])

    def part(rows):
        return Moments.from_data(
            X[rows], B[rows], None if weights is None else weights[rows], form=form
        )

    rest = part(np.arange(40)) - part(gone)
    assert_are_moments_of(rest, X[left], B[left], None if weights is None else weights[left])
    if not weighted:
        assert isinstance(rest.n, int)
        for found, expected in zip(counts_of(rest), counts_of(part(left)), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", FORMS)
def test_removing_every_row_leaves_exact_zeros(form):
    X, B = data()
    X += np.pi
    parts = [Moments.from_data(X[i : i + 7], B[i : i + 7], form=form) for i in range(0, 40, 7)]
    total = sum(parts[1:], start=parts[0])
    for part in parts:
        total = total - part
    assert total.n == 0
    assert not total.gram(np.eye(7)).any()
    assert not total.cross(np.eye(5)).any()
    assert not total.feature_sum.any()
    assert_are_moments_of(total + parts[2], X[14:21], B[14:21])


@pytest.mark.parametrize("form", FORMS)
def test_weights_equal_repetition(form):
    X, B = data()
    times = np.random.default_rng(5).integers(1, 4, 40)
    weighted = Moments.from_data(X, B, times.astype(float), form=form)
    assert_are_moments_of(weighted, np.repeat(X, times, axis=0), np.repeat(B, times, axis=0))


@pytest.mark.parametrize("form", FORMS)
def test_weighted_and_plain_rows_mix(form):
    X, B = data()
    weights = np.random.default_rng(6).random(20)
    plain = Moments.from_data(X[:20], B[:20], form=form)
    weighted = Moments.from_data(X[20:], B[20:], weights, form=form)
    both = np.concatenate([np.ones(20), weights])
    for total in (plain + weighted, weighted + plain):
        assert_are_moments_of(total, X, B, both)
        assert_are_moments_of(total - weighted, X[:20], B[:20])
        assert_are_moments_of(total - plain, X[20:], B[20:], weights)


@pytest.mark.parametrize("form", FORMS)
def test_sums_leave_their_terms_alone(form):
    X, B = data()
    first, second = (
        Moments.from_data(X[r], B[r], form=form) for r in (slice(0, 20), slice(20, 40))
    )
    whole = first + second
    whole - second
    assert_are_moments_of(first, X[:20], B[:20])
    assert_are_moments_of(second, X[20:], B[20:])
    assert_are_moments_of(whole, X, B)


# Removing what was never there


def test_more_rows_than_were_added():
    X, B = data()
    few, many = Moments.from_data(X[:3], B[:3]), Moments.from_data(X, B)
    with pytest.raises(ValueError, match="cannot remove"):
        few - many
    with pytest.raises(ValueError, match="cannot remove 40 rows: only 3 were added"):
        few.labels - many.labels


@pytest.mark.parametrize(
    ("kept", "gone", "message"),
    [
        ([[1, 0], [0, 0]], [[0, 1]], "label 1 would be left with a count of -1"),
        ([[1, 0], [0, 1], [0, 0]], [[1, 1]], "two labels would be left together on a negative"),
        ([[1, 0], [1, 0]], [[0, 0]], "label 0 would be left on 2 of 1 rows"),
        ([[1, 0]], [[0, 0]], "label 0 would be left on 1 of 0 rows"),
    ],
)
def test_counts_that_no_rows_could_have(kept, gone, message):
    for weights in (None, np.ones):
        mine, theirs = (
            LabelMoments.from_labels(np.array(B), weights and weights(len(B))) for B in (kept, gone)
        )
        with pytest.raises(ValueError, match=message):
            mine - theirs


def test_sums_of_squares_that_no_rows_could_have():
    B = np.zeros((2, 1))
    for size in (1.0, 1e-6, 1e6):
        mine = Moments.from_data(size * np.array([[1.0, 0.0], [1.0, 2.0]]), B)
        theirs = Moments.from_data(size * np.array([[0.0, 3.0]]), B[:1])
        with pytest.raises(ValueError, match="feature 1 would be left with a negative sum"):
            mine - theirs


def test_implicit_moments_refuse_rows_that_were_never_added():
    X, B = data()
    mine = Moments.from_data(X, B, form="implicit")
    other = X[:1].copy()
    other[0, 0] += 0.25
    with pytest.raises(ValueError, match="cannot remove 1 rows that were never added"):
        mine - Moments.from_data(other, B[:1], form="implicit")
    with pytest.raises(ValueError, match="cannot remove"):
        mine - Moments.from_data(X[:1], 1 - B[:1], form="implicit")


def test_one_count_is_refused_however_many_rows_there_are():
    many = LabelMoments(10**12, np.array([5]), np.array([[5]]))
    with pytest.raises(ValueError, match="label 0 would be left with a count of -1"):
        many - LabelMoments(10, np.array([6]), np.array([[6]]))


def test_forms_and_shapes_do_not_mix():
    X, B = data()
    explicit, implicit = (Moments.from_data(X, B, form=form) for form in FORMS)
    for combine in (lambda a, b: a + b, lambda a, b: a - b):
        with pytest.raises(ValueError, match="cannot combine explicit with implicit"):
            combine(explicit, implicit)
        with pytest.raises(ValueError, match=r"shapes \(D, L\) = \(7, 5\) and \(7, 4\)"):
            combine(explicit, Moments.from_data(X, B[:, :4]))


# Labels added and selected


@pytest.mark.parametrize("form", FORMS)
def test_padding_adds_labels_that_no_row_has(form):
    X, B = data()
    wide = np.pad(B, ((0, 0), (0, 3)))
    padded = Moments.from_data(X, B, form=form).padded(8)
    assert_are_moments_of(padded, X, wide)
    more = Moments.from_data(X, np.roll(wide, 3, axis=1), form=form)
    assert_are_moments_of(padded + more, np.tile(X, (2, 1)), np.vstack([wide, np.roll(wide, 3, 1)]))
    assert padded.labels.counts.dtype == np.int64
    same = Moments.from_data(X, B, form=form)
    assert same.padded(5) is same


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [[3, 0, 4], [2], []])
def test_selected_labels(form, columns):
    X, B = data()
    columns = np.array(columns, dtype=int)
    chosen = Moments.from_data(X, B, form=form).select_labels(columns)
    assert_are_moments_of(chosen, X, B[:, columns])


@pytest.mark.parametrize("form", FORMS)
def test_no_rows_no_labels(form):
    X, B = data()
    empty = Moments.from_data(X[:0], B[:0], form=form)
    assert empty.n == 0
    assert_are_moments_of(empty + Moments.from_data(X, B, form=form), X, B)
    assert_are_moments_of(Moments.from_data(X, B[:, :0], form=form), X, B[:, :0])


@pytest.mark.parametrize("form", FORMS)
def test_many_labels_stay_sparse(form, monkeypatch):
    monkeypatch.setattr(labels, "DENSE_LABELS", 3)
    X, B = data()
    moments = Moments.from_data(X, B, form=form)
    assert sp.issparse(moments.labels.cooccurrence)
    assert_are_moments_of(moments, X, B)
    halves = [Moments.from_data(X[rows], B[rows], form=form) for rows in (slice(20), slice(20, 40))]
    total = halves[0] + halves[1]
    assert sp.issparse(total.labels.cooccurrence)
    assert_are_moments_of(total, X, B)
    assert_are_moments_of(total - halves[0], X[20:], B[20:])
    assert_are_moments_of(total.select_labels(np.array([4, 1])), X, B[:, [4, 1]])
    assert_are_moments_of(total.padded(9), X, np.pad(B, ((0, 0), (0, 4))))
    np.testing.assert_allclose(
        total.labels.squared_distances(), squared_distances(2 * B - 1), atol=1e-12
    )
    with pytest.raises(ValueError, match="cannot remove"):
        halves[0] - total


def test_crossing_the_limit_of_dense_labels(monkeypatch):
    monkeypatch.setattr(labels, "DENSE_LABELS", 6)
    X, B = data()
    wide = np.pad(B, ((0, 0), (0, 4)))
    dense = Moments.from_data(X, B)
    assert not sp.issparse(dense.labels.cooccurrence)
    padded = dense.padded(9)
    assert sp.issparse(padded.labels.cooccurrence)
    total = padded + Moments.from_data(X, wide)
    assert sp.issparse(total.labels.cooccurrence)
    assert_are_moments_of(total, np.tile(X, (2, 1)), np.tile(wide, (2, 1)))
    narrow = total.select_labels(np.arange(5))
    assert_are_moments_of(narrow, np.tile(X, (2, 1)), np.tile(B, (2, 1)))
    # What is selected may meet labels that were few from the start.
    assert_are_moments_of(narrow - dense, X, B)


def squared_distances(Y):
    return np.square(Y[:, :, None] - Y[:, None, :]).sum(axis=0)


def test_distances_between_label_columns():
    _, B = data()
    found = LabelMoments.from_labels(B).squared_distances()
    np.testing.assert_array_equal(found, squared_distances(2 * B - 1))
    weights = np.random.default_rng(7).random(40)
    found = LabelMoments.from_labels(B, weights).squared_distances()
    np.testing.assert_allclose(
        found, squared_distances(np.sqrt(weights)[:, None] * (2 * B - 1)), atol=1e-12
    )
    assert np.all(found >= 0)


# Views


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_views_equal_centred_and_scaled_rows(form, centre, scale, weighted):
    X, B = data()
    X[:, 2] = 0.1  # constant, and not a binary fraction
    X[:, 4] = 0.0
    X[:, 5] += 100.0
    weights = np.random.default_rng(8).random(40) if weighted else np.ones(40)
    scaler = StandardScaler(with_mean=True, with_std=True).fit(X, sample_weight=weights)
    V = X - scaler.mean_ if centre else X
    V = V / scaler.scale_ if scale else V
    V[:, 2] = X[:, 2] * 0.0 if centre else X[:, 2]
    view = Moments.from_data(X, B, weights if weighted else None, form=form).view(
        centre=centre, scale=scale
    )
    rng = np.random.default_rng(9)
    Z, W = rng.standard_normal((7, 3)), rng.standard_normal((5, 2))
    # Centring subtracts numbers of the size n·100² from each other.
    close = {"atol": 1e-9, "rtol": 1e-9}
    gram = V.T @ (V * weights[:, None])
    np.testing.assert_allclose(view.gram(Z), gram @ Z, **close)
    np.testing.assert_allclose(view.gram_diagonal(), np.diagonal(gram), **close)
    np.testing.assert_allclose(view.target(W), V.T @ (weights[:, None] * (2 * B - 1)) @ W, **close)
    if form == "explicit":
        np.testing.assert_allclose(view.gram_matrix(), gram, **close)
        view.gram_matrix()[:] = 0.0  # a copy: the moments are not touched
        assert view.moments.gram_matrix().any()
    else:
        assert view.gram_matrix() is None
    # A map in raw units, with the mean taken off, is the map of the viewed features.
    np.testing.assert_allclose((X - view.mean) @ view.in_raw_units(Z), V @ Z, **close)


def test_view_of_no_rows():
    empty = Moments.from_data(np.zeros((0, 3)), np.zeros((0, 2))).view(centre=True, scale=True)
    assert empty.mean.tolist() == [0.0, 0.0, 0.0]
    assert empty.scale.tolist() == [1.0, 1.0, 1.0]


def test_small_features_are_scaled_too():
    X, B = data()
    for size in (1e-8, 1e8):
        scale = Moments.from_data(size * X, B).view(centre=True, scale=True).scale
        np.testing.assert_allclose(scale, 1 / (size * X.std(axis=0)), rtol=1e-9)
