"""The command `show`: draw an environment."""

from pathlib import Path
from typing import Annotated

import typer

import heavytail as ht
from heavytail.cli.app import app, one_line_errors, parse_parameters


@app.command()
def show(
    env: Annotated[str, typer.Argument(help="An environment; `heavytail list envs` lists them.")],
    parameters: Annotated[list[str] | None, typer.Argument(help="Its parameters as NAME=VALUE.")] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="An .svg or .png file; ENV.svg if left out."),
    ] = None,
) -> None:
    """Draw the transition graph and the reward laws of an environment."""
    with one_line_errors():
        mdp = ht.make_mdp(env, **parse_parameters(parameters))
        from heavytail.files import save_figure  # here, because `--help` does without Matplotlib
        from heavytail.mdp.diagram import draw_mdp

        path = out or Path(f"{env}.svg")
        save_figure(draw_mdp(mdp, title=" ".join([env, *(parameters or [])])), path)
    typer.echo(str(path))
