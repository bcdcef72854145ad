"""What there is, and how fast: list, show, bench."""

import json
import math
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

import heavytail as ht
from heavytail.cli.app import app, print_table
from heavytail.errors import InputError
from heavytail.registry import Kind, Registered


class What(StrEnum):
    """What can be listed."""

    agents = "agents"
    envs = "envs"
    estimators = "estimators"
    laws = "laws"
    deep = "deep"


KINDS: dict[What, Kind] = {
    What.agents: "agent",
    What.envs: "env",
    What.estimators: "estimator",
    What.laws: "law",
}


@app.command("list")
def list_things(
    what: Annotated[What | None, typer.Argument(help="all of them if left out")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
) -> None:
    """List what can be built by name, with its parameters; environments with what is exactly true of them."""
    found = {each.value: _rows(each) for each in ([what] if what else What)}
    if as_json:
        typer.echo(json.dumps(finite(found), indent=1, allow_nan=False))
        return
    for name, rows in found.items():
        print_table(name, rows)


def parameter_of(text: str) -> tuple[str, Any]:
    """A parameter as it is typed, NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"{text!r} is no parameter; write NAME=VALUE, as in horizon=10")
    try:
        return name, json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value))
    except json.JSONDecodeError:
        return name, value


def _rows(what: What) -> list[dict[str, Any]]:
    return _deep_rows() if what is What.deep else [_row(what, entry) for entry in ht.registered(KINDS[what])]


def _deep_rows() -> list[dict[str, Any]]:
    """Deep agents and compiled environments; their names need no JAX."""
    from heavytail.deep.settings import AGENT_PARAMETERS, AGENTS, ENV_PARAMETERS

    agents = [
        {
            "name": name,
            "parameters": list(AGENT_PARAMETERS),
            "about": "DQN with a reward transform; by default Heavy-DQN",
        }
        for name in AGENTS
    ]
    return agents + [_deep_env_row(entry, list(ENV_PARAMETERS)) for entry in ht.registered("deep_env")]


def _deep_env_row(entry: Registered, parameters: list[str]) -> dict[str, Any]:
    about, limit = entry.doc.partition("\n")[0], entry.builder().max_episode_steps
    if limit is not None:
        about = f"{about.rstrip('.')}; episodes of at most {limit:,} steps"
    return {"name": entry.name, "parameters": parameters, "about": about}


def _row(what: What, entry: Registered) -> dict[str, Any]:
    about = entry.doc.splitlines()[0] if entry.doc else ""
    parameters = [name for name in entry.parameters if name != "problem"]
    facts = _facts(entry) if what is What.envs else {}
    return {"name": entry.name, **facts, "parameters": parameters, "about": about}


def _facts(entry: Registered) -> dict[str, Any]:
    """Sizes and exact optima, where they exist."""
    if any(
        p.default is p.empty for p in entry.parameters.values()
    ):  # an environment that cannot be built without being told how
        return dict.fromkeys(("S", "A", "H", "value", "gain", "diameter"))
    (mdp, *others), planning = ht.make_changing_mdp(entry.name).mdps, ht.planning
    long_run = mdp.n_stages == 1 and not others
    return {
        "S": mdp.n_states,
        "A": mdp.n_actions,
        "H": mdp.horizon or None,
        "value": _if(mdp.horizon > 0 and not others, planning.optimal_value, mdp),
        "gain": _if(long_run, planning.gain, mdp),
        "diameter": _if(long_run, planning.diameter, mdp),
    }


def _if(there: bool, fact: "Callable[[ht.MDP], float]", mdp: "ht.MDP") -> float | None:
    return fact(mdp) if there else None


def finite(value: Any) -> Any:
    """JSON has no infinity: it becomes a word."""
    match value:
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list():
            return [finite(each) for each in value]
        case float() if math.isinf(value):
            return "inf"
    return value
