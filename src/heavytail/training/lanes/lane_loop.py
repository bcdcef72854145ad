"""The loop of one lane: what a GPU's thread does.

`heavytail.training.fused` prepares rewards in batches, which pays where one core does eight at a time. A
thread of a GPU does one at a time and has thirty-one neighbours that do the same, so here each reward is
drawn when it is due. The two loops give the same bits: this one is the plain twin of that one, and tests
compare them on the CPU.
"""

import math

from heavytail.arrays import Record, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.pools import any_pool_full
from heavytail.kernels.rng import Streams
from heavytail.kernels.verbs import act, begin, prefetch, update, write_counters
from heavytail.mdp import MDP, first_state, locate_slot, reward
from heavytail.training.fused import (
    BAD_ACTION,
    DONE,
    FULL,
    MEAN,
    NAN,
    OWN,
    PAUSED,
    REALISED,
    Checkpoints,
    RunState,
)


def run_lane(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    clock: RunState,
    checkpoints: Checkpoints,
    until: int,
    most_steps: int,
) -> int:
    """Learn until the clock shows `until` units or `most_steps` more steps are made.

    The same as `heavytail.training.fused.run_chunk`.
    """
    steps, units, started = clock.steps[0], clock.units[0], clock.started[0]
    s, h = as_int(clock.state[0]), as_int(clock.h[0])
    mean_total, realised_total = clock.totals[0], clock.totals[1]
    reached = checkpoints.reached[0]
    episodic = mdp.horizon > 0
    last = steps + most_steps
    status = PAUSED if units < until else DONE
    while status == PAUSED and steps < last:
        if started == 0:
            s, h, started = first_state(mdp, streams.transitions), 0, 1
            begin(agent, s, streams.agent)
        if any_pool_full(agent):
            status = FULL
            break
        a = act(agent, s, h, streams.agent)
        if not 0 <= a < mdp.n_actions:
            status = BAD_ACTION
            break
        row, slot = locate_slot(mdp, s, a, h, streams.transitions)
        s_next, terminated, mean = as_int(mdp.successors[slot]), mdp.ends[slot], mdp.row_means[U(row)]
        prefetch(agent, s, a, s_next, h)
        r = reward(mdp, slot, streams.rewards)
        if math.isnan(r):
            status = NAN
            break
        update(agent, s, a, r, s_next, h, terminated, streams.agent)
        steps += 1
        mean_total += mean
        realised_total += r
        s = s_next
        if episodic:
            h += 1
            if not terminated and h < mdp.horizon:
                continue
            started = 0
        units += 1
        if reached < checkpoints.at.size and units == checkpoints.at[reached]:
            checkpoints.values[reached, MEAN] = mean_total
            checkpoints.values[reached, REALISED] = realised_total
            write_counters(agent, checkpoints.values[reached, OWN:])
            reached += 1
        if units == until:
            status = DONE
    clock.steps[0], clock.units[0], clock.started[0] = steps, units, started
    clock.state[0], clock.h[0] = s, h
    clock.totals[0], clock.totals[1] = mean_total, realised_total
    checkpoints.reached[0] = reached
    return status
