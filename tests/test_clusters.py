"""Rows that Dask holds: the model is that of one machine, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from grople import GroPLE, GroPLECV
from grople.baselines import BSVM, PLST, Ridge
from grople.datasets import Bundle, make_grouped_multilabel

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
distributed = pytest.importorskip("distributed")

from .contracts.estimators import moment_estimators, name_of  # noqa: E402

DATA = make_grouped_multilabel(240, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
#: The same sums in another order.
EXACT = {"rtol": 1e-8, "atol": 1e-8}


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client():
    """Two workers in processes of their own; their nannies start them again if they die."""
    with distributed.Client(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
    ) as client:
        yield client


def rows_of(size, X=X, Y=Y):
    return [(X[i : i + size], Y[i : i + size]) for i in range(0, Y.shape[0], size)]


@pytest.mark.parametrize("estimator", moment_estimators(), ids=name_of)
def test_arrays_and_blocks_give_the_model_of_all_rows(estimator):
    whole = clone(estimator).fit(X, Y)
    arrays = clone(estimator).fit(
        da.from_array(X, chunks=(64, 7)), da.from_array(Y, chunks=(50, 7))
    )
    blocks = clone(estimator).fit_blocks(iter(rows_of(70)))
    expected = whole.decision_function(X)
    for model in (arrays, blocks):
        np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))
        np.testing.assert_array_equal(
            model.moments_.labels.cooccurrence, whole.moments_.labels.cooccurrence
        )


@pytest.mark.parametrize("size", [20, 10_000])
def test_the_kept_rows_do_not_depend_on_the_partitions(size):
    whole = Ridge(reservoir_size=size).fit(X, Y)
    for chunks in (17, 239):
        model = Ridge(reservoir_size=size).fit(
            da.from_array(X, chunks=(chunks, -1)), da.from_array(Y, chunks=(chunks, -1))
        )
        np.testing.assert_array_equal(
            np.sort(model._reservoir.keys), np.sort(whole._reservoir.keys)
        )
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), **EXACT)


def test_sparse_blocks_bags_delayed_blocks_and_bundles():
    whole = PLST(5).fit(sp.csr_array(X), sp.csr_array(Y))
    expected = whole.decision_function(X)
    pieces = rows_of(90, sp.csr_array(X), sp.csr_array(Y))
    bundles = [Bundle(*piece) for piece in pieces]
    lazy = da.from_array(X, chunks=(90, -1)).map_blocks(sp.csr_array)
    labels = da.from_array(Y, chunks=(90, -1)).map_blocks(sp.csr_array)
    models = [
        PLST(5).fit(lazy, labels),
        PLST(5).fit(db.from_sequence(pieces, npartitions=3)),
        PLST(5).fit([dask.delayed(piece) for piece in pieces]),
        PLST(5).fit_blocks(db.from_sequence(bundles, npartitions=2)),
        PLST(5).fit_blocks(bundles),
        PLST(5).fit(dask.delayed((X, Y))),
    ]
    for model in models:
        np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)
        assert model.moments_.n == len(X)
    assert sp.issparse(models[0].predict(X[:3]))


def test_frames_bring_the_names_of_labels():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    labels = pd.DataFrame(Y, columns=[f"tag {j}" for j in range(Y.shape[1])])
    model = Ridge().fit(*(dd.from_pandas(part, npartitions=3) for part in (rows, labels)))
    whole = Ridge().fit(rows, labels)
    assert list(model.label_names_in_) == list(labels.columns)
    assert list(model.feature_names_in_) == list(rows.columns)
    np.testing.assert_allclose(
        model.decision_function(rows), whole.decision_function(rows), **EXACT
    )


def test_weights_travel_with_their_rows():
    weights = np.linspace(0.5, 2.0, len(X))
    whole = Ridge().fit(X, Y, sample_weight=weights)
    lazy = Ridge().fit(
        da.from_array(X, chunks=(80, -1)),
        da.from_array(Y, chunks=(80, -1)),
        sample_weight=da.from_array(weights, chunks=60),
    )
    blocks = [(X[:100], Y[:100], weights[:100]), (X[100:], Y[100:], weights[100:])]
    for model in (lazy, Ridge().fit_blocks(blocks)):
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), **EXACT)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_found_in_all_partitions(n_classes):
    names = np.array(["ant", "bee", "cat"])
    y = np.sort(names[np.arange(len(X)) % n_classes])  # no partition sees all of them
    whole = Ridge().fit(X, y)
    rows, targets = da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60)
    model = Ridge().fit(rows, targets)
    np.testing.assert_array_equal(model.predict(rows).compute(), whole.predict(X))
    np.testing.assert_allclose(model.predict_proba(rows).compute(), whole.predict_proba(X), **EXACT)
    np.testing.assert_allclose(
        model.decision_function(rows).compute(), whole.decision_function(X), **EXACT
    )


@pytest.mark.parametrize(
    "estimator", [GroPLE(random_state=0), Ridge(decision="sign"), BSVM()], ids=name_of
)
def test_predictions_for_dask_arrays_are_dask_arrays(estimator):
    model = clone(estimator).fit(X, Y)
    rows = da.from_array(X, chunks=(64, 10))
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        if not hasattr(model, method):
            continue
        expected = getattr(model, method)(X)
        found = getattr(model, method)(rows)
        assert isinstance(found, da.Array)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        # The second look at candidates is in single precision, whose sums depend on the batch.
        close = {"rtol": 1e-5, "atol": 1e-6} if method == "predict_proba" else EXACT
        np.testing.assert_allclose(found.compute(), expected, **close)


def test_sparse_labels_come_back_as_sparse_blocks():
    model = Ridge().fit(X, sp.csr_array(Y))
    found = model.predict(da.from_array(X, chunks=(100, -1)))
    assert isinstance(found.blocks[0].compute(), sp.csr_array)
    assert (found.compute() != model.predict(X)).nnz == 0


def test_what_travels_to_workers_for_predictions_holds_no_rows():
    light = GroPLE(random_state=0).fit(X, Y)._for_prediction()
    assert not hasattr(light, "moments_")
    assert not hasattr(light, "_reservoir")
    assert light._solution.evidence is None


def test_empty_partitions_are_no_obstacle():
    keep = np.arange(len(X)) >= 130  # nothing is left of the first partition
    mask = da.from_array(keep, chunks=100)
    rows = da.from_array(X, chunks=(100, -1))[mask]
    labels = da.from_array(Y, chunks=(100, -1))[mask]
    assert np.isnan(rows.chunks[0][0]), "Dask does not know how many rows are left"
    model = Ridge().fit(rows, labels)
    whole = Ridge().fit(X[keep], Y[keep])
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), **EXACT)
    empty = db.from_sequence(rows_of(100), npartitions=3).filter(lambda block: block[0][0, 0] < -9)
    with pytest.raises(ValueError, match="no block has rows"):
        Ridge().fit(empty)
    with pytest.raises(ValueError, match="no block has rows"):
        Ridge().fit_blocks([])


def test_mistakes_are_named_and_leave_the_model_alone():
    rows, labels = da.from_array(X, chunks=(90, -1)), da.from_array(Y, chunks=(90, -1))
    model = Ridge().fit(X, Y)
    before = model.decision_function(X)
    spoilt = X.copy()
    spoilt[220, 3] = np.nan
    for arguments, message in [
        ((rows, Y), "give X, y and weights all as Dask arrays"),
        ((rows,), "requires y"),
        ((rows, labels[:200]), "inconsistent"),
        ((da.from_array(spoilt, chunks=(90, -1)), labels), "NaN"),
        ((rows, labels * 2), "zeros and ones"),
        (([dask.delayed(block) for block in [(X, Y), (X, Y[:, :3])]],), "different labels"),
        (([dask.delayed(block) for block in [(X, Y), (X[:, :3], Y)]],), "features"),
        (([dask.delayed(X)],), "a block is"),
        ((db.from_sequence(rows_of(90)), None, labels[:, 0]), "their own weights"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(*arguments)
        np.testing.assert_array_equal(model.decision_function(X), before)
    for refused in (BSVM(), GroPLECV(cv=2)):
        with pytest.raises(ValueError, match="rows at hand"):
            refused.fit(rows, labels)


def test_a_search_on_some_rows_chooses_for_all_blocks():
    search = GroPLECV(alpha=[0.0, 1.0], gamma=1.0, cv=2, decision="sign", random_state=0)
    with pytest.raises(ValueError, match="part of them"):
        clone(search).fit_blocks(rows_of(100))
    search.fit(X[:100], Y[:100])
    chosen = search.best_params_
    search.fit_blocks(rows_of(100))
    assert search.best_params_ == chosen
    whole = GroPLE(**chosen, decision="sign", random_state=0).fit(X, Y)
    np.testing.assert_allclose(search.decision_function(X), whole.decision_function(X), **EXACT)


class Recorder:
    """A callback that notes which tasks end."""

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)

    def teardown(self, estimator, context):
        pass


def test_every_partition_is_reported():
    recorder = Recorder()
    model = Ridge().set_callbacks(recorder)
    model.fit(da.from_array(X, chunks=(50, -1)), da.from_array(Y, chunks=(50, -1)))
    assert recorder.ended.count("partition") == 5
    recorder.ended.clear()
    model.fit_blocks(rows_of(100))
    assert recorder.ended.count("block") == 3


# -- a cluster of processes --------------------------------------------------------------------


def made(number, rows=4000, features=250):
    """Return a block of 8 MB."""
    generator = np.random.default_rng(number)
    X = generator.normal(size=(rows, features))
    return X, (X[:, :5] + generator.normal(size=(rows, 5)) > 1).astype(int)


def made_once_killed(number, marker):
    """Return a block; the worker that is the first to want the fourth one dies."""
    if number == 3:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return made(number, 500, 20)


@pytest.fixture(scope="module")
def _on_workers(client):
    """Let workers know the functions of this module."""
    folder = str(Path(__file__).resolve().parents[1])

    def find():
        import sys

        sys.path.insert(0, folder)

    client.run(find)
    client.register_worker_callbacks(setup=find)


def peak():
    """Return the most memory that this process ever had, in bytes."""
    # Not ru_maxrss, which begins with the memory of the process that started this one.
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.usefixtures("_on_workers")
def test_a_worker_needs_memory_for_its_block_only(client):
    client.run(lambda: Ridge(reservoir_size=100).partial_fit(*made(0)) and None)
    before = client.run(peak)  # with everything imported, and one block dealt with
    model = Ridge(reservoir_size=100).fit([dask.delayed(made)(number) for number in range(24)])
    after = client.run(peak)
    assert model.moments_.n == 24 * 4000
    block = 8 * 4000 * 250
    for worker, most in before.items():
        # All blocks are 192 MB, and a worker gets about half of them.
        assert after[worker] - most < 3 * block
    rows = made(1)[0]
    lazy = da.from_delayed(dask.delayed(made)(1)[0], rows.shape, float)
    np.testing.assert_allclose(
        model.decision_function(lazy).compute(), model.decision_function(rows), **EXACT
    )


@pytest.mark.usefixtures("_on_workers")
def test_a_worker_that_dies_changes_nothing(client, tmp_path):
    marker = str(tmp_path / "killed")
    blocks = [made(number, 500, 20) for number in range(10)]
    X, Y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    whole = GroPLE(random_state=0, reservoir_size=500).fit(X, Y)
    before = {worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()}
    lazy = [dask.delayed(made_once_killed)(number, marker) for number in range(10)]
    recorder = Recorder()
    model = GroPLE(random_state=0, reservoir_size=500).set_callbacks(recorder).fit(lazy)
    client.wait_for_workers(2)
    after = {worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()}
    assert os.path.exists(marker)
    assert before - after, "a worker died"
    rows = blocks[0][0]
    np.testing.assert_allclose(
        model.decision_function(rows), whole.decision_function(rows), **EXACT
    )
    np.testing.assert_array_equal(model.predict(rows), whole.predict(rows))
    assert recorder.ended.count("partition") == 10
