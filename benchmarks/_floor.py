"""Compile and run `floor.cpp`, the C++ program with which heavytail is compared."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from _figures import HERE
from heavytail import Learner
from heavytail.agents.heavy_q_learning import HeavyQLearning

FLAGS = ("-std=c++17", "-O3", "-march=native")
TABLES, HEAVY, TEXTBOOK, BATCHES, FAST = "-DTABLES", "-DHEAVY", "-DTEXTBOOK", "-DBATCHES", "-ffast-math"
VARIANTS: dict[str, tuple[str, ...]] = {"C++ hard-coded": (), "C++ with tables": (TABLES,)}
# Python never contracts a product and a sum into one rounding, so neither may a program that is compared bit
# by bit.
EXACT = "-ffp-contract=off"


class FloorResult(NamedTuple):
    """The output of the program."""

    seconds: float
    mean_reward: float
    realised_reward: float
    truncated: float


def compile_floor(folder: Path, *switches: str) -> Path | None:
    """Compile the program; None where there is no compiler."""
    if shutil.which("g++") is None:
        return None
    program = folder / "_".join(["floor", *switches]).replace("-", "").replace("=", "")
    subprocess.run(["g++", *FLAGS, *switches, "-o", str(program), str(HERE / "floor.cpp")], check=True)
    return program


def run_floor(program: Path, learner: Learner, episodes: int, noise: bool, trained: int = 0) -> FloorResult:
    """Run the program with the constants and the random streams of a new learner.

    Timing starts after `trained` episodes.
    """
    agent, table, heavy = learner.agent, learner.agent, (0.0, 0.0, 0.0)
    if isinstance(agent, HeavyQLearning):
        table, heavy = agent.table, (agent.threshold, agent.reward_bonus, -float(agent.decay.series[0]))
    numbers = [trained, episodes, int(noise), float(table.bonus.factor), *heavy]
    states = [*learner.streams.transitions, *learner.streams.rewards]
    arguments = [*map(repr, numbers), *(str(int(x)) for x in states)]
    printed = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=True).stdout
    return FloorResult(*map(float, printed.split()))
