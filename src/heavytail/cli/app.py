"""The command ``heavytail`` and what its commands share."""

import json
import math
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn, TypeAlias

import typer
from typer.core import TyperGroup

import heavytail as ht
from heavytail.errors import InputError, printable

UsageError: Any = typer.BadParameter.__base__  # that of the click which Typer has, or imports
ORDER = (
    *("reproduce", "run", "resume", "status", "report", "pack", "export"),
    *("learn", "list", "show", "diagnose", "bounds", "compile", "bench"),
)

Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Your own module that registers things, here or on Python's path."),
]


class OrderedGroup(TyperGroup):
    """Commands in the order of `ORDER`, others after them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of commands for ``--help``."""
        return sorted(self.commands, key=lambda name: (*ORDER, name).index(name))

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Parse the words before a command; a mistake is one line, and no words at all print the help."""
        with one_line_errors() if args else nullcontext():
            return super().make_context(info_name, args, *rest, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C, SIGTERM and unknown arguments end it with one line."""
        with _stop_raises():
            try:
                with one_line_errors():
                    return super().invoke(ctx)
            except KeyboardInterrupt as stop:
                typer.echo("heavytail: stopped", err=True)
                raise typer.Exit(stop_status(stop)) from None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; after the plain one ``python -m`` kills itself if it came inside an `exec` of text."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


def stop_status(stop: KeyboardInterrupt) -> int:
    """Return the exit status of a stopped command, as shells define it."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


@contextmanager
def _stop_raises() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise, unless they are ignored."""
    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    handlers = {signal.SIGINT: _interrupt, signal.SIGTERM: _terminate}
    before = {n: signal.getsignal(n) for n in handlers if signal.getsignal(n) != signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, handlers[number])
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


app = typer.Typer(
    cls=OrderedGroup,
    context_settings={"help_option_names": ["--help", "-h"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"heavytail {ht.__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Reinforcement learning when rewards have heavy tails."""
    warnings.showwarning = lambda message, *_, **__: typer.echo(f"heavytail: {message}", err=True)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print a user's mistake as one line, with exit status 2; a bug stays a traceback."""
    try:
        yield
    except (InputError, UsageError) as error:
        line = error if isinstance(error, InputError) else _explain_usage(error)
        typer.echo(f"heavytail: {line}", err=True)
        raise typer.Exit(2) from None


def _explain_usage(error: Any) -> InputError:
    """Turn a usage error into an InputError, with a hint where to read more."""
    text = error.format_message()
    text = text[:1].lower() + text[1:].rstrip(".")
    command = error.ctx.command_path if error.ctx else "heavytail"
    return InputError(text if text.endswith("?") else f"{text}; see: {command} --help")


def parse_parameters(texts: list[str] | None) -> dict[str, Any]:
    """Parse parameters as typed, NAME=VALUE each.

    >>> parse_parameters(["horizon=10", "law=student_t", "symmetric=True"])
    {'horizon': 10, 'law': 'student_t', 'symmetric': True}
    """
    return dict(map(_parse_parameter, texts or []))


def _parse_parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"{text!r} is not a parameter; write NAME=VALUE, as in horizon=10")
    try:
        return name, json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value))
    except (ValueError, RecursionError):  # not JSON, or thousands of digits or brackets
        return name, value


def use_plugins(modules: list[str] | None) -> None:
    """Import modules, also from the current folder."""
    if modules:
        from heavytail.studies.plugins import import_plugins  # here, for start-up

        import_plugins(modules, Path.cwd())


def print_json(value: Any) -> None:
    """Print a value as JSON, which has no infinity: it becomes the word "inf"."""
    typer.echo(json.dumps(_replace_infinities(value), indent=1, allow_nan=False))


def _replace_infinities(value: Any) -> Any:
    match value:
        case dict():
            return {key: _replace_infinities(item) for key, item in value.items()}
        case list():
            return [_replace_infinities(item) for item in value]
        case float() if math.isinf(value):
            return "inf"
    return value


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows of equal keys; columns of numbers are aligned on the right."""
    from rich.console import Console  # here, because `--help` and `--json` do without
    from rich.table import Table
    from rich.text import Text

    # Text is not parsed as markup: titles and labels come from outside.
    heading = Text(printable(title), style="table.title")
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    for name in rows[0]:
        numeric = all(row[name] is None or isinstance(row[name], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name == "name" or numeric)
    for row in rows:
        table.add_row(*(Text(printable(_format_cell(value))) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 140).print(table, "")


def _format_cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.4f}".rstrip("0").rstrip(".")
        case list():
            return ", ".join(value)
    return str(value)
