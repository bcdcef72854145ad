"""Resume files: the state of long work, which says what it belongs to.

Work goes on from a file only if it was left by the same work: a file of another part, or a damaged one, is
set aside under another name, and the work begins again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from heavytail.errors import InputError
from heavytail.files import Arrays, read_arrays, write_arrays

OWNER = "heavytail.owner"  # the entry that says whose state it is
SET_ASIDE = ".damaged"  # the end of the name of a file that was set aside
T = TypeVar("T")


def take_up(path: Path | None, load: Callable[[Path], T], say: Callable[[str], object]) -> T | None:
    """Load the state that was left in a file; None if there is none that can be used.

    Args:
        path: of the file; None where nothing is saved.
        load: reads it, and raises InputError if it is damaged or of other work.
        say: is told of a file that was set aside.
    """
    if path is None or not path.exists():
        return None
    try:
        return load(path)
    except InputError as error:
        aside = path.with_name(path.name + SET_ASIDE)
        path.replace(aside)
        say(f"{error}; it was set aside as {aside.name}, and its work begins again")
        return None


def write_state(path: Path, owner: str, arrays: Arrays) -> None:
    """Write the state of work that has this id."""
    write_arrays(path, {OWNER: np.frombuffer(owner.encode(), np.uint8), **arrays})


def read_state(path: Path, owner: str) -> Arrays:
    """Read the state of work that has this id; one of other work is an error."""
    arrays = read_arrays(path, "resume file of a study")
    require_owner(path, arrays.pop(OWNER, np.zeros(0, np.uint8)).tobytes().decode(errors="replace"), owner)
    return arrays


def require_owner(path: Path, found: str, owner: str) -> None:
    """Raise InputError if a file was left by other work."""
    if found != owner:
        raise InputError(f"{path} was left by other work ({found[:20] or 'unknown'}), not by {owner[:20]}")
