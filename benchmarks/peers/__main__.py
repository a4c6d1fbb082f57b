"""``python -m benchmarks.peers install|run|page``."""

from __future__ import annotations

import argparse
import sys

from benchmarks.peers import environments, harness
from benchmarks.peers.splits import DATA
from benchmarks.peers.table import COMPETITORS, ENVIRONMENTS


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    install = commands.add_parser("install", help="make the competitors' environments")
    install.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ENVIRONMENTS))
    install.add_argument("--again", action="store_true", help="also those that are there")
    run = commands.add_parser("run", help="measure what has not been measured yet")
    run.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMPETITORS))
    run.add_argument("--data", nargs="+", default=DATA, metavar="DATA", help=", ".join(DATA))
    run.add_argument(
        "--limit", type=float, default=harness.LIMIT, help="processor seconds of a run"
    )
    run.add_argument("--again", action="store_true", help="also what has been measured")
    commands.add_parser("page", help="write docs/peers.md and its picture from what was measured")
    options = parser.parse_args(arguments)
    if options.command == "page":
        from benchmarks.peers import page  # only this needs matplotlib

        page.write()
        return 0
    known = ENVIRONMENTS if options.command == "install" else COMPETITORS
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    names = options.names or list(known)
    if options.command == "run":
        harness.run_all(names, options.data, options.limit, options.again)
        return 0
    failed = False
    for name in names:
        if environments.installed(name) and not options.again:
            print(f"{name}: there")
            continue
        reason = environments.install(name)
        failed |= bool(reason)
        print(f"{name}: {reason or 'installed'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
