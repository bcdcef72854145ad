"""Heavy-PSRL beside rivals that are told nothing either, on tasks that nobody tuned on.

    heavytail run studies/unseen/spec.toml
    python benchmarks/bench_unseen.py results/unseen

Regret is by gaps. The best rival of each task is chosen after the fact, by its median for ratios of medians
and by its mean for ratios of means; regrets below a thousandth of chance's count as that, so that luck on an
easy task is no ratio of infinity. A run is stuck if its last tenth loses more than 5% of what chance loses
there on average.
"""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import heavytail as ht
from _figures import print_table
from heavytail.arrays import Floats

AGENT, CHANCE = "heavy_psrl", "random"
SETTINGS, STATISTICS = ("told nothing", "tuned"), ("median", "mean")
FLOOR, STUCK, MANY = 1e-3, 0.05, 0.02


class Cell(NamedTuple):
    """The runs of an agent on a task."""

    median: float
    mean: float
    stuck: float  # the share of runs


Tasks: TypeAlias = Mapping[str, Mapping[str, Cell]]


def read_regret(study: Any) -> dict[str, dict[str, Floats]]:
    """Read the regret [run, checkpoint] of each agent on each task that has the agent and chance."""
    tasks: dict[str, dict[str, Floats]] = {}
    for (task, agent), rows in study.curves().groupby(["env_key", "agent_key"], sort=False):
        table = rows.pivot_table(index="replicate", columns="at", values="regret")
        tasks.setdefault(task, {})[agent] = table.to_numpy(np.float64)
    return {task: runs for task, runs in tasks.items() if {AGENT, CHANCE} <= {*runs}}


def summarise(runs: Mapping[str, Floats]) -> dict[str, Cell]:
    """Summarise the runs of each agent on a task."""
    chance = last_tenth(runs[CHANCE]).mean()
    floor = FLOOR * runs[CHANCE][:, -1].mean()
    return {
        agent: Cell(
            median=max(float(np.median(regret[:, -1])), floor),
            mean=max(float(np.mean(regret[:, -1])), floor),
            stuck=float(np.mean(last_tenth(regret) > STUCK * chance)),
        )
        for agent, regret in runs.items()
    }


def last_tenth(regret: Floats) -> Floats:
    """Return what each run [run] loses between the last two of ten checkpoints."""
    return np.asarray(regret[:, -1] - regret[:, -2])


def best_of(cells: Mapping[str, Cell], rivals: list[str], statistic: str) -> tuple[str, float]:
    """Return the best of these rivals on a task, and the agent's regret over its regret."""
    regret = {key: getattr(cell, statistic) for key, cell in cells.items()}
    best = min(regret.keys() & rivals, key=lambda rival: (regret[rival], rival))
    return best, regret[AGENT] / regret[best]


def geometric_mean(values: Iterable[float]) -> str:
    """Return the geometric mean of positive numbers."""
    return f"{np.exp(np.mean(np.log([*values]))):.2f}"


def print_tasks(tasks: Tasks, agents: list[str]) -> None:
    """Print the median and mean regret of each agent on each task."""
    rows = [
        [task, *(f"{cells[a].median:,.0f} ({cells[a].mean:,.0f})" if a in cells else "" for a in agents)]
        for task, cells in tasks.items()
    ]
    print_table("Median (mean) regret", ["task", *agents], rows)


def print_ratios(tasks: Tasks, rivals: list[str], setting: str) -> None:
    """Print the agent's regret over that of the best of these rivals."""
    medians, means = ([best_of(cells, rivals, each) for cells in tasks.values()] for each in STATISTICS)
    rows = [
        [task, one, f"{ratio:.2f}", two, f"{other:.2f}", f"{tasks[task][AGENT].stuck:.0%}"]
        for task, (one, ratio), (two, other) in zip(tasks, medians, means, strict=True)
    ]
    overall = [geometric_mean(ratio for _, ratio in each) for each in (medians, means)]
    rows.append(["geometric mean", "", overall[0], "", overall[1], ""])
    header = ["task", "best median", "ratio", "best mean", "ratio", "stuck"]
    print_table(f"{AGENT} over the best rival, {setting}", header, rows)


def print_agents(tasks: Tasks, agents: list[str]) -> None:
    """Print how each agent compares with Heavy-PSRL on the tasks it ran on, and where it is stuck."""
    rows = []
    for agent in agents:
        both = [(cells[agent], cells[AGENT]) for cells in tasks.values() if agent in cells]
        ratios = [geometric_mean(getattr(a, x) / getattr(b, x) for a, b in both) for x in STATISTICS]
        stuck = sum(cell.stuck > MANY for cell, _ in both)
        rows.append([agent, *ratios, f"{stuck} of {len(both)}"])
    header = ["agent", f"median over {AGENT}'s", "mean", f"tasks with over {MANY:.0%} stuck"]
    print_table("All tasks, geometric means", header, rows)


def main() -> None:
    """Read and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("study", nargs="?", default="results/unseen", help="the folder, or a packed study")
    study = ht.Study.open(parser.parse_args().study)
    tasks = {task: summarise(runs) for task, runs in read_regret(study).items()}
    agents = [*study.spec.agents]
    print_tasks(tasks, agents)
    for setting in SETTINGS:
        rivals = [key for key in agents if study.spec.agents[key].setting == setting and key != AGENT]
        print_ratios(tasks, rivals, setting)
    print_agents(tasks, agents)


if __name__ == "__main__":
    main()
