"""Extended value iteration against the number of states, beside a dense plan.

heavytail looks at the successors that were seen, a dense plan at S x A x S numbers.

Every cell has four successors, and all of them were seen. The distances of plausible transitions are such
that some mass is moved but not all of it, the slow case. The dense peer is the same backup in NumPy; both
must find the same values.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from _figures import HERE, amount_of_bytes, best_of, cpu_seconds, nanoseconds, print_table, scaled
from bench_share import plan_often
from heavytail.agents._extended_value_iteration import backup
from heavytail.agents._transition_counts import observe
from heavytail.agents.ucrl2 import UCRL2
from heavytail.arrays import Floats, Indices, Ints, Stream, record_bytes
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.rng import integer, normal, stream
from heavytail.kernels.verbs import push
from heavytail.mdp.diagram import COLOURS, SEVERAL
from heavytail.mdp.problem import Problem
from heavytail.registry import find

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
MAX_DENSE = 1_000  # states for which the dense peer is measured
ACTIONS, SUCCESSORS, HORIZON = 4, 4, 10
VISITS, DELTA = 50, 0.05
HALF = 0.2  # half the distance of plausible transitions
REPEATS, WORK, DENSE_WORK = 7, 2_000_000, 8_000_000  # successors, or numbers, to look at in one measurement
PICTURE = HERE / "planning.png"


class Plan(NamedTuple):
    """The figures of one size, in seconds and bytes."""

    states: int
    observed: int  # successors
    backup: float
    plan: float  # of HORIZON steps, with its intervals
    dense_backup: float | None
    dense_product: float | None  # one product of matrix and vector, which any dense plan needs for a backup
    memory: int  # of the whole agent
    model_memory: int  # of the transitions in it
    dense_memory: int  # of the array


# An agent that has seen everything


def fill(agent: UCRL2, successors: Indices, at: Ints, rng: Stream) -> bool:
    """Continue to show transitions and rewards, VISITS of each cell, from number `at`.

    False where a pool is full.
    """
    while at[0] < VISITS * successors.shape[0]:
        if any_pool_full(agent):
            return False
        cell = at[0] // VISITS
        push(agent.estimator, cell, normal(rng))
        observe(agent.model, cell, as_int(successors[cell, integer(rng, successors.shape[1])]), False)
        at[0] += 1
    return True


def different_states(n_states: int, rng: np.random.Generator) -> Indices:
    """Draw four different successors for each cell: one anywhere, the others a few states further on."""
    steps = rng.integers(1, max(n_states // SUCCESSORS, 2), (n_states * ACTIONS, SUCCESSORS))
    steps[:, 0] = rng.integers(n_states, size=len(steps))
    return (np.cumsum(steps, axis=1) % n_states).astype(np.uint32)


def new_agent(n_states: int) -> UCRL2:
    """Make Heavy-UCRL2 after many random transitions."""
    steps = n_states * ACTIONS * VISITS
    distance = math.sqrt(14.0 * n_states * math.log(2.0 * ACTIONS * (steps + 1) / DELTA) / VISITS)
    builder = find("agent", "heavy_ucrl2").builder
    problem = Problem(n_states, ACTIONS, HORIZON, 1.0)
    agent = builder(
        problem,
        epsilon=0.05,
        moment=14.25,
        delta=DELTA,
        transition_scale=2.0 * HALF / distance,
        reward_scale=0.01,
    )
    rng = np.random.default_rng(0)
    successors, at, draws = different_states(n_states, rng), np.zeros(1, np.int64), stream(0)
    while not entry(fill, agent)(agent, successors, at, draws):
        agent = with_larger_pools(agent)
    agent.steps[0] = steps
    entry(plan_often, agent)(agent, 1)
    return agent


def dense_transitions(agent: UCRL2) -> Floats:
    """Return the observed frequencies as an array [S*A, S]."""
    model = agent.model
    dense = np.zeros((model.visits.size, model.n_states))
    for cell in range(model.visits.size):
        block = slice(model.start[cell], model.start[cell] + model.size[cell])
        dense[cell, model.successor[block]] = model.counts[block] / model.visits[cell]
    return dense


# The candidates


def back_up_often(agent: UCRL2, times: int) -> None:
    """Make so many backups, back and forth between the two rows of values."""
    model, rewards, half_widths, values = agent.model, agent.rewards, agent.half_widths, agent.values
    for i in range(times):
        backup(model, rewards, half_widths, values, i & 1, agent.policy, 0, agent.keys, agent.weights)


def dense_backup(transitions: Floats, rewards: Floats, half_widths: Floats, values: Floats) -> Floats:
    """Make the same backup over an array of all successors, vectorised.

    Successors are sorted by their values, and the lowest mass is found by cumulative sums.
    """
    order = np.argsort(values)
    ascending, best = values[order], order[-1]
    mass = np.minimum(half_widths, 1.0 - transitions[:, best])
    below = np.minimum(np.cumsum(transitions[:, order], axis=1), mass[:, None])
    below[:, 1:] -= below[:, :-1].copy()
    q = rewards + transitions @ values + mass * values[best] - below @ ascending
    return np.max(q.reshape(-1, ACTIONS), axis=1)


def check(agent: UCRL2, transitions: Floats) -> None:
    """Check that both backups of the same values agree."""
    n = agent.model.n_states
    agent.values[0, :n] = np.random.default_rng(1).random(n)
    agent.values[:, n] = 0.0
    expected = dense_backup(transitions, agent.rewards, agent.half_widths, agent.values[0, :n])
    entry(back_up_often, agent)(agent, 1)
    if not np.allclose(agent.values[1, :n], expected, rtol=1e-12, atol=0):
        raise SystemExit(f"with {n} states the dense plan finds other values than heavytail")


def seconds_each(call: Callable[[], object], does: int, calls: int = 1) -> float:
    """Return the seconds of one operation, of which each call makes `does`."""
    started = cpu_seconds()
    for _ in range(calls):
        call()
    return (cpu_seconds() - started) / (calls * does)


def dense_turns(agent: UCRL2, quick: bool) -> dict[str, Callable[[], float]]:
    """Return the measurements of NumPy, once its values are found to be the same."""
    dense = dense_transitions(agent)
    check(agent, dense)
    values = agent.values[0, : agent.model.n_states].copy()
    calls = max(scaled(DENSE_WORK, quick) // dense.size, 1)
    backup_once = partial(dense_backup, dense, agent.rewards, agent.half_widths, values)
    return {
        "dense_backup": partial(seconds_each, backup_once, 1, calls),
        "dense_product": partial(seconds_each, partial(np.matmul, dense, values), 1, calls),
    }


def measure(n_states: int, quick: bool) -> Plan:
    """Measure one size."""
    agent = new_agent(n_states)
    observed = int(agent.model.size.sum())
    backups, plans = entry(back_up_often, agent), entry(plan_often, agent)
    times = max(scaled(WORK, quick) // (HORIZON * observed), 1)
    backups(agent, 1)  # compiles, or loads
    turns: dict[str, Callable[[], float]] = {
        "backup": partial(seconds_each, partial(backups, agent, HORIZON * times), HORIZON * times),
        "plan": partial(seconds_each, partial(plans, agent, times), times),
    }
    if n_states <= MAX_DENSE:
        turns |= dense_turns(agent, quick)
    best = best_of(REPEATS, turns)
    return Plan(
        n_states,
        observed,
        best["backup"],
        best["plan"],
        best.get("dense_backup"),
        best.get("dense_product"),
        memory=record_bytes(agent),
        model_memory=record_bytes(agent.model),
        dense_memory=8 * n_states * ACTIONS * n_states,
    )


# The table and the plot


def row(plan: Plan) -> list[str]:
    """Make a row of the table."""
    dense = [f"{1e6 * x:,.1f}" if x is not None else "-" for x in (plan.dense_backup, plan.dense_product)]
    ratio = "-" if plan.dense_backup is None else f"1/{plan.dense_backup / plan.backup:.0f}"
    each = nanoseconds(plan.backup / plan.observed * 1e9)
    times = [each, f"{1e6 * plan.backup:,.1f}", *dense, ratio, f"{1e3 * plan.plan:,.3f}"]
    return [
        f"{plan.states:,}",
        f"{plan.observed:,}",
        *times,
        *map(amount_of_bytes, (plan.memory, plan.model_memory, plan.dense_memory)),
    ]


def draw(plans: Sequence[Plan]) -> None:
    """Write the plot: one backup on the left, memory on the right."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharex=True)
    dense = [plan for plan in plans if plan.dense_backup is not None]
    line(left, plans, [1e6 * p.backup for p in plans], "heavytail", COLOURS[0])
    line(left, dense, [1e6 * (p.dense_backup or 0.0) for p in dense], "NumPy, dense", COLOURS[1])
    line(left, dense, [1e6 * (p.dense_product or 0.0) for p in dense], "NumPy, p @ V alone", SEVERAL)
    line(right, plans, [p.memory / 1e6 for p in plans], "heavytail: the whole agent", COLOURS[0])
    line(right, plans, [p.model_memory / 1e6 for p in plans], "heavytail: the transitions in it", COLOURS[2])
    line(right, plans, [p.dense_memory / 1e6 for p in plans], "dense: S × A × S numbers", COLOURS[1])
    left.set(xscale="log", yscale="log", ylabel="µs", title="One optimistic backup of all states")
    right.set(yscale="log", ylabel="MB", title="Memory")
    for axes in (left, right):
        axes.set_xlabel(f"states S (A = {ACTIONS}, {SUCCESSORS} successors of each state and action)")
        axes.grid(which="major", color="#E6E6E6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left" if axes is right else "lower right")
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)


def line(axes: "Axes", plans: Sequence[Plan], values: Sequence[float], label: str, colour: str) -> None:
    """Draw a line of the plot."""
    axes.plot([plan.states for plan in plans], values, "o-", color=colour, label=label)


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, draw, and return the figures."""
    plans = [measure(n, quick) for n in SIZES]
    memory = ["agent", "transitions", "dense array"]
    header = [
        "states",
        "observed",
        "ns each",
        "backup, us",
        "dense",
        "dense product",
        "ratio",
        f"plan of {HORIZON}, ms",
        *memory,
    ]
    print_table(
        f"Extended value iteration, A = {ACTIONS}, {SUCCESSORS} successors of each cell",
        header,
        [row(p) for p in plans],
    )
    print(
        f"A dense backup in NumPy, here up to {MAX_DENSE:,} states, finds the same values. Plotted"
        f" in {HERE.name}/{PICTURE.name}"
    )
    draw(plans)
    return {"sizes": [plan._asdict() for plan in plans]}
