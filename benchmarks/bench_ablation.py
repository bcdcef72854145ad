"""What each rule of Heavy-PSRL is worth: its regret without the rule, over its regret with it.

    python benchmarks/bench_ablation.py                                  # half an hour of one core
    python benchmarks/bench_ablation.py studies/unseen-reported/spec.toml
    python benchmarks/bench_ablation.py --write                          # both, into docs/heavy_psrl.md

Geometric means over the tasks of a study, of ratios of medians and of means. A rule is taken away by changing
a constant or a kernel of the agent before it is compiled, in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import heavytail as ht
from _figures import print_table, to_markdown, write_table
from bench_unseen import AGENT, CHANCE, geometric_mean, read_regret, summarise
from heavytail.agents import _certainty, _drawn_mdp, _drawn_means, heavy_psrl
from heavytail.agents._index_list import item
from heavytail.arrays import Stream, U
from heavytail.estimators.sketch import SPREAD, renew
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.studies.specs.reading import read_spec

HALVES = ("studies/unseen/spec.toml", "studies/unseen-reported/spec.toml")
SEEDS = 12


@subroutine
def all_symmetric(agent: heavy_psrl.HeavyPSRL, rng: Stream) -> int:
    """Draw all cells as symmetric."""
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        agent.kinds[U(cell)] = _drawn_means.SYMMETRIC
        if agent.sketch.histogram.block[U(cell)] >= 0:
            renew(agent.sketch, cell)
    return 0


@kernel
def own_spread(sketch: Any, cell: int, spreads: Any, rng: Stream) -> float:
    """Return the spread that a cell shows."""
    return float(sketch.summary[U(sketch.histogram.block[U(cell)]), SPREAD])


@kernel
def no_certainty(share: float, same: float) -> float:
    """Doubt every cell."""
    return 1.0


@kernel
def no_usual_rewards(certainty: Any, sketch: Any, tried: Any) -> None:
    """Find no reward that is usual."""


@kernel
def all_alike(certainty: Any, cell: int, stayed: bool, r: float) -> None:
    """Forget how a first visit was."""
    _certainty.see_first_visit(certainty, cell, False, r)


@kernel
def nothing_rare(span: float, n: int, rng: Stream) -> float:
    """Pay nothing more."""
    return 0.0


@subroutine
def always(rng: Stream, x: float, y: float) -> float:
    """Let lumps lead to states never seen in every draw."""
    return 1.0


@kernel
def never_settles(agent: heavy_psrl.HeavyPSRL, cell: int, rng: Stream) -> bool:
    """Take no cell as certain before the next draw."""
    return False


def change(module: Any, name: str, value: Any) -> Callable[[], None]:
    """Return what changes a constant or a kernel."""
    return lambda: setattr(module, name, value)


RULES: dict[str, Callable[[], None]] = {
    "laws may be skewed": change(_drawn_means, "draw_kinds", all_symmetric),
    "how many are skewed is learnt": change(_drawn_means, "MIN_TESTED", 2**62),
    "few samples are not judged": change(_drawn_means, "MIN_JUDGED", 0),
    "skewed cells share an offset": change(_drawn_means, "MIN_POOLED_CELLS", 2**62),
    "and a spread": change(_drawn_means, "draw_spread", own_spread),
    "cells may be certain": change(_certainty, "doubt", no_certainty),
    "groups by the first successor": change(heavy_psrl, "see_first_visit", all_alike),
    "usual rewards": change(_certainty, "find_usual_rewards", no_usual_rewards),
    "rare rewards": change(_drawn_mdp, "draw_rare", nothing_rare),
    "new states by how often there were some": change(_drawn_mdp, "draw_beta", always),
    "a bonus for new states": change(_drawn_mdp, "BONUSES", 0.0),
    "news is a tenth more visits (else: twice)": change(heavy_psrl, "GROWTH", 1),
    "phases end in any case": change(heavy_psrl, "SHORTER", 0),
    "phases of continuing problems last": change(heavy_psrl, "CROSSINGS", 0),
    "certain cells are learnt within an episode": change(heavy_psrl, "settles", never_settles),
    "new states are planned for within an episode": change(heavy_psrl, "MAX_REPLANNED", 0),
}


def measure(spec: str, rule: str, seeds: int, folder: str) -> None:
    """Run the agent without a rule, and print the median and mean regret of each task."""
    if rule in RULES:
        RULES[rule]()
    whole = read_spec(spec)
    agents = {key: whole.agents[key] for key in (AGENT, CHANCE)}
    study = ht.Study(whole.model_copy(update={"agents": agents, "seeds": seeds, "claims": []}), folder)
    study.run("inline")
    for task, runs in read_regret(study).items():
        cell = summarise(runs)[AGENT]
        print(task, cell.median, cell.mean)


def ratios(spec: str, seeds: int, workers: int) -> dict[str, str]:
    """Return the regret without each rule over that with all, medians and means."""

    def run(rule: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                __file__,
                spec,
                "--without",
                rule,
                "--seeds",
                str(seeds),
                "--out",
                folder,
            ]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(f"{spec}: {rule or 'all rules'}", file=sys.stderr, flush=True)
        return np.array([line.split()[1:] for line in done.stdout.splitlines()], float)

    with ThreadPoolExecutor(workers) as pool:
        full, *others = pool.map(run, ("", *RULES))
    return {
        rule: " ".join(
            form.format(geometric_mean(x)) for form, x in zip(("{}", "({})"), (r / full).T, strict=True)
        )
        for rule, r in zip(RULES, others, strict=True)
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "spec", nargs="*", default=HALVES[:1], help="the studies; by default the half for choosing"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--write", action="store_true", help="measure both halves and write the table into the docs"
    )
    parser.add_argument("--without", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.without is not None:
        measure(arguments.spec[0], arguments.without, arguments.seeds, arguments.out)
        return
    specs = HALVES if arguments.write else arguments.spec
    columns = [ratios(spec, arguments.seeds, arguments.workers) for spec in specs]
    header = ["without", *(Path(spec).parent.name for spec in specs)]
    rows = [[rule, *(column[rule] for column in columns)] for rule in RULES]
    print_table("Median (mean) regret without a rule, over that with all", header, rows)
    if arguments.write:
        page = Path(__file__).parent.parent / "docs" / "heavy_psrl.md"
        write_table(page, "python benchmarks/bench_ablation.py --write", to_markdown(header, rows))


if __name__ == "__main__":
    main()
