"""MDPs as data: the record and what compiled code asks of it.

Builders, checks, changes and drawings are in the files beside.
"""

from heavytail.mdp.mdp import MDP, draw, find_slot, first_state, locate_slot, reward, step

__all__ = ["MDP", "draw", "find_slot", "first_state", "locate_slot", "reward", "step"]
