"""Run benchmarks: ``python -m benchmarks [NAME ...] [--quick]``."""

from __future__ import annotations

import argparse
import os
import pkgutil
import platform
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from threadpoolctl import threadpool_info

import benchmarks

PACKAGES = ("grople", "numpy", "scipy", "scikit-learn")


def names() -> list[str]:
    """Return the names of the benchmarks; packages have commands of their own."""
    modules = pkgutil.iter_modules(benchmarks.__path__)
    return sorted(each.name for each in modules if not each.ispkg and each.name != "__main__")


def chosen(wanted: list[str]) -> dict[str, ModuleType]:
    """Return the benchmarks that are wanted, by default all that do not wait to be asked for."""
    # Only those are imported: each needs packages of its own.
    modules = {name: import_module(f"benchmarks.{name}") for name in wanted or names()}
    return {
        name: module
        for name, module in modules.items()
        if hasattr(module, "run") and (wanted or not getattr(module, "ON_REQUEST", False))
    }


def machine(packages: tuple[str, ...] = PACKAGES) -> str:
    """Describe what the numbers depend on."""
    threads = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    return "\n".join(
        [
            f"machine: {processor()}, {os.cpu_count()} cores, {memory()}; {platform.platform()}",
            "threads: " + (", ".join(f"{k} {v}" for k, v in threads.items()) or "no pools loaded"),
            f"versions: Python {platform.python_version()}, "
            + ", ".join(f"{package} {installed(package)}" for package in packages),
        ]
    )


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def memory() -> str:
    try:
        gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        return "memory unknown"
    return f"{gigabytes:.0f} GiB"


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main(arguments: list[str] | None = None) -> int:
    known = names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer repeats")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    if (folder := benchmarks.data_folder()) is not None:
        os.environ.setdefault("GROPLE_DATA", str(folder))
    modules = chosen(options.names)  # with the libraries whose threads are told
    print(machine(), flush=True)
    for name, module in modules.items():
        print(f"\n## {name}\n", flush=True)
        print(module.run(options.quick), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
