"""GroPLE beside what people would use instead, each in its own environment, on the same splits.

``python -m benchmarks.peers install`` makes the environments, ``… run`` measures what has not been
measured yet, ``… page`` writes the tables to ``docs/peers.md``. As a benchmark among the others
(``python -m benchmarks peers``) it prints what has been measured; ``--quick`` measures what is
installed on the small data set that the library contains.
"""

from __future__ import annotations

__all__ = ["run"]


def run(quick: bool = False) -> str:
    """Return the tables of what was measured; with ``quick`` of one small set, measured now."""
    # Workers import this package in environments without our own.
    from benchmarks.peers import environments, harness, tables
    from benchmarks.peers.splits import DATA, QUICK
    from benchmarks.peers.table import COMPETITORS

    if quick:
        names = [
            name for name, side in COMPETITORS.items() if environments.installed(side.environment)
        ]
        harness.run_all(names, [QUICK], limit=60, again=True)
    found = harness.records()
    data = [name for name in ([QUICK] if quick else DATA) if any(key[1] == name for key in found)]
    if not data:
        return (
            "Nothing is installed or measured: run `python -m benchmarks.peers install`, then "
            "`python -m benchmarks.peers run`."
        )
    return "\n\n".join(f"{name}\n\n{tables.data_table(found, name)}" for name in data)
