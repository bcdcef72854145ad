"""Places and values of a spec as messages name them: short, on one line."""

import re
from collections.abc import Iterable
from typing import Any


def place_of(keys: Iterable[str]) -> str:
    """Where something stands in a file: its keys with dots between, quoted where they need it."""
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else f"{key!r:.60}" for key in keys)


def shown(value: Any) -> str:
    """A value in a message: short, on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, a list that holds itself
        text = f"a {type(value).__name__} too large to show"
    return " ".join(text.split())[:60]
