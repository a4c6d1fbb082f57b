"""The study's commands, in this process and, where that matters, in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grople.cli import main
from grople.cli.study import _duration, _Lines
from grople.datasets import make_grouped_multilabel, write
from grople.study.engine import Progress
from grople.study.store import FILE, Store


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run ``grople study …`` in an empty folder without data; return status, output, errors."""
    for key in [key for key in os.environ if key.startswith("GROPLE_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("GROPLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write(make_grouped_multilabel(80, 10, 6, n_groups=2, random_state=0), tmp_path / "tiny.npz")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["grople", "study", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


SMALL = ("--data", "tiny.npz", "--methods", "PLST,LLSF", "--protocols", "published", "--quick")


def test_run_and_report(command, tmp_path):
    status, out, err = command("run", "comparison", "--store", "s", *SMALL)
    assert status == 0
    assert "units computed, 0 were there" in out
    assert "36/36 units" in err
    status, out, _ = command("run", "comparison", "--store", "s", *SMALL)
    assert "0 units computed, 36 were there" in out
    status, out, _ = command("report", "--store", "s", "-o", "r.html")
    assert status == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "r" / "summary.txt").is_file()
    status, out, _ = command("report", "--store", "s", "-o", "r.md")
    assert status == 0
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    # Twice the same command, once in the report: with what decides the results and no path.
    assert text.count("grople study run comparison") == 1
    assert "    grople study run comparison --data tiny.npz --methods PLST,LLSF " in text
    assert "--protocols published --quick --store DIR" in text
    assert "| tiny.npz |" in text
    status, out, _ = command("export", "--store", "s", "-o", "units.jsonl.gz")
    assert "wrote 36 units" in out
    status, out, _ = command("forget", "--store", "s", "--method", "PLST")
    assert "forgot 18 units" in out
    assert {row.method for row in Store(tmp_path / "s").rows()} == {"LLSF"}
    status, out, _ = command("import", "units.jsonl.gz", "--store", "s")
    assert "18 units were new" in out
    status, out, _ = command("run", "comparison", "--store", "s", *SMALL)
    assert "0 units computed, 36 were there" in out


def test_fewer_folds_and_less_of_a_grid(command, tmp_path):
    arguments = ("--data", "tiny.npz", "--methods", "PLST", "--protocols", "published")
    for more, units in ((("--grid", "small", "--folds", "1"), 9), (("--folds", "2"), 144)):
        command("run", "comparison", "--store", "s", *arguments, *more)
        assert len(Store(tmp_path / "s").rows()) == units


def test_choices_of_other_units_are_taken_over(command, tmp_path):
    nested = ("--data", "tiny.npz", "--methods", "Ridge", "--protocols", "nested", "--folds", "2")
    command("run", "comparison", "--store", "first", *nested)
    command("export", "--store", "first", "-o", "units.jsonl", "--no-rows")
    status, out, err = command(
        "run", "comparison", "--store", "again", *nested, "--choices", "units.jsonl"
    )
    assert status == 0, err
    assert "2 units computed" in out
    assert "all is searched" not in err
    first, again = Store(tmp_path / "first"), Store(tmp_path / "again")
    for one, other in zip(first.rows(), again.rows(), strict=True):
        assert one.key == other.key
        assert one.result | {"fit_seconds": 0} == other.result | {"fit_seconds": 0}
    (told,) = again.commands()
    assert "--choices units.jsonl " in told
    others = ("--data", "tiny.npz", "--methods", "PLST", "--protocols", "nested", "--folds", "1")
    _, _, err = command(
        "run", "comparison", "--store", "again", *others, "--choices", "units.jsonl"
    )
    assert "units.jsonl holds no choices of these units: all is searched" in err


def test_a_scheduler_of_dask_is_found_by_its_address(command):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        assert cluster.scheduler_address.startswith("tcp://")
        status, out, err = command(
            "run", "comparison", "--store", "s", *SMALL,
            "--backend", "dask", "--scheduler", cluster.scheduler_address, "--jobs", "2",
        )  # fmt: skip
    assert status == 0, err
    assert "36 units computed, 0 were there" in out
    status, out, _ = command("run", "comparison", "--store", "s", *SMALL)
    assert "0 units computed, 36 were there" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "comparision", "--store", "s"), "did you mean 'comparison'"),
        (("run", "comparison", "--store", "s", "--data", "medical"), "not on this machine"),
        (("run", "comparison", "--store", "s", "--data", "medicall"), "did you mean 'medical'"),
        (("run", "comparison", "--store", "s", *SMALL, "--choices", "tiny.npz"), "tiny.npz"),
        (("run", "comparison", "--store", "s", *SMALL, "--choices", "no.jsonl"), "cannot be read"),
        (("run", "comparison", "--store", "s", *SMALL[:2], "--methods", "X"), "no method"),
        (("run", "comparison", "--store", "s", *SMALL[:2], "--protocols", "X"), "got X"),
        (("run", "comparison", "--store", "s", *SMALL[:2], "--grid", "X"), "the grids are full"),
        (("run", "comparison", "--store", "s", *SMALL[:2], "--folds", "9"), "or equal to 5"),
        (("run", "comparison", "--store", "tiny.npz", *SMALL), "is a file"),
        (("report", "--store", "nothing"), "there is no study here"),
        (("forget", "--store", "nothing", "--task", "nested"), "there is no study here"),
        (("export", "--store", "nothing", "-o", "x.jsonl"), "there is no study here"),
        (("import", "nothing.jsonl", "--store", "s"), "nothing.jsonl: cannot be read"),
        (("import", "tiny.npz", "--store", "s"), "tiny.npz, line 1: not JSON"),
        (("forget", "--store", "nothing", "--task", "nestled"), "no task is called 'nestled'"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(command, arguments, message):
    status, _, err = command(*arguments)
    assert status != 0
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_a_corrupt_store_is_told_and_left_alone(command, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / FILE).write_bytes(b"rubbish" * 1000)
    for arguments in (("run", "comparison", *SMALL), ("report",)):
        status, _, err = command(*arguments, "--store", "s")
        assert status == 1
        assert "not a readable store" in " ".join(err.split())
    assert (tmp_path / "s" / FILE).read_bytes() == b"rubbish" * 1000


def test_failures_end_in_status_one(command, monkeypatch):
    from grople.study import tasks

    def broken(batch, wanted):
        raise ZeroDivisionError("no luck")

    monkeypatch.setitem(tasks.TASKS, "published", broken)
    status, _, err = command("run", "comparison", "--store", "s", *SMALL)
    assert status == 1
    assert "no luck" in err


def test_without_data_it_says_what_is_missing(command, monkeypatch):
    from grople.study import engine

    seen = []

    def run(plan, *args, **kwargs):
        seen.extend(plan)
        return engine.Outcome(0, 0, [])

    monkeypatch.setattr(engine, "run", run)
    status, out, err = command("run", "approximation", "--quick", "--store", "s")
    assert status == 0
    assert "GROPLE_DATA" in err
    assert "medical" in err
    assert "on debtags-mini" in out
    assert {batch.dataset for batch in seen} == {"debtags-mini"}


def test_lines_come_now_and_then_and_at_the_end(monkeypatch):
    lines = []
    show = _Lines(lines.append)
    show(Progress(0, 3, None, "", ""))
    show(Progress(1, 3, 100.0, "published PLST on tiny", ""))
    show(Progress(3, 3, 0.0, "published PLST on tiny", "best example-F1 so far 0.500"))
    assert lines == [
        "0/3 units",
        "3/3 units, published PLST on tiny, best example-F1 so far 0.500",
    ]
    assert [_duration(s) for s in (5, 600, 7200)] == ["5 s", "10 min", "2.0 h"]


def test_a_full_disk_is_told(command, tmp_path, monkeypatch):
    """The store may not grow: SQLite says what it says of a full disk."""
    prepare = Store._prepare

    def bounded(self):
        prepare(self)
        self._connection.execute("PRAGMA max_page_count = 12")

    monkeypatch.setattr(Store, "_prepare", bounded)
    status, _, err = command("run", "comparison", "--store", "s", *SMALL)
    assert status == 1
    assert "make room and run the same command again" in " ".join(err.split())
    monkeypatch.undo()
    kept = len(Store(tmp_path / "s").rows())
    assert 0 < kept < 36


def limit_files():
    """No file may grow beyond 64 KB, the way a disk is full: from outside of the program."""
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))


@pytest.fixture
def larger(tmp_path):
    """The arguments of a run that takes a few seconds."""
    path = tmp_path / "larger.npz"
    write(make_grouped_multilabel(300, 30, 12, n_groups=3, random_state=0), path)
    return [sys.executable, "-m", "grople", "study", "run", "comparison", "--store",
            str(tmp_path / "s"), "--data", str(path), "--protocols", "published", "--methods",
            "PLST,LEML", "--folds", "2"]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX's")
def test_files_that_cannot_grow_end_the_run_and_lose_nothing(larger, tmp_path):
    ended = subprocess.run(
        larger, preexec_fn=limit_files, capture_output=True, encoding="utf-8", check=False
    )
    assert ended.returncode == 1
    assert "make room and run the same command again" in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
    with Store(tmp_path / "s") as store:
        store.check()
        kept = {row.key: row.result for row in store.rows()}
    again = subprocess.run(larger, capture_output=True, encoding="utf-8", check=False)
    assert again.returncode == 0
    assert f"{len(kept)} were there" in again.stdout
    rows = {row.key: row.result for row in Store(tmp_path / "s").rows()}
    assert len(rows) == 288
    assert rows | kept == rows


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_two_jobs_killed_leave_a_store_that_goes_on(larger, tmp_path):
    import signal
    import time

    process = subprocess.Popen([*larger, "--jobs", "2"], stdout=-3, stderr=-3)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        if (tmp_path / "s" / FILE).is_file():
            with Store(tmp_path / "s") as store:
                if len(store.rows()) > 5:
                    break
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Store(tmp_path / "s") as store:
        store.check()
        kept = {row.key: row.result for row in store.rows()}
    assert kept
    again = subprocess.run(larger, capture_output=True, encoding="utf-8", check=False)
    assert again.returncode == 0, again.stderr
    rows = {row.key: row.result for row in Store(tmp_path / "s").rows()}
    assert len(rows) == 288
    assert rows | kept == rows


def test_a_run_that_is_interrupted_keeps_what_it_has(tmp_path):
    """Ctrl-C in a real process: a sentence, status 130, whole rows."""
    import signal
    import time

    path = tmp_path / "tiny.npz"
    write(make_grouped_multilabel(400, 60, 20, n_groups=3, random_state=0), path)
    process = subprocess.Popen(
        [sys.executable, "-m", "grople", "study", "run", "comparison", "--store", str(tmp_path),
         "--data", str(path), "--protocols", "published", "--methods", "GroPLE"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8",
        # Undo what a shell does to programs in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if (tmp_path / FILE).is_file():
            with Store(tmp_path) as store:
                if store.rows():
                    break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    with Store(tmp_path) as store:
        store.check()
        assert store.rows()
