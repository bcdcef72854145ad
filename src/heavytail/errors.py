"""Read a spec: TOML or a dictionary into models, or one line that says what is wrong and where."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def key_path(keys: Iterable[str]) -> str:
    """Where something stands in a file: its keys with dots between, quoted where they need it."""
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else f"{key!r:.60}" for key in keys)


def short_repr(value: Any) -> str:
    """A value in a message: short, on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, a list that holds itself
        text = f"a {type(value).__name__} too large to show"
    return " ".join(text.split())[:60]


class InputError(ValueError):
    """A mistake in what was given to heavytail; the message is one line and names the remedy."""


def suggestion(word: str, choices: Iterable[str]) -> str:
    """The end of an error message: the nearest valid choice, or all of them.

    >>> suggestion("q_lerning", ["q_learning", "random"])
    "did you mean 'q_learning'?"
    >>> suggestion("x", ["q_learning", "random"])
    'choose from: q_learning, random'
    """
    known = sorted(choices)
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from: {', '.join(known) or 'nothing yet'}"
