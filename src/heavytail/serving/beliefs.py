"""What an agent believes of rewards, as a table: a row for each state and action."""

from typing import TYPE_CHECKING

import numpy as np

from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.mdp.labels import Labels

if TYPE_CHECKING:
    import pandas as pd


def tabulate_beliefs(name: str, agent: Record, states: Labels, actions: Labels) -> "pd.DataFrame":
    """Return what the agent of this name believes of each state and action, by their labels."""
    import pandas as pd  # here, because it takes a third of a second

    if not hasattr(agent, "beliefs"):
        raise InputError(f"{name} keeps no beliefs about rewards; heavy_psrl does")
    state, action = np.divmod(np.arange(len(states) * len(actions)), len(actions))
    labels = {"state": states.name_codes(state), "action": actions.name_codes(action)}
    return pd.DataFrame({**labels, **agent.beliefs()}).astype({"n": np.int64})
