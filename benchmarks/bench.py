"""``make bench``: every speed figure of docs/performance.md, its peer and its limit, in one run."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core is measured; NumPy reads this when it is imported

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import bench_costs
import bench_deep
import bench_draws
import bench_fused
import bench_heavy
import bench_lanes
import bench_large
import bench_libraries
import bench_plans
import bench_reproduce
import bench_share
import bench_size
import bench_startup
import bench_stepwise
import bench_workers
from _figures import FIGURES, machine, write_figures


class Section(NamedTuple):
    """A group of figures, and what limits them."""

    measure: Callable[[bool], dict[str, Any]]
    limited_by: str


SECTIONS = {
    "draws": Section(
        bench_draws.section,
        "arithmetic of 64-bit floats: a stable draw is three sines, two logarithms and an exponential",
    ),
    "fused": Section(
        bench_fused.section,
        "latency: an update must be done before the next action is known; with noise, the draws",
    ),
    "stepwise": Section(
        bench_stepwise.section, "two calls from Python into compiled code; in Gymnasium, its environment"
    ),
    "libraries": Section(bench_libraries.section, "what limits the sections fused and agents"),
    "heavy": Section(bench_heavy.section, "latency of the update, and a draw at every step"),
    "agents": Section(
        bench_costs.section,
        "draws and the latency of updates; for psrl, ucbvi and heavy_ucbvi the plan before every episode",
    ),
    "share": Section(bench_share.section, "the successors that a plan reads"),
    "planning": Section(bench_plans.section, "the successors that a plan reads, once they exceed the cache"),
    "size": Section(bench_size.section, "cache misses"),
    "large": Section(bench_large.section, "what its last column says"),
    "startup": Section(
        bench_startup.section, "imports of numba and Gymnasium; on the first day, compilation"
    ),
    "reproduce": Section(
        bench_reproduce.section, "downloads; steps of the paper's runs on all cores; XLA's compiling"
    ),
    "workers": Section(bench_workers.section, "the start of the workers"),
    "lanes": Section(bench_lanes.section, "latency of memory and of arithmetic: docs/lanes.md"),
    "deep": Section(
        bench_deep.section, "products with 512 x 512 weights, and Adam's passes over all weights"
    ),
}


def main() -> None:
    """Run the sections that were asked for, print them, and write their figures."""
    parser = argparse.ArgumentParser(description="Measure heavytail beside its peers.")
    parser.add_argument("--only", choices=sorted(SECTIONS), help="one section instead of all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    arguments = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    chosen = [arguments.only] if arguments.only else list(SECTIONS)
    figures = {}
    for name in chosen:
        # Empty without its peer or device: the old figures are kept.
        if measured := SECTIONS[name].measure(arguments.quick):
            figures[name] = measured
        print(f"Limited by {SECTIONS[name].limited_by}.")
    if arguments.quick:
        print("\nFigures of a quick run are not kept.")
    else:
        write_figures(figures)
        print(f"\nAll figures: {FIGURES.parent.name}/{FIGURES.name}")


if __name__ == "__main__":
    main()
