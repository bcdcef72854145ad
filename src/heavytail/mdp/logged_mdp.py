"""`LoggedMDP`: an MDP from a log, with the labels that the log has for its states and actions."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.arrays import Bools, Ints
from heavytail.errors import InputError, short_repr
from heavytail.mdp.mdp import MDP

if TYPE_CHECKING:
    import pandas as pd

MAX_LISTED = 3  # labels in a message


@dataclass(frozen=True, eq=False, repr=False)
class LoggedMDP:
    """An MDP and what its log calls things; made by `mdp_from_log`.

    `make_agent`, `Study`, `save_mdp` and `heavytail.gym.MDPEnv` take it as they take an MDP; for all others
    there is its `mdp`.

    Attributes:
        mdp: the MDP, whose states and actions are counted from 0.
        states: the label of each state; a tuple where it is made of several columns.
        actions: the label of each action.
        counts: [S, A] how often each action was taken in each state.
        filled: [S, A] where it never was, so that what happens there was said by hand.
    """

    mdp: MDP
    states: tuple[Hashable, ...]
    actions: tuple[Hashable, ...]
    counts: Ints
    filled: Bools

    def __repr__(self) -> str:
        size = f"{len(self.states):,} states, {len(self.actions):,} actions"
        cells = f"{self.filled.sum():,} of {self.filled.size:,} cells unvisited"
        return f"LoggedMDP({size}, {self.counts.sum():,} transitions, {cells})"

    def __getattr__(self, name: str) -> Any:
        where = "; its mdp has: give that, `.mdp`, instead of the log" if hasattr(MDP, name) else ""
        raise AttributeError(f"LoggedMDP has no {name!r}{where}")

    @property
    def unvisited(self) -> list[tuple[Hashable, Hashable]]:
        """The states and actions that the log does not show, by their labels."""
        return [(self.states[s], self.actions[a]) for s, a in np.argwhere(self.filled)]

    def state(self, label: Hashable) -> int:
        """Return the number of the state with this label."""
        return look_up("state", label, self._state_numbers)

    def action(self, label: Hashable) -> int:
        """Return the number of the action with this label."""
        return look_up("action", label, self._action_numbers)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of all states and actions: labels, how often they were seen, mean reward."""
        import pandas as pd  # here, because it takes a third of a second

        cells = [(s, a) for s in self.states for a in self.actions]
        labels = {"state": [s for s, _ in cells], "action": [a for _, a in cells]}
        return pd.DataFrame({**labels, "n": self.counts.ravel(), "mean_reward": self.mdp.row_means})

    @cached_property
    def _state_numbers(self) -> dict[Hashable, int]:
        return {label: s for s, label in enumerate(self.states)}

    @cached_property
    def _action_numbers(self) -> dict[Hashable, int]:
        return {label: a for a, label in enumerate(self.actions)}


def look_up(what: str, label: Any, numbers: Mapping[Hashable, int]) -> int:
    """Return the number of a label, or raise an error that shows some that there are."""
    try:
        return numbers[label]
    except (KeyError, TypeError):  # unknown, or no possible key
        some = ", ".join(map(short_repr, list(numbers)[:MAX_LISTED]))
        raise InputError(
            f"the log has no {what} {short_repr(label)}; it has {len(numbers):,}, such as {some}"
        ) from None
