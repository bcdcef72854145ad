"""The kernels of a GPU: the loop of all lanes, and how it is compiled to give the bits of the CPU.

Under numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) the same code runs on the CPU, slowly, with arrays of
NumPy: that is how it is tested where there is no GPU.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any

from numba import uint64

from heavytail.arrays import Record
from heavytail.kernels.compiling import entry, kernel
from heavytail.kernels.rng import Streams
from heavytail.training.lanes.device import find_cuda, has_cuda, simulated
from heavytail.training.lanes.lane_loop import run_lane
from heavytail.training.lanes.layout import compile_reader, reader_source

MAX_REGISTERS = 128  # of a thread, so that 16 warps fit a multiprocessor
cuda: Any = find_cuda() if has_cuda() else None  # tools import every module, also without numba-cuda


def _run_compiled(
    agent: Record,
    mdp: Record,
    streams: Streams,
    run_state: Record,
    checkpoints: Record,
    until: int,
    max_steps: int,
) -> int:
    """Call the compiled and cached `run_lane`, as the simulator is Python."""
    with _compiling:  # the simulator starts all threads at once, and one compilation is enough
        run = entry(run_lane, agent, mdp, streams, run_state, checkpoints)
    return run(agent, mdp, streams, run_state, checkpoints, until, max_steps)


run_one: Any = _run_compiled if simulated() else kernel(run_lane)


def lanes_kernel(*records: Record) -> Any:
    """Return the kernel for lanes laid out as these records.

    They are agents, MDPs, streams, run states and checkpoints.
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
_users = 0  # how many threads are in `exact_arithmetic`


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Compile kernels without fused multiply-add, in all threads while any thread is in this context."""
    if simulated():
        yield
        return
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    _enter(nvvm, 1)
    try:
        yield
    finally:
        _enter(nvvm, -1)


def _enter(nvvm: Any, change: int) -> None:
    global _users  # noqa: PLW0603 - the compiler is one for the whole process
    with _compiling:
        _users += change
        if change > 0 and _users == 1:
            nvvm.compile_ir = partial(nvvm.compile_ir, fma=False)
        elif _users == 0:
            nvvm.compile_ir = nvvm.compile_ir.func
