"""DeepSea (Osband et al. 2019): one sequence of actions out of 2**size leads to the treasure."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail.laws import Law
from heavytail.laws.constant import constant
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots, require_memory_for_slots
from heavytail.registry import register


@register("env", "deep_sea")
def deep_sea(
    *, size: Annotated[int, Ge(2)] = 10, seed: Annotated[int, Ge(0)] | None = None, law: Law | None = None
) -> MDP:
    """A diver sinks one row a step and may steer right, at a cost, to the treasure in the far corner.

    States:
        size * row + column, on a square grid.
    Actions:
        0 steers left, 1 right; with a `seed`, which of the two is which is drawn for each cell.
    Transitions:
        One row down and one column left or right, not beyond the edges; the episode ends after the last row.
    Rewards:
        -0.01 / size for steering right; steering right in the last cell of the last row also earns the
        treasure, 1 on average, by `law`.
    Start:
        The upper left corner.
    Optimum:
        Always right: value 0.99, gain 0.99 / size. The diameter is infinite: cells right of the diagonal are
        never reached.

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("deep_sea")
        >>> round(ht.planning.optimal_value(mdp), 4), mdp.n_states, mdp.horizon
        (0.99, 100, 10)

    Source:
        Osband et al. (2019), behaviour suite for reinforcement learning.

    Args:
        size: rows, columns and steps.
        seed: of the draw of what the actions mean, or None for 0 left and 1 right everywhere.
        law: of the treasure, moved to mean 1; constant if not given.
    """
    require_memory_for_slots("deep_sea", 2 * size * size)
    cell = np.arange(size * size)
    row, column = np.divmod(cell, size)
    swapped = np.zeros(len(cell), np.int64)  # where action 0 steers right
    if seed is not None:
        swapped = np.random.default_rng(seed).integers(2, size=len(cell))
    right = np.tile([0, 1], (len(cell), 1)) != swapped[:, None]
    next_row = np.minimum(row + 1, size - 1)[:, None]
    next_column = np.clip(column[:, None] + np.where(right, 1, -1), 0, size - 1)
    last = (row == size - 1)[:, None] & np.ones_like(right)
    treasure = right & (cell == len(cell) - 1)[:, None]
    cost = -0.01 / size
    return mdp_from_slots(
        rows=np.arange(2 * len(cell)),
        successors=(next_row * size + next_column).ravel(),
        probabilities=np.ones(2 * len(cell)),
        laws=[constant(0.0), constant(cost), (constant(1.0) if law is None else law).with_mean(1.0 + cost)],
        law=np.where(treasure, 2, np.where(right, 1, 0)).ravel(),
        ends=last.ravel(),
        n_states=len(cell),
        n_actions=2,
        horizon=size,
    )
