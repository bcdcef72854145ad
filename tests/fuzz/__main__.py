"""Try hostile inputs: ``make hostile``, or one: ``python -m fuzz agent_files --first 1234 --inputs 1``.

A target is a module in ``targets/`` for one kind of input. Its function ``start(folder)`` prepares what all
inputs share and returns a function that makes and tries one input, ``try_one(rng)``; its number `SHARE` says
how many inputs it gets, relative to the others. An `InputError` of one line is an answer; everything else
that is raised is a fault, and so are a signal, an input that takes more than five seconds, memory beyond two
gigabytes, and a file written outside of `folder`. An input follows from the seed and its number alone.

At the end a table says what became of them, a row for each target, named after the beginning of its
docstring; ``--write`` also writes it into docs/strangers.md, unless there was a fault.
"""

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from _figures import to_markdown, write_table
from fuzz.driver import Tally, run_targets, target_names
from heavytail.errors import show_bytes

PAGE = Path(__file__).parents[2] / "docs" / "strangers.md"
HEADER = ("what was hostile", "inputs", "opened", "refused in one line", "faults", "memory, at most")


def main() -> int:
    """Run the targets that the command line names, all of them if it names none; 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Try hostile inputs.")
    parser.add_argument("targets", nargs="*", choices=[[], *target_names()], metavar="target")
    parser.add_argument("--inputs", type=int, default=100_000, help="in all targets together")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each target")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write the table into docs/strangers.md")
    given = parser.parse_args()
    if given.write and given.targets:
        parser.error("--write is for all targets")
    names = given.targets or target_names()
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - files are synced, one by one
    with tempfile.TemporaryDirectory(prefix="heavytail-fuzz-", dir=in_memory) as folder:
        tallies = run_targets(names, given, Path(folder))
    table = to_markdown(HEADER, map(table_row, tallies))
    print(f"\n{table}")  # noqa: T201 - a script
    faults = [fault for tally in tallies for fault in tally.faults]
    if given.write and not faults:
        write_table(PAGE, "make hostile ARGS=--write", table)
    for fault in faults:
        print(fault, file=sys.stderr)  # noqa: T201
    return 1 if faults else 0


def table_row(tally: Tally) -> list[str]:
    """Show what became of the inputs of a target."""
    words = import_module(f"fuzz.targets.{tally.target}").__doc__ or tally.target
    numbers = (tally.tried, tally.answered, tally.refused, len(tally.faults))
    return [words.partition(":")[0], *(f"{n:,}" for n in numbers), show_bytes(tally.peak)]


if __name__ == "__main__":
    sys.exit(main())
