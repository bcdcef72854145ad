"""The command `show`: draw an environment, or the MDP of a file or log."""

from pathlib import Path
from typing import Annotated

import typer

import heavytail as ht
from heavytail.cli._env_files import is_env_file, make_single_mdp
from heavytail.cli.app import app, parse_parameters


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
            help="Its parameters as NAME=VALUE; for a log its columns, such as state=queue,hour action=server"
            " reward=r next_state=queue2,hour2 (a bandit's log has no next state)."
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="An .svg, .pdf or .png file; by default ENV.svg.")
    ] = None,
) -> None:
    """Draw the transition graph and the reward laws of an environment."""
    mdp = make_single_mdp(env, parse_parameters(parameters), "a picture shows")
    if isinstance(mdp, ht.LoggedMDP):
        typer.echo(repr(mdp))
    from heavytail.files import save_figure  # here, because `--help` does without Matplotlib
    from heavytail.mdp.diagram import draw_mdp

    name = Path(env).stem if is_env_file(env) else env
    title = name if is_env_file(env) else " ".join([env, *(parameters or [])])
    path = out or Path(f"{name}.svg")
    save_figure(draw_mdp(mdp, title=title), path)
    typer.echo(str(path))
