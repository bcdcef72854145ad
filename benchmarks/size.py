"""Cost per step from ten states to a hundred thousand, and how much of its growth is cache misses."""

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

import heavytail as ht
from heavytail import loop
from report import HERE, best_of, nanoseconds, print_table, scaled

SIZES = (10, 100, 1_000, 10_000, 100_000)
HORIZON, STEPS, REPEATS = 20, 2_000_000, 7
LOADS = 2_000_000
SPREAD, NARROW = "start anywhere", "start in ten states"
Ints = npt.NDArray[np.int64]


class Variant(NamedTuple):
    """One line of the plot."""

    agent: str
    noise: bool
    start: str

    @property
    def label(self) -> str:
        """How tables and plots call it."""
        return f"{self.agent}{', stable noise' if self.noise else ''}, {self.start}"


VARIANTS = (
    Variant("random", False, SPREAD),
    Variant("q_learning", False, SPREAD),
    Variant("q_learning", True, SPREAD),
    Variant("q_learning", False, NARROW),
)


def chain(n: int, noise: bool, start: str) -> ht.MDP:
    """RiverSwim with n states: left is sure; right moves on with .35, stays with .6 and slips back with .05. The far end pays."""
    s = np.repeat(np.arange(n), 4)
    move = np.tile([-1, -1, 0, 1], n)
    rows = 2 * s + np.tile([0, 1, 1, 1], n)
    pays = (s == n - 1) & (rows % 2 == 1)
    spread = np.full(n, 1.0 / n) if start == SPREAD else np.where(abs(np.arange(n) - n // 2 + 0.5) < 5, 0.1, 0.0)
    laws = (
        [ht.laws.alpha_stable(1.1, loc=0.0), ht.laws.alpha_stable(1.1, loc=1.0)]
        if noise
        else [ht.laws.constant(0.0), ht.laws.constant(1.0)]
    )
    return ht.mdp_from_slots(
        rows, np.clip(s + move, 0, n - 1), np.tile([1.0, 0.05, 0.6, 0.35], n),
        laws=laws, law=pays.astype(np.int64), n_states=n, n_actions=2, start=spread, horizon=HORIZON,
    )  # fmt: skip


class Runner:
    """A learner that goes on and on, without checkpoints."""

    def __init__(self, variant: Variant, n: int, episodes: int) -> None:
        started = time.perf_counter()
        parameters = {"transition_scale": 0.01} if variant.agent == "q_learning" else {}
        self.learner = ht.make_agent(variant.agent, chain(n, variant.noise, variant.start), **parameters)
        self.build_seconds = time.perf_counter() - started
        self.episodes = episodes
        self.nothing = loop.new_checkpoints(np.zeros(0, np.int64), self.learner.agent)

    def cost(self) -> float:
        """Nanoseconds per step of so many more episodes."""
        x = self.learner
        started = time.perf_counter()
        loop.run(x.agent, x.mdp, x.streams, x.clock, self.nothing, int(x.clock.units[0]) + self.episodes)
        return (time.perf_counter() - started) / (self.episodes * HORIZON) * 1e9

    def size(self) -> int:
        """Bytes of everything that a step may touch."""
        records = [*self.learner.agent, *self.learner.mdp, *self.learner.mdp.laws]
        return sum(field.nbytes for field in records if isinstance(field, np.ndarray))


# The yardstick: how long one load takes when its address is known only after the one before


@njit(cache=False)  # type: ignore[untyped-decorator]
def follow(after: Ints, at: int, loads: int) -> int:
    """Walk along `after`."""
    for _ in range(loads):
        at = after[at]
    return at


def random_cycle(n_bytes: int) -> Ints:
    """An array of so many bytes whose entries lead once through all of it, in random order."""
    order = np.random.default_rng(0).permutation(max(n_bytes // 8, 2))
    after = np.empty_like(order)
    after[order] = np.roll(order, -1)
    return after


def load_cost(after: Ints, loads: int) -> float:
    """Nanoseconds per load."""
    started = time.perf_counter()
    follow(after, 0, loads)
    return (time.perf_counter() - started) / loads * 1e9


def measure(n: int, quick: bool) -> dict[str, Any]:
    """All figures of one size."""
    runners = {variant.label: Runner(variant, n, scaled(STEPS, quick) // HORIZON) for variant in VARIANTS}
    n_bytes = runners[VARIANTS[1].label].size()
    load = partial(load_cost, random_cycle(n_bytes), scaled(LOADS, quick))
    turns = {**{label: runner.cost for label, runner in runners.items()}, "one random load": load}
    best_of(1, turns)  # compiles, and touches every page once
    build = {label: runner.build_seconds for label, runner in runners.items()}
    return {"states": n, "bytes": n_bytes, "ns": best_of(REPEATS, turns), "build_s": build[VARIANTS[1].label]}


def draw(figures: list[dict[str, Any]]) -> None:
    """Write the plot: cost per step on the left, the yardstick on the right."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(3, 2))
    states = [f["states"] for f in figures]
    for variant in VARIANTS:
        style = "o--" if variant.start == NARROW else "o-"
        left.plot(states, [f["ns"][variant.label] for f in figures], style, label=variant.label)
    left.set(xscale="log", xlabel="states S", ylabel="ns per step", title="heavytail on a chain, H = 20")
    left.set_ylim(bottom=0)
    left.legend()
    right.plot(states, [f["ns"]["one random load"] for f in figures], "s-", color="gray")
    right.set(
        xscale="log", xlabel="states S of a problem that takes as many bytes", ylabel="ns per load", title="One dependent random load"
    )
    right.set_ylim(bottom=0)
    for f in figures:
        right.annotate(
            f"{f['bytes'] / 1e6:.3g} MB", (f["states"], f["ns"]["one random load"]), xytext=(0, 7), textcoords="offset points", ha="center"
        )
    right.margins(x=0.15, y=0.15)
    figure.savefig(HERE / "size.png", dpi=120)
    plt.close(figure)


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, draw, and return the figures."""
    chain(10, noise=True, start=SPREAD)  # imports what building needs
    figures = [measure(n, quick) for n in SIZES]
    rows = [
        [f"{f['states']:,}", f"{f['bytes'] / 1e6:.3g}", f"{f['build_s']:.3f}", *(nanoseconds(ns) for ns in f["ns"].values())]
        for f in figures
    ]
    print_table("Cost per step on a chain (ns)", ["states", "MB", "build s", *figures[0]["ns"]], rows)
    draw(figures)
    print(f"Plotted in {HERE.name}/size.png")
    return {"sizes": figures}
