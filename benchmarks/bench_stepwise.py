"""One transition at a time: `act` and `update` of an agent for a loop of one's own, beside the textbook.

Nothing else is measured: states and rewards are drawn before. The textbook is `_peers.python_q_learning` as a
class, which is how one would write it for a service.
"""

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import gymnasium

import heavytail as ht
from _figures import best_of, cpu_seconds, nanoseconds, print_table, scaled, verdict
from _peers import BONUS, R_MAX, A, H, S

STEPS, REPEATS = 200_000, 7
LIMIT = 1000.0  # ns


class Textbook:
    """Q-learning in lists, one transition at a time."""

    def __init__(self) -> None:
        self.q = [[[(H - h) * R_MAX] * A for _ in range(S)] for h in range(H)]
        self.visits = [[[0] * A for _ in range(S)] for _ in range(H)]

    def act(self, s: int, h: int) -> int:
        """Return the best action."""
        row = self.q[h][s]
        return row.index(max(row))

    def update(self, s: int, a: int, r: float, s_next: int, h: int) -> None:
        """Learn from a transition."""
        self.visits[h][s][a] += 1
        t = self.visits[h][s][a]
        rate = (H + 1) / (H + t)
        value = min((H - h - 1) * R_MAX, max(self.q[h + 1][s_next])) if h + 1 < H else 0.0
        row = self.q[h][s]
        row[a] = (1 - rate) * row[a] + rate * (r + value + BONUS / math.sqrt(t))


def transitions(steps: int) -> list[tuple[int, int, float, int]]:
    """Draw steps, states, rewards and next states."""
    rng = Random(1)  # noqa: S311 - no secrets here
    return [(i % H, rng.randrange(S), rng.gauss(1.0, 1.0), rng.randrange(S)) for i in range(steps)]


def empty_cost(steps: int) -> float:
    """Measure the loop alone."""
    drawn, started = transitions(steps), cpu_seconds()
    for _h, _s, _r, _s_next in drawn:
        pass
    return (cpu_seconds() - started) / steps * 1e9


def textbook_cost(steps: int) -> float:
    """Measure the textbook."""
    agent, drawn = Textbook(), transitions(steps)
    started = cpu_seconds()
    for h, s, r, s_next in drawn:
        agent.update(s, agent.act(s, h), r, s_next, h)
    return (cpu_seconds() - started) / steps * 1e9


def agent_cost(new_agent: Callable[[], ht.OnlineAgent[Any]], steps: int) -> float:
    """Measure an agent of ours, which counts steps and episodes itself."""
    agent, drawn = new_agent().warm_up(), transitions(steps)
    states = list(agent.states)
    named = [(states[s], r, states[s_next]) for _, s, r, s_next in drawn]
    started = cpu_seconds()
    for s, r, s_next in named:
        agent.update(s, agent.act(s), r, s_next)
    return (cpu_seconds() - started) / steps * 1e9


def gymnasium_cost(steps: int, learns: bool) -> float:
    """Measure a loop over an environment of Gymnasium's, with an agent or with its first action."""
    env = gymnasium.make("FrozenLake-v1")
    agent = ht.make_online(16, 4, "q_learning", seed=0, horizon=100).warm_up()
    s, _ = env.reset(seed=1)
    started = cpu_seconds()
    for _ in range(steps):
        a = agent.act(s) if learns else 0
        s_next, r, terminated, truncated, _ = env.step(a)
        if learns:
            agent.update(s, a, float(r), s_next, terminated=terminated, truncated=truncated)
        s = env.reset()[0] if terminated or truncated else s_next
    return (cpu_seconds() - started) / steps * 1e9


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    steps = scaled(STEPS, quick)
    names = [f"state {i}" for i in range(S)]
    q_learning = partial(ht.make_online, S, A, "q_learning", horizon=H)
    agents: dict[str, Callable[[], float]] = {
        "loop": partial(empty_cost, steps),
        "textbook, pure Python": partial(textbook_cost, steps),
        "q_learning": partial(agent_cost, q_learning, steps),
        "heavy_q_learning": partial(
            agent_cost, partial(ht.make_online, S, A, "heavy_q_learning", horizon=H), steps
        ),
        "heavy_psrl, no end": partial(agent_cost, partial(ht.make_online, S, A), steps),
        "q_learning, labelled states": partial(
            agent_cost, partial(ht.make_online, names, A, "q_learning", horizon=H), steps
        ),
    }
    measured = best_of(REPEATS, agents)
    loop = measured.pop("loop")
    costs = {name: cost - loop for name, cost in measured.items()}
    textbook = costs["textbook, pure Python"]
    rows = [
        [name, nanoseconds(cost), f"{cost / textbook:.2f}", verdict(cost, LIMIT)]
        for name, cost in costs.items()
    ]
    print_table(
        f"act and update, one transition at a time ({S} states, {A} actions)",
        ["", "ns", "of the textbook", f"< {LIMIT:.0f} ns"],
        rows,
    )
    lake = best_of(
        REPEATS,
        {
            "alone": partial(gymnasium_cost, scaled(STEPS // 4, quick), learns=False),
            "with q_learning": partial(gymnasium_cost, scaled(STEPS // 4, quick), learns=True),
        },
    )
    ratio = lake["with q_learning"] / lake["alone"]
    print(
        f"Gymnasium's FrozenLake: {lake['alone']:,.0f} ns a step alone, with an agent {ratio:.2f} times that."
    )
    return {"ns": costs, "frozen_lake_ns": lake}
