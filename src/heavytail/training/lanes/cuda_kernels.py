"""GPU kernels: the loop of one lane, the loop of all lanes, and their bit-exact compilation.

`heavytail.training.fused` prepares rewards in batches, which is faster on a core that computes eight at a
time. A GPU thread computes one at a time, beside thirty-one others doing the same, so here each reward is
drawn when it is needed. Both loops give the same bits: tests compare them on the CPU.

Under numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) the same code runs slowly on the CPU, on NumPy arrays:
that is how it is tested without a GPU.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from numba import uint64

from heavytail.arrays import Record, U
from heavytail.kernels.array_ops import as_index, as_int
from heavytail.kernels.compiling import entry, kernel
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
from heavytail.training.lanes.device import find_cuda, has_cuda, simulated
from heavytail.training.lanes.layout import compile_reader, reader_source

MAX_REGISTERS = 128  # of a thread, so that 16 warps fit a multiprocessor
cuda: Any = find_cuda() if has_cuda() else None  # tools import every module, even without numba-cuda


def run_lane(
    agent: Record,
    mdp: MDP,
    streams: Streams,
    run_state: RunState,
    checkpoints: Checkpoints,
    until: int,
    max_steps: int,
) -> int:
    """Learn until `until` units are done or `max_steps` more steps are made; return why it ended.

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


def _run_compiled(
    agent: Record,
    mdp: Record,
    streams: Streams,
    run_state: Record,
    checkpoints: Record,
    until: int,
    max_steps: int,
) -> int:
    """Call the compiled, cached `run_lane`; the simulator itself is Python."""
    with _compiling:  # the simulator starts all threads at once, and one compilation is enough
        run = entry(run_lane, agent, mdp, streams, run_state, checkpoints)
    return run(agent, mdp, streams, run_state, checkpoints, until, max_steps)


run_one: Any = _run_compiled if simulated() else kernel(run_lane)


def lanes_kernel(*records: Record) -> Any:
    """Return the kernel for lanes laid out like these records.

    The records are agents, MDPs, streams, run states and checkpoints.
    """
    return _lanes_kernel(tuple(reader_source(record) for record in records))


@cache
def _lanes_kernel(readers: tuple[Any, ...]) -> Any:
    read_agent, read_mdp, _, read_run_state, read_checkpoints = map(compile_reader, readers)

    def run_lanes(
        agents: Any,
        mdps: Any,
        streams: Any,
        run_states: Any,
        checkpoints: Any,
        until: Any,
        max_steps: Any,
        statuses: Any,
    ) -> None:
        i = cuda.grid(1)
        if i >= statuses.size:
            return
        transitions = cuda.local.array(4, uint64)  # streams are in registers while it runs
        rewards = cuda.local.array(4, uint64)
        own = cuda.local.array(4, uint64)
        for k in range(4):
            transitions[k] = streams.transitions[k, i]
            rewards[k] = streams.rewards[k, i]
            own[k] = streams.agent[k, i]
        statuses[i] = run_one(
            read_agent(agents, i),
            read_mdp(mdps, i),
            Streams(transitions, rewards, own, own),
            read_run_state(run_states, i),
            read_checkpoints(checkpoints, i),
            until,
            max_steps,
        )
        for k in range(4):
            streams.transitions[k, i] = transitions[k]
            streams.rewards[k, i] = rewards[k]
            streams.agent[k, i] = own[k]

    if simulated():
        return cuda.jit(run_lanes)
    return cuda.jit(run_lanes, max_registers=MAX_REGISTERS, lto=False)


_compiling = threading.Lock()
_users = 0  # threads now inside `exact_arithmetic`


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Compile kernels without fused multiply-add, in all threads while any is in this context."""
    if simulated():
        yield
        return
    _enter(1)
    try:
        yield
    finally:
        _enter(-1)


def _enter(change: int) -> None:
    # The only patch to a dependency: numba-cuda has an option only for the opposite.
    global _users  # noqa: PLW0603 - the whole process shares one compiler
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    with _compiling:
        _users += change
        if change > 0 and _users == 1:
            nvvm.compile_ir = partial(nvvm.compile_ir, fma=False)
        elif _users == 0:
            nvvm.compile_ir = nvvm.compile_ir.func
