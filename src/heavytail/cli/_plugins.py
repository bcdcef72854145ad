"""The option `--plugin`: modules of one's own for commands that read no spec."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="A module of your own that registers things, here or on Python's path."),
]


def use_plugins(modules: list[str] | None) -> None:
    """Import modules, also from the folder that the command is given in."""
    if modules:
        from heavytail.studies.plugins import import_plugins  # here, for start-up

        import_plugins(modules, Path.cwd())
