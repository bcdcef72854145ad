"""Snapshots of an agent: its action in every state, and its beliefs about rewards, as tables."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heavytail.agents.optimal import Optimal
from heavytail.arrays import Ints, Record, Stream
from heavytail.checks import require_memory
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry, interpret
from heavytail.kernels.verbs import act
from heavytail.mdp.labels import Labels
from heavytail.mdp.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

MAX_INTERPRETED = 2000  # actions; for more than this, plain Python takes longer than compiling
BAD_ACTION = "the agent chose an action that does not exist; `act` must return 0 to A - 1"


class FrozenPolicy(NamedTuple):
    """A snapshot of an agent's policy."""

    actions: Ints  # [H or 1, S]
    is_random: bool  # whether it draws its actions; if so, `actions` is one draw

    def to_record(self, agent: Record) -> Record:
        """Return a record that always acts this way; of one class for all agents, unless they draw."""
        return agent if self.is_random else Optimal(self.actions.astype(np.uint32))


def freeze_policy(agent: Record, problem: Problem, stream: Stream) -> FrozenPolicy:
    """Ask an agent for its action in every state, at every step, without changing the agent."""
    shape = (max(problem.horizon, 1), problem.n_states)
    require_memory(f"a policy of {shape[0]:,} steps and {shape[1]:,} states", 8.0 * shape[0] * shape[1])
    actions, drawn = np.zeros(shape, np.int64), stream.copy()
    if actions.size > MAX_INTERPRETED:
        entry(_fill, agent)(agent, actions, drawn)
    else:
        interpret(_fill, agent, actions, drawn)
    if not ((actions >= 0) & (actions < problem.n_actions)).all():
        raise InputError(BAD_ACTION)
    return FrozenPolicy(actions, not np.array_equal(stream, drawn))


def _fill(agent: Record, actions: Ints, rng: Stream) -> None:
    for h in range(actions.shape[0]):
        for s in range(actions.shape[1]):
            actions[h, s] = act(agent, s, h, rng)


def tabulate_beliefs(name: str, agent: Record, states: Labels, actions: Labels) -> "pd.DataFrame":
    """Return an agent's beliefs about each state and action, by their labels."""
    import pandas as pd  # imported here: it takes a third of a second

    if not hasattr(agent, "beliefs"):
        raise InputError(f"{name} keeps no beliefs about rewards; heavy_psrl does")
    state, action = np.divmod(np.arange(len(states) * len(actions)), len(actions))
    labels = {"state": states.name_codes(state), "action": actions.name_codes(action)}
    return pd.DataFrame({**labels, **agent.beliefs()}).astype({"n": np.int64})
