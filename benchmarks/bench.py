"""``make bench``: every speed figure of docs/performance.md beside its peer, in one run."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core is measured; NumPy reads this when it is imported

import argparse
from collections.abc import Callable
from typing import Any

import bench_costs
import bench_deep
import bench_draws
import bench_fused
import bench_heavy
import bench_lanes
import bench_large
import bench_libraries
import bench_plans
import bench_share
import bench_size
import bench_startup
import bench_stepwise
import bench_workers
from _figures import FIGURES, machine, write_figures

SECTIONS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "draws": bench_draws.section,
    "fused": bench_fused.section,
    "stepwise": bench_stepwise.section,
    "libraries": bench_libraries.section,
    "heavy": bench_heavy.section,
    "agents": bench_costs.section,
    "share": bench_share.section,
    "planning": bench_plans.section,
    "size": bench_size.section,
    "large": bench_large.section,
    "startup": bench_startup.section,
    "workers": bench_workers.section,
    "lanes": bench_lanes.section,
    "deep": bench_deep.section,
}


def main() -> None:
    """Run the sections that were asked for, print them, and write their figures."""
    parser = argparse.ArgumentParser(description="Measure heavytail beside its peers.")
    parser.add_argument("--only", choices=sorted(SECTIONS), help="one section instead of all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    arguments = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    chosen = [arguments.only] if arguments.only else list(SECTIONS)
    write_figures({name: SECTIONS[name](arguments.quick) for name in chosen}, arguments.quick)
    print(f"\nAll figures: {FIGURES.parent.name}/{FIGURES.name}")


if __name__ == "__main__":
    main()
