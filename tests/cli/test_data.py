"""The command line as a person meets it: through a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import grople
from grople.datasets import Bundle, load, read
from grople.errors import DataError, MissingExtraError
from tests.cli.messages import assert_one_message

ARFF = "@relation tiny\n@attribute a numeric\n@attribute y {0,1}\n@data\n1.5,1\n0,0\n2,1\n"


def test_version_and_help(grople_process, grople_command):
    assert grople_process("--version").stdout == f"grople {grople.__version__}\n"
    text = grople_command("data", "info", "--help").stdout
    assert "grople data info medical" in text
    assert "\x1b" not in text


def test_the_installed_command_is_the_same():
    command = Path(sys.executable).with_name("grople")
    if not command.exists():
        pytest.skip("grople is not installed as a command")
    said = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    assert said.stdout == f"grople {grople.__version__}\n"


def test_list(grople_command):
    plain = grople_command("data", "list")
    assert plain.returncode == 0
    assert "\x1b" not in plain.stdout
    lines = {line.split()[0]: line for line in plain.stdout.splitlines()}
    assert "the package" in lines["debtags-mini"]
    assert "43,907" in lines["mediamill"]
    assert "not here" in lines["mediamill-reduced"]
    entries = {e["name"]: e for e in json.loads(grople_command("data", "list", "--json").stdout)}
    assert entries["bookmarks"]["instances"] == 87856
    assert entries["bookmarks"]["downloadable"]


def test_info_of_the_embedded_data(grople_command):
    text = grople_command("data", "info", "debtags-mini").stdout
    for part in ("3,998", "2,091", "4.632", "labels by the number of rows"):
        assert part in text
    card = json.loads(grople_command("data", "info", "debtags-mini", "--json").stdout)
    assert card["instances"] == 3998
    assert sum(b["labels"] for b in card["frequencies"]) == card["labels"] == 169


def test_output_that_knows_ascii_only(grople_process):
    result = grople_process("data", "info", "debtags-mini", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "####" in result.stdout


@pytest.fixture
def fewer_packages(monkeypatch):
    """A tenth of the embedded data set, frequent labels only: a demonstration in seconds."""
    data = load("debtags-mini")
    rows = np.arange(0, data.n_rows, 10)
    labels = np.flatnonzero(np.asarray(data.Y[rows].sum(axis=0)).ravel() > 40)
    words = np.flatnonzero(np.asarray((data.X[rows] != 0).sum(axis=0)).ravel() > 20)
    part = Bundle(
        data.X[rows][:, words], data.Y[rows][:, labels],
        [data.feature_names[i] for i in words], [data.label_names[i] for i in labels],
        name="debtags-mini",
        row_names=[data.row_names[i] for i in rows],
    )  # fmt: skip
    monkeypatch.setattr("grople.cli.demo.load", lambda name: part)
    return part


def test_demo_compares_inspects_and_writes_a_report(grople_command, fewer_packages, tmp_path):
    result = grople_command("demo")
    assert result.returncode == 0, result.stderr
    for part in (
        "debtags-mini", "PLST", "GroPLE", "Of ten labels it gives", "An easy one", "A typical one",
        "A hard one", "Why: ", "✓ right", "✗ wrong", "groups of labels",
    ):  # fmt: skip
        assert part in result.stdout
    report = tmp_path / "grople-demo.html"
    assert f"wrote {report}" in result.stdout
    html = report.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    for section in ("data", "examples", "overview", "map", "groups", "labels", "reliability"):
        assert f'<section id="{section}"' in html
    assert_one_message(grople_command("demo", "-o", "no/x.html"), "no folder 'no'")


def test_demo_in_json(grople_command, fewer_packages):
    result = json.loads(grople_command("demo", "--json", "-o", "x.html").stdout)
    assert result["data"]["labels"] == fewer_packages.n_labels
    assert result["report"].endswith("x.html")
    methods = result["comparison"]["methods"]
    assert methods[-1]["method"] == "GroPLE"
    assert methods[-1]["mean"]["example_f1"] > methods[0]["mean"]["example_f1"]
    assert len({example["name"] for example in result["examples"]}) == len(result["examples"]) >= 3
    grouped = [label for group in result["groups"] for label in group["labels"]]
    assert sorted(grouped) == sorted(fewer_packages.label_names)


def test_demo_without_what_pages_need_says_so(grople_command, fewer_packages, monkeypatch):
    def lacking(module, extra, what):
        raise MissingExtraError(f"{what} needs {module}")

    monkeypatch.setattr("grople.inspection._templates.require", lacking)
    monkeypatch.setattr("grople.inspection._plots.require", lacking)
    result = grople_command("demo")
    assert result.returncode == 0, result.stderr
    assert "no report: " in result.stdout
    assert not Path("grople-demo.html").exists()


def test_convert_and_info_of_files(grople_command, tmp_path):
    (tmp_path / "tiny.arff").write_text(ARFF)
    for which in ("-1", "y"):
        made = grople_command("data", "convert", "tiny.arff", "tiny.npz", "--labels", which)
        assert made.returncode == 0, made.stderr
        assert made.stdout == "tiny.npz\n"
        bundle = read(tmp_path / "tiny.npz")
        assert (bundle.label_names, bundle.Y.toarray().ravel().tolist()) == (("y",), [1, 0, 1])
    back = grople_command("data", "convert", "tiny.npz", "again.arff", "--json")
    files = json.loads(back.stdout)["files"]
    assert sorted(files) == ["again.arff", "again.xml"]
    again = read(tmp_path / "again.arff", labels=tmp_path / "again.xml")
    assert np.array_equal(sp.csr_array(again.X).toarray(), sp.csr_array(bundle.X).toarray())
    card = json.loads(grople_command("data", "info", "again.arff", "--json").stdout)
    assert (card["instances"], card["labels"]) == (3, 1)


def test_fetch_from_a_mirror(grople_command, tmp_path):
    wrong = tmp_path / "mirror"
    wrong.mkdir()
    (wrong / "medical.arff").write_text(ARFF)
    result = grople_command("data", "fetch", "medical", GROPLE_MIRROR=wrong.as_uri())
    assert_one_message(result, "not the expected", "Searched", "GROPLE_DATA")
    assert list((tmp_path / "cache").iterdir()) == []


def test_labels_of_every_kind_of_file(grople_command, tmp_path):
    (tmp_path / "films.csv").write_text("length,war,drama\n95,1,1\n80,0,1\n")
    (tmp_path / "tags.csv").write_text("length,genres\n95,war;drama\n80,drama\n")
    (tmp_path / "texts.jsonl").write_text(
        '{"words": 1, "text": "old battle film", "genres": ["war", "drama"]}\n'
        '{"words": 2, "text": "old love film", "genres": ["drama"]}\n'
    )
    for file, which in (
        ("films.csv", "war,drama"),
        ("tags.csv", "genres"),
        ("texts.jsonl", "genres"),
    ):
        result = grople_command("data", "info", file, "--labels", which, "--json")
        assert result.returncode == 0, result.stderr
        card = json.loads(result.stdout)
        assert (card["instances"], card["labels"], card["cardinality"]) == (2, 2, 1.5)


@pytest.mark.data
def test_fetch_and_info_of_real_data(grople_command, shared_data, tmp_path):
    mirror = (shared_data / "mulan").as_uri()
    fetched = grople_command("data", "fetch", "Medical", GROPLE_MIRROR=mirror)
    assert fetched.returncode == 0, fetched.stderr
    cache = tmp_path / "cache"
    assert fetched.stdout.split() == [str(cache / "medical.arff"), str(cache / "medical.xml")]
    from_cache = grople_command("data", "info", "medical", "--json")
    from_folder = grople_command("data", "info", "medical", "--json", GROPLE_DATA=str(shared_data))
    card, other = json.loads(from_cache.stdout), json.loads(from_folder.stdout)
    assert (card["instances"], card["features"], card["labels"]) == (978, 1449, 45)
    assert round(card["cardinality"], 3) == 1.245
    for document in (card, other):
        document.pop("source")
        document.pop("notes")
    assert card == other
    shifted = grople_command("data", "info", "rcv1subset1", GROPLE_DATA=str(shared_data))
    assert "Warning: The labels of rows 3000-5999 stand 1 column too far" in shifted.stdout


# What can go wrong


def test_wrong_names_and_files(grople_command, tmp_path):
    assert_one_message(grople_command("data", "info", "delicous"), "did you mean 'delicious'")
    assert_one_message(grople_command("data", "info", "no/such.arff"), "no/such.arff")
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 this is no archive")
    assert_one_message(grople_command("data", "info", "noise.npz"), "noise.npz")
    assert_one_message(
        grople_command("data", "info", "noise.npz", "--labels", "x.xml"), "leave out"
    )
    assert_one_message(grople_command("data", "convert", "debtags-mini", "out"), "pass --to (")
    assert_one_message(
        grople_command("data", "convert", "debtags-mini", "no/such/folder/out.npz"), "out.npz"
    )
    assert_one_message(
        grople_command("data", "info", "medical", GROPLE_DATA="/does/not/exist"), "GROPLE_DATA"
    )


def test_wrong_commands(grople_command):
    for arguments in (
        ("data", "bogus"),
        ("data", "info"),
        ("--bogus",),
        ("data", "info", "x", "--from", "bogus"),
        ("data", "convert", "x", "y", "--to", "libsvm"),
    ):
        result = grople_command(*arguments)
        assert result.returncode == 2
        assert "Traceback" not in result.stderr
        assert "Usage" in result.stderr


AS_NOBODY = """
import contextlib, io, os, sys
from grople.cli import main
def run(line):
    sys.argv = ["grople", *line.split()]
    with contextlib.suppress(SystemExit):
        main()
lines = sys.argv[1:]
if os.geteuid() == 0:  # the superuser may read everything
    # Nobody may not even read the interpreter's files: import all that is needed before.
    with contextlib.redirect_stdout(io.StringIO()):
        run("data info debtags-mini")
    os.seteuid(65534)
for line in lines:
    run(line)
"""


@pytest.mark.skipif(os.name == "nt", reason="permissions work otherwise there")
def test_missing_permission(grople_process, tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.name.startswith(("pytest", "test_")):
            folder.chmod(0o755)
    (tmp_path / "secret.arff").write_text(ARFF)
    (tmp_path / "secret.arff").chmod(0)
    (tmp_path / "locked").mkdir(mode=0o555)
    result = grople_process(
        "data info secret.arff", "data convert debtags-mini locked/out.npz", code=AS_NOBODY
    )
    assert result.stdout == ""
    unreadable, unwritable = result.stderr.splitlines()
    assert "secret.arff" in unreadable
    assert "permission" in unreadable
    assert "out.npz" in unwritable
    assert "Permission denied" in unwritable
    assert list((tmp_path / "locked").iterdir()) == []


def test_debug_shows_the_traceback(grople_command):
    with pytest.raises(DataError, match="delicous"):
        grople_command("data", "info", "delicous", GROPLE_DEBUG="1")


def test_reader_that_stops_listening(isolated):
    """``grople data list | head -0`` ends quietly."""
    process = subprocess.Popen(
        [sys.executable, "-m", "grople", "data", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert b"Traceback" not in complaint


@pytest.mark.parametrize(
    ("trouble", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left on device", "out.npz"), 1, "out.npz: No space left"),
        (MissingExtraError("Drawing needs matplotlib"), 2, "Drawing needs matplotlib"),
    ],
)
def test_trouble_inside_a_command(grople_command, monkeypatch, trouble, status, said):
    def fail(*_: object, **__: object) -> None:
        raise trouble

    monkeypatch.setattr("grople.cli.data.describe", fail)
    result = grople_command("data", "info", "debtags-mini")
    assert result.returncode == status
    assert said in result.stderr
    assert "Traceback" not in result.stderr


# Missing extras


def test_missing_command_line_extra(grople_process):
    """Without typer, and without rich, the command says so in one sentence."""
    code = """
import sys
from grople.cli import main
for module in ("typer", "rich"):
    kept, sys.modules[module] = sys.modules.get(module), None
    try:
        main()
    except SystemExit as end:
        assert end.code == 2
    if kept:
        sys.modules[module] = kept
    else:
        del sys.modules[module]
"""
    result = grople_process("--version", code=code)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    without_typer, without_rich = result.stderr.splitlines()
    assert without_typer == (
        "The command line needs typer, which is not installed: run `pip install 'grople[cli]'`."
    )
    assert "rich" in without_rich


def test_library_needs_no_extra(grople_process):
    code = """
import sys
for module in ("typer", "rich", "matplotlib", "jinja2", "pyarrow", "pandas", "h5py"):
    sys.modules[module] = None
from grople.datasets import describe, load
print(describe(load("debtags-mini")).instances)
"""
    assert grople_process(code=code).stdout == "3998\n"
