"""What only a process of its own shows: a terminal, signals, pipes and closed streams."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

GROPLE = [sys.executable, "-m", "grople"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals work otherwise there")


def hear_interrupts() -> None:
    """Undo what a shell does to programs in the background, so that they can be interrupted."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_colours_and_progress_on_a_terminal_only(things):
    """On a terminal there is colour and a step that moves; in a pipe there is neither."""
    command = [*GROPLE, "fit", "things.jsonl", "-o", "t.grople", "--method", "ridge"]
    main, other = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=other, stderr=other, stdin=other, env=environment)
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # the other end is gone
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert process.wait(60) == 0
    assert b"\x1b[" in shown
    assert b"fold" in shown  # a step of the progress
    assert b"example_f1" in shown
    piped = subprocess.run(command, capture_output=True, timeout=60)
    assert piped.returncode == 0
    assert b"\x1b" not in piped.stdout + piped.stderr
    assert piped.stderr == b""


def test_an_interrupt_leaves_no_half_file(things):
    before = sorted(things.iterdir())
    process = subprocess.Popen(
        [*GROPLE, "predict", "m.grople", "-", "-o", "out.jsonl"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts,
    )  # fmt: skip
    process.stdin.write(b"a card game\n")
    process.stdin.flush()
    for _ in range(1200):  # until the first answer is in the temporary file
        if any(path.stat().st_size for path in things.glob(".out.jsonl.*")):
            break
        time.sleep(0.05)
    else:
        process.kill()
        pytest.fail("nothing was written while the input was open")
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in complaint
    assert sorted(things.iterdir()) == before


def test_a_reader_that_stops_listening(things):
    line = (things / "things.jsonl").read_text().splitlines()[0] + "\n"
    (things / "many.jsonl").write_text(line * 20_000)  # more than a pipe holds
    process = subprocess.Popen(
        [*GROPLE, "predict", "m.grople", "many.jsonl"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert b"game" in process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) != 0
    assert complaint == b""


def test_no_room_on_the_standard_output(things):
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*GROPLE, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert result.returncode == 1
    assert result.stderr == b"grople: No space left on device\n"


def test_no_standard_input(things):
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *GROPLE, "predict", "m.grople", "-"],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.count(b"\n") == 1
    assert b"standard input" in result.stderr


def test_the_shell_completes_commands_and_options(things):
    def complete(words: str) -> list[str]:
        settings = {
            "_GROPLE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        code = "import sys; sys.argv[0] = 'grople'; from grople.cli import main; main()"
        result = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | settings, capture_output=True,
            text=True, timeout=60,
        )  # fmt: skip
        return result.stdout.split()

    assert "predict" in complete("grople pre")
    assert "--top-k" in complete("grople predict --to")
