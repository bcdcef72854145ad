"""The command ``heavytail`` and what all its commands share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from heavytail.errors import InputError

app = typer.Typer(
    help="Reinforcement learning when rewards have heavy tails.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Rows of equal keys, on the terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in rows[0]:
        numeric = name in ("S", "A", "H", "value", "gain", "diameter", "parts", "done", "ns", "bytes")
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
