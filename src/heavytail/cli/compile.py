"""The command `compile`: compile agents ahead, for images and services."""

import time
from typing import Annotated

import typer

import heavytail as ht
from heavytail.cli.app import Plugins, app, use_plugins
from heavytail.errors import InputError
from heavytail.registry import Registered, find, registered


@app.command("compile")
def compile_agents(
    agents: Annotated[
        list[str] | None, typer.Argument(help="Agents; by default all. `heavytail list agents` lists them.")
    ] = None,
    *,
    plugin: Plugins = None,
) -> None:
    """Compile agents ahead of their first use, for images and services.

    Machine code is kept in $HEAVYTAIL_CACHE_DIR, or in the user's cache folder, for this kind of processor.
    """
    use_plugins(plugin)
    for entry in [find("agent", name) for name in agents] if agents else registered("agent"):
        started = time.perf_counter()
        _compile(entry)
        typer.echo(f"{entry.name}: {time.perf_counter() - started:.1f} s")


def _compile(entry: Registered) -> None:
    """Compile the calls of an OnlineAgent, and what `learn` runs in an MDP; sizes do not matter."""
    try:
        agent = ht.make_online(2, 2, entry.name, seed=0, horizon=2, **entry.example)
    except InputError:  # it needs an MDP
        pass
    else:
        agent.warm_up()
    ht.make_agent(ht.make_mdp("two_state", horizon=2), entry.name, seed=0, **entry.example).learn(episodes=1)
