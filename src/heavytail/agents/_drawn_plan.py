"""Plans of Heavy-PSRL in the MDP that it has drawn, for episodes and for the average reward."""

import math
from typing import TYPE_CHECKING

from heavytail.agents._drawn_mdp import BONUS, HIGH, RANGE
from heavytail.agents._extended_value_iteration import MAX_BACKUPS, RESOLUTION, STEP_SIZE
from heavytail.agents._index_list import item
from heavytail.arrays import U
from heavytail.kernels.compiling import kernel, subroutine

if TYPE_CHECKING:
    from heavytail.agents.heavy_psrl import HeavyPSRL

TOLERANCE = 0.01  # of the range of drawn rewards: the most by which a plan for the average may be off


@kernel
def backup(agent: "HeavyPSRL", row: int, h: int) -> None:
    """Compute values[1 - row] and policy[h] from values[row]."""
    model, values = agent.model, agent.values
    A = agent.rewards.size // model.n_states
    for j in range(agent.seen.size[0]):
        s, largest, chosen = item(agent.seen, j), -math.inf, 0
        for a in range(A):
            i = U(s * A + a)
            q = agent.rewards[i] + agent.lump[i] * values[U(row), U(agent.elsewhere[i])]
            for k in range(model.start[i], model.start[i] + model.size[i]):
                q += agent.drawn[U(k)] * values[U(row), U(model.successor[U(k)])]
            if q > largest:
                largest, chosen = q, a
        values[U(1 - row), U(s)] = largest
        agent.policy[U(h), U(s)] = chosen


@subroutine
def plan_episode(agent: "HeavyPSRL") -> None:
    """Compute the best policy of each step."""
    values, H, new = agent.values, agent.policy.shape[0], U(agent.model.n_states + 1)
    for j in range(agent.seen.size[0]):
        values[0, U(item(agent.seen, j))] = 0.0
    values[0, new] = 0.0
    row = 0
    for h in range(H - 1, -1, -1):
        backup(agent, row, h)
        row = 1 - row
        values[U(row), new] = agent.unknown[BONUS] + (H - h) * (
            agent.unknown[HIGH] + agent.unknown[RANGE] / H
        )


@kernel
def plan_average(agent: "HeavyPSRL") -> None:
    """Compute the best policy for the average reward, from the values of the plan before.

    As in `heavytail.agents._extended_value_iteration`. A state never seen is worth the bonus more than the
    first state that was seen; so a constant added to all rewards changes nothing.
    """
    values, seen, low, high, steps = agent.values, agent.seen, math.inf, -math.inf, 0
    A = agent.rewards.size // agent.model.n_states
    values[0, U(agent.model.n_states + 1)] = agent.unknown[BONUS]
    for j in range(seen.size[0]):
        for a in range(A):
            i = U(item(seen, j) * A + a)
            low, high = min(low, agent.rewards[i]), max(high, agent.rewards[i])
            steps += agent.model.visits[i]
    tolerance = (high - low) * max(RESOLUTION, min(TOLERANCE, 1.0 / math.sqrt(steps + 1.0)))
    for _ in range(MAX_BACKUPS):
        backup(agent, 0, 0)
        low, high = math.inf, -math.inf
        for j in range(seen.size[0]):
            s = U(item(seen, j))
            change = values[1, s] - values[0, s]
            low, high = min(low, change), max(high, change)
            values[0, s] += STEP_SIZE * change
        shift = values[0, U(item(seen, 0))]
        for j in range(seen.size[0]):
            values[0, U(item(seen, j))] -= shift
        if not high - low >= tolerance:
            break
