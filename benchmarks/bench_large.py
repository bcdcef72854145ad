"""Large problems: every agent in random MDPs of up to 100,000 states, with ten actions and ten successors.

Each agent learns from nothing for some seconds, in episodes and continuing, so that a step includes its share
of planning. The peer is the agent that plays at random in the same MDP: what its step takes is cache misses
of the environment, which no agent can avoid. An agent that is for smaller problems says so in a line.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import heavytail as ht
from _figures import HERE, amount_of_bytes, nanoseconds, print_table
from _trained import advance
from heavytail.arrays import record_bytes
from heavytail.errors import InputError
from heavytail.mdp.builders import mdp_with_horizon
from heavytail.mdp.diagram import COLOURS
from heavytail.registry import find, registered

SIZES = (1_000, 10_000, 100_000)
ACTIONS, SUCCESSORS, HORIZON = 10, 10, 20
BUDGET, MAX_STEPS = 1.5, 1_000_000  # seconds, and steps; whichever comes first
NEAR = 3.0  # times the step of random play, up to which the environment is what takes time
RANDOM, EPISODES, CONTINUING = "random", "episodes", "continuing"
LAW_PARAMETERS = ("epsilon", "moment")  # which the MDP tells
PICTURE = HERE.parent / "docs" / "large.svg"


class Task(NamedTuple):
    """What is done once, in seconds, and the size of the MDP."""

    states: int
    bytes: int
    build: float
    value: float  # exact planning of an episode
    gain: float  # exact planning for the average


class Cost(NamedTuple):
    """The figures of an agent."""

    agent: str
    kind: str
    states: int
    make: float  # seconds
    first: float  # seconds of the first episode or step, with its plan
    ns: float  # per step, from the start
    bytes: int


class Refusal(NamedTuple):
    """What an agent says that cannot."""

    agent: str
    kind: str
    states: int
    message: str


# Measuring


def seconds_of(call: Any, *arguments: Any) -> tuple[float, Any]:
    """Return the processor time of a call, and its result."""
    started = time.process_time()
    result = call(*arguments)
    return time.process_time() - started, result


def build(states: int) -> tuple[Task, ht.MDP]:
    """Build the MDP of a size, and measure what is done once."""
    sizes = {"n_states": states, "n_actions": ACTIONS, "branching": SUCCESSORS}
    law = ht.laws.student_t(df=1.5)
    seconds, mdp = seconds_of(lambda: ht.make_mdp("garnet", **sizes, law=law, horizon=HORIZON))
    value, _ = seconds_of(ht.planning.optimal_value, mdp)
    gain, _ = seconds_of(ht.planning.gain, mdp_with_horizon(mdp, None))
    return Task(states, record_bytes(mdp), seconds, value, gain), mdp


def new_learner(agent: str, mdp: ht.MDP) -> ht.Learner:
    """Make an agent with the example of the registry; what the MDP tells of its rewards is left to it."""
    entry = find("agent", agent)
    told = () if agent == "restarting" else LAW_PARAMETERS
    return ht.make_agent(
        mdp, agent, seed=0, **{key: value for key, value in entry.example.items() if key not in told}
    )


def measure(agent: str, mdp: ht.MDP, small: ht.MDP, budget: float) -> Cost | Refusal:
    """Let an agent learn from nothing until the budget is spent."""
    kind = EPISODES if mdp.horizon else CONTINUING
    try:
        advance(new_learner(agent, small), 1)  # compiles
        make, learner = seconds_of(new_learner, agent, mdp)
    except InputError as refusal:
        return Refusal(agent, kind, mdp.n_states, str(refusal))
    call = min(advance(learner, 0) for _ in range(2))  # what each call takes, however little is learnt
    first = spent = max(advance(learner, 1) - call, 0.0)
    units = 1
    while spent < budget and (steps := int(learner.run_state.steps[0])) < MAX_STEPS:
        more = min(9.0, (budget - spent) / max(spent, 1e-6), MAX_STEPS / steps) * units
        spent += advance(learner, int(more) + 1) - call
        units += int(more) + 1
    steps = int(learner.run_state.steps[0])
    return Cost(agent, kind, mdp.n_states, make, first, spent / steps * 1e9, record_bytes(learner.agent))


def measure_all(quick: bool) -> tuple[list[Task], list[Cost | Refusal]]:
    """Measure all sizes and agents."""
    sizes = SIZES[:-1] if quick else SIZES
    tasks, found, small = [], [], ht.make_mdp("garnet", n_states=20, law=ht.laws.student_t(df=1.5))
    for states in sizes:
        task, mdp = build(states)
        tasks.append(task)
        for horizon in (HORIZON, None):
            for entry in registered("agent"):
                here, tiny = (mdp_with_horizon(each, horizon) for each in (mdp, small))
                found.append(measure(entry.name, here, tiny, BUDGET / 10 if quick else BUDGET))
    return tasks, found


# The tables and the plot


def by_agent(costs: Sequence[Cost], kind: str) -> Iterator[list[Cost]]:
    """Yield the figures of each agent, from the smallest size to the largest."""
    for name in dict.fromkeys(cost.agent for cost in costs):
        if own := [cost for cost in costs if (cost.agent, cost.kind) == (name, kind)]:
            yield own


def limit(cost: Cost, random: float) -> str:
    """Say what limits a figure."""
    return "cache misses of the environment" if cost.ns < NEAR * random else "planning"


def rows(costs: Sequence[Cost], kind: str, sizes: Sequence[int]) -> list[list[str]]:
    """Make the rows of a table."""
    random = {cost.states: cost.ns for cost in costs if (cost.agent, cost.kind) == (RANDOM, kind)}
    made = []
    for own in by_agent(costs, kind):
        last, steps = own[-1], {cost.states: nanoseconds(cost.ns) for cost in own}
        made.append(
            [
                last.agent,
                *(steps.get(states, "-") for states in sizes),
                f"{1e3 * last.first:,.1f}",
                f"{last.make:.2f}",
                amount_of_bytes(last.bytes),
                limit(last, random[last.states]),
            ]
        )
    return made


def draw(costs: Sequence[Cost]) -> None:
    """Write the plot: time per step in episodes and continuing, and memory."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    layout = ConstrainedLayoutEngine(wspace=0.06)  # labels of one panel keep away from the panel before
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.6), layout=layout, sharex=True)
    names = list(dict.fromkeys(cost.agent for cost in costs))
    styles: dict[str, dict[str, Any]] = {
        name: {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": ("-", "--", ":")[i // len(COLOURS)],
            "marker": "os^"[i // len(COLOURS)],
        }
        for i, name in enumerate(names)
    }
    for axes, kind in zip(panels[:2], (EPISODES, CONTINUING), strict=True):
        for own in by_agent(costs, kind):
            axes.plot([c.states for c in own], [c.ns for c in own], **styles[own[0].agent])
        axes.set(xscale="log", yscale="log", ylabel="ns per step, planning included")
    for own in by_agent(costs, EPISODES):
        kept = [cost for cost in own if cost.bytes > 0]
        panels[2].plot([c.states for c in kept], [c.bytes / 1e6 for c in kept], **styles[own[0].agent])
    panels[0].set_title(f"In episodes of {HORIZON} steps")
    panels[1].set_title("Continuing")
    panels[2].set(title="Memory of the agent, in episodes", yscale="log", ylabel="MB")
    for axes in panels:
        axes.set_xlabel(f"states (A = {ACTIONS}, {SUCCESSORS} successors)")
        axes.grid(which="major", color="#E6E6E6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    handles = [Line2D([], [], label=name, **styles[name]) for name in names]
    figure.legend(handles=handles, loc="outside right center", frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, draw, and return the figures."""
    tasks, found = measure_all(quick)
    costs = [each for each in found if isinstance(each, Cost)]
    refusals = [each for each in found if isinstance(each, Refusal)]
    sizes = [task.states for task in tasks]
    print_table(
        f"Random MDPs, A = {ACTIONS}, {SUCCESSORS} successors",
        ["states", "memory", "build, s", "optimal value, s", "gain, s"],
        [
            [f"{t.states:,}", amount_of_bytes(t.bytes), f"{t.build:.2f}", f"{t.value:.2f}", f"{t.gain:.2f}"]
            for t in tasks
        ],
    )
    for kind in (EPISODES, CONTINUING):
        print_table(
            f"Agents in them, {kind}: ns a step from the start, planning included; then for {sizes[-1]:,}",
            ["agent", *(f"{n:,}" for n in sizes), "first, ms", "make, s", "memory", "limited by"],
            rows(costs, kind, sizes),
        )
    for refusal in refusals:
        if refusal.kind == EPISODES:
            print(f"{refusal.agent} with {refusal.states:,} states: {refusal.message}")
    draw(costs)
    print(f"Plotted in docs/{PICTURE.name}")
    return {
        "tasks": [task._asdict() for task in tasks],
        "agents": [cost._asdict() for cost in costs],
        "refused": [refusal._asdict() for refusal in refusals],
    }
