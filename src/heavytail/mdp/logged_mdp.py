"""`LoggedMDP`: an MDP from a log, with the labels that the log has for its states and actions."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.arrays import Bools, Ints
from heavytail.mdp.labels import Labels
from heavytail.mdp.mdp import MDP

if TYPE_CHECKING:
    import pandas as pd


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
        return self._state_labels.code(label, "state")

    def action(self, label: Hashable) -> int:
        """Return the number of the action with this label."""
        return self._action_labels.code(label, "action")

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of all states and actions: labels, how often they were seen, mean reward."""
        import pandas as pd  # here, because it takes a third of a second

        cells = [(s, a) for s in self.states for a in self.actions]
        labels = {"state": [s for s, _ in cells], "action": [a for _, a in cells]}
        return pd.DataFrame({**labels, "n": self.counts.ravel(), "mean_reward": self.mdp.row_means})

    @cached_property
    def _state_labels(self) -> Labels:
        return Labels(self.states)

    @cached_property
    def _action_labels(self) -> Labels:
        return Labels(self.actions)
