"""The command `bench`: time each tabular agent."""

import json
import time
from typing import Annotated, Any

import typer

import heavytail as ht
from heavytail.cli.app import app, one_line_errors, print_table
from heavytail.errors import InputError

SECONDS = 0.3
WARM_UP = 500


def time_agents(env: str) -> list[dict[str, Any]]:
    """A row per agent, with the parameters of its example.

    Nanoseconds a step after a short while of learning, and bytes.

    >>> {row["agent"] for row in time_agents("two_state")} >= {"random", "ucrl2"}
    True
    """
    from heavytail.arrays import record_bytes  # here, because the command must start without NumPy

    mdp, rows = ht.make_mdp(env), []
    for found in ht.registered("agent"):
        try:
            learner = ht.make_agent(found.name, mdp, seed=0, **found.example)
        except InputError:
            continue  # an agent for another kind of problem
        amount = {learner.unit: WARM_UP}
        learner.learn(**amount)  # type: ignore[arg-type]
        steps, started = int(learner.run_state.steps[0]), time.perf_counter()
        while time.perf_counter() - started < SECONDS:
            learner.learn(**amount)  # type: ignore[arg-type]
            amount = {learner.unit: 2 * next(iter(amount.values()))}
        elapsed = time.perf_counter() - started
        ns = 1e9 * elapsed / (int(learner.run_state.steps[0]) - steps)
        rows.append({"agent": found.name, "ns": round(ns, 1), "bytes": record_bytes(learner.agent)})
    return rows


@app.command()
def bench(
    env: Annotated[str, typer.Argument(help="an environment in episodes")] = "six_arms",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
) -> None:
    """Time a step of every agent on this machine; the figures of the README come from `make bench`."""
    with one_line_errors():
        rows = time_agents(env)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
    else:
        print_table(f"one step on {env}, one core", rows)
