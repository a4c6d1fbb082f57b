"""What a new user brings: any language, embeddings, hierarchies; checks come before work."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from grople.cli.app import COMMANDS
from tests.cli.messages import assert_one_message

TEXTS = {
    "Japanese": (
        ("囲碁は盤を使う二人用のゲーム", "ウェブサーバーを設定する"),
        "将棋のゲームを記録する",
    ),
    "Chinese": (("一个国际象棋游戏", "快速的网页服务器"), "在线围棋游戏"),
    "Thai": (("เกมหมากรุกสำหรับสองคน", "เว็บเซิร์ฟเวอร์ที่รวดเร็ว"), "เกมไพ่ออนไลน์"),
    "Arabic": (("لعبة شطرنج للاعبين", "خادم ويب سريع"), "لعبة ورق"),
    "German compounds": (("Schachspielprogramm", "Webserververwaltung"), "Kartenspielsammlung"),
    "emoji": (("♟️🎲", "🌐🖥️"), "🎲🃏"),
}


def said(result) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


def write_lines(path, rows) -> None:
    lines = [json.dumps({"text": t, "tags": tags}, ensure_ascii=False) for t, tags in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("language", TEXTS)
def test_texts_of_any_language_are_learnt(grople_command, isolated, tmp_path, language):
    (game, server), new = TEXTS[language]
    write_lines(tmp_path / "t.jsonl", [(game, ["game"]), (server, ["net"])] * 10)
    write_lines(tmp_path / "new.jsonl", [(new, [])])
    said(grople_command("fit", "t.jsonl", "-o", "t.grople", "--folds", "2"))
    answer = json.loads(said(grople_command("predict", "t.grople", "new.jsonl", "--top-k", "1")))
    assert answer["labels"][0]["label"] == "game"


ROWS = [("a chess game", "board", "play"), ("a card game", "cards", "play"),
        ("a clock", "time", "tool"), ("a web server", "net", "tool")]  # fmt: skip


@pytest.mark.parametrize("separator", ["|", ";", ",", "\t"])
def test_tags_are_cut_where_they_repeat(grople_command, isolated, tmp_path, separator):
    rows = [f'{text},"{first}{separator}{second}"' for text, first, second in ROWS * 5]
    (tmp_path / "t.csv").write_text("\n".join(["text,tags", *rows]) + "\n")
    fit = ("fit", "t.csv", "-o", "t.grople", "--method", "ridge", "--folds", "0")
    text = said(grople_command(*fit))
    assert "a chess game → board, play" in text
    assert f"tags are separated by {separator!r}" in text
    assert "6 labels, 2.00 a row" in text
    # The model remembers; a person may say otherwise.
    measured = json.loads(said(grople_command("evaluate", "t.grople", "t.csv", "--json")))
    assert measured["unknown_labels"] == []
    whole = said(grople_command(*fit, "--separator", ""))
    assert "4 labels, 1.00 a row" in whole
    assert "Warning: cells hold what may stand between tags" in whole
    given = said(grople_command(*fit, "--separator", separator))
    assert "6 labels, 2.00 a row" in given
    assert "Note: tags are separated" not in given


def test_a_word_that_every_text_has_once_is_enough(grople_command, isolated, tmp_path):
    write_lines(tmp_path / "t.jsonl", [("chess", ["game"]), ("apache", ["net"])])
    said(grople_command("fit", "t.jsonl", "-o", "t.grople", "--folds", "0", "--no-characters"))
    write_lines(tmp_path / "none.jsonl", [("…", ["game"]), ("?", ["net"])])
    nothing = grople_command("fit", "none.jsonl", "-o", "x.grople", "--folds", "0")
    assert_one_message(nothing, "none.jsonl", "hold no words")


def test_texts_with_embeddings(grople_command, things):
    rows = [json.loads(line) for line in (things / "things.jsonl").read_text().splitlines()]
    dense = np.array([["sound" in row["tags"], 1.0, 0.5] for row in rows])
    np.save("all.npy", dense)
    np.save("one.npy", [[1.0, 1.0, 0.5]])
    np.save("wide.npy", np.ones((1, 9)))
    np.save("gap.npy", np.full_like(dense, np.nan))
    fit = ("fit", "things.jsonl", "-o", "e.grople", "--method", "ridge", "--embeddings")
    assert "ridge" in said(grople_command(*fit, "all.npy"))
    (things / "new.txt").write_text("nothing known\n")
    predict = ("predict", "e.grople", "new.txt", "--top-k", "1")
    answer = json.loads(said(grople_command(*predict, "--embeddings", "one.npy", "--explain")))
    assert answer["labels"][0]["label"] == "sound"
    assert answer["labels"][0]["why"]["features"]["embedding 0"] > 0
    measured = said(grople_command("evaluate", "e.grople", "things.jsonl", "--embeddings",
                                   "all.npy", "--json"))  # fmt: skip
    assert json.loads(measured)["measures"]["example_f1"] > 0.9
    said(grople_command("fit", "things.jsonl", "--update", "e.grople", "-o", "e.grople",
                        "--embeddings", "all.npy"))  # fmt: skip
    for arguments, parts in (
        (predict, ("--embeddings FILE.npy", "3 dimensions")),
        ((*predict, "--embeddings", "wide.npy"), ("3 dimensions",)),
        ((*fit, "one.npy"), ("1 embeddings for 63 records",)),
        ((*fit, "gap.npy"), ("not finite",)),
        ((*fit, "things.csv"), ("things.csv", "numpy.save")),
        (("predict", "m.grople", "new.txt", "--embeddings", "one.npy"), ("without embeddings",)),
        (("predict", "e.grople", "things.jsonl", "--embeddings", "one.npy"), ("more records",)),
    ):
        assert_one_message_of(grople_command(*arguments), *parts)


def assert_one_message_of(result, *parts: str) -> None:
    """Some rows may have been written before the last ones were missed."""
    assert result.returncode == 1
    assert result.stderr.strip().count("\n") == 0
    for part in parts:
        assert part in result.stderr


def test_columns_of_mixed_kinds(grople_command, isolated, tmp_path):
    cities = ["Bonn", "Ulm", "Köln"]
    rows = [
        f"{cities[i % 3]},{i % 7},{'' if i % 5 else i},2024-0{1 + i // 7}-01,{'ab'[i % 3 > 0]}"
        for i in range(60)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["city,rooms,rent,built,tags", *rows]) + "\n")
    fit = ("fit", "t.csv", "-o", "t.grople", "--method", "ridge")
    text = said(grople_command(*fit, "--folds", "2"))
    assert "Bonn, 0, 0, 2024-01-01 → a" in text
    assert "60 rows" in text
    plan = json.loads(said(grople_command("fit", "t.csv", "--dry-run", "--json")))
    assert "city=Bonn" in plan["features"]
    # Columns are found by name, in another order and among others; new words are none.
    new = "rent,note,city,built,rooms\n,x,Bonn,2024-05-01,3\n7,y,Ulm,,4\n,,Rome,2024-05-01,3\n"
    (tmp_path / "new.csv").write_text(new)
    lines = said(grople_command("predict", "t.grople", "new.csv", "--top-k", "1")).splitlines()
    given = [json.loads(line)["labels"][0]["label"] for line in lines]
    assert given[:2] == ["a", "b"]
    assert len(given) == 3
    why = said(grople_command("predict", "t.grople", "new.csv", "--top-k", "1", "--explain"))
    assert "city=Bonn" in why.splitlines()[0]
    measured = json.loads(said(grople_command("evaluate", "t.grople", "t.csv", "--json")))
    assert measured["measures"]["example_f1"] == 1
    said(grople_command("fit", "t.csv", "--update", "t.grople", "-o", "t.grople"))
    (tmp_path / "less.csv").write_text("city,rooms\nBonn,3\n")
    assert_one_message(grople_command("predict", "t.grople", "less.csv"), "less.csv", "rent")


def test_hierarchies_from_fitting_to_predicting(grople_command, isolated, tmp_path):
    rows = [("a chess game", ["game::board"]), ("a card game", ["game::cards"]), ("a clock", ["x"])]
    write_lines(tmp_path / "t.jsonl", rows * 12)
    fit = ("fit", "t.jsonl", "-o", "t.grople", "--hierarchy", "::")
    text = said(grople_command(*fit, "--folds", "2"))
    assert "a chess game → game::board" in text
    assert "4 labels, 1.67 a row" in text
    assert "--hierarchy" not in text
    assert "example_f1" in text
    lines = said(grople_command("predict", "t.grople", "t.jsonl")).splitlines()
    given = {frozenset(tag["label"] for tag in json.loads(line)["labels"]) for line in lines}
    assert given == {frozenset({"game", "game::board"}), frozenset({"game", "game::cards"}),
                     frozenset({"x"})}  # fmt: skip
    measured = json.loads(said(grople_command("evaluate", "t.grople", "t.jsonl", "--json")))
    assert measured["measures"]["example_f1"] == 1
    write_lines(tmp_path / "new.jsonl", [("a go game", ["game::go"])] * 3)
    change = said(grople_command("fit", "new.jsonl", "--update", "t.grople", "-o", "t.grople"))
    assert "1 new labels: game::go" in change
    compared = grople_command("compare", "t.jsonl", "--hierarchy", "::", "--methods",
                              "constant,ridge", "--folds", "2")  # fmt: skip
    assert "ridge" in said(compared)
    assert_one_message(grople_command(*fit, "--metric", "macro_f1"), "example_f1 or accuracy")


def test_a_hierarchy_is_suggested_where_names_have_levels(grople_command, isolated, tmp_path):
    names = ["game/board", "game/cards", "game/go", "net/web", "net/mail", "x"]
    write_lines(tmp_path / "t.jsonl", [("a thing", [name]) for name in names])
    assert "--hierarchy '/'" in said(grople_command("fit", "t.jsonl", "--dry-run"))


def test_a_dry_run_says_what_would_be_learnt(grople_command, things):
    before = sorted(things.iterdir())
    text = said(grople_command("fit", "things.jsonl", "--dry-run"))
    assert "a chess game for two players thing0 → game" in text
    assert "63 rows" in text
    assert "labels, most frequent first: " in text
    result = json.loads(said(grople_command("fit", "things.jsonl", "--dry-run", "--json")))
    assert result["data"]["labels"] == 5
    assert result["reading"]["text"] == "text"
    assert result["rows"][0]["labels"] == ["game"]
    assert sorted(things.iterdir()) == before


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_folds_are_counted_before_anything_is_fitted(grople_command, things, monkeypatch, command):
    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("fitted first")

    monkeypatch.setattr("grople.GroPLE.fit", too_late)
    output = ("-o", "x.grople") if command == "fit" else ()
    result = grople_command(command, "things.jsonl", *output, "--folds", "1000")
    assert_one_message(result, "63 rows cannot be cut into 1000 folds")


def test_the_doctor(grople_command, isolated):
    text = said(grople_command("doctor"))
    for part in ("numpy", "python", "threads", "extra tables", "debtags-mini (the package)"):
        assert part in text
    found = json.loads(said(grople_command("doctor", "--json")))
    assert set(found) == {"versions", "machine", "extras", "data", "test"}
    assert all(found["test"].values())


def test_a_patient_with_a_defect_shows(grople_command, isolated, monkeypatch):
    monkeypatch.setattr("grople.cli.doctor._self_test", lambda: {"two is two": False})
    result = grople_command("doctor")
    assert result.returncode == 1
    assert "NO" in result.stdout


def test_help_names_every_command_and_imports_none():
    code = """
import sys
from grople.cli import main
sys.argv = ["grople", "--help"]
try:
    main()
except SystemExit:
    pass
print([name for name in ("numpy", "scipy", "sklearn", "grople.tagging") if name in sys.modules])
"""
    text = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert text.endswith("[]\n")
    for name in COMMANDS:
        assert f"\n  {name} " in text
