"""Errors that a user can remedy, and the pieces of which their one-line messages are made."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class InputError(ValueError):
    """A mistake in what was given to heavytail; the message is one line and names the remedy."""


def key_path(keys: Iterable[str]) -> str:
    """Join the keys that lead to a value in a file with dots, quoted where they need it.

    >>> key_path(["envs", "six arms", "horizon"])
    "envs.'six arms'.horizon"
    """
    return ".".join(key[:60] if re.fullmatch(r"[\w-]+", key) else f"{key!r:.60}" for key in keys)


def short_repr(value: Any) -> str:
    """Show a value in a message: on one line, in at most 60 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, a list that holds itself
        text = f"a {type(value).__name__} too large to show"
    return " ".join(text.split())[:60]


def short_text(text: str, length: int = 200) -> str:
    """Show in a message what another message says: its first line, with its middle left out if it is long.

    >>> short_text("a very long message", length=11)
    'a ve...sage'
    """
    line = next(iter(text.splitlines()), "")
    half = (length - 3) // 2
    return line if len(line) <= length else f"{line[:half]}...{line[-half:]}"


def one_line(error: BaseException) -> str:
    """Show an error in a message of one's own.

    >>> one_line(KeyError("agent"))
    "KeyError: 'agent'"
    """
    return short_text(
        str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}", 300
    )


def suggestion(word: str, choices: Iterable[str]) -> str:
    """End an error message with the nearest valid choice, or with all of them.

    >>> suggestion("q_lerning", ["q_learning", "random"])
    "did you mean 'q_learning'?"
    >>> suggestion("x", ["q_learning", "random"])
    'choose from: q_learning, random'
    """
    known = sorted(choices)
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from: {', '.join(known) or 'nothing yet'}"
