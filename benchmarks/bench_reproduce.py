"""``make reproduce`` in a new clone with nothing compiled: how long each part of it takes."""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from _figures import HERE, print_table

LIMITS = {"set-up": 60.0, "the tabular paper": 180.0, "the quick look at the deep experiment": 60.0}


def make(clone: Path, target: str, **variables: str) -> None:
    """Make a target in a clone, without what it prints."""
    environment = {**os.environ, **variables}
    subprocess.run(["make", "--silent", target], cwd=clone, env=environment, check=True, capture_output=True)


def measure(folder: Path, quick: bool) -> dict[str, float]:
    """Return the seconds of each part; where one ends is read from the times of files."""
    clone = folder / "clone"
    results = clone / "results" / ("paper-quick" if quick else "paper")
    subprocess.run(["git", "clone", "--quiet", HERE.parent, clone], check=True)
    begun = time.time()
    make(clone, ".venv/.runs")
    ready = time.time()
    make(clone, "reproduce", ARGS="--quick" if quick else "", HEAVYTAIL_CACHE_DIR=str(folder / "kept"))
    (deep,) = results.glob("paper-deep*")
    tabular = (deep / "study.json").stat().st_mtime
    computed = max(part.stat().st_mtime for part in deep.rglob("*.parquet"))
    written = (results / "report.html").stat().st_mtime
    spans = [ready - begun, tabular - ready, computed - tabular, written - computed]
    return dict(zip([*LIMITS, "the report"], spans, strict=True))


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        spans = measure(Path(folder), quick)
    rows = [
        [name, f"{seconds:.0f}", f"<= {LIMITS[name]:.0f} {'met' if seconds <= LIMITS[name] else 'MISSED'}"]
        if name in LIMITS
        else [name, f"{seconds:.0f}", ""]
        for name, seconds in spans.items()
    ]
    print_table("make reproduce, nothing compiled before", ["part", "seconds", "limit"], rows)
    return {"seconds": spans}
