"""MDPs as data: the record, and the kernels that step through it.

`heavytail.mdp.builders`, `from_gymnasium` and `from_log` build MDPs, `validation` checks them, `changing`
puts several in sequence, `mdp_file` writes and reads them, `problem` holds what an agent may know about one,
`diagram` draws one.
"""

from heavytail.mdp.mdp import MDP, draw, find_slot, first_state, locate_slot, reward, step

__all__ = ["MDP", "draw", "find_slot", "first_state", "locate_slot", "reward", "step"]
