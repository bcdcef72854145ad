"""The command ``heavytail``: thin, typed commands over the library."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import heavytail as ht
from heavytail.errors import InputError
from heavytail.registry import Kind, Registered

app = typer.Typer(
    help="Reinforcement learning when rewards have heavy tails.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


class What(StrEnum):
    """What can be listed."""

    agents = "agents"
    envs = "envs"
    estimators = "estimators"
    laws = "laws"


KINDS: dict[What, Kind] = {What.agents: "agent", What.envs: "env", What.estimators: "estimator", What.laws: "law"}


@contextmanager
def one_line_errors() -> Iterator[None]:
    """A user's mistake is one line and exit status 2; a program's mistake stays a traceback."""
    try:
        yield
    except InputError as error:
        typer.echo(f"heavytail: {error}", err=True)
        raise typer.Exit(2) from None


@app.callback()
def main() -> None:
    """Reinforcement learning when rewards have heavy tails."""


@app.command("list")
def list_things(
    what: Annotated[What | None, typer.Argument(help="all of them if left out")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
) -> None:
    """List what can be built by name, with its parameters; environments with what is exactly true of them."""
    found = {each.value: [_row(each, r) for r in ht.registered(KINDS[each])] for each in ([what] if what else What)}
    if as_json:
        typer.echo(json.dumps(_finite(found), indent=1, allow_nan=False))
        return
    for name, rows in found.items():
        _print_table(name, rows)


@app.command()
def show(
    env: Annotated[str, typer.Argument(help="an environment; `heavytail list envs` lists them")],
    parameters: Annotated[list[str] | None, typer.Argument(help="its parameters as NAME=VALUE")] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="where to draw it: an .svg or .png file; ENV.svg if left out")] = None,
) -> None:
    """Draw the transition graph and the reward laws of an environment."""
    with one_line_errors():
        mdp = ht.make_mdp(env, **dict(_parameter(text) for text in parameters or []))
        from heavytail.report.graph import draw_mdp, save_figure

        path = out or Path(f"{env}.svg")
        save_figure(draw_mdp(mdp, title=" ".join([env, *(parameters or [])])), path)
    typer.echo(str(path))


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"{text!r} is no parameter; write NAME=VALUE, as in horizon=10")
    try:
        return name, json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value))
    except json.JSONDecodeError:
        return name, value


def _row(what: What, entry: Registered) -> dict[str, Any]:
    about = entry.doc.splitlines()[0] if entry.doc else ""
    parameters = [name for name in entry.parameters if name != "problem"]
    facts = _facts(entry) if what is What.envs else {}
    return {"name": entry.name, **facts, "parameters": parameters, "about": about}


def _facts(entry: Registered) -> dict[str, Any]:
    """Sizes and exact optima, where they exist."""
    if any(p.default is p.empty for p in entry.parameters.values()):  # an environment that cannot be built without being told how
        return dict.fromkeys(("S", "A", "H", "value", "gain", "diameter"))
    mdp, planning = ht.make_mdp(entry.name), ht.planning
    return {
        "S": mdp.n_states,
        "A": mdp.n_actions,
        "H": mdp.horizon or None,
        "value": planning.optimal_value(mdp) if mdp.horizon else None,
        "gain": _if(mdp.n_stages == 1, planning.gain, mdp),
        "diameter": _if(mdp.n_stages == 1, planning.diameter, mdp),
    }


def _if(there: bool, fact: "Callable[[ht.MDP], float]", mdp: "ht.MDP") -> float | None:
    return fact(mdp) if there else None


def _finite(value: Any) -> Any:
    """JSON has no infinity: it becomes a word."""
    match value:
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list():
            return [_finite(each) for each in value]
        case float() if math.isinf(value):
            return "inf"
    return value


def _print_table(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in rows[0]:
        numeric = name in ("S", "A", "H", "value", "gain", "diameter")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name == "name" or numeric)
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    Console(width=None if sys.stdout.isatty() else 140).print(table, "")


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.4f}".rstrip("0").rstrip(".")
        case list():
            return ", ".join(value)
    return str(value)
