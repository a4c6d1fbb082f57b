"""A file that a command reads is not the one that it writes, and options are not ignored."""

from __future__ import annotations

import pytest

from tests.cli.messages import assert_one_message

FIT = ("fit", "things.jsonl", "--method", "ridge", "--folds", "0")


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ((*FIT, "-o", "things.jsonl"), "things.jsonl"),
        (
            ("fit", "--update", "m.grople", "--forget", "more.jsonl", "-o", "more.jsonl"),
            "more.jsonl",
        ),
        (("predict", "m.grople", "things.jsonl", "-o", "things.jsonl"), "things.jsonl"),
        (("predict", "m.grople", "things.jsonl", "-o", "m.grople"), "m.grople"),
        (("inspect", "m.grople", "-o", "m.grople"), "m.grople"),
        (("export", "m.grople", "--without-rows", "./m.grople"), "m.grople"),
    ],
)
def test_what_is_read_is_not_written_over(grople_command, things, arguments, file):
    before = (things / file).read_bytes()
    result = grople_command(*arguments)
    assert_one_message(result, file, "another file")
    assert (things / file).read_bytes() == before


def test_a_model_may_be_updated_in_place(grople_command, things):
    update = ("fit", "--update", "m.grople", "--forget", "more.jsonl", "-o", "m.grople")
    assert grople_command(*update).returncode == 0


def test_a_model_is_not_compressed(grople_command, things):
    assert_one_message(grople_command(*FIT, "-o", "new.gz"), "new.gz", "not compressed")


@pytest.mark.parametrize(
    "option", [("--metric", "macro_f1"), ("--search",), ("--components", "3"), ("--seed", "1")]
)
def test_an_update_takes_no_option_of_a_first_fit(grople_command, things, option):
    result = grople_command("fit", "more.jsonl", "--update", "m.grople", "-o", "n.grople", *option)
    assert result.returncode == 2
    assert option[0] in result.stderr
    assert not (things / "n.grople").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "m.grople", "things.jsonl", "--decision", "foo"),
        ("compare", "things.jsonl", "--methods", "foo"),
        (*FIT, "-o", "n.grople", "--seed", "-1"),
        ("export", "m.grople", "--onnx", "x.bin", "--without-rows", "x.bin"),
    ],
)
def test_a_wrong_command_exits_with_2(grople_command, things, arguments):
    assert grople_command(*arguments).returncode == 2


def test_a_value_too_large_to_be_squared(grople_command, things):
    lines = ["a,b,label_x,label_y"] + [f"{i},{i % 3},{i % 2},{i % 3 % 2}" for i in range(40)]
    lines[7] = "1e200,1,0,1"
    (things / "large.csv").write_text("\n".join(lines))
    fit = ("fit", "large.csv", "-o", "n.grople", "--folds", "0", "--label-columns", "label_*")
    assert_one_message(grople_command(*fit), "too large to be squared")
