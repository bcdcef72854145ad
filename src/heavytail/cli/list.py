"""The command `list`: everything that can be built by name, and the parameters of one thing."""

from enum import StrEnum
from typing import Annotated, Any

import typer

import heavytail as ht
from heavytail.cli.app import Plugins, app, print_json, print_table, use_plugins
from heavytail.description import Description, find_descriptions
from heavytail.registry import Kind, Registered


class What(StrEnum):
    """The groups that can be listed."""

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
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND|NAME]",
            help="One kind only (agents, envs, estimators, laws, deep), or the name of a thing to explain.",
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plugin: Plugins = None,
) -> None:
    """List everything that can be built by name, or explain one thing with all of its parameters."""
    use_plugins(plugin)
    if what is None or what in list(What):
        _list_kinds(list(What) if what is None else [What(what)], as_json)
    else:
        _explain(what, as_json)


def _list_kinds(kinds: list[What], as_json: bool) -> None:
    tables = {kind.value: _rows(kind) for kind in kinds}
    if as_json:
        print_json(tables)
        return
    for title, rows in tables.items():
        print_table(title, rows)
    typer.echo("`heavytail list NAME` explains one of them, with every parameter.")


def _explain(name: str, as_json: bool) -> None:
    """Print the descriptions of everything with this name."""
    found = find_descriptions(name, other_names=[kind.value for kind in What])
    if as_json:
        print_json([{**each._asdict(), "parameters": _as_rows(each)} for each in found])
        return
    for each in found:
        typer.echo(f"{each.title}\n\n{each.about}\n")
        if each.parameters:
            print_table("parameters", _as_rows(each))


def _as_rows(description: Description) -> list[dict[str, Any]]:
    rows = [each._asdict() for each in description.parameters]
    return [{**row, "default": row["default"] or "required"} for row in rows]


def _rows(what: What) -> list[dict[str, Any]]:
    return _deep_rows() if what is What.deep else [_row(what, entry) for entry in ht.registered(KINDS[what])]


def _deep_rows() -> list[dict[str, Any]]:
    """List deep agents and compiled environments; their names need no JAX."""
    from heavytail.deep.settings import ENV_PARAMETERS, agent_parameters  # here, for start-up

    agents = [
        {
            "name": entry.name,
            "parameters": list(agent_parameters(entry.name)),
            "about": entry.doc.partition("\n")[0],
        }
        for entry in ht.registered("deep_agent")
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
    """Return sizes and exact optima, where they exist."""
    if any(p.default is p.empty for p in entry.parameters.values()):  # it cannot be built without arguments
        return dict.fromkeys(("S", "A", "H", "value", "gain", "diameter"))
    made, planning = ht.make_mdp(entry.name), ht.planning
    mdp, *others = made.mdps if isinstance(made, ht.ChangingMDP) else [made]
    long_run = mdp.n_stages == 1 and not others
    return {
        "S": mdp.n_states,
        "A": mdp.n_actions,
        "H": mdp.horizon or None,
        "value": planning.optimal_value(mdp) if mdp.horizon > 0 and not others else None,
        "gain": planning.gain(mdp) if long_run else None,
        "diameter": planning.diameter(mdp) if long_run else None,
    }
