"""Summaries against explicit NumPy, in both forms, and sums of summaries against the whole."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.moments import Grid, LabelMoments, MatrixMoments, RowMoments, RowSummary, summarise

FORMS = ["matrices", "rows"]


def data(seed=0, n=40, D=7, L=5, copies=True):
    """Rows, some of them twice, some of these with other labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, D)) * (rng.random((n, D)) < 0.6) + 0.0
    B = (rng.random((n, L)) < 0.3).astype(int)
    if copies and n > 12:
        X[-6:], B[-3:] = X[:6], B[3:6]
    return X, B


def summary_of(X, B, weights=None, form="matrices", grid=None, **options) -> RowSummary:
    """Sum up rows in either form, which follows from the data for many sparse features alone."""
    if form == "rows":
        X = sp.csr_array(X)
        grid = grid or replace(Grid.of(X, weights), keeps_rows=True)
    return summarise(X, B, weights, grid=grid, **options)


def assert_are_moments_of(moments, X, B, weights=None, **tolerance):
    """Compare all products of the moments with dense ones."""
    X, B = np.asarray(X, dtype=float), np.asarray(B, dtype=float)
    w = np.ones(len(X)) if weights is None else weights
    Y = 2 * B - 1
    rng = np.random.default_rng(1)
    Z, W = rng.standard_normal((X.shape[1], 3)), rng.standard_normal((B.shape[1], 3))
    mean = w @ X / w.sum()
    same = {"rtol": 1e-9, "atol": 1e-9} | tolerance
    pairs = [
        (moments.n, w.sum()),
        (moments.feature_sum, w @ X),
        (moments.mean, mean),
        (moments.image_moments(Z)[0], ((X - mean) @ Z).T @ ((X - mean) @ Z * w[:, None])),
        (moments.image_moments(Z)[1], B.T @ (X * w[:, None]) @ Z),
        (moments.occurrences().toarray(), X.T @ (B * w[:, None])),
        (moments.labels.counts, w @ B),
        (moments.labels.sums, w @ Y),
        (moments.labels.pairs(), B.T @ (B * w[:, None])),
        (moments.labels.signed_product(W), Y.T @ (Y * w[:, None]) @ W),
        (moments.labels.signed_gram(), Y.T @ (Y * w[:, None])),
        (moments.labels.total, np.sum(w[:, None] * Y**2)),
    ]
    for centre in (True, False):
        Xc = X - mean if centre else X
        gram = Xc.T @ (Xc * w[:, None])
        found = moments.gram(Z, centre) if moments.keeps_rows else moments.gram_matrix(centre) @ Z
        pairs += [
            (found, gram @ Z),
            (moments.gram_diagonal(centre), np.diagonal(gram)),
            (moments.signed_cross(W, centre), Xc.T @ (Y * w[:, None]) @ W),
        ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, **same)
    assert (moments.n_features, moments.n_labels) == (X.shape[1], B.shape[1])


def unsorted_with_duplicates(X):
    """The same matrix with every entry split in two and rows back to front."""
    X = sp.csr_array(X)
    order = np.concatenate([np.arange(*X.indptr[i : i + 2])[::-1] for i in range(X.shape[0])])
    return sp.csr_array(
        (np.repeat(X.data[order] / 2, 2), np.repeat(X.indices[order], 2), 2 * X.indptr), X.shape
    )


CONTAINERS: dict[str, Callable] = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: X.astype(np.int8),
    "bool": lambda X: X > 0,
    "fortran": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
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
    weights = np.random.default_rng(2).choice([0.25, 1.0, 2.25], len(X)) if weighted else None
    before = [part.copy() for part in parts_of(held)]
    for part in parts_of(held):
        part.flags.writeable = False
    summary = summary_of(held, B, weights, form)
    assert isinstance(summary.moments, RowMoments if form == "rows" else MatrixMoments)
    assert_are_moments_of(summary.moments, plain, B, weights)
    assert_are_moments_of(summary.matrices(), plain, B, weights)
    assert (summary.n_rows, summary.n_features, summary.n_labels) == (40, 7, 5)
    for part, old in zip(parts_of(held), before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix, sp.csc_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, float])
def test_labels_of_every_container(container, dtype):
    X, B = data()
    assert_are_moments_of(summary_of(X, container(B.astype(dtype))).moments, X, B)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_features_of_any_size_and_place(form, weighted):
    rng = np.random.default_rng(3)
    X, B = data(n=60)
    X = X + rng.random(X.shape)
    weights = rng.uniform(0.2, 3.0, 60) if weighted else None
    X[:, 2] = 0.1  # constant, and not a binary fraction
    X[:, 4] = 0.0
    if form == "matrices":
        X[:, 5] += 1e6
    # Half a step: 2⁻¹⁷ of a column's largest value and 2⁻²⁰ of the largest weight's root or less.
    close = {"rtol": 1e-4, "atol": 1e-3}
    found = summary_of(X, B, weights, form)
    w = np.ones(60) if weights is None else weights
    centred = X - w @ X / w.sum()
    gram = centred.T @ (centred * w[:, None])
    np.testing.assert_allclose(found.matrices().gram_matrix(), gram, **close)
    np.testing.assert_allclose(found.moments.gram_diagonal(), np.diagonal(gram), **close)
    np.testing.assert_allclose(found.moments.mean, w @ X / w.sum(), rtol=1e-5)
    outline = found.outline()
    np.testing.assert_allclose(outline.feature_mean, w @ X / w.sum(), rtol=1e-5)
    spread = np.sqrt(np.diagonal(gram) / w.sum())
    np.testing.assert_allclose(outline.feature_spread, spread, **close)
    assert outline.n_rows == 60


@pytest.mark.parametrize("container", ["float64", "float32", "fortran", "int8", "csr_array"])
def test_rows_are_never_copied_whole(container):
    n, D = 400_000, 50
    X = np.zeros((n, D), dtype=np.int8 if container == "int8" else np.float32)
    X[:, ::10] = np.random.default_rng(4).integers(0, 2, (n, 5))
    B = sp.csr_array((n, 5))
    held = CONTAINERS[container](X)
    grid = Grid.of(held[:100])
    tracemalloc.start()
    summarise(held, B, grid=grid, max_kept_rows=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # In float64 the rows would take 160 MB; a block of two million values takes 16, three times,
    # and keys and orders of all rows 3.2 each.
    assert peak < 110e6


def test_rows_must_match():
    X, B = data()
    with pytest.raises(ValueError, match="X has 40 rows but the labels have 39"):
        summarise(X, B[:-1])
    with pytest.raises(ValueError, match="X has 6 features, but the grid 7"):
        summarise(X[:, :6], B, grid=Grid.of(X))


# Kept rows


def test_copies_of_rows_are_one_row_that_weighs_as_much():
    X, B = data()
    weights = np.random.default_rng(5).choice([1.0, 0.5, 2.0], 40)
    moments = summary_of(X, B, weights, "rows").moments
    distinct = np.unique(X, axis=0)
    assert moments.X.shape[0] == len(distinct) == len(np.unique(moments.feature_keys))
    assert np.all(np.diff(moments.feature_keys.astype(object)) > 0)
    for x, shares, weight in zip(
        moments.X.toarray(), moments.shares.toarray(), moments.weights, strict=True
    ):
        same = np.flatnonzero((x == X).all(axis=1))
        assert weight == weights[same].sum()
        np.testing.assert_allclose(shares, weights[same] @ B[same] / weights[same].sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_kept_rows_have_the_precision_asked_for(dtype):
    X, B = data()
    moments = summary_of(X, B, form="rows").moments
    Z = np.random.default_rng(6).standard_normal((7, 4)).astype(dtype)
    found = moments.gram(Z)
    assert found.dtype == dtype
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(found, centred.T @ (centred @ Z), atol=1e-3, rtol=1e-4)
    again = pickle.loads(pickle.dumps(moments))
    np.testing.assert_array_equal(again.gram(Z), found)


def test_products_with_many_rows_on_any_number_of_threads():
    import joblib

    X = sp.random_array(
        (3000, 400), density=0.05, format="csr", random_state=np.random.default_rng(0)
    )
    B = sp.random_array((3000, 9), density=0.2, format="csr", random_state=np.random.default_rng(1))
    B.data[:] = 1.0
    Z = np.random.default_rng(2).standard_normal((400, 70))
    found = []
    for n_jobs in (1, 2, 5):
        with joblib.parallel_config("threading", n_jobs=n_jobs):
            found.append(summary_of(X, B, form="rows").moments.gram(Z, centre=False))
    np.testing.assert_allclose(found[0], (X.T @ (X @ Z)), atol=1e-9)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


# Sums and differences


def assert_same(one: RowSummary, other: RowSummary) -> None:
    assert one.checksum() == other.checksum()
    assert one.n_rows == other.n_rows
    for a, b in ((one.matrices(), other.matrices()), (one.moments, other.moments)):
        np.testing.assert_array_equal(a.labels.pairs(), b.labels.pairs())
        np.testing.assert_array_equal(a.mean, b.mean)
        np.testing.assert_array_equal(a.gram_diagonal(), b.gram_diagonal())


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 40), max_size=5),
    weighted=st.booleans(), gone=st.integers(0, 40),
)  # fmt: skip
def test_sums_and_differences_are_those_of_the_rows(form, seed, cuts, weighted, gone):
    X, B = data(seed)
    rng = np.random.default_rng(seed)
    X = X + np.round(rng.random(X.shape[1]), 1)  # copies stay copies
    weights = rng.choice([1.0, 0.3, 2.7], 40) if weighted else None
    grid = summary_of(X, B, weights, form).grid

    def part(rows):
        w = None if weights is None else weights[rows]
        return summary_of(X[rows], B[rows], w, form, grid)

    order = rng.permutation(40)
    blocks = [part(rows) for rows in np.split(order, sorted(cuts))]  # some of them empty
    total = blocks[0]
    for block in blocks[1:]:
        total = total + block
    assert_same(total, part(np.arange(40)))
    rest = total - part(order[:gone])
    assert_same(rest, part(np.sort(order[gone:])))
    assert_same(rest + part(order[:gone]), total)
    held = rng.random(len(total.sample)) < 0.3
    if held.all():
        return
    keys = set(total.sample.keys[held])
    wanted = part(np.flatnonzero([key not in keys for key in part_keys(X, B, weights)]))
    found = total.moments_without(held)
    np.testing.assert_array_equal(found.labels.pairs(), wanted.moments.labels.pairs())
    np.testing.assert_array_equal(found.gram_diagonal(), wanted.moments.gram_diagonal())


def part_keys(X, B, weights):
    from grople.moments import row_keys

    return row_keys(X, B, weights)


@pytest.mark.parametrize("form", FORMS)
def test_sums_leave_their_terms_alone(form):
    X, B = data()
    grid = summary_of(X, B, form=form).grid
    first, second = (
        summary_of(X[rows], B[rows], form=form, grid=grid) for rows in (slice(20), slice(20, 40))
    )
    before = first.checksum(), second.checksum()
    whole = first + second
    whole - second
    assert (first.checksum(), second.checksum()) == before


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_left_of_all_rows(form):
    X, B = data()
    whole = summary_of(X + np.pi, B, form=form)
    nothing = whole - whole
    assert nothing.n_rows == 0
    assert nothing.moments.n == 0
    assert not nothing.matrices().gram_matrix(centre=False).any()
    assert not nothing.moments.occurrences().toarray().any()
    assert_same(nothing + whole, whole)


def test_checksums_see_everything():
    X, B = data()
    grid = Grid.of(X)
    base = summarise(X, B, grid=grid).checksum()
    more, other = X.copy(), B.copy()
    more[0, 0] += 0.25
    other[0, 0] = 1 - other[0, 0]
    found = {
        base,
        summarise(more, B, grid=grid).checksum(),
        summarise(X, other, grid=grid).checksum(),
        summarise(X, B, np.full(40, 2.0), grid=grid).checksum(),
        summarise(X[:-1], B[:-1], grid=grid).checksum(),
        summarise(X, B, grid=replace(grid, steps=grid.steps / 2)).checksum(),
    }
    assert len(found) == 6


# Removing what was never there


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_were_never_added(form):
    X, B = data()
    whole = summary_of(X, B, form=form)
    other = X[:1].copy()
    other[0, 0] += 0.25
    for gone, labels in ((other, B[:1]), (X[:1], 1 - B[:1])):
        with pytest.raises(ValueError, match="cannot remove 1 rows that were never added"):
            whole - summary_of(gone, labels, form=form, grid=whole.grid)
    with pytest.raises(ValueError, match="cannot remove"):
        whole - summary_of(X[:1], B[:1], np.full(1, 2.0), form, whole.grid)
    with pytest.raises(ValueError, match="labels that no added row had"):
        whole - summary_of(X[:1], np.ones((1, 6)), form=form, grid=whole.grid)


@pytest.mark.parametrize(
    ("kept", "gone", "message"),
    [
        ([[1, 0], [0, 0]], [[0, 1]], "label 1 would be left with a count of -1 of 1 rows"),
        ([[1, 0], [0, 1], [0, 0]], [[1, 1]], "two labels would be left together on a negative"),
        ([[1, 0], [1, 0]], [[0, 0]], "label 0 would be left with a count of 2 of 1 rows"),
        ([[1, 0]], [[0, 1], [0, 0]], "only 1 fewer rows were added"),
    ],
)
def test_sums_that_no_rows_could_have_are_told_without_kept_rows(kept, gone, message):
    kept, gone = np.array(kept), np.array(gone)
    whole = summarise(np.ones((len(kept), 2)), kept, max_kept_rows=0)
    with pytest.raises(ValueError, match=f"cannot remove these rows: {message}"):
        whole - summarise(np.ones((len(gone), 2)), gone, grid=whole.grid, max_kept_rows=0)


def test_sums_of_squares_that_no_rows_could_have():
    B = np.zeros((3, 1))
    for size in (1.0, 1e-6, 1e6):
        X = size * np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]])
        whole = summarise(X, B, max_kept_rows=0)
        gone = summarise(size * np.array([[0.0, 3.0]]), B[:1], grid=whole.grid, max_kept_rows=0)
        with pytest.raises(ValueError, match="feature 1 would be left with a negative sum"):
            whole - gone
    one = summarise(X[:1], B[:1], max_kept_rows=0)
    with pytest.raises(ValueError, match="all rows would be gone, but not their sums"):
        one - summarise(0.5 * X[:1], B[:1], grid=one.grid, max_kept_rows=0)


def test_summaries_of_other_features_or_on_another_grid():
    X, B = data()
    whole = summarise(X, B)
    for combine in (lambda a, b: a + b, lambda a, b: a - b):
        with pytest.raises(ValueError, match="blocks have 7 and 6 features"):
            combine(whole, summarise(X[:, :6], B))
        with pytest.raises(ValueError, match="on another grid: pass the first one's grid"):
            combine(whole, summarise(1e6 * X, B))
        with pytest.raises(ValueError, match="on another grid"):
            combine(summary_of(X, B, form="rows"), summarise(sp.csr_array(X), B))


# Labels


@pytest.mark.parametrize("form", FORMS)
def test_padding_adds_labels_that_no_row_has(form):
    X, B = data()
    wide = np.pad(B, ((0, 0), (0, 3)))
    narrow = summary_of(X, B, form=form)
    assert_are_moments_of(narrow.padded(8).moments, X, wide)
    more = summary_of(X, np.roll(wide, 3, axis=1), form=form, grid=narrow.grid)
    both = np.vstack([wide, np.roll(wide, 3, 1)])
    assert_are_moments_of((narrow + more).moments, np.tile(X, (2, 1)), both)
    assert_are_moments_of((more + narrow).moments, np.tile(X, (2, 1)), both)
    assert narrow.padded(5) is narrow


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [[3, 0, 4], [2], [0, 1, 2, 3, 4], [4, 1, 2, 0, 3]])
def test_selected_labels(form, columns):
    X, B = data()
    chosen = summary_of(X, B, form=form).moments.select_labels(np.array(columns))
    assert_are_moments_of(chosen, X, B[:, columns])
    none = summary_of(X, B, form=form).moments.select_labels(np.zeros(0, dtype=int))
    assert none.n_labels == 0
    assert none.signed_cross(np.zeros((0, 2))).shape == (7, 2)


def test_labels_that_vary():
    X, B = data()
    B[:, 1], B[:, 3] = 0, 1
    labels = summarise(X, B).labels
    assert labels.varying.tolist() == [0, 2, 4]
    assert labels.constant_scores.tolist() == [1, -1, 1, 1, 1]


def test_distances_between_label_columns():
    _, B = data()
    weights = np.random.default_rng(7).random(40)
    for w in (None, weights):
        Y = (2 * B - 1) * np.sqrt(1.0 if w is None else w[:, None])
        expected = np.square(Y[:, :, None] - Y[:, None, :]).sum(axis=0)
        found = LabelMoments.of(B, w).squared_distances()
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert np.all(found >= 0)


@pytest.mark.parametrize("form", FORMS)
def test_pairs_of_many_labels_stay_sparse(form):
    rng = np.random.default_rng(8)
    X = data(n=30)[0]
    B = sp.random_array((30, 5000), density=2e-3, format="csr", random_state=rng)
    B.data[:] = 1.0
    whole = summary_of(X, B[:, :4000], form=form).padded(5000)
    parts = summary_of(X[:10], B[:10], form=form, grid=whole.grid)
    parts = parts + summary_of(X[10:], B[10:], form=form, grid=whole.grid)
    labels = parts.moments.labels
    assert sp.issparse(labels.cooccurrence)
    assert sp.issparse(whole.moments.labels.cooccurrence)
    W = rng.standard_normal((5000, 2))
    Y = 2 * B.toarray() - 1
    np.testing.assert_allclose(labels.signed_product(W), Y.T @ (Y @ W), atol=1e-7)
    rest = parts - summary_of(X[:10], B[:10], form=form, grid=whole.grid)
    assert (rest.moments.labels.cooccurrence != (B[10:].T @ B[10:])).nnz == 0
    few = rest.moments.labels.select(np.arange(7))
    np.testing.assert_array_equal(few.pairs(), (B[10:, :7].T @ B[10:, :7]).toarray())
    with pytest.raises(ValueError, match="cannot remove"):
        rest - parts
