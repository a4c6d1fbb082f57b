"""Rows that Dask holds: the model is that of one machine, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from grople.datasets import Bundle, make_grouped_multilabel
from grople.estimators import GroPLE, GroPLECV

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
distributed = pytest.importorskip("distributed")

DATA = make_grouped_multilabel(240, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
#: Estimators without, with, and with little to fit a decision on.
PLAIN = GroPLE(decision="sign", gamma=1.0)
WITH_DECISION = GroPLE(gamma=1.0, random_state=0)
SAMPLED = GroPLE(gamma=1.0, decision="micro_f1", max_kept_rows=20)


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


def assert_same_model(model, rows, labels, weights=None, X=X):
    """Compare a model with that of all rows on the same grid, to the bit."""
    whole = clone(model).fit(rows, labels, sample_weight=weights, like=model)
    assert model.summary_.checksum() == whole.summary_.checksum()
    for method in ("decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(model, method)(X), getattr(whole, method)(X))
    found, expected = model.predict(X), whole.predict(X)
    assert type(found) is type(expected)
    if sp.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "estimator", [PLAIN, WITH_DECISION, SAMPLED], ids=["sign", "decision", "sampled"]
)
@pytest.mark.parametrize("chunks", [17, 64, 239])
def test_any_partitions_give_the_model_of_all_rows(estimator, chunks):
    rows, labels = da.from_array(X, chunks=(chunks, 7)), da.from_array(Y, chunks=(50, 7))
    assert_same_model(clone(estimator).fit(rows, labels), X, Y)


def test_sparse_blocks_bags_delayed_blocks_and_bundles():
    pieces = rows_of(90, sp.csr_array(X), sp.csr_array(Y))
    bundles = [Bundle(*piece) for piece in pieces]
    lazy = da.from_array(X, chunks=(90, -1)).map_blocks(sp.csr_array)
    labels = da.from_array(Y, chunks=(90, -1)).map_blocks(sp.csr_array)
    models = [
        clone(PLAIN).fit(lazy, labels),
        clone(PLAIN).fit(db.from_sequence(pieces, npartitions=3)),
        clone(PLAIN).fit([dask.delayed(piece) for piece in pieces]),
        clone(PLAIN).fit_blocks(db.from_sequence(bundles, npartitions=2)),
        clone(PLAIN).fit_blocks(bundles),
        clone(PLAIN).fit(dask.delayed((sp.csr_array(X), sp.csr_array(Y)))),
    ]
    for model in models:
        assert_same_model(model, sp.csr_array(X), sp.csr_array(Y))
    assert sp.issparse(models[0].predict(X[:3]))


def test_frames_bring_the_names_of_labels():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    labels = pd.DataFrame(Y, columns=[f"tag {j}" for j in range(Y.shape[1])])
    model = clone(PLAIN).fit(*(dd.from_pandas(part, npartitions=3) for part in (rows, labels)))
    assert list(model.label_names_in_) == list(labels.columns)
    assert list(model.feature_names_in_) == list(rows.columns)
    assert_same_model(model, rows, labels, X=rows)


def test_weights_travel_with_their_rows():
    weights = np.linspace(0.5, 2.0, len(X))
    lazy = clone(PLAIN).fit(
        da.from_array(X, chunks=(80, -1)),
        da.from_array(Y, chunks=(80, -1)),
        sample_weight=da.from_array(weights, chunks=60),
    )
    blocks = [(X[:100], Y[:100], weights[:100]), (X[100:], Y[100:], weights[100:])]
    for model in (lazy, clone(PLAIN).fit_blocks(blocks)):
        assert_same_model(model, X, Y, weights)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_found_in_all_partitions(n_classes):
    names = np.array(["ant", "bee", "cat"])
    y = np.sort(names[np.arange(len(X)) % n_classes])  # no partition sees all of them
    rows, targets = da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60)
    model = clone(PLAIN).fit(rows, targets)
    assert_same_model(model, X, y)
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(rows)
        np.testing.assert_array_equal(found.compute(), getattr(model, method)(X))


@pytest.mark.parametrize("estimator", [PLAIN, WITH_DECISION], ids=["sign", "decision"])
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
        np.testing.assert_array_equal(found.compute(), expected)


def test_sparse_labels_come_back_as_sparse_blocks():
    model = clone(PLAIN).fit(X, sp.csr_array(Y))
    found = model.predict(da.from_array(X, chunks=(100, -1)))
    assert isinstance(found.blocks[0].compute(), sp.csr_array)
    assert (found.compute() != model.predict(X)).nnz == 0


def test_empty_partitions_are_no_obstacle():
    keep = np.arange(len(X)) >= 130  # nothing is left of the first partition
    mask = da.from_array(keep, chunks=100)
    rows = da.from_array(X, chunks=(100, -1))[mask]
    labels = da.from_array(Y, chunks=(100, -1))[mask]
    assert np.isnan(rows.chunks[0][0]), "Dask does not know how many rows are left"
    assert_same_model(clone(PLAIN).fit(rows, labels), X[keep], Y[keep])
    for n in (1, 3):
        blocks = db.from_sequence(rows_of(100), npartitions=n)
        with pytest.raises(ValueError, match="no block has rows"):
            clone(PLAIN).fit(blocks.filter(lambda block: block[0][0, 0] < -9))
    with pytest.raises(ValueError, match="no block has rows"):
        clone(PLAIN).fit_blocks([])


def test_mistakes_are_named_and_leave_the_model_alone():
    rows, labels = da.from_array(X, chunks=(90, -1)), da.from_array(Y, chunks=(90, -1))
    model = clone(PLAIN).fit(X, Y)
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
    with pytest.raises(ValueError, match="rows in memory"):
        GroPLECV(cv=2).fit(rows, labels)
    with pytest.raises(ValueError, match="as a Dask array"):
        model.predict(db.from_sequence([X]))


def test_a_search_on_some_rows_chooses_for_all_blocks():
    search = GroPLECV(alpha=[0.0, 1.0], gamma=1.0, cv=2, decision="sign", random_state=0)
    with pytest.raises(ValueError, match="part of them"):
        clone(search).fit_blocks(rows_of(100))
    search.fit(X[:100], Y[:100])
    chosen = search.best_params_
    search.fit_blocks(rows_of(100))
    assert search.best_params_ == chosen
    whole = GroPLE(**chosen, decision="sign", random_state=0).fit(X, Y, like=search)
    np.testing.assert_array_equal(search.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize(
    ("scheduler", "n_parts"), [("synchronous", 1), ("threads", 6), ("processes", 2)]
)
def test_progress_is_told_of_every_partition(scheduler, n_parts):
    told = []
    size = -(-len(X) // n_parts)
    rows, labels = da.from_array(X, chunks=(size, -1)), da.from_array(Y, chunks=(size, -1))
    with dask.config.set(scheduler=scheduler):
        clone(PLAIN).fit(rows, labels, progress=lambda *step: told.append(step))
    steps = [step[1:] for step in told if step[0] == "partitions"]
    assert steps[0] == (0, n_parts)
    assert steps[-1] == (n_parts, n_parts)
    assert {done for done, _ in steps} == set(range(n_parts + 1))


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
    folder = str(Path(__file__).resolve().parents[2])

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
    few = clone(PLAIN).set_params(max_kept_rows=100)
    client.run(lambda: clone(few).partial_fit(*made(0)) and None)
    before = client.run(peak)  # with everything imported, and one block dealt with
    with dask.config.set(scheduler="distributed"):
        model = clone(few).fit([dask.delayed(made)(number) for number in range(24)])
    after = client.run(peak)
    assert model.summary_.n_rows == 24 * 4000
    block = 8 * 4000 * 250
    for worker, most in before.items():
        # All blocks are 24, and a worker gets about half of them; some wait while one is summed up.
        assert after[worker] - most < 6 * block
    rows = made(1)[0]
    lazy = da.from_delayed(dask.delayed(made)(1)[0], rows.shape, float)
    with dask.config.set(scheduler="distributed"):
        found = model.decision_function(lazy).compute()
    np.testing.assert_array_equal(found, model.decision_function(rows))


@pytest.mark.usefixtures("_on_workers")
def test_a_worker_that_dies_changes_nothing(client, tmp_path):
    marker = str(tmp_path / "killed")
    blocks = [made(number, 500, 20) for number in range(10)]
    X, Y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    before = {worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()}
    lazy = [dask.delayed(made_once_killed)(number, marker) for number in range(10)]
    told = []
    with dask.config.set(scheduler="distributed"):
        model = (
            clone(WITH_DECISION)
            .set_params(max_kept_rows=500)
            .fit(lazy, progress=lambda *step: told.append(step))
        )
    client.wait_for_workers(2)
    after = {worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()}
    assert os.path.exists(marker)
    assert before - after, "a worker died"
    assert_same_model(model, X, Y, X=blocks[0][0])
    assert [step for step in told if step[0] == "partitions"] == [
        ("partitions", 0, 10), ("partitions", 10, 10),
    ]  # fmt: skip
