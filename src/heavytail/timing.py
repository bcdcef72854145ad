"""How long a step of each agent takes, and how much it remembers."""

import time
from typing import Any

from heavytail.arrays import record_bytes
from heavytail.envs import make_mdp
from heavytail.errors import InputError
from heavytail.learner import make_agent
from heavytail.registry import registered

SECONDS = 0.3
WARM_UP = 500


def time_agents(env: str) -> list[dict[str, Any]]:
    """A row per agent, with the parameters of its example: nanoseconds a step after a short while of learning, and bytes.

    >>> {row["agent"] for row in time_agents("two_state")} >= {"random", "ucrl2"}
    True
    """
    mdp, rows = make_mdp(env), []
    for found in registered("agent"):
        try:
            learner = make_agent(found.name, mdp, seed=0, **found.example)
        except InputError:
            continue  # an agent for another kind of problem
        amount = {learner.unit: WARM_UP}
        learner.learn(**amount)  # type: ignore[arg-type]
        steps, started = int(learner.clock.steps[0]), time.perf_counter()
        while time.perf_counter() - started < SECONDS:
            learner.learn(**amount)  # type: ignore[arg-type]
            amount = {learner.unit: 2 * next(iter(amount.values()))}
        elapsed = time.perf_counter() - started
        ns = 1e9 * elapsed / (int(learner.clock.steps[0]) - steps)
        rows.append({"agent": found.name, "ns": round(ns, 1), "bytes": record_bytes(learner.agent)})
    return rows
