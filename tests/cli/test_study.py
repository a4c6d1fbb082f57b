"""The study's commands, in this process and, where that matters, in one of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from grople.cli import main
from grople.datasets import make_grouped_multilabel, write
from grople.study import RESULTS_FILE, TASKS, Store


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
RUN = ("run", "comparison", "--store", "s")


def test_run_and_report(command, tmp_path):
    status, out, err = command(*RUN, *SMALL)
    assert status == 0
    assert "36 runs computed, 0 were there" in out
    assert "36 of 36 runs" in err
    _, out, _ = command(*RUN, *SMALL)
    assert "0 runs computed, 36 were there" in out
    status, out, _ = command("report", "--store", "s", "-o", "r.html")
    assert status == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "r" / "comparison-published-accuracy.csv").is_file()
    status, _, _ = command("report", "--store", "s", "-o", "r.md")
    assert status == 0
    assert "| tiny.npz |" in (tmp_path / "r.md").read_text(encoding="utf-8")


def test_fewer_folds_and_less_of_a_grid(command, tmp_path):
    arguments = ("--data", "tiny.npz", "--methods", "PLST", "--protocols", "published")
    for more, runs in ((("--grid", "small", "--folds", "1"), 9), (("--folds", "2"), 144)):
        command(*RUN, *arguments, *more)
        assert len(Store(tmp_path / "s").read()) == runs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "comparision", "--store", "s"), "did you mean 'comparison'"),
        ((*RUN, "--data", "medical"), "not on this machine"),
        ((*RUN, "--data", "medicall"), "did you mean 'medical'"),
        ((*RUN, *SMALL[:2], "--methods", "X"), "no method"),
        ((*RUN, *SMALL[:2], "--protocols", "X"), "got X"),
        ((*RUN, *SMALL[:2], "--grid", "X"), "the grids are full"),
        ((*RUN, *SMALL[:2], "--folds", "9"), "5"),
        (("run", "comparison", "--store", "tiny.npz", *SMALL), "is a file"),
        (("report", "--store", "nothing"), "there is no study here"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(command, arguments, message):
    status, _, err = command(*arguments)
    assert status != 0
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_a_corrupt_store_is_told_and_left_alone(command, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / RESULTS_FILE).write_bytes(b"rubbish" * 1000)
    for arguments in ((*RUN, *SMALL), ("report", "--store", "s")):
        status, _, err = command(*arguments)
        assert status == 1
        assert "not a readable store" in " ".join(err.split())
    assert (tmp_path / "s" / RESULTS_FILE).read_bytes() == b"rubbish" * 1000


def test_failures_end_in_status_one(command, monkeypatch):
    def broken(job):
        raise ZeroDivisionError("no luck")

    monkeypatch.setitem(TASKS, "published", broken)
    status, _, err = command(*RUN, *SMALL)
    assert status == 1
    assert "no luck" in err


def test_without_data_it_says_what_is_missing_and_takes_the_embedded_data_set(command, monkeypatch):
    monkeypatch.setitem(TASKS, "approximation", lambda job: ((run, {}) for run in job))
    status, out, err = command("run", "approximation", "--quick", "--store", "s")
    assert status == 0
    assert "GROPLE_DATA" in err
    assert "medical" in err
    assert "on debtags-mini" in out


@pytest.fixture
def larger(tmp_path):
    """The arguments of a run of 4,050 runs on a made data set."""
    path = tmp_path / "larger.npz"
    write(make_grouped_multilabel(300, 30, 12, n_groups=3, random_state=0), path)
    return [sys.executable, "-m", "grople", "study", "run", "comparison", "--store",
            str(tmp_path / "s"), "--data", str(path), "--protocols", "published", "--methods",
            "CPLST,PLST", "--folds", "2"]  # fmt: skip


def limit_files():
    """No file may grow beyond 48 KB, the way a disk is full: from outside of the program."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (49_152, 49_152))


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX's")
def test_files_that_cannot_grow_end_the_run_and_lose_nothing(larger, tmp_path):
    ended = subprocess.run(
        larger, preexec_fn=limit_files, capture_output=True, encoding="utf-8", check=False
    )
    assert ended.returncode == 1
    assert "make room and run the same command again" in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
    kept = Store(tmp_path / "s").read()
    again = subprocess.run(larger, capture_output=True, encoding="utf-8", check=False)
    assert again.returncode == 0
    assert f"{len(kept)} were there" in again.stdout
    found = Store(tmp_path / "s").read()
    assert len(found) == 288
    assert len(found.merge(kept, on=["method", "fold", "setting", "accuracy"])) == len(kept)


def test_a_run_that_is_interrupted_keeps_what_it_has(tmp_path):
    """Ctrl-C in a real process: a sentence, status 130, whole rows."""
    path = tmp_path / "tiny.npz"
    write(make_grouped_multilabel(400, 60, 20, n_groups=3, random_state=0), path)
    process = subprocess.Popen(
        [sys.executable, "-m", "grople", "study", "run", "sensitivity", "--store", str(tmp_path),
         "--data", str(path)],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8",
        # Undo what a shell does to programs in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if (tmp_path / RESULTS_FILE).is_file() and len(Store(tmp_path).read()):
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert len(Store(tmp_path).read())
