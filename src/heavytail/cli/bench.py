"""The command `bench`: time each tabular agent."""

import time
from typing import Annotated, Any

import typer

import heavytail as ht
from heavytail.cli.app import app, print_json, print_table
from heavytail.errors import InputError

MIN_SECONDS = 0.3  # per agent
WARM_UP = 500  # episodes or steps


def time_agents(env: str) -> list[dict[str, Any]]:
    """Time a step of each agent, with the parameters of its example, in nanoseconds; and count its bytes.

    >>> {row["agent"] for row in time_agents("two_state")} >= {"random", "ucrl2"}
    True
    """
    from heavytail.arrays import record_bytes  # here, because `--help` does without

    mdp, rows = ht.make_mdp(env), []
    for entry in ht.registered("agent"):
        try:
            learner = ht.make_agent(mdp, entry.name, seed=0, **entry.example)
        except InputError:
            continue  # an agent for another kind of problem
        amount = {learner.unit: WARM_UP}
        learner.learn(**amount)  # type: ignore[arg-type]
        steps, started = int(learner.run_state.steps[0]), time.perf_counter()
        while time.perf_counter() - started < MIN_SECONDS:
            learner.learn(**amount)  # type: ignore[arg-type]
            amount = {learner.unit: 2 * next(iter(amount.values()))}
        elapsed = time.perf_counter() - started
        ns = 1e9 * elapsed / (int(learner.run_state.steps[0]) - steps)
        rows.append({"agent": entry.name, "ns": round(ns, 1), "bytes": record_bytes(learner.agent)})
    return rows


@app.command()
def bench(
    env: Annotated[str, typer.Argument(help="An environment with episodes.")] = "six_arms",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time a step of every agent on this machine."""
    rows = time_agents(env)
    if as_json:
        print_json(rows)
    else:
        print_table(f"one step on {env}, one core", rows)
