"""The command `show`: draw an environment, the MDP of a file, or that of a log."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import heavytail as ht
from heavytail.cli.app import app, one_line_errors, parse_parameters
from heavytail.errors import InputError, suggestion

if TYPE_CHECKING:
    from heavytail import MDP, LoggedMDP

LOGS = (".parquet", ".csv")
LISTS = ("state", "action", "next_state")  # of columns, with commas
REQUIRED = ("state", "action", "reward")  # columns of a log


@app.command()
def show(
    env: Annotated[
        str,
        typer.Argument(
            help="An environment (`heavytail list envs`), an MDP's .npz file, or a log (.parquet or .csv)."
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            help="Its parameters as NAME=VALUE; of a log its columns, as state=queue,hour action=server"
            " reward=r next_state=queue2,hour2 (which a bandit's log has not)."
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="An .svg, .pdf or .png file; ENV.svg if left out."),
    ] = None,
) -> None:
    """Draw the transition graph and the reward laws of an environment."""
    with one_line_errors():
        mdp = _make(env, parse_parameters(parameters))
        if isinstance(mdp, ht.LoggedMDP):
            typer.echo(repr(mdp))
        from heavytail.files import save_figure  # here, because `--help` does without Matplotlib
        from heavytail.mdp.diagram import draw_mdp

        file = Path(env).suffix in (*LOGS, ".npz")
        path = out or Path(f"{Path(env).stem if file else env}.svg")
        title = Path(env).stem if file else " ".join([env, *(parameters or [])])
        save_figure(draw_mdp(mdp, title=title), path)
    typer.echo(str(path))


def _make(env: str, parameters: dict[str, Any]) -> "MDP | LoggedMDP":
    if Path(env).suffix in LOGS:
        return _from_log(env, parameters)
    if Path(env).suffix != ".npz":
        return ht.make_mdp(env, **parameters)
    if parameters:
        raise InputError(f"{env} is built already, so there is nothing to build with {', '.join(parameters)}")
    mdp = ht.load_mdp(env)
    if isinstance(mdp, ht.ChangingMDP):
        raise InputError(f"{env} holds {len(mdp.mdps)} MDPs that follow each other; a picture shows one")
    return mdp


def _from_log(path: str, parameters: dict[str, Any]) -> "LoggedMDP":
    known = list(inspect.signature(ht.mdp_from_log).parameters)[1:]
    for name in parameters:
        if name not in known:
            raise InputError(f"a log has no parameter {name!r}; {suggestion(name, known)}")
    if missing := [name for name in REQUIRED if name not in parameters]:
        raise InputError(f"{path} is a log: say which column is the {missing[0]}, as {missing[0]}=COLUMN")
    split = {name: _columns(value) if name in LISTS else value for name, value in parameters.items()}
    return ht.mdp_from_log(path, **split)


def _columns(value: Any) -> Any:
    """The columns of a list with commas; what is none is said later."""
    return value.split(",") if isinstance(value, str) and "," in value else value
