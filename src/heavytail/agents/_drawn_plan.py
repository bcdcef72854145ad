"""Plans of Heavy-PSRL in the MDP that it has drawn, for episodes and for the average reward."""

import math
from typing import TYPE_CHECKING

from heavytail.agents._extended_value_iteration import MAX_BACKUPS, RESOLUTION, STEP_SIZE
from heavytail.arrays import U
from heavytail.kernels.compiling import kernel, subroutine

if TYPE_CHECKING:
    from heavytail.agents.heavy_psrl import HeavyPSRL

TOLERANCE = 0.01  # of the range of drawn rewards: the most by which a plan for the average may be off


@kernel
def backup(agent: "HeavyPSRL", row: int, h: int) -> None:
    """Compute values[1 - row] and policy[h] from values[row]."""
    model, values = agent.model, agent.values
    S, A = model.n_states, agent.rewards.size // model.n_states
    for s in range(S):
        if agent.known[U(s)] == 0:
            values[U(1 - row), U(s)] = agent.unseen[0]
            continue
        largest, chosen = -math.inf, 0
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
    for s in range(agent.model.n_states + 1):
        agent.values[0, s] = 0.0
        agent.values[1, s] = 0.0
    row = 0
    for h in range(agent.policy.shape[0] - 1, -1, -1):
        backup(agent, row, h)
        row = 1 - row


@kernel
def plan_average(agent: "HeavyPSRL") -> None:
    """Compute the best policy for the average reward, from the values of the plan before.

    As in `heavytail.agents._extended_value_iteration`; the values of unseen states stay as they are.
    """
    values, S, low, high, steps = agent.values, agent.model.n_states, math.inf, -math.inf, 0
    for s in range(S):
        if agent.known[s] == 0:
            values[0, s] = agent.unseen[0]
    for cell in range(agent.rewards.size):
        low, high = min(low, agent.rewards[cell]), max(high, agent.rewards[cell])
        steps += agent.model.visits[cell]
    tolerance = (high - low) * max(RESOLUTION, min(TOLERANCE, 1.0 / math.sqrt(steps + 1.0)))
    for _ in range(MAX_BACKUPS):
        backup(agent, 0, 0)
        low, high, shift = math.inf, -math.inf, 0.0
        for s in range(S - 1, -1, -1):
            if agent.known[s] == 1:
                change = values[1, s] - values[0, s]
                low, high = min(low, change), max(high, change)
                shift = STEP_SIZE * values[1, s] + (1.0 - STEP_SIZE) * values[0, s]  # of the first known
        for s in range(S):
            if agent.known[s] == 1:
                values[0, s] = STEP_SIZE * values[1, s] + (1.0 - STEP_SIZE) * values[0, s] - shift
        if not high - low >= tolerance:
            break
