"""MDPs as data: the record, and the kernels that step through it.

`heavytail.mdp.builders` and `from_gymnasium` build MDPs, `validation` checks them, `changing` puts several
in sequence, `problem` says what an agent may know of one, `diagram` draws one.
"""

from heavytail.mdp.mdp import MDP, draw, find_slot, first_state, locate_slot, reward, step

__all__ = ["MDP", "draw", "find_slot", "first_state", "locate_slot", "reward", "step"]
