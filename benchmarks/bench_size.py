"""Time per step from ten states to a hundred thousand, and how much of its growth is cache misses.

A step is cheap while all values are still tied, since the processor then predicts every action. So each
learner is first trained to the same number of visits per cell, whatever the size, and every repetition sets
it back to that moment and makes the same steps again.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

import heavytail as ht
from _figures import HERE, amount_of_bytes, best_of, cpu_seconds, nanoseconds, print_table, scaled
from _trained import Trained
from heavytail.arrays import record_bytes
from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.constant import constant

SIZES = (10, 100, 1_000, 10_000, 100_000)
HORIZON, ACTIONS = 20, 2
STEPS, MIN_STEPS, REPEATS = 2_000_000, 40_000, 5
TRAINED, TIMED = 20, 10  # visits per cell before timing, and during it within the two limits above
LOADS = 2_000_000
SPREAD, NARROW = "anywhere", "in ten states"  # where episodes start: everything is touched, or little
Ints = npt.NDArray[np.int64]


class Variant(NamedTuple):
    """One line of the plot."""

    agent: str
    noise: bool
    start: str


VARIANTS = {
    "random": Variant("random", False, SPREAD),
    "q_learning": Variant("q_learning", False, SPREAD),
    "with stable noise": Variant("q_learning", True, SPREAD),
    "ten starts": Variant("q_learning", False, NARROW),
    "noise, ten starts": Variant("q_learning", True, NARROW),
}
LOAD = "one random load"


def chain(n: int, noise: bool, start: str) -> ht.MDP:
    """Make RiverSwim with n states.

    Left always succeeds; right moves on with .35, stays with .6 and falls back with .05. The far end pays.
    """
    s = np.repeat(np.arange(n), 4)
    move = np.tile([-1, -1, 0, 1], n)
    rows = 2 * s + np.tile([0, 1, 1, 1], n)
    pays = (s == n - 1) & (rows % 2 == 1)
    in_the_middle = abs(np.arange(n) - n // 2 + 0.5) < 5
    first = np.full(n, 1.0 / n) if start == SPREAD else np.where(in_the_middle, 0.1, 0.0)
    law = partial(alpha_stable, 1.1) if noise else constant
    return ht.mdp_from_slots(
        rows,
        np.clip(s + move, 0, n - 1),
        np.tile([1.0, 0.05, 0.6, 0.35], n),
        laws=[law(loc=0.0), law(loc=1.0)],
        law=pays.astype(np.int64),
        n_states=n,
        n_actions=ACTIONS,
        start=first,
        horizon=HORIZON,
    )


def new_learner(agent: str, mdp: ht.MDP, seed: int) -> ht.Learner:
    """Make a learner with the scale at which Q-learning learns."""
    parameters: dict[str, Any] = {"transition_scale": 0.01} if agent == "q_learning" else {}
    return ht.make_agent(mdp, agent, seed=seed, **parameters)


class TrainedLearners:
    """As many trained learners as give enough steps to time: many of a small problem, one of a large."""

    def __init__(self, variant: Variant, n: int, quick: bool) -> None:
        started = time.perf_counter()
        self.mdp = chain(n, variant.noise, variant.start)
        self.build_seconds = time.perf_counter() - started
        cells, steps = HORIZON * ACTIONS * n, scaled(STEPS, quick)
        if variant.start == NARROW:  # the same small problem whatever n, so one learner does
            cells = steps // TIMED
        self.episodes = min(max(TIMED * cells, MIN_STEPS), steps) // HORIZON
        count, training = -(-steps // (self.episodes * HORIZON)), scaled(TRAINED, quick) * cells // HORIZON
        self.learners = [
            Trained(new_learner(variant.agent, self.mdp, seed), training) for seed in range(count)
        ]

    def cost(self) -> float:
        """Return the nanoseconds per step."""
        seconds = sum(trained.seconds(self.episodes) for trained in self.learners)
        return seconds / (len(self.learners) * self.episodes * HORIZON) * 1e9

    def size(self) -> int:
        """Return the bytes of everything that a step may touch."""
        return record_bytes(self.learners[0].learner.agent) + record_bytes(self.mdp)


# For comparison: the time of one load whose address is known only after the load before


@njit(nogil=True)
def follow(after: Ints, at: int, loads: int) -> int:
    """Follow the links of `after`, starting at `at`."""
    for _ in range(loads):
        at = after[at]
    return at


def random_cycle(n_bytes: int) -> Ints:
    """Make an array of so many bytes whose entries lead once through all of it, in random order."""
    order = np.random.default_rng(0).permutation(max(n_bytes // 8, 2))
    after = np.empty_like(order)
    after[order] = np.roll(order, -1)
    return after


def load_cost(after: Ints, loads: int) -> float:
    """Return the nanoseconds per load."""
    started = cpu_seconds()
    follow(after, 0, loads)
    return (cpu_seconds() - started) / loads * 1e9


def measure(n: int, quick: bool) -> dict[str, Any]:
    """Measure one size."""
    runners = {label: TrainedLearners(variant, n, quick) for label, variant in VARIANTS.items()}
    n_bytes = runners["q_learning"].size()
    turns: dict[str, Callable[[], float]] = {label: runner.cost for label, runner in runners.items()}
    turns[LOAD] = partial(load_cost, random_cycle(n_bytes), scaled(LOADS, quick))
    best_of(1, turns)  # compiles `follow`
    return {
        "states": n,
        "bytes": n_bytes,
        "build_s": runners["q_learning"].build_seconds,
        "ns": best_of(REPEATS, turns),
    }


def draw(figures: list[dict[str, Any]]) -> None:
    """Write the plot: time per step on the left, the random load on the right."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(3, 2))
    states = [f["states"] for f in figures]
    for label, variant in VARIANTS.items():
        style = "o--" if variant.start == NARROW else "o-"
        left.plot(states, [f["ns"][label] for f in figures], style, label=label)
    left.set(xscale="log", xlabel="states S", ylabel="ns per step", title="heavytail on a chain, H = 20")
    left.set_ylim(bottom=0)
    left.legend()
    right.plot(states, [f["ns"][LOAD] for f in figures], "s-", color="gray")
    right.set(
        xscale="log",
        xlabel="states S of a problem that takes as many bytes",
        ylabel="ns per load",
        title="One dependent random load",
    )
    right.set_ylim(0, 1.2 * max(f["ns"][LOAD] for f in figures))
    right.margins(x=0.15)
    for f in figures:
        right.annotate(
            amount_of_bytes(f["bytes"]),
            (f["states"], f["ns"][LOAD]),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
        )
    figure.savefig(HERE / "size.png", dpi=120)
    plt.close(figure)


def row(f: dict[str, Any]) -> list[str]:
    """Make a row of the table."""
    return [
        f"{f['states']:,}",
        f"{f['bytes'] / 1e6:.3g}",
        f"{f['build_s']:.3f}",
        *map(nanoseconds, f["ns"].values()),
    ]


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, draw, and return the figures."""
    chain(10, noise=True, start=SPREAD)  # imports what building needs
    figures = [measure(n, quick) for n in SIZES]
    print_table(
        "Cost per step on a chain, H = 20 (ns)",
        ["states", "MB", "build s", *VARIANTS, LOAD],
        [row(f) for f in figures],
    )
    draw(figures)
    first, last = figures[0]["ns"], figures[-1]["ns"]
    print(
        "Growth from first to last:",
        ", ".join(f"{label} {last[label] / first[label]:.2f}" for label in first),
    )
    print(
        f"Q-learning is timed after {scaled(TRAINED, quick)} visits per cell. Episodes start"
        " anywhere, or in ten states, where little memory is touched."
    )
    print(f"Plotted in {HERE.name}/size.png")
    return {"sizes": figures}
