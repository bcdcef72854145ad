"""What a user's mistake looks like: one line that says what is wrong, where, and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches


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
