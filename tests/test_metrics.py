"""Measures against scikit-learn, brute force over plain Python sets, and invariants."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from sklearn import metrics as oracle

from grople import metrics as ours

# Both sides average the same few hundred float64 ratios, in another order.
ROUNDING = {"rtol": 1e-12, "atol": 1e-14}

SETS = [
    f"{average}_{measure}"
    for average in ("example", "macro", "micro")
    for measure in ("precision", "recall", "f1")
]
FUNCTIONS = ["accuracy", "example_f1", "macro_f1", "micro_f1"]
RANKINGS = ["one_error", "coverage", "ranking_loss", "label_ranking_average_precision"]
CONVENTIONS = pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def random_labels(seed, shape=(60, 14), density=0.15):
    """Labels with empty rows, full rows, and a label that never occurs."""
    rng = np.random.default_rng(seed)
    Y = (rng.random(shape) < density).astype(np.int8)
    Y[:3], Y[3], Y[:, 0] = 0, 1, 0
    return Y


def predictions(seed=0):
    Y, P = random_labels(seed), random_labels(seed + 1)
    Y[10] = 1  # the ranking measures meet a full row, too
    P[20:40] = Y[20:40]
    return Y, P


def tied_scores(seed, shape=(60, 14)):
    return np.random.default_rng(seed).integers(-3, 4, shape) / 2


def weights(weighted, n=60):
    return np.random.default_rng(9).random(n) if weighted else None


def both_or_nan(a, b):
    assert_allclose(a, b, equal_nan=True, **ROUNDING)


# --- against scikit-learn ---------------------------------------------------------------------


@CONVENTIONS
@WEIGHTED
@pytest.mark.parametrize("name", SETS)
def test_precision_recall_f1_equal_scikit_learn(name, zero_division, weighted):
    Y, P = predictions()
    average, measure = name.split("_")
    w = weights(weighted)
    expected = getattr(oracle, f"{measure}_score")(
        Y, P, average={"example": "samples"}.get(average, average),
        zero_division=zero_division, sample_weight=w,
    )  # fmt: skip
    both_or_nan(getattr(ours.counts(Y, P, w), name)(zero_division), expected)
    if name in FUNCTIONS:
        found = getattr(ours, name)(Y, P, zero_division=zero_division, sample_weight=w)
        both_or_nan(found, expected)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])  # all that jaccard_score knows
@WEIGHTED
def test_accuracy_is_the_jaccard_score_of_samples(zero_division, weighted):
    Y, P = predictions()
    settings_ = {"zero_division": zero_division, "sample_weight": weights(weighted)}
    both_or_nan(
        ours.accuracy(Y, P, **settings_), oracle.jaccard_score(Y, P, average="samples", **settings_)
    )


def test_nan_leaves_empty_rows_out_of_accuracy():
    Y, P = predictions()
    kept = (Y | P).any(axis=1)
    assert 0 < kept.sum() < len(Y)
    both_or_nan(ours.accuracy(Y, P, zero_division=np.nan), ours.accuracy(Y[kept], P[kept]))


@WEIGHTED
def test_hamming_loss_and_subset_accuracy_equal_scikit_learn(weighted):
    Y, P = predictions()
    w = weights(weighted)
    found = ours.counts(Y, P, w)
    both_or_nan(found.hamming_loss(), oracle.hamming_loss(Y, P, sample_weight=w))
    both_or_nan(found.subset_accuracy(), oracle.accuracy_score(Y, P, sample_weight=w))


@WEIGHTED
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("coverage", "coverage_error"),
        ("ranking_loss", "label_ranking_loss"),
        ("label_ranking_average_precision", "label_ranking_average_precision_score"),
    ],
)
def test_rankings_equal_scikit_learn(name, theirs, tied, weighted):
    Y, _ = predictions()
    S = tied_scores(4) if tied else np.random.default_rng(4).normal(size=Y.shape)
    w = weights(weighted)
    both_or_nan(
        getattr(ours.ranks(Y, S, w), name)(), getattr(oracle, theirs)(Y, S, sample_weight=w)
    )


@WEIGHTED
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", [1, 3, 14, None])
def test_ndcg_equals_scikit_learn(k, tied, weighted):
    Y, _ = predictions()
    S = tied_scores(5) if tied else np.random.default_rng(5).normal(size=Y.shape)
    w = weights(weighted)
    both_or_nan(ours.ranks(Y, S, w).ndcg_at_k(k), oracle.ndcg_score(Y, S, k=k, sample_weight=w))


def test_no_noise_where_nothing_is_predicted():
    Y = random_labels(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ours.evaluate(Y, np.zeros_like(Y), np.zeros(Y.shape))
    assert result["micro_precision"] == result["example_f1"] == 0.0


# --- against brute force ----------------------------------------------------------------------

small_labels = hnp.arrays(np.int8, (3, 4), elements=st.integers(0, 1))
small_scores = hnp.arrays(np.float64, (3, 4), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0]))


def orders(scores):
    """Every ranking of the labels that the scores allow."""
    return [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]


@settings(max_examples=40, deadline=None)
@given(small_labels, small_scores, st.integers(1, 4))
def test_precision_at_k_is_the_mean_over_all_orders_of_ties(Y, S, k):
    expected = [
        np.mean([sum(y[label] for label in order[:k]) / k for order in orders(s)])
        for y, s in zip(Y, S, strict=True)
    ]
    found = ours.ranks(Y, S)
    assert_allclose(found.precision_at_k(k), np.mean(expected), **ROUNDING)
    if k == 1:
        assert_allclose(found.one_error(), 1 - np.mean(expected), **ROUNDING)


@settings(max_examples=40, deadline=None)
@given(small_labels, small_labels, st.sampled_from([0.0, 1.0]))
def test_set_measures_equal_sets(Y, P, zero_division):
    def ratio(part, whole):
        return part / whole if whole else zero_division

    pairs = [
        ({*np.flatnonzero(y).tolist()}, {*np.flatnonzero(p).tolist()})
        for y, p in zip(Y, P, strict=True)
    ]
    columns = [
        ({*np.flatnonzero(y).tolist()}, {*np.flatnonzero(p).tolist()})
        for y, p in zip(Y.T, P.T, strict=True)
    ]
    expected = {
        "accuracy": np.mean([ratio(len(t & p), len(t | p)) for t, p in pairs]),
        "example_f1": np.mean([ratio(2 * len(t & p), len(t) + len(p)) for t, p in pairs]),
        "macro_f1": np.mean([ratio(2 * len(t & p), len(t) + len(p)) for t, p in columns]),
        "micro_f1": ratio(
            2 * sum(len(t & p) for t, p in pairs), sum(len(t) + len(p) for t, p in pairs)
        ),
        "hamming_loss": np.mean([len(t ^ p) / 4 for t, p in pairs]),
        "subset_accuracy": np.mean([t == p for t, p in pairs]),
    }
    result = ours.evaluate(Y, P, zero_division=zero_division)
    assert_allclose([result[name] for name in expected], list(expected.values()), **ROUNDING)


# --- invariants -------------------------------------------------------------------------------

shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8)


@st.composite
def cases(draw):
    shape = draw(shapes)
    labels = hnp.arrays(np.int8, shape, elements=st.integers(0, 1))
    scores = hnp.arrays(np.float64, shape, elements=st.floats(-3, 3, width=16))
    return draw(labels), draw(labels), draw(scores)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_bounds(case):
    result = ours.evaluate(*case)
    assert 0 <= result.pop("coverage") <= case[0].shape[1]
    # the means of shares in [0, 1], up to their rounding
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in result.values())


@settings(max_examples=40, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_order_of_rows_and_labels_is_irrelevant(case, random):
    Y, P, S = case
    rows, labels = list(range(Y.shape[0])), list(range(Y.shape[1]))
    random.shuffle(rows)
    random.shuffle(labels)
    shuffled = [m[np.ix_(rows, labels)] for m in case]
    a, b = ours.evaluate(Y, P, S), ours.evaluate(*shuffled)
    assert list(a) == list(b)
    assert_allclose(list(a.values()), list(b.values()), **ROUNDING)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_perfect_prediction(case):
    Y = case[0]
    Y[:, 0] = Y[0] = 1  # every row and every label occurs
    # true labels above the others: the best by every measure
    result = ours.evaluate(Y, Y, Y / np.linspace(0.2, 1, Y.shape[1]))
    assert {result[name] for name in [*SETS, "accuracy", "subset_accuracy"]} == {1.0}
    assert result["hamming_loss"] == result["ranking_loss"] == result["one_error"] == 0.0
    assert result["coverage"] == Y.sum(axis=1).mean()
    assert_allclose([v for n, v in result.items() if "ndcg" in n], 1.0, **ROUNDING)
    assert result["label_ranking_average_precision"] == 1.0


def sparse_frame(Y):
    return pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(Y))


def with_explicit_zeros(Y):
    n, width = Y.shape
    return sp.csr_array(
        (Y.ravel(), np.tile(np.arange(width), n), np.arange(n + 1) * width), Y.shape
    )


def unsorted_rows(Y):
    turned = sp.csr_array(Y[:, ::-1])
    return sp.csr_array((turned.data, Y.shape[1] - 1 - turned.indices, turned.indptr), Y.shape)


FORMS = {
    "bool": lambda Y: Y.astype(bool),
    "uint8": lambda Y: Y.astype(np.uint8),
    "float32": lambda Y: Y.astype(np.float32),
    "object": lambda Y: Y.astype(object),
    "list": lambda Y: Y.tolist(),
    "fortran": np.asfortranarray,
    "matrix": np.asmatrix,
    "frame": pd.DataFrame,
    "sparse frame": sparse_frame,
    "csr_array int8": sp.csr_array,
    "csr_matrix bool": lambda Y: sp.csr_matrix(Y.astype(bool)),
    "csc float": lambda Y: sp.csc_array(Y.astype(float)),
    "coo": sp.coo_matrix,
    "lil": sp.lil_matrix,
    "explicit zeros": with_explicit_zeros,
    "unsorted": unsorted_rows,
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_same_numbers_and_is_left_alone(form):
    Y, P = predictions()
    S = tied_scores(6)
    given_Y, given_P = FORMS[form](Y), FORMS[form](P)
    before = given_Y.data.copy() if sp.issparse(given_Y) else None
    assert ours.evaluate(given_Y, given_P, S) == ours.evaluate(Y, P, S)
    if before is not None:
        assert (given_Y.data == before).all()


def test_narrow_integers_do_not_overflow():
    Y = np.ones((300, 200), np.int8)
    P = Y.copy()
    P[:, 150:] = 0
    result = ours.evaluate(sp.csr_array(Y), sp.csr_array(P))
    assert_allclose(result["accuracy"], 0.75, **ROUNDING)
    assert_allclose(result["micro_f1"], 2 * 150 / 350, **ROUNDING)
    assert result["macro_recall"] == 0.75


def test_large_dense_input_is_read_in_blocks(monkeypatch):
    Y, P = predictions()
    S = tied_scores(7)
    whole = ours.evaluate(Y, P, S)
    monkeypatch.setattr("grople.metrics._inputs.BLOCK_CELLS", 30)
    assert ours.evaluate(Y, P, S) == whole


def test_unit_weights_and_repeated_rows():
    Y, P = predictions()
    S = tied_scores(8)
    plain = ours.evaluate(Y, P, S)
    unit = ours.evaluate(Y, P, S, sample_weight=np.ones(len(Y)))
    assert_allclose(list(unit.values()), list(plain.values()), **ROUNDING)
    times = np.random.default_rng(3).integers(0, 4, len(Y))
    weighted = ours.evaluate(Y, P, S, sample_weight=times)
    repeated = ours.evaluate(*(np.repeat(m, times, axis=0) for m in (Y, P, S)))
    assert_allclose(list(weighted.values()), list(repeated.values()), **ROUNDING)


@pytest.mark.parametrize("weighted", [(False, False), (True, True), (True, False)])
def test_counts_of_two_halves_add_up(weighted):
    Y, P = predictions()
    w = np.concatenate([weights(on, 30) if on else np.ones(30) for on in weighted])
    first, second = (
        ours.counts(Y[part], P[part], w[part] if on else None)
        for part, on in zip((slice(30), slice(30, 60)), weighted, strict=True)
    )
    total, whole = first + second, ours.counts(Y, P, w if any(weighted) else None)
    for name in [*SETS, "accuracy", "hamming_loss", "subset_accuracy"]:
        assert_allclose(getattr(total, name)(), getattr(whole, name)(), **ROUNDING)
    with pytest.raises(ValueError, match="14 and 13 labels"):
        first + ours.counts(Y[:, 1:], P[:, 1:])


# --- scores: in blocks, of any type -----------------------------------------------------------


def test_scores_from_a_callable_are_asked_for_block_by_block(monkeypatch):
    Y, _ = predictions()
    S = tied_scores(13)
    asked = []

    def scores(start, stop):
        asked.append((start, stop))
        return S[start:stop]

    monkeypatch.setattr("grople.metrics._inputs.BLOCK_CELLS", 16 * 14)
    assert ours.evaluate(Y, scores=scores) == ours.evaluate(Y, scores=S)
    assert asked == [(0, 16), (16, 32), (32, 48), (48, 60)]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.float32])
def test_scores_of_any_type(dtype):
    Y, _ = predictions()
    S = np.random.default_rng(14).integers(0, 2 if dtype is bool else 5, Y.shape)
    assert ours.evaluate(Y, Y, S.astype(dtype)) == ours.evaluate(Y, Y, S.astype(float))


@CONVENTIONS
@pytest.mark.parametrize("name", ["ndcg_at_k", "ranking_loss", "label_ranking_average_precision"])
def test_zero_division_of_rankings(name, zero_division):
    Y, S = np.array([[0, 0, 0], [0, 1, 0]]), np.array([[3.0, 2, 1], [1, 2, 3]])
    labelled = getattr(ours.ranks(Y[1:], S[1:]), name)()
    expected = labelled if np.isnan(zero_division) else (zero_division + labelled) / 2
    found = getattr(ours.ranks(Y, S), name)(zero_division=zero_division)
    assert_allclose(found, expected, **ROUNDING)


@CONVENTIONS
def test_zero_division_where_nothing_is_left(zero_division):
    nothing = np.zeros((2, 3), int)
    result = ours.evaluate(nothing, nothing, zero_division=zero_division)
    for name in [*SETS, "accuracy"]:
        both_or_nan(result[name], zero_division)


def test_evaluate_gives_what_the_methods_give():
    Y, P = predictions()
    S = tied_scores(15)
    result, counted, ranked = ours.evaluate(Y, P, S), ours.counts(Y, P), ours.ranks(Y, S)
    for name in [*SETS, "accuracy", "hamming_loss", "subset_accuracy"]:
        assert result.pop(name) == getattr(counted, name)()
    for name in RANKINGS:
        assert result.pop(name) == getattr(ranked, name)()
    for k in (1, 3, 5):
        assert result.pop(f"precision_at_{k}") == ranked.precision_at_k(k)
        assert result.pop(f"ndcg_at_{k}") == ranked.ndcg_at_k(k)
    assert result == {}
    assert set(ours.evaluate(Y, P)).isdisjoint(ours.evaluate(Y, scores=S))
    few = ours.evaluate(Y[:, :4], scores=S[:, :4])
    assert "ndcg_at_3" in few
    assert "ndcg_at_5" not in few  # there are four labels


# --- bad input --------------------------------------------------------------------------------

Y2 = [[0, 1], [1, 1]]
BAD = [
    (lambda: ours.accuracy(Y2, [[0, 1]]), r"y_true has shape \(2, 2\) but y_pred has \(1, 2\)"),
    (lambda: ours.accuracy([0, 1], [0, 1]), "y_true must have one row an example"),
    (lambda: ours.accuracy(Y2, [[0, 1], [1, 2]]), "y_pred holds 2; labels are 0 or 1"),
    (lambda: ours.accuracy([[-1, 1]], [[0, 1]]), r"holds -1.*pass y_true > 0"),
    (lambda: ours.accuracy([[np.nan, 1]], [[0, 1]]), "y_true holds NaN"),
    (lambda: ours.accuracy(sp.csr_array([[np.nan, 1]]), [[0, 1]]), "y_true holds NaN"),
    (lambda: ours.accuracy(sp.csr_array([[0.5, 1]]), [[0, 1]]), "y_true holds 0.5"),
    (lambda: ours.accuracy([["a", "b"]], [[0, 1]]), "zeros and ones, not <U1"),
    (lambda: ours.accuracy(np.zeros((0, 2)), np.zeros((0, 2))), "y_true is empty"),
    (lambda: ours.accuracy(np.zeros((2, 0)), np.zeros((2, 0))), "y_true is empty"),
    (lambda: ours.accuracy(Y2, Y2, zero_division=0.5), "zero_division must be"),
    (lambda: ours.accuracy(Y2, Y2, zero_division="warn"), "zero_division must be"),
    (lambda: ours.accuracy(Y2, Y2, sample_weight=[1]), r"sample_weight has shape \(1,\)"),
    (lambda: ours.accuracy(Y2, Y2, sample_weight=[1, -1]), "non-negative"),
    (lambda: ours.accuracy(Y2, Y2, sample_weight=[0, 0]), "not all zero"),
    (lambda: ours.ranks(Y2, [[1.0, 2.0]]), r"but scores have \(1, 2\)"),
    (lambda: ours.ranks(Y2, [[1.0, 2.0], [np.nan, 0]]), "scores hold NaN in rows 0 to 1"),
    (lambda: ours.ranks(Y2, lambda i, j: np.ones((1, 2))), r"scores\(0, 2\) must return"),
    (lambda: ours.ranks(Y2, Y2).precision_at_k(3), "k must lie between 1 and the 2 labels, not 3"),
    (lambda: ours.ranks(Y2, Y2).ndcg_at_k(0), "k must lie between"),
    (lambda: ours.evaluate(Y2), "nothing to evaluate"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- real labels ------------------------------------------------------------------------------


@pytest.mark.data
def test_real_sparse_labels_against_scikit_learn(shared_data):
    with np.load(shared_data / "npz" / "medical.npz", allow_pickle=False) as arrays:
        indices, indptr, shape = (arrays[f"Y_{part}"] for part in ("indices", "indptr", "shape"))
    Y = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=tuple(shape))
    P = Y[np.random.default_rng(0).permutation(Y.shape[0])]
    for average, name in (("samples", "example"), ("macro", "macro"), ("micro", "micro")):
        expected = oracle.f1_score(Y, P, average=average, zero_division=0.0)
        assert_allclose(getattr(ours, f"{name}_f1")(Y, P), expected, **ROUNDING)
