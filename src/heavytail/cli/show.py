"""The command `show`: draw an environment."""

from pathlib import Path
from typing import Annotated

import typer

import heavytail as ht
from heavytail.cli.app import app, one_line_errors
from heavytail.cli.list import parameter_of


@app.command()
def show(
    env: Annotated[str, typer.Argument(help="an environment; `heavytail list envs` lists them")],
    parameters: Annotated[list[str] | None, typer.Argument(help="its parameters as NAME=VALUE")] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="the .svg or .png file to write; ENV.svg if left out"),
    ] = None,
) -> None:
    """Draw the transition graph and the reward laws of an environment."""
    with one_line_errors():
        mdp = ht.make_mdp(env, **dict(parameter_of(text) for text in parameters or []))
        from heavytail.mdp.diagram import draw_mdp, save_figure  # matplotlib starts slowly

        path = out or Path(f"{env}.svg")
        save_figure(draw_mdp(mdp, title=" ".join([env, *(parameters or [])])), path)
    typer.echo(str(path))
