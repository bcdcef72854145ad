"""Timing, tables and the file of figures, which all benchmarks share."""

import json
import math
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
END = "<!-- end of the table -->\n"  # of one that a command writes into a page


def cpu_seconds() -> float:
    """Return the processor time of this thread so far.

    Waiting for a busy core does not count, nor does it in what `floor.cpp` prints.
    """
    return time.thread_time()


def best_of(repeats: int, candidates: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Return the least figure of each candidate.

    They take turns, so that a slow moment of the machine hits all alike.
    """
    best = dict.fromkeys(candidates, math.inf)
    for _ in range(repeats):
        for name, measure in candidates.items():
            best[name] = min(best[name], measure())
    return best


def scaled(amount: int, quick: bool) -> int:
    """Return the amount of work, or a tenth of it where `quick`."""
    return max(amount // 10, 1) if quick else amount


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))


def nanoseconds(value: float) -> str:
    """Format nanoseconds with three digits and separated thousands."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def amount_of_bytes(n: float) -> str:
    """Format a number of bytes with three digits and a unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.0f} B"


def verdict(value: float, limit: float) -> str:
    """Say whether a figure is within its limit."""
    return "met" if value <= limit else "MISSED"


def machine() -> dict[str, str]:
    """Describe what the figures were taken on, without saying whose machine it is."""
    packages = {name: version(name) for name in ("heavytail", "numba", "llvmlite", "numpy")}
    return {"cpu": _cpu(), "python": platform.python_version(), **packages, "g++": _compiler()}


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()


def _compiler() -> str:
    if shutil.which("g++") is None:
        return "missing"
    return subprocess.run(
        ["g++", "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout.strip()


def write_figures(sections: Mapping[str, Any]) -> None:
    """Write the figures; those of other sections stay if they are of the same machine."""
    conditions: dict[str, Any] = {"machine": machine()}
    old = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    kept = old if old.items() >= conditions.items() else {}
    FIGURES.write_text(json.dumps({**conditions, **kept, **sections}, indent=1) + "\n")


def to_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table whose first column is flush left, the others flush right."""
    lines = (header, ["---", *["--:"] * (len(header) - 1)], *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def write_table(page: Path, command: str, table: str) -> None:
    """Write a table between its marks, of which the first names the command."""
    before, begin, rest = page.read_text().partition(f"<!-- table: {command} -->\n")
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page} has no place for the table of: {command}")
    page.write_text(f"{before}{begin}{table}{end}{after}")
