"""Splits against iterative-stratification and scikit-learn, brute force, and invariants."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold as Peer
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier

from grople import DataError
from grople.folds import (
    MultilabelStratifiedKFold,
    fold_balance,
    multilabel_train_test_split,
    published_folds,
)
from grople.folds.stratification import _deal


def random_labels(n_rows=200, n_labels=12, density=0.15, seed=0):
    return (np.random.default_rng(seed).random((n_rows, n_labels)) < density).astype(np.int8)


def real_labels(folder, name):
    with np.load(folder / "npz" / f"{name}.npz", allow_pickle=False) as arrays:
        indices, indptr, shape = (arrays[f"Y_{part}"] for part in ("indices", "indptr", "shape"))
    return sp.csr_array((np.ones(len(indices), np.int64), indices, indptr), shape=tuple(shape))


def numbers(splitter, Y):
    """The folds as the splitter's public method yields them."""
    folds = np.full(Y.shape[0], -1)
    for fold, (train, test) in enumerate(splitter.split(np.zeros((Y.shape[0], 1)), Y)):
        assert (folds[test] == -1).all()
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(Y.shape[0]))
        folds[test] = fold
    return folds


# --- folds are folds --------------------------------------------------------------------------

label_matrices = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12),
    elements=st.integers(0, 1),
)


@settings(max_examples=80, deadline=None)
@given(label_matrices, st.integers(2, 5), st.booleans(), st.integers(0, 99))
def test_every_row_is_tested_once_and_sizes_differ_by_one_at_most(Y, k, shuffle, seed):
    splitter = MultilabelStratifiedKFold(k, shuffle=shuffle, random_state=seed if shuffle else None)
    if len(Y) < k:
        with pytest.raises(ValueError, match=f"{k} folds need at least as many rows"):
            splitter.fold_numbers(Y)
        return
    folds = numbers(splitter, Y)
    assert folds.min() == 0
    assert np.ptp(np.bincount(folds, minlength=k)) <= 1
    assert np.array_equal(folds, splitter.fold_numbers(Y))


FORMS = [
    lambda Y: Y.astype(bool),
    lambda Y: Y.astype(float),
    pd.DataFrame,
    lambda Y: Y.tolist(),
    sp.csr_matrix,
    sp.csc_array,
    sp.coo_array,
]


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_the_labels_is_irrelevant(form):
    Y = random_labels()
    splitter = MultilabelStratifiedKFold(random_state=3)
    assert np.array_equal(splitter.fold_numbers(form(Y)), splitter.fold_numbers(Y))


def test_seeds():
    Y = random_labels()

    def folds(**options):
        return MultilabelStratifiedKFold(4, **options).fold_numbers(Y)

    assert np.array_equal(folds(random_state=1), folds(random_state=1))
    assert not np.array_equal(folds(random_state=1), folds(random_state=2))
    assert np.array_equal(folds(random_state=1), folds(random_state=np.random.RandomState(1)))
    assert np.array_equal(folds(shuffle=False), folds(shuffle=False))
    # scikit-learn's convention for None: numpy's global generator
    drawn = {folds(random_state=None).tobytes() for _ in range(3)}
    assert len(drawn) == 3


def test_labels_stay_sparse():
    rng = np.random.default_rng(0)
    n_rows, n_labels = 400, 1_000_000
    rows, labels = np.repeat(np.arange(n_rows), 3), rng.integers(0, n_labels, 3 * n_rows)
    Y = sp.csr_array((np.ones(len(rows), np.int8), (rows, labels)), shape=(n_rows, n_labels))
    tracemalloc.start()
    MultilabelStratifiedKFold(random_state=0).fold_numbers(Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A few vectors of one number a label (8 MB each); even one byte a cell would be 400 MB.
    assert peak < 100e6


# --- balance ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=5),
    st.integers(1, 30),
    st.integers(1, 7),
    st.integers(0, 99),
)
def test_dealing_equals_one_row_after_the_other(wishes, n, unit, seed):
    label_wish, row_wish = np.array(wishes), np.array(wishes[::-1]) * 2
    dealt = _deal(label_wish, row_wish, n, unit, np.random.RandomState(seed))
    assert len(dealt) == n
    for fold in dealt:  # each row goes to a fold that wants it most, at its turn
        chosen = (label_wish[fold], row_wish[fold])
        assert chosen == max(zip(label_wish, row_wish, strict=True))
        label_wish[fold] -= unit
        row_wish[fold] -= unit


@pytest.mark.parametrize("k", [2, 5])
def test_classes_are_spread_as_evenly_as_can_be(k):
    y = np.random.default_rng(1).choice(["a", "b", "c", "d"], 73, p=[0.5, 0.3, 0.15, 0.05])
    folds = MultilabelStratifiedKFold(k, random_state=0).fold_numbers(y)
    theirs = numbers(StratifiedKFold(k, shuffle=True, random_state=0), y)
    ours_by_class, theirs_by_class = (pd.crosstab(y, f).to_numpy() for f in (folds, theirs))
    assert (np.ptp(ours_by_class, axis=1) <= 1).all()
    assert np.array_equal(np.sort(ours_by_class, axis=1), np.sort(theirs_by_class, axis=1))


def test_pairs_of_labels_are_spread_too():
    # Labels a b c d in pairs ab, cd, ac, bd: the shares of single labels leave those of pairs open.
    pairs = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    folds = MultilabelStratifiedKFold(5, random_state=0).fold_numbers(np.repeat(pairs, 25, axis=0))
    assert (pd.crosstab(np.repeat(np.arange(4), 25), folds) == 5).all(axis=None)


@pytest.mark.parametrize("n_empty", [7, 40, 200])
def test_rows_without_labels_are_spread(n_empty):
    Y = random_labels(200, density=0.2)
    Y = np.vstack([Y[Y.any(axis=1)], np.zeros((n_empty, Y.shape[1]), np.int8)])
    for seed in range(5):
        folds = MultilabelStratifiedKFold(5, random_state=seed).fold_numbers(Y)
        # One more or less than its share is what whole rows cost; making up the sizes, another.
        spread = np.bincount(folds[~Y.any(axis=1)], minlength=5)
        assert np.abs(spread - n_empty / 5).max() <= 2


def mean_balance(splitter, Y, k, seeds):
    dense = Y.toarray() if sp.issparse(Y) else Y
    folds = [numbers(splitter(k, shuffle=True, random_state=seed), dense) for seed in seeds]
    return np.mean([fold_balance(Y, f) for f in folds], axis=0), sum(
        missing_labels(dense, f, k) for f in folds
    )


def missing_labels(Y, folds, k):
    """Count (label, fold) pairs without a row though the label has rows for every fold."""
    found = np.stack([Y[folds == fold].sum(axis=0) for fold in range(k)])
    return int((found[:, Y.sum(axis=0) >= k] == 0).sum())


def assert_no_worse_than_the_peer(Y, k, seeds):
    (ours_label, ours_size), ours_missing = mean_balance(MultilabelStratifiedKFold, Y, k, seeds)
    (peer_label, peer_size), peer_missing = mean_balance(Peer, Y, k, seeds)
    # Where both place every label as evenly as can be (few ones a row) they differ by which folds
    # get the odd rows, by less than one per cent; elsewhere ours is lower by up to 90 per cent.
    assert ours_label <= 1.01 * peer_label
    assert ours_size <= peer_size
    assert ours_missing <= peer_missing


@pytest.mark.parametrize("density", [0.03, 0.2, 0.5])
@pytest.mark.parametrize("k", [2, 5, 10])
def test_balance_on_random_labels_is_no_worse_than_the_peers(density, k):
    assert_no_worse_than_the_peer(random_labels(600, 30, density), k, range(4))


@pytest.mark.data
@pytest.mark.parametrize("k", [5, 10])
@pytest.mark.parametrize("name", ["CAL500", "genbase", "medical", "mediamill-reduced"])
def test_balance_on_real_labels_is_no_worse_than_the_peers(shared_data, name, k):
    assert_no_worse_than_the_peer(real_labels(shared_data, name), k, range(6))


def test_balance_by_hand():
    Y = random_labels(30, 6, 0.3)
    Y[:, 4], Y[:, 5] = 1, 0  # odds infinite; never there
    folds = np.random.default_rng(0).integers(0, 3, 30)
    differences = []
    for label in range(4):
        whole = Y[:, label].sum() / (30 - Y[:, label].sum())
        for fold in range(3):
            y = Y[folds == fold, label]
            differences.append(abs(y.sum() / (len(y) - y.sum()) - whole))
    sizes = [(folds == fold).sum() for fold in range(3)]
    label, size = fold_balance(sp.csr_array(Y), folds)
    assert label == pytest.approx(np.mean(differences), rel=1e-12)
    assert size == pytest.approx(np.mean([abs(s - 10) for s in sizes]), rel=1e-12)
    with pytest.raises(ValueError, match=r"folds have shape \(29,\)"):
        fold_balance(Y, folds[1:])
    with pytest.raises(ValueError, match="fold 2 has no rows"):
        fold_balance(Y, np.where(folds == 2, 4, folds))


# --- the splitter interface -------------------------------------------------------------------


def test_works_where_scikit_learn_wants_a_splitter():
    Y = random_labels(80, 4, 0.4)
    X = np.random.default_rng(0).normal(size=(80, 3)) + Y[:, :3]
    cv = MultilabelStratifiedKFold(4, random_state=0)
    scores = cross_val_score(KNeighborsClassifier(3), X, Y, cv=cv)
    by_hand = [
        KNeighborsClassifier(3).fit(X[train], Y[train]).score(X[test], Y[test])
        for train, test in cv.split(X, Y)
    ]
    assert scores.tolist() == by_hand
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=cv).fit(X, Y)
    assert search.n_splits_ == cv.get_n_splits() == 4
    assert repr(cv) == "MultilabelStratifiedKFold(n_splits=4, random_state=0, shuffle=True)"


@pytest.mark.parametrize("n_splits", [1, 0, -2, 2.5, "3", None])
def test_bad_number_of_folds(n_splits):
    with pytest.raises(ValueError, match="n_splits must be a whole number of at least 2"):
        MultilabelStratifiedKFold(n_splits)


def test_bad_arguments():
    Y = random_labels(20)
    with pytest.raises(TypeError, match="shuffle must be True or False"):
        MultilabelStratifiedKFold(shuffle=1)
    with pytest.raises(ValueError, match="random_state has no effect"):
        MultilabelStratifiedKFold(shuffle=False, random_state=0)
    cv = MultilabelStratifiedKFold(2, random_state=0)
    with pytest.raises(ValueError, match="y is needed"):
        next(cv.split(Y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(cv.split(Y[1:], Y))
    with pytest.raises(ValueError, match="y holds 2"):
        next(cv.split(Y, Y * 2))
    with pytest.raises(ValueError, match="continuous"):
        next(cv.split(Y, np.linspace(0.1, 1.3, 20)))
    with pytest.warns(UserWarning, match="groups are ignored"):
        next(cv.split(Y, Y, groups=np.zeros(20)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(cv.split(Y, Y))


# --- train and test ---------------------------------------------------------------------------

SIZES = [
    (None, None),
    (0.2, None),
    (None, 0.61),
    (0.33, 0.33),
    (7, None),
    (None, 7),
    (7, 0.5),
    (0.5, 0.5),
    (0.5, 0.499),
    (26, 25),
    (np.int64(7), np.float64(0.5)),
    # what scikit-learn refuses
    (0, None),
    (1.0, None),
    (0.7, 0.4),
    (51, None),
    (50, 2),
    (-3, None),
    ("a", None),
    (None, 0.001),
]


@pytest.mark.parametrize(("test_size", "train_size"), SIZES)
def test_sizes_are_those_of_scikit_learn(test_size, train_size):
    Y = random_labels(51, 5, 0.3)
    options = {"test_size": test_size, "train_size": train_size, "random_state": 0}
    try:
        theirs = [len(part) for part in train_test_split(Y, Y, **options)]
    except ValueError:
        with pytest.raises(ValueError, match=r"must be a share|more than the 51|at least one"):
            multilabel_train_test_split(Y, Y, **options)
        return
    assert [len(part) for part in multilabel_train_test_split(Y, Y, **options)] == theirs


def test_split_keeps_containers_rows_and_shares():
    Y = random_labels(200, 8, 0.3)
    row = np.arange(200)
    parts = multilabel_train_test_split(
        sp.coo_matrix(row[:, None] + 1), pd.DataFrame(Y), row, row.tolist(), pd.Series(row),
        test_size=0.25, random_state=5,
    )  # fmt: skip
    X_train, X_test, Y_train, Y_test, a_train, a_test, l_train, l_test, s_train, s_test = parts
    assert np.array_equal(np.sort(np.concatenate([a_train, a_test])), row)
    assert l_test == a_test.tolist() == s_test.tolist() == Y_test.index.tolist()
    assert l_train == s_train.tolist() == Y_train.index.tolist()
    assert (X_test.toarray().ravel() - 1).tolist() == l_test
    assert X_train.shape[0] == len(a_train) == 150
    assert np.array_equal(Y_test.to_numpy(), Y[a_test])
    # Shares are exact up to whole rows; eight labels of 60 rows leave room for one more.
    assert np.abs(Y[a_test].sum(axis=0) - Y.sum(axis=0) / 4).max() <= 2
    again = multilabel_train_test_split(row, Y, test_size=0.25, random_state=5)
    assert np.array_equal(again[1], a_test)


def test_every_rare_label_is_trained_on():
    Y = np.vstack([np.eye(5, dtype=int), np.zeros((95, 5), int)])
    _, _, Y_train, Y_test = multilabel_train_test_split(Y, Y, test_size=0.2, random_state=0)
    assert Y_train.any(axis=0).all()
    assert not Y_test.any()


def test_one_row_more_does_not_attract_every_rare_label():
    Y = np.eye(101, 10, dtype=int)  # nine labels of one row each
    Y[10:, 9] = 1  # and a common one; 51 rows against 50
    _, _, Y_train, Y_test = multilabel_train_test_split(Y, Y, test_size=0.5, random_state=0)
    assert abs(Y_train[:, :9].sum() - Y_test[:, :9].sum()) == 1


def test_split_of_unequal_lengths():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        multilabel_train_test_split(np.zeros((3, 1)), np.ones((4, 1)))


# --- the published folds ----------------------------------------------------------------------


@pytest.mark.data
def test_published_folds_split_as_predefined(shared_data, monkeypatch):
    with np.load(shared_data / "author_folds.npz") as stored:
        names, expected = stored.files, stored["medical"]
    folds = published_folds("medical", shared_data)
    assert np.array_equal(folds, expected)
    split = PredefinedSplit(folds)
    assert split.get_n_splits() == 5
    assert [len(test) for _, test in split.split()] == np.bincount(expected).tolist()
    monkeypatch.setenv("GROPLE_DATA", str(shared_data))
    for name in names:
        folds = published_folds(name)
        assert folds.shape == (real_labels(shared_data, name).shape[0],)
        assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]


def test_published_folds_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.delenv("GROPLE_DATA", raising=False)
    with pytest.raises(DataError, match="set GROPLE_DATA"):
        published_folds("medical")
    with pytest.raises(DataError, match=r"author_folds\.npz: not found"):
        published_folds("medical", tmp_path)
    file = tmp_path / "author_folds.npz"
    np.savez(file, a=np.array([0, 1]), b=np.array([0.5, 1]), c=np.array([-1, 0]))
    assert published_folds("a", tmp_path).tolist() == [0, 1]
    with pytest.raises(DataError, match="no folds of 'medical'; known are those of a, b, c"):
        published_folds("medical", tmp_path)
    for bad in "bc":
        with pytest.raises(DataError, match="must be one fold number"):
            published_folds(bad, tmp_path)
    zipped = file.read_bytes()
    np.save(tmp_path / "one.npy", np.arange(3))
    flipped = bytearray(zipped)
    flipped[zipped.index(b"NUMPY") + 130] ^= 1  # in the stored values: a wrong checksum
    one = (tmp_path / "one.npy").read_bytes()
    for content in (b"", b"not a zip", zipped[:200], bytes(flipped), one):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"author_folds\.npz: "):
            published_folds("a", tmp_path)
