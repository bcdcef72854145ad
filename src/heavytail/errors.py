"""Errors that a user can fix, and helpers for their one-line messages."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

MAX_MESSAGE = 1000  # characters; a path may be long
MAX_CHOICES = 30  # listed in a message
# control characters, line ends, changes of writing direction, and surrogates
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class InputError(ValueError):
    """A mistake in the user's input; the message is one line and names the remedy.

    Whatever input it quotes, it stays one line that a terminal can show, of at most `MAX_MESSAGE` characters.
    """

    def __init__(self, message: str) -> None:
        line, half = printable(message), MAX_MESSAGE // 2 - 3
        super().__init__(line if len(line) <= MAX_MESSAGE else f"{line[:half]} ... {line[-half:]}")


def printable(text: str) -> str:
    r"""Write outside text as one line that is safe in a terminal: control characters become escapes.

    >>> printable("two\nlines")
    'two\\nlines'
    """
    return UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def install_extra(extra: str) -> str:
    """Return how to install an extra, from a clone: heavytail is not on a package index yet.

    >>> install_extra("deep")
    "install heavytail's extra 'deep', in its clone by: pip install '.[deep]'"
    """
    return f"install heavytail's extra {extra!r}, in its clone by: pip install '.[{extra}]'"


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
    except (ValueError, RecursionError):  # a number with thousands of digits, or a list that contains itself
        text = f"a {type(value).__name__} too large to show"
    return " ".join(text.split())[:60]


def short_text(text: str, length: int = 200) -> str:
    """Quote another message: its first line, with the middle cut out if it is long.

    >>> short_text("a very long message", length=11)
    'a ve...sage'
    """
    line = next(iter(text.splitlines()), "")
    half = (length - 3) // 2
    return line if len(line) <= length else f"{line[:half]}...{line[-half:]}"


def one_line(error: BaseException) -> str:
    """Show an error inside another message.

    >>> one_line(KeyError("agent"))
    "KeyError: 'agent'"
    """
    return short_text(
        str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}", 300
    )


def show_count(n: int) -> str:
    """Show a number of things, however many.

    >>> show_count(12_345), show_count(10**400)
    ('12,345', '1e+300')
    """
    return f"{n:,}" if n < 10**15 else f"{min(n, 1e300):.3g}"


def and_more(n: int) -> str:
    """Return the end of a list in a message that leaves out `n` items.

    >>> f"row 7{and_more(1200)}", f"row 7{and_more(0)}"
    ('row 7 and 1,200 more', 'row 7')
    """
    return f" and {n:,} more" if n > 0 else ""


def show_bytes(n: float) -> str:
    """Show an amount of memory.

    >>> show_bytes(4096), show_bytes(23.6e9), show_bytes(10**400)
    ('4.1 kB', '23.6 GB', '1e+282 EB')
    """
    n = min(n, 1e300)  # larger whole numbers do not fit in a float
    for unit, size in (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{float(f'{n / size:.3g}'):,g} {unit}"
    return f"{n / 1e3:.1f} kB"


def show_duration(seconds: float) -> str:
    """Show a duration.

    >>> [show_duration(x) for x in (0.31, 42.0, 372.0, 7300.0, 1e6, 1e12)]
    ['0.3 s', '42 s', '6 min 12 s', '2 h 1 min', '12 days', '31,688 years']
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, days, years = minutes // 60, seconds / 86_400, seconds / 31_557_600
    if minutes < 60:
        return f"{minutes} min {rest} s"
    if days < 5:
        return f"{hours} h {minutes % 60} min"
    return f"{days:,.0f} days" if years < 2 else f"{years:,.0f} years"


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error message: the nearest valid choice, or all if there are not too many.

    >>> suggestion("q_lerning", ["q_learning", "random"])
    "did you mean 'q_learning'?"
    >>> suggestion("x", ["q_learning", "random"])
    'choose from: q_learning, random'
    """
    known = sorted(choices)
    near = get_close_matches(word[:60], known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    more = and_more(len(known) - MAX_CHOICES)
    return f"choose from: {', '.join(known[:MAX_CHOICES]) or 'nothing yet'}{more}"
