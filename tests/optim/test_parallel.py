"""Threads: order, limits, errors, and the same results on any number of them."""

import os
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from grople.optim import parallel_map, row_shares, single_threaded, worker_count


def thread_limits():
    return {library["num_threads"] for library in threadpool_info()}


@pytest.mark.parametrize("n_threads", [None, 1, 2, 5])
def test_results_come_in_order(n_threads):
    def late_first(item):
        time.sleep(0.002 * (4 - item))
        return item * item

    assert parallel_map(late_first, range(5), n_threads=n_threads) == [0, 1, 4, 9, 16]


def test_nothing_and_one_item():
    assert parallel_map(abs, []) == []
    assert parallel_map(abs, iter([-3]), n_threads=4) == [3]


def test_items_run_at_the_same_time():
    together = threading.Barrier(3, timeout=10)
    assert sorted(parallel_map(lambda _: together.wait(), range(3), n_threads=3)) == [0, 1, 2]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_first_error_is_raised(n_threads):
    def refuse(item):
        if item:
            raise ValueError(f"item {item}")
        return item

    with pytest.raises(ValueError, match="item 1"):
        parallel_map(refuse, [0, 1, 2], n_threads=n_threads)


def test_results_do_not_depend_on_the_number_of_threads():
    matrices = [np.random.default_rng(i).normal(size=(300, 200)) for i in range(4)]

    def eigenvalues(matrix):
        return np.linalg.eigvalsh(matrix.T @ matrix)

    with threadpool_limits(2):
        one, two, four = (parallel_map(eigenvalues, matrices, n_threads=n) for n in (1, 2, 4))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, four)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_libraries_use_one_thread_inside(n_threads):
    with threadpool_limits(2):
        before = thread_limits()
        inside = parallel_map(lambda _: thread_limits(), range(3), n_threads=n_threads)
        assert inside == [{1}] * 3
        assert thread_limits() == before


def test_a_map_inside_a_map_is_a_loop():
    def threads(_):
        inner = parallel_map(lambda _: threading.get_ident(), range(3), n_threads=3)
        return worker_count(), len(set(inner)), inner[0] == threading.get_ident()

    assert parallel_map(threads, range(2), n_threads=2) == [(1, 1, True)] * 2


def test_settings_of_the_caller_hold_in_the_threads():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        parallel_map(lambda item: np.float64(1.0) / item, [0.0, 1.0], n_threads=2)


def test_limits_return_when_the_last_holder_leaves():
    held, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded():
            held.set()
            leave.wait(10)

    with threadpool_limits(2):
        before = thread_limits()
        other = threading.Thread(target=hold)
        with single_threaded():
            with single_threaded():
                assert thread_limits() == {1}
            other.start()
            assert held.wait(10)
            assert thread_limits() == {1}
        blas = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        assert set(blas) == {1}  # the other thread still holds it
        leave.set()
        other.join()
        assert thread_limits() == before


def test_limits_hold_in_a_thread_that_did_not_set_the_first_limit():
    with threadpool_limits(2):  # from now on threadpoolctl obeys this thread only
        inside = []

        def look():
            with single_threaded():
                inside.append(thread_limits())

        other = threading.Thread(target=look)
        other.start()
        other.join()
        assert inside == [{1}]
        assert 2 in thread_limits()


def test_limits_return_after_an_error():
    with threadpool_limits(2):
        before = thread_limits()
        with pytest.raises(ValueError, match="stop"), single_threaded():
            raise ValueError("stop")
        assert thread_limits() == before


@pytest.mark.parametrize("hint", [{}, {"prefer": "threads"}, {"require": "sharedmem"}])
def test_joblib_says_how_many_threads(hint):
    cpus = joblib.cpu_count()
    assert worker_count() == cpus
    for n_jobs, expected in [(1, 1), (7, 7), (-1, cpus), (-cpus - 5, 1)]:
        with joblib.parallel_config(n_jobs=n_jobs, **hint):
            assert worker_count() == expected
    assert worker_count() == cpus


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's affinities")
@pytest.mark.parametrize(
    ("before", "limits"),
    [("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", {}),
     ("", {"LOKY_MAX_CPU_COUNT": "1"})],
    ids=["affinity", "environment"],
)  # fmt: skip
def test_a_process_that_may_use_one_cpu_has_one_thread(before, limits):
    code = f"import os\nfrom grople.optim import worker_count\n{before}\nprint(worker_count())"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | limits, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert found.stdout.strip() == "1"


def test_a_job_of_joblib_has_one_thread():
    jobs = joblib.Parallel(n_jobs=2, backend="threading")
    assert jobs(joblib.delayed(worker_count)() for _ in range(2)) == [1, 1]


@pytest.mark.parametrize(("n", "n_shares", "at_most"), [(0, 3, None), (2, 3, 1), (10**6, 7, 999)])
def test_shares_cover_the_rows(n, n_shares, at_most):
    shares = row_shares(n, n_shares, at_most)
    sizes = [rows.stop - rows.start for rows in shares]
    assert [shares[0].start, *(rows.stop for rows in shares)] == [0, *np.cumsum(sizes)]
    assert sum(sizes) == n
    assert max(sizes) - min(sizes) <= 1
    assert at_most is None or max(sizes) <= at_most
