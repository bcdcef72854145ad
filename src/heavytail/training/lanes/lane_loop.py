"""The loop of one lane, which one thread of a GPU runs.

`heavytail.training.fused` prepares rewards in batches, which is faster where one core computes eight at a
time. A thread of a GPU computes one at a time, beside thirty-one others that do the same, so here each reward
is drawn when it is needed. Both loops give the same bits: tests compare them on the CPU.
"""

import math

import numpy as np

from heavytail.arrays import Record, U
from heavytail.kernels.array_ops import as_index, as_int
from heavytail.kernels.pools import any_pool_full
from heavytail.kernels.rng import Streams
from heavytail.kernels.verbs import act, begin, update
from heavytail.mdp import MDP, first_state, locate_slot, reward
from heavytail.training.fused import (
    BAD_ACTION,
    DONE,
    FULL,
    NAN,
    PAUSED,
    Checkpoints,
    RunState,
    record_checkpoint,
)


def run_lane(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    run_state: RunState,
    checkpoints: Checkpoints,
    until: int,
    max_steps: int,
) -> int:
    """Learn until `until` units are done or `max_steps` more steps are made; return a `Status`.

    The same as `heavytail.training.fused.run_chunk`.
    """
    steps, units, in_episode = run_state.steps[0], run_state.episodes_or_steps[0], run_state.in_episode[0]
    state, step = np.uint32(run_state.state[0]), np.uint32(run_state.h[0])  # addresses are made of these
    mean_total, realised_total = run_state.totals[0], run_state.totals[1]
    reached = checkpoints.reached[0]
    episodic = mdp.horizon > 0
    last = steps + max_steps
    status = PAUSED if units < until else DONE
    while status == PAUSED and steps < last:
        if in_episode == 0:
            state, step, in_episode = np.uint32(first_state(mdp, streams.transitions)), np.uint32(0), 1
            begin(agent, as_index(state), streams.agent)
        if any_pool_full(agent):
            status = FULL
            break
        s, h = as_index(state), as_index(step)
        a = act(agent, s, h, streams.agent)
        if not 0 <= a < mdp.n_actions:
            status = BAD_ACTION
            break
        a = as_index(a)
        row, found = locate_slot(mdp, s, a, h, streams.transitions)
        slot = as_index(found)
        s_next, terminated = as_int(mdp.successors[U(slot)]), mdp.ends[U(slot)]
        mean = mdp.row_means[U(row)]
        r = reward(mdp, slot, streams.rewards)
        if math.isnan(r):
            status = NAN
            break
        update(agent, s, a, r, s_next, h, terminated, streams.agent)
        steps += 1
        mean_total += mean
        realised_total += r
        state = np.uint32(s_next)
        if episodic:
            step = np.uint32(h + 1)
            if not terminated and h + 1 < mdp.horizon:
                continue
            in_episode = 0
        units += 1
        if reached < checkpoints.at.size and units == checkpoints.at[reached]:
            record_checkpoint(agent, checkpoints, mean_total, realised_total)
            reached += 1
        if units == until:
            status = DONE
    run_state.steps[0], run_state.episodes_or_steps[0], run_state.in_episode[0] = steps, units, in_episode
    run_state.state[0], run_state.h[0] = state, step
    run_state.totals[0], run_state.totals[1] = mean_total, realised_total
    return status
