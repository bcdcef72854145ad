"""An MDP that changes: a sequence of MDPs of one shape, and the times of the changes.

The agent is not told. With episodes, a change comes between two of them; in a continuing problem it comes
between two steps, and the state stays the same.
"""

import math
import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from heavytail.errors import InputError, short_repr
from heavytail.mdp.mdp import MDP


class ChangingMDP(NamedTuple):
    """Several MDPs, one after the other; made by `changing_mdp`."""

    mdps: tuple[MDP, ...]
    at: tuple[int, ...]  # episodes, or steps in a continuing problem, after which the next MDP begins
    # the same MDPs with other numbers for runs to record in place of expected rewards, if any
    recorded: tuple[MDP, ...] = ()

    def __repr__(self) -> str:
        return f"ChangingMDP({self.mdps[0]!r} first, changes={len(self.at):,})"

    @property
    def played(self) -> tuple[MDP, ...]:
        """The MDPs in which runs step, with the numbers they record."""
        return self.recorded or self.mdps

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as `MDP.save` does."""
        from heavytail.mdp.mdp_file import save_mdp  # here, because it knows MDPs of all kinds

        save_mdp(self, path)

    def __getattr__(self, name: str) -> Any:
        where = "; each of its mdps has: give one, such as `.mdps[0]`" if hasattr(MDP, name) else ""
        raise AttributeError(f"ChangingMDP has no {name!r}{where}")

    def which(self, units: int) -> int:
        """Return the index of the MDP after this many episodes or steps."""
        return bisect_right(self.at, units)

    def until(self, units: int) -> int | None:
        """Return the number of episodes or steps at the next change; None if there is none."""
        i = self.which(units)
        return self.at[i] if i < len(self.at) else None


def changing_mdp(mdps: Sequence[MDP], at: Sequence[Any]) -> ChangingMDP:
    """Make an MDP that changes.

    Args:
        mdps: the MDPs in turn, all with the same states, actions and horizon.
        at: the numbers of episodes (steps, in a continuing problem) after which each MDP but the first
            begins, ascending.

    >>> import heavytail as ht
    >>> before, after = (ht.make_mdp("two_state", best=best) for best in (0, 1))
    >>> mdp = ht.changing_mdp([before, after], at=[5000])
    >>> ht.make_agent(mdp, "random").learn(steps=10_000).steps[-1]
    np.int64(10000)
    """
    if isinstance(mdps, MDP) or not mdps or not all(isinstance(mdp, MDP) for mdp in mdps):
        raise InputError("changing_mdp: mdps must be a sequence of MDPs, at least one")
    if len(mdps) != len(at) + 1:
        raise InputError(
            f"changing_mdp: {len(mdps)} MDPs need {max(len(mdps) - 1, 0)} change points, got {len(at)}"
        )
    shapes = [(m.n_states, m.n_actions, m.horizon) for m in mdps]
    if len(set(shapes)) > 1:
        raise InputError(
            "changing_mdp: all MDPs need the same states, actions and horizon, got"
            f" {short_repr(list(dict.fromkeys(shapes)))}"
        )
    points = tuple(int(x) if isinstance(x, (int, float, np.number)) and math.isfinite(x) else 0 for x in at)
    whole = all(x == y for x, y in zip(points, at, strict=True))
    if not whole or any(y <= x for x, y in pairwise((0, *points))):
        raise InputError(
            f"changing_mdp: change points must be ascending whole numbers from 1, got {short_repr(at)}"
        )
    return ChangingMDP(tuple(mdps), points)
