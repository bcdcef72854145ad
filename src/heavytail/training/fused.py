"""The fused loop: agent, environment and reward law compiled into one, with no Python inside.

It runs in chunks of about a tenth of a second and returns a status. Between chunks Python shows progress,
handles Ctrl-C, enlarges pools and raises errors. The whole state of a run is in arrays (the agent's record,
the random streams, the `RunState`), so results do not depend on where a chunk ends.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Indices, Ints, Record
from heavytail.errors import InputError
from heavytail.guards import deferred_interrupts, gc_paused
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import entry, kernel
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.rng import Streams
from heavytail.kernels.verbs import act, begin, counter_names, update, write_counters
from heavytail.mdp import MDP, first_state
from heavytail.ranges import COUNT, FLAG, Range
from heavytail.serving.session import NAN_REWARD
from heavytail.training.reward_batches import RewardBatch, new_reward_batch, refill, rewind, step_in_batch

CHUNK_SECONDS = 0.1
NEVER = 2**62  # units
FIRST_CHUNK = 50  # steps; one step that plans among 100,000 states may take 20 ms
MEAN, REALISED, FIRST_COUNTER = 0, 1, 2  # columns of a curve: two cumulative rewards, then counters


DONE, PAUSED, FULL, NAN, BAD_ACTION = range(5)  # why a chunk ended
ERROR_MESSAGES = {
    NAN: NAN_REWARD,
    BAD_ACTION: (
        "at step {step} (in state {state}) the agent chose an action that does not exist; `act` must"
        " return 0 to A - 1"
    ),
}


class RunState(NamedTuple):
    """The progress of a run. A unit is an episode, or a step in a continuing problem."""

    steps: Ints  # [1]
    episodes_or_steps: Ints  # [1] units so far
    state: Indices  # [1] of the environment
    h: Indices  # [1] step within the episode; 0 in a continuing problem
    in_episode: Ints  # [1] whether an episode is under way
    totals: Floats  # [2] cumulative mean and realised rewards

    def ranges(self) -> dict[str, Range]:
        """Return the ranges of counts; `check_run_state` checks the rest against the environment."""
        units = Range(0, 2**63 - 1)  # a lane that failed counts as having done all of them
        index = Range(0, 2**32 - 1)
        return {
            "steps": COUNT,
            "episodes_or_steps": units,
            "state": index,
            "h": index,
            "in_episode": FLAG,
        }


class Checkpoints(NamedTuple):
    """A curve: where to record it, and its values so far."""

    at: Ints  # [C] units, ascending
    reached: Ints  # [1] how many rows are recorded
    values: Floats  # [C, FIRST_COUNTER + counters]

    def constant_fields(self) -> tuple[str, ...]:
        """Name the fields that never change: where to record."""
        return ("at",)

    def ranges(self) -> dict[str, Range]:
        """Return the range of the number of rows."""
        return {"reached": Range(0, len(self.at))}


def new_run_state() -> RunState:
    """Make the state of a run at its start."""
    return RunState(
        steps=np.zeros(1, np.int64),
        episodes_or_steps=np.zeros(1, np.int64),
        state=np.zeros(1, np.uint32),
        h=np.zeros(1, np.uint32),
        in_episode=np.zeros(1, np.int64),
        totals=np.zeros(2),
    )


def check_run_state(run_state: RunState, n_states: int, horizon: int) -> None:
    """Raise a one-line error for a valid run state that does not fit this environment."""
    in_episode, h = int(run_state.in_episode[0]), int(run_state.h[0])
    valid_h = h < max(horizon, 1) if in_episode else h <= horizon
    if not valid_h or run_state.state[0] >= n_states:
        raise InputError("its run state does not fit its environment")


def new_checkpoints(at: Ints, agent: Record) -> Checkpoints:
    """Make an empty curve."""
    columns = FIRST_COUNTER + len(counter_names(agent))
    return Checkpoints(at, np.zeros(1, np.int64), np.full((len(at), columns), np.nan))


class Progress(NamedTuple):
    """The variables a few steps change besides the agent; the compiler keeps them in registers."""

    s: int
    k: int  # steps of the episode so far; in a continuing problem, steps of this call
    mean_total: float
    realised_total: float
    ended: bool  # whether the episode has ended
    status: int


@kernel
def play(
    agent: Record, mdp: MDP, streams: Streams, batch: RewardBatch, start: Progress, stop: int
) -> Progress:
    """Make steps until `stop` of them are made in this episode or batch, or the episode ends."""
    s, k, mean_total, realised_total, ended, status = start
    offset, prefilled = batch.used[0] - k, batch.prefilled[0] == 1
    while k < stop:
        if any_pool_full(agent):
            status = FULL
            break
        h = k if mdp.horizon > 0 else 0
        a = act(agent, s, h, streams.agent)
        if not 0 <= a < mdp.n_actions:
            status = BAD_ACTION
            break
        s_next, r, terminated, mean = step_in_batch(
            mdp, s, a, h, streams.transitions, batch, prefilled, offset + k, streams.rewards
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
    return Progress(s, k, mean_total, realised_total, ended, status)


@kernel
def record_checkpoint(
    agent: Record, checkpoints: Checkpoints, mean_total: float, realised_total: float
) -> None:
    """Write the next row of the curve."""
    row = checkpoints.reached[0]
    checkpoints.values[row, MEAN] = mean_total
    checkpoints.values[row, REALISED] = realised_total
    write_counters(agent, checkpoints.values[row, FIRST_COUNTER:])
    checkpoints.reached[0] += 1


@kernel
def next_checkpoint(checkpoints: Checkpoints) -> int:
    """Return the number of units at which the next row is due; NEVER after the last."""
    reached = checkpoints.reached[0]
    return checkpoints.at[reached] if reached < checkpoints.at.size else NEVER


def run_chunk(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    batch: RewardBatch,
    run_state: RunState,
    checkpoints: Checkpoints,
    until: int,
    max_steps: int,
) -> int:
    """Learn until `until` units are done or `max_steps` more steps are made; return why it ended."""
    steps, units, in_episode = run_state.steps[0], run_state.episodes_or_steps[0], run_state.in_episode[0]
    s, k = as_int(run_state.state[0]), as_int(run_state.h[0])
    mean_total, realised_total = run_state.totals[0], run_state.totals[1]
    episodic = mdp.horizon > 0
    last = steps + max_steps
    status = PAUSED if units < until else DONE
    while status == PAUSED and steps < last:
        if in_episode == 0:
            s, k, in_episode = first_state(mdp, streams.transitions), 0, 1
            begin(agent, s, streams.agent)
        if batch.used[0] == batch.first.size:
            refill(batch, streams.rewards)
        # Steps up to the end of the episode or the batch; in a continuing problem, until something is due.
        due = next_checkpoint(checkpoints)
        steps_left = mdp.horizon - k if episodic else min(until, due) - units
        stop = k + min(last - steps, batch.first.size - batch.used[0], steps_left)
        first, start = k, Progress(s, k, mean_total, realised_total, False, PAUSED)
        s, k, mean_total, realised_total, ended, status = play(agent, mdp, streams, batch, start, stop)
        steps += k - first
        batch.used[0] += k - first + (1 if status == NAN else 0)  # a NaN reward uses up its pair too
        if episodic:
            if ended:
                units += 1
                in_episode = 0
        else:
            units += k - first
            k = 0
        if units == due:
            record_checkpoint(agent, checkpoints, mean_total, realised_total)
        if units == until:
            status = DONE
    rewind(batch, streams.rewards)
    run_state.steps[0], run_state.episodes_or_steps[0], run_state.in_episode[0] = steps, units, in_episode
    run_state.state[0], run_state.h[0] = s, k
    run_state.totals[0], run_state.totals[1] = mean_total, realised_total
    return status


def run(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    run_state: RunState,
    checkpoints: Checkpoints,
    until: int,
    on_chunk: Callable[[Record], None] = lambda agent: None,
) -> Record:
    """Learn until `until` units are done, and return the agent: a new record if its pools grew.

    `on_chunk` is called with the agent after each chunk.
    """
    batch = new_reward_batch(mdp)
    chunk = entry(run_chunk, agent, mdp, streams, batch, run_state, checkpoints)
    max_steps, status = FIRST_CHUNK, PAUSED
    with deferred_interrupts() as raise_deferred_interrupt, gc_paused():
        while status != DONE:
            before, started = int(run_state.steps[0]), time.perf_counter()
            status = chunk(agent, mdp, streams, batch, run_state, checkpoints, until, max_steps)
            if status in ERROR_MESSAGES:
                raise InputError(
                    ERROR_MESSAGES[status].format(step=run_state.steps[0], state=run_state.state[0])
                )
            if status == FULL:
                agent = with_larger_pools(agent)
            on_chunk(agent)
            raise_deferred_interrupt()
            max_steps = next_chunk(max_steps, int(run_state.steps[0]) - before, time.perf_counter() - started)
    return agent


def next_chunk(steps: int, made: int, seconds: float, aim: float = CHUNK_SECONDS) -> int:
    """Choose the size of the next chunk, given that `made` of the last `steps` took `seconds`.

    It aims at `aim` seconds and changes by at most a factor of ten (the first chunk includes compilation).
    """
    if made < steps:
        return steps
    target = aim * made / max(seconds, 1e-9)
    return int(min(max(target, 0.1 * steps, 1), 10.0 * steps))
