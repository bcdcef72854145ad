"""The fused loop: agent, environment and reward law compiled into one, with no Python inside.

It runs in chunks of about a tenth of a second and returns a status. Between chunks Python shows progress,
sees Ctrl-C, enlarges pools and raises errors. All that a run remembers is in arrays (the agent's record, the
streams, the clock), so where a chunk ends changes nothing.
"""

import math
import time
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from heavytail._startup import gc_paused
from heavytail.arrays import Floats, Indices, Ints, Record
from heavytail.errors import InputError
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.rng import Streams
from heavytail.kernels.verbs import act, begin, counter_names, update, write_counters
from heavytail.mdp import MDP, first_state
from heavytail.training.interrupts import deferred_interrupts
from heavytail.training.reward_batches import RewardBatch, new_reward_batch, refill, rewind, step_ahead

CHUNK_SECONDS = 0.1
FIRST_CHUNK = 1000
MEAN, REALISED, OWN = 0, 1, 2  # columns of a curve: two cumulative rewards, then the agent's own counters


class Status(IntEnum):
    """Why a chunk ended."""

    DONE = 0
    PAUSED = 1
    FULL = 2
    NAN = 3
    BAD_ACTION = 4


DONE, PAUSED, FULL, NAN, BAD_ACTION = (int(status) for status in Status)
ERROR_MESSAGES = {
    NAN: "the reward of step {step} (in state {state}) is nan; rewards may be infinite, but must be numbers",
    BAD_ACTION: (
        "at step {step} (in state {state}) the agent chose an action that does not exist; `act` must"
        " return 0 to A - 1"
    ),
}


class RunState(NamedTuple):
    """Where a run stands."""

    steps: Ints  # [1]
    units: Ints  # [1] episodes, or steps in a continuing problem
    state: Indices  # [1]
    h: Indices  # [1] step within the episode; 0 in a continuing problem
    started: Ints  # [1] whether an episode is under way
    totals: Floats  # [2] cumulative mean and realised rewards


class Checkpoints(NamedTuple):
    """Where a curve is recorded, and what was."""

    at: Ints  # [C] units, ascending
    reached: Ints  # [1] how many are recorded
    values: Floats  # [C, OWN + counters]

    def constant_fields(self) -> tuple[str, ...]:
        """The places."""
        return ("at",)


def new_clock() -> RunState:
    """The first moment of a run."""
    return RunState(
        steps=np.zeros(1, np.int64),
        units=np.zeros(1, np.int64),
        state=np.zeros(1, np.uint32),
        h=np.zeros(1, np.uint32),
        started=np.zeros(1, np.int64),
        totals=np.zeros(2),
    )


def new_checkpoints(at: Ints, agent: Record) -> Checkpoints:
    """Room for a curve."""
    return Checkpoints(at, np.zeros(1, np.int64), np.full((len(at), OWN + len(counter_names(agent))), np.nan))


def run_chunk(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    ahead: RewardBatch,
    clock: RunState,
    checkpoints: Checkpoints,
    until: int,
    most_steps: int,
) -> int:
    """Learn until the clock shows `until` units or `most_steps` more steps are made."""
    steps, units, started = clock.steps[0], clock.units[0], clock.started[0]
    s, k = as_int(clock.state[0]), as_int(clock.h[0])
    mean_total, realised_total = clock.totals[0], clock.totals[1]
    reached = checkpoints.reached[0]
    episodic = mdp.horizon > 0
    last = steps + most_steps
    status = PAUSED if units < until else DONE
    while status == PAUSED and steps < last:
        if started == 0:
            s, k, started = first_state(mdp, streams.transitions), 0, 1
            begin(agent, s, streams.agent)
        if ahead.taken[0] == ahead.first.size:
            refill(ahead, streams.rewards)
        # The inner loop ends with the episode or the stretch; in a continuing problem, at the next unit at
        # which something is due.
        due = min(until, checkpoints.at[reached]) if reached < checkpoints.at.size else until
        taken, drawn = ahead.taken[0] - k, ahead.drawn[0] == 1
        most = min(
            last - steps, ahead.first.size - ahead.taken[0], mdp.horizon - k if episodic else due - units
        )
        first, stop, ended = k, k + most, False
        while k < stop:
            if any_pool_full(agent):
                status = FULL
                break
            h = k if episodic else 0
            a = act(agent, s, h, streams.agent)
            if not 0 <= a < mdp.n_actions:
                status = BAD_ACTION
                break
            s_next, r, terminated, mean = step_ahead(
                mdp, s, a, h, streams.transitions, ahead, drawn, taken + k, streams.rewards
            )
            if math.isnan(r):
                status = NAN
                break
            k += 1
            update(agent, s, a, r, s_next, h, terminated, streams.agent)
            ended = terminated or k == mdp.horizon
            mean_total += mean
            realised_total += r
            s = s_next
            if ended:
                break
        steps += k - first
        ahead.taken[0] += (
            k - first + (1 if status == NAN else 0)
        )  # the pair of a reward that is no number is used up too
        if episodic:
            if ended:
                units += 1
                started = 0
        else:
            units += k - first
            k = 0
        if reached < checkpoints.at.size and units == checkpoints.at[reached]:
            checkpoints.values[reached, MEAN] = mean_total
            checkpoints.values[reached, REALISED] = realised_total
            write_counters(agent, checkpoints.values[reached, OWN:])
            reached += 1
        if units == until:
            status = DONE
    rewind(ahead, streams.rewards)
    clock.steps[0], clock.units[0], clock.started[0] = steps, units, started
    clock.state[0], clock.h[0] = s, k
    clock.totals[0], clock.totals[1] = mean_total, realised_total
    checkpoints.reached[0] = reached
    return status


def run(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    clock: RunState,
    checkpoints: Checkpoints,
    until: int,
    on_chunk: Callable[[Record], None] = lambda agent: None,
) -> Record:
    """Learn until the clock shows `until` units.

    Returns the agent, which is another record if its pools grew.

    `on_chunk` is called with the agent after each chunk.
    """
    ahead = new_reward_batch(mdp)
    chunk = entry(run_chunk, agent, mdp, streams, ahead, clock, checkpoints)
    most_steps, status = FIRST_CHUNK, PAUSED
    with deferred_interrupts() as let_interrupt_through, gc_paused():
        while status != DONE:
            before, started = int(clock.steps[0]), time.perf_counter()
            status = chunk(agent, mdp, streams, ahead, clock, checkpoints, until, most_steps)
            if status in ERROR_MESSAGES:
                raise InputError(ERROR_MESSAGES[status].format(step=clock.steps[0], state=clock.state[0]))
            if status == FULL:
                agent = with_larger_pools(agent)
            on_chunk(agent)
            let_interrupt_through()
            most_steps = next_chunk(most_steps, int(clock.steps[0]) - before, time.perf_counter() - started)
    return agent


def next_chunk(steps: int, made: int, seconds: float, aim: float = CHUNK_SECONDS) -> int:
    """How many steps to try next.

    So many as take `aim` seconds, by at most a factor of ten (the first chunk contains the compilation).
    """
    if made < steps:
        return steps
    wanted = aim * made / max(seconds, 1e-9)
    return int(min(max(wanted, 0.1 * steps, 1), 10.0 * steps))
