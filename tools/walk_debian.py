"""Run the commands of docs/tagging.md on Debian's package descriptions and write what they said.

The page holds the commands; this fills in their output. The descriptions are in ``$GROPLE_DATA`` or
``../shared/data``. ``--rows N`` learns from fewer packages, to try the walk out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tagging.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=^```)", re.DOTALL | re.MULTILINE)


def descriptions() -> list[str]:
    """Return the JSON lines, shuffled with a fixed seed."""
    folder = Path(os.environ.get("GROPLE_DATA", ROOT.parent / "shared" / "data"))
    with gzip.open(folder / "debtags" / "debtags.jsonl.gz", "rt", encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    random.Random(0).shuffle(lines)
    return lines


def prepare(folder: Path, rows: int) -> None:
    """Write the files of the walk."""
    lines = descriptions()
    rest = lines[rows : rows + max(rows // 4, 400)]
    parts = {
        "packages.jsonl": lines[:rows],
        "rest.jsonl": rest,
        "new.jsonl": rest[: len(rest) // 5],
        "withdrawn.jsonl": lines[: rows // 250],
    }
    for name, part in parts.items():
        (folder / name).write_text("\n".join(part) + "\n", encoding="utf-8")
        print(f"{name}: {len(part):,} packages, {len(json.loads(part[0]))} fields", file=sys.stderr)


def run(command: str, folder: Path) -> str:
    """Return what a command says."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    started = time.perf_counter()
    result = subprocess.run(
        command, shell=True, cwd=folder, env=os.environ | {"PATH": path}, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    print(f"{time.perf_counter() - started:8.1f} s  {command}", file=sys.stderr, flush=True)
    if result.returncode:
        raise SystemExit(f"{command}\n{result.stdout}")
    return "\n".join(line.rstrip() for line in result.stdout.splitlines())


def refreshed(page: str, folder: Path) -> str:
    """Return the page with the output of every command."""

    def block(match: re.Match[str]) -> str:
        said = []
        for line in match[0].splitlines():
            if line.startswith("$ "):
                said += [line, *run(line[2:], folder).splitlines()]
        return "\n".join(said) + "\n"

    return BLOCK.sub(block, page)


def main() -> None:
    """Refresh the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=25_000, help="packages to learn from")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), options.rows)
        page = refreshed(PAGE.read_text(encoding="utf-8"), Path(folder))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
