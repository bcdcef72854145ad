"""``make bench``: every speed figure of the README beside its peer, in one run."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core is measured; NumPy reads this when it is imported

import argparse
from collections.abc import Callable
from typing import Any

import costs
import deep
import draws
import fused
import heavy
import lanes
import libraries
import plans
import share
import size
import startup
import workers
from report import FIGURES, machine, write_figures

SECTIONS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "draws": draws.section,
    "fused": fused.section,
    "libraries": libraries.section,
    "heavy": heavy.section,
    "agents": costs.section,
    "share": share.section,
    "planning": plans.section,
    "size": size.section,
    "startup": startup.section,
    "workers": workers.section,
    "lanes": lanes.section,
    "deep": deep.section,
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
