"""From a file of things and tags to tags: fit, predict, evaluate, compare, export."""

from __future__ import annotations

import csv
import inspect
import io
import json
import resource
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from grople import GroPLE, load_model
from grople.cli.app import COMMANDS, app
from grople.cli.options import PARAMETERS
from grople.io import _model_file
from grople.tagging import load_tagger
from tests.cli.messages import assert_one_message

FIT = ("fit", "things.jsonl", "-o", "new.grople", "--method", "ridge", "--folds", "0")
UPDATE = ("fit", "more.jsonl", "--update", "m.grople", "-o", "n.grople")


def said(result) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


def tags_of(text: str) -> list[list[str]]:
    return [[tag["label"] for tag in json.loads(line)["labels"]] for line in text.splitlines()]


# What a person does


def test_fit_says_what_it_found_and_how_good_it_is(grople_command, things):
    text = said(
        grople_command(
            "fit", "things.jsonl", "-o", "m.grople", "--components", "3", "--groups", "2"
        )
    )
    assert "63 rows" in text
    assert "(of texts)" in text
    assert "5 labels, 1.56 a row; 0 of them on fewer than 10 rows" in text
    assert "GroPLE: components 3, groups 2" in text
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert {"most frequent labels", "ridge", "GroPLE"} <= set(rows)
    assert "±" in rows["ridge"]
    assert "wrote m.grople" in text
    assert "\x1b" not in text


def test_pairs_from_fitting_to_explaining(grople_command, things):
    fitted = said(grople_command(*FIT[:-1], "2", "--pairs"))
    assert " pairs of them" in fitted
    (things / "new.txt").write_text("a chess game for two players\n")
    result = said(grople_command("predict", "new.grople", "new.txt", "--explain", "--to", "jsonl"))
    assert " & " in result
    assert "example_f1" in said(grople_command("evaluate", "new.grople", "things.jsonl"))
    assert "ridge" in said(grople_command("inspect", "new.grople")).lower()
    compared = said(
        grople_command(
            "compare", "things.jsonl", "--methods", "ridge,plst", "--pairs", "--folds", "2"
        )
    )
    assert "PLST" in compared
    refused = grople_command(*FIT, "--pairs", "--in-blocks")
    assert refused.returncode == 2
    assert "--pairs needs all rows in memory" in refused.stderr


def test_margins_from_fitting_to_adding_rows(grople_command, things):
    fitted = said(grople_command(*FIT[:4], "--margin", "1", "--folds", "0"))
    assert "margin 1; decides for" in fitted
    said(grople_command("fit", "things.jsonl", "--update", "new.grople", "-o", "more.grople"))
    for name in ("new.grople", "more.grople"):
        assert load_model(things / name).margin == 1.0
    compared = said(
        grople_command(
            "compare", "things.jsonl", "--methods", "grople,groplemargin", "--folds", "2"
        )
    )
    assert "GroPLE, margin .3" in compared
    refused = grople_command(*FIT, "--margin", "1")
    assert refused.returncode == 2
    assert "--margin: of GroPLE, not of ridge" in " ".join(refused.stderr.split())


def test_options_are_the_parameters_of_grople_with_its_defaults(grople_command, things):
    defaults = {name: p.default for name, p in inspect.signature(GroPLE).parameters.items()}
    shown = {param.name: param for param in get_command(app).get_command(None, "fit").params}
    assert {*PARAMETERS, "decision", "random_state", "solver"} == {*defaults}
    for name in PARAMETERS:
        assert f"[{defaults[name]}]" in shown[name].help
    fit = (*FIT[:4], "--folds", "0")
    said(grople_command(*fit))
    assert load_model(things / "new.grople").get_params() == defaults | {"random_state": 0}
    others = {
        "n_components": 3, "n_groups": "auto", "grouping": "cosine", "lambda_1": 0.01,
        "lambda_2": 0.5, "alpha": 0.0, "beta": 0.001, "gamma": 0.5, "margin": 0.1,
        "max_kept_rows": 50,
    }  # fmt: skip
    others["experts"] = ["linear", "kernel"]
    given = [
        word
        for name, value in (others | {"experts": "linear,kernel"}).items()
        for word in (f"--{name.removeprefix('n_').replace('_', '-')}", str(value))
    ]
    said(grople_command(*fit, *given))
    model = load_model(things / "new.grople")
    assert model.get_params() == defaults | others | {"random_state": 0}
    assert grople_command(*fit, "--experts", "linear,magic").returncode == 2
    wrong = grople_command(*fit, "--gamma", "much")
    assert wrong.returncode == 2
    assert "'much' is no number, and not auto" in " ".join(wrong.stderr.split())


def test_fit_in_json_and_in_silence(grople_command, things):
    result = json.loads(said(grople_command(*FIT[:-1], "2", "--json")))
    assert result["data"]["labels"] == 5
    assert result["bytes"] == (things / "new.grople").stat().st_size
    names = [method["method"] for method in result["quality"]["methods"]]
    assert names == ["most frequent labels", "ridge", "Ridge"]
    own, constant = result["quality"]["methods"][-1], result["quality"]["methods"][0]
    assert own["mean"]["example_f1"] > constant["mean"]["example_f1"]
    quiet = grople_command(*FIT, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_search_and_other_columns(grople_command, things):
    rows = [
        f"x{i}|{'game' if i % 2 else 'tool'} {'word ' * (i % 5)}|{'a, b' if i % 2 else 'b'}|1"
        for i in range(40)
    ]
    (things / "t.csv").write_text("\n".join(["what|body|topics|n", *rows]) + "\n")
    text = said(
        grople_command(
            "fit", "t.csv", "-o", "m.grople", "--text", "body", "--tags", "topics",
            "--separator", ", ", "--id", "what", "--search", "--metric", "micro_f1",
            "--components", "2", "--groups", "1", "--folds", "2",
        )
    )  # fmt: skip
    assert "GroPLECV" in text
    assert "decides for micro_f1" in text
    model = load_model(things / "m.grople")
    assert list(model.classes_) == ["a", "b"]
    assert model.scoring == "micro_f1"
    line = json.loads(said(grople_command("predict", "m.grople", "t.csv")).splitlines()[1])
    assert line["id"] == "x1"
    assert line["labels"][0]["label"] in ("a", "b")


def test_numbers_of_unit_length(grople_command, things):
    header = ",".join([*(f"f{i}" for i in range(6)), "label_a", "label_b"])
    rng = np.random.default_rng(0)
    rows = [
        ",".join(map(str, [*rng.integers(0, 9, 6).tolist(), int(i % 2), int(i % 3 == 0)]))
        for i in range(60)
    ]
    (things / "n.csv").write_text("\n".join([header, *rows]) + "\n")
    fitted = grople_command(
        "fit", "n.csv", "-o", "n.grople", "--method", "plst", "--normalize", "--features", "f*",
        "--folds", "0", "--json",
    )  # fmt: skip
    assert json.loads(said(fitted))["data"]["features"] == 6
    once = said(grople_command("predict", "n.grople", "n.csv"))
    scaled = "\n".join(",".join([*(f"{10 * int(c)}" for c in row.split(",")[:6])]) for row in rows)
    (things / "scaled.csv").write_text(",".join(f"f{i}" for i in range(6)) + f"\n{scaled}\n")
    assert tags_of(said(grople_command("predict", "n.grople", "scaled.csv"))) == tags_of(once)


def test_predict_a_sentence(grople_command, things, standard_input):
    standard_input("a http server für Dateien\nan arcade game\n".encode())
    tags = tags_of(said(grople_command("predict", "m.grople", "-")))
    assert tags[0][0] == "server"
    assert tags[1][0] == "game"
    standard_input(b'{"text": "an arcade game", "name": "x"}')
    [line] = said(grople_command("predict", "m.grople", "-", "--top-k", "1")).splitlines()
    entry = json.loads(line)
    assert entry["id"] == "x"
    assert [tag["label"] for tag in entry["labels"]] == ["game"]


def test_predict_into_every_format(grople_command, things):
    lines = said(grople_command("predict", "m.grople", "things.jsonl"))
    tags = tags_of(lines)
    assert len(tags) == 63
    table = said(grople_command("predict", "m.grople", "things.csv", "--to", "csv"))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["labels"].split(";") for row in rows] == tags
    assert rows[0]["id"] == "game-0-0"
    assert said(grople_command("predict", "m.grople", "things.csv", "-o", "out.txt",
                               "--to", "extreme")) == ""  # fmt: skip
    head, *body = (things / "out.txt").read_text().splitlines()
    assert head == "63 5"
    assert [len(line.split()) for line in body] == [len(row) for row in tags]


def test_predict_by_other_rules_and_explain(grople_command, things):
    everything = said(grople_command("predict", "m.grople", "more.jsonl", "--threshold", "0"))
    assert all(len(row) == 5 for row in tags_of(everything))
    none = said(grople_command("predict", "m.grople", "more.jsonl", "--decision", "9"))
    assert tags_of(none) == [[]] * 9
    text = said(grople_command("predict", "m.grople", "more.jsonl", "--top-k", "1", "--explain"))
    why = json.loads(text.splitlines()[0])["labels"][0]["why"]
    assert "game" in why["features"]
    total = why["base"] + sum(why["features"].values()) + why["other_features"]
    assert total == pytest.approx(why["score"])


def test_evaluate(grople_command, things):
    measures = json.loads(said(grople_command("evaluate", "m.grople", "things.csv", "--json")))
    assert measures["rows"] == 63
    assert measures["measures"]["example_f1"] > 0.9
    text = said(grople_command("evaluate", "m.grople", "things.jsonl", "--decision", "sign"))
    assert "decided for sign" in text
    assert "precision_at_1" in text


def test_update_and_forget(grople_command, things):
    def scores():
        text = said(grople_command("predict", "m.grople", "things.jsonl", "--threshold", "0"))
        entries = [json.loads(line)["labels"] for line in text.splitlines()]
        return [{tag["label"]: tag["probability"] for tag in entry} for entry in entries]

    before = scores()
    text = said(grople_command("fit", "--update", "m.grople", "--forget", "more.jsonl",
                               "-o", "m.grople"))  # fmt: skip
    assert "9 rows removed; the model is now that of 54 rows" in text
    result = grople_command("fit", "more.jsonl", "--update", "m.grople", "-o", "m.grople", "--json")
    change = json.loads(said(result))
    assert (change["added"], change["rows"]) == (9, 63)
    assert change["before"]["example_f1"] > 0.5
    assert scores() == before
    again = grople_command("fit", "--update", "m.grople", "--forget", "more.jsonl", "-o",
                           "m.grople", "--quiet")  # fmt: skip
    assert again.returncode == 0
    twice = grople_command(
        "fit", "--update", "m.grople", "--forget", "more.jsonl", "-o", "m.grople"
    )
    assert_one_message(twice, "more.jsonl", "never added")


def test_what_was_forgotten_is_reported(grople_command, things):
    forget = ("fit", "--update", "m.grople", "--forget", "more.jsonl", "-o", "m.grople")
    text = said(grople_command(*forget, "--report", "gone.json"))
    assert "wrote gone.json" in text
    report = json.loads((things / "gone.json").read_text())
    assert (report["rows_removed"], report["rows_left"]) == (9, 54)
    assert report["labels_removed"]["editor"] == 3
    assert len(report["keys_removed"]) == 9
    assert report["checksum_before"] != report["checksum_after"]
    left = load_tagger(things / "m.grople", with_rows=True).model
    assert report["checksum_after"] == left.summary_.checksum()
    assert "fresh" in report["statement"]
    # Rows that were not there: neither a model nor a report.
    again = ("-o", "n.grople", "--report", "n.json")
    assert_one_message(grople_command(*forget[:-2], *again), "more.jsonl")
    assert not (things / "n.grople").exists()
    assert not (things / "n.json").exists()


def test_a_model_of_json_lines_grows_from_a_table(grople_command, things):
    (things / "new.csv").write_text("text,tags\na chess game,game;clock\n")
    text = said(grople_command("fit", "new.csv", "--update", "m.grople", "-o", "m.grople"))
    assert "1 rows added; the model is now that of 64 rows" in text
    assert "1 new labels: clock" in text


def test_a_warning_says_what_not_where(grople_command, things, monkeypatch):
    def worry(*_: object, **__: object) -> None:
        warnings.warn("something is odd", UserWarning, stacklevel=2)
        raise ValueError("and then it broke")

    monkeypatch.setattr("grople.cli.fit.fit_tagger", worry)
    result = grople_command(*FIT)
    assert result.stderr == "Warning: something is odd\ngrople: and then it broke\n"
    assert grople_command(*FIT, "--quiet").stderr == "grople: and then it broke\n"


def test_compare_table_json_and_picture(grople_command, things):
    text = said(
        grople_command(
            "compare", "things.jsonl", "--methods", "Constant,Ridge,linear_svc", "--folds", "2",
            "--plot", "p.png",
        )
    )  # fmt: skip
    lines = text.splitlines()
    assert "2 folds" in lines[0]
    assert [line.split("  ")[0] for line in lines[2:5]] == [
        "most frequent labels", "ridge", "one-vs-rest LinearSVC",
    ]  # fmt: skip
    assert (things / "p.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads(
        said(grople_command("compare", "things.jsonl", "--methods", "plst", "--json"))
    )
    assert result["folds"] == 3
    assert len(result["methods"][0]["values"]["accuracy"]) == 3


def test_export(grople_command, things):
    text = said(grople_command("export", "m.grople", "--without-rows", "slim.grople"))
    assert "wrote slim.grople" in text
    assert (things / "slim.grople").stat().st_size < (things / "m.grople").stat().st_size
    assert said(grople_command("predict", "slim.grople", "more.jsonl")) == said(
        grople_command("predict", "m.grople", "more.jsonl")
    )
    stuck = grople_command("fit", "more.jsonl", "--update", "slim.grople", "-o", "x.grople")
    assert_one_message(stuck, "without its rows")
    pytest.importorskip("onnx")
    assert "wrote m.onnx" in said(grople_command("export", "m.grople", "--onnx", "m.onnx"))
    assert (things / "m.onnx").stat().st_size > 100


# What can go wrong


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("fit", "no.jsonl", "-o", "x.grople"), ("no.jsonl", "no such file")),
        (("fit", "nothing", "-o", "x.grople"), ("nothing",)),
        (("fit", "things.csv", "-o", "x.grople", "--tags", "labels"), ("no column 'labels'",)),
        (("fit", "things.csv", "-o", "x.grople", "--text", "body"), ("no column 'body'", "'text'")),
        (
            ("fit", "things.jsonl", "-o", "x.grople", "--text", "body"),
            ("line 1", "no field 'body'"),
        ),
        (("fit", "things.jsonl", "-o", "x.grople", "--features", "a"), ("--features",)),
        (("fit", "n.csv", "-o", "x.grople"), ("n.csv", "--label-columns a,b", "--tags NAME")),
        (("fit", "gap.csv", "-o", "x.grople", "--labels", "y"), ("line 3", "--missing zero")),
        (("fit", "latin.jsonl", "-o", "x.grople"), ("line 1", "iconv")),
        (("fit", "lines.what", "-o", "x.grople"), ("lines.what", "--format")),
        ((*FIT[:3], "no/x.grople"), ("no/x.grople", "no folder 'no'")),
        ((*FIT[:3], "folder"), ("folder", "not a file")),
        ((*FIT[:3], "/dev/full"), ("/dev/full", "not a regular file")),
        ((*FIT[:3], "/proc/x.grople"), ("/proc/x.grople",)),
        (("predict", "things.jsonl", "things.jsonl"), ("things.jsonl", "not a model file")),
        (("predict", "no.grople", "things.jsonl"), ("no.grople",)),
        (("predict", "cut.grople", "things.jsonl"), ("cut.grople",)),
        (("predict", "m.grople", "n.csv"), ("n.csv", "no column 'text'", "--text")),
        (("predict", "m.grople", "things.csv", "--id", "nr"), ("things.csv", "no column 'nr'")),
        (("predict", "m.grople", "things.jsonl", "--id", "nr"), ("line 1", "no field 'nr'")),
        (("predict", "m.grople", "things.jsonl", "-o", "folder"), ("folder",)),
        (("evaluate", "m.grople", "n.csv", "--labels", "y"), ("n.csv",)),
        ((*FIT[:3], "new.gz"), ("new.gz", "not compressed")),
        (("fit", "large.csv", *FIT[2:], "--labels", "label_*"), ("too large to be squared",)),
        ((*FIT[:3], "things.jsonl"), ("things.jsonl", "another file")),
        ((*UPDATE[:-1], "more.jsonl"), ("more.jsonl", "another file")),
        (("predict", "m.grople", "things.jsonl", "-o", "things.jsonl"), ("another file",)),
        (("predict", "m.grople", "things.jsonl", "-o", "m.grople"), ("m.grople", "another file")),
        (("inspect", "m.grople", "-o", "m.grople"), ("m.grople", "another file")),
        (("export", "m.grople", "--without-rows", "./m.grople"), ("m.grople", "another file")),
        (("compare", "things.jsonl", "--plot", "x.doc"), ("x.doc", ".png")),
        (("compare", "things.jsonl", "--methods", "constant", "--folds", "99"), ("99 folds",)),
    ],
)
def test_every_mistake_is_one_sentence(grople_command, things, arguments, parts):
    (things / "n.csv").write_text("a,word,y\n1,x,1\n2,z,0\n")
    (things / "gap.csv").write_text("a,y\n1,1\n,0\n")
    (things / "latin.jsonl").write_bytes('{"text": "naïve", "tags": []}\n'.encode("latin-1"))
    (things / "lines.what").write_text("hello\nworld\n")
    (things / "folder").mkdir()
    model = (things / "m.grople").read_bytes()
    (things / "cut.grople").write_bytes(model[: len(model) // 2])
    large = ["a,b,label_x,label_y"] + [f"{i},{i % 3},{i % 2},{i % 3 % 2}" for i in range(40)]
    (things / "large.csv").write_text("\n".join([*large, "1e200,1,0,1"]))
    before = {path: path.is_file() and path.read_bytes() for path in things.iterdir()}
    result = grople_command(*arguments)
    assert_one_message(result, *parts)
    for word in ("labels=", "format=", "missing=", "ignore=", "encoding="):
        assert word not in result.stderr
    assert {path: path.is_file() and path.read_bytes() for path in things.iterdir()} == before
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit",),
        ("fit", "things.jsonl"),
        ("fit", "-o", "x.grople"),
        ("fit", "--update", "m.grople", "-o", "x.grople"),
        ("fit", "--forget", "more.jsonl", "-o", "x.grople"),
        (*FIT[:4], "--metric", "speed"),
        (*FIT[:4], "--method", "magic"),
        (*FIT[:4], "--format", "docx"),
        (*FIT[:4], "--folds", "1"),
        (*FIT[:4], "--tags", "a", "--labels", "b"),
        (*FIT, "--components", "3"),
        (*FIT, "--report", "x.json"),
        ("fit", "--update", "m.grople", "--forget", "more.jsonl", "-o", "x", "--report", "x"),
        ("predict", "m.grople"),
        ("predict", "m.grople", "things.jsonl", "--to", "xml"),
        ("predict", "m.grople", "things.jsonl", "--top-k", "0"),
        ("predict", "m.grople", "things.jsonl", "--threshold", "7"),
        ("predict", "m.grople", "things.jsonl", "--to", "csv", "--explain"),
        ("predict", "m.grople", "things.jsonl", "--decision", "best"),
        ("compare", "things.jsonl", "--methods", "gropel"),
        ("export", "m.grople"),
        ("export", "m.grople", "--onnx", "x.bin", "--without-rows", "x.bin"),
        (*FIT, "--seed", "-1"),
        (*UPDATE, "--metric", "macro_f1"),
        (*UPDATE, "--search"),
        (*UPDATE, "--components", "3"),
        (*UPDATE, "--seed", "1"),
    ],
)
def test_wrong_commands_show_the_usage(grople_command, things, arguments):
    result = grople_command(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "Usage" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_model_of_another_version(grople_command, things, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_model_file, "FORMAT_VERSION", _model_file.FORMAT_VERSION + 1)
        assert grople_command(*FIT).returncode == 0
    result = grople_command("predict", "new.grople", "things.jsonl")
    assert_one_message(result, "new.grople", "upgrade grople")


def test_names_in_any_script(grople_command, things):
    document = {"text": "ein Schachspiel", "tags": ["Spiel::Brett, größe", "遊戲"]}
    lines = "\n".join(json.dumps(document, ensure_ascii=False) for _ in range(6))
    (things / "naïve 遊戲.jsonl").write_text(lines + "\n" + lines.replace("Schach", "Karten"))
    model = "modèle 1.grople"
    assert grople_command("fit", "naïve 遊戲.jsonl", "-o", model, "--method", "ridge",
                          "--folds", "0").returncode == 0  # fmt: skip
    text = said(grople_command("predict", model, "naïve 遊戲.jsonl", "--top-k", "2"))
    assert set(tags_of(text)[0]) == set(document["tags"])


def test_a_full_disk_leaves_no_half_file(grople_command, things):
    """A limit on the size of files stands in for a disk that is full."""
    before = sorted(things.iterdir())
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
        fitted = grople_command(*FIT)
        predicted = grople_command("predict", "m.grople", "things.jsonl", "-o", "out.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert_one_message(fitted, "new.grople", "File too large")
    assert_one_message(predicted, "out.jsonl", "File too large")
    assert sorted(things.iterdir()) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(grople_command, command):
    text = said(grople_command(command, "--help"))
    if command not in ("data", "study"):  # these have commands of their own
        assert "Example" in text
        assert f"grople {command}" in text
        assert "--json" in text


def test_the_help_says_what_the_commands_say(grople_command):
    for name in set(COMMANDS) - {"demo"}:
        text = " ".join(said(grople_command(name, "--help")).split())
        assert COMMANDS[name][1] in text


def test_a_file_is_read_in_blocks_to_the_same_model(grople_command, things):
    models = []
    for option in ("--whole", "--in-blocks"):
        result = grople_command(
            "fit", "things.csv", "-o", "m.grople", option, "--max-features", "30", "--folds", "0",
            "--ngrams", "1", "--no-characters",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert ("read in blocks" in result.stdout) == (option == "--in-blocks")
        models.append(load_tagger("m.grople"))
    rows = models[0].features.transform(["a game with sound", "a fast server"])
    np.testing.assert_allclose(*(t.model.decision_function(rows) for t in models), atol=1e-8)
    refused = grople_command("fit", "things.csv", "-o", "x.grople", "--in-blocks", "--search")
    assert refused.returncode == 2
    assert "--search" in refused.stderr
