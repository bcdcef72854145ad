"""The GPU: whether there is one, how much memory it has, and arrays in it.

Under numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) the same code runs on the CPU, slowly, with arrays of
NumPy: that is how it is tested where there is no GPU.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any

from numba import uint64

from heavytail.arrays import Record
from heavytail.kernels.array_ops import argmax_row, argmax_row_branchless, prefetch_cell
from heavytail.kernels.compiling import entry, kernel
from heavytail.kernels.rng import Streams
from heavytail.training.lanes.array_views import prefetch_intrinsic
from heavytail.training.lanes.device import (
    find_cuda,
    has_cuda,
    simulated,
)
from heavytail.training.lanes.lane_loop import run_lane
from heavytail.training.lanes.layout import compile_reader, reader_source

MAX_REGISTERS = 128  # of a thread: so 16 warps fit a multiprocessor
cuda: Any = find_cuda() if has_cuda() else None  # tools look into every module, also where none is installed


def _run_kept(
    agent: Record,
    mdp: Record,
    streams: Streams,
    clock: Record,
    checkpoints: Record,
    until: int,
    most_steps: int,
) -> int:
    """`run_lane` as an entry: the simulator is Python, which calls what is compiled and kept."""
    with _compiling:  # its threads begin together, and one entry is enough
        run = entry(run_lane, agent, mdp, streams, clock, checkpoints)
    return run(agent, mdp, streams, clock, checkpoints, until, most_steps)


run_one: Any = _run_kept if simulated() else kernel(run_lane)


def _replace(theirs: Any, ours: Callable[..., Any]) -> None:
    """Let a GPU do something else than a kernel says.

    Numba-cuda keeps its own version of a kernel under this name, and makes one if there is none.
    """
    vars(theirs)["_CUDATypingContext__dispatcher"] = cuda.jit(device=True, forceinline=True)(ours)


@cache
def _replace_some() -> None:
    ask = prefetch_intrinsic()
    _replace(prefetch_cell, lambda table, h, s, a: ask(table, h, s, a))  # noqa: PLW0108 - numba wants a function of these names
    _replace(argmax_row, argmax_row_branchless)


def lanes_kernel(*records: Record) -> Any:
    """The kernel that runs lanes which lie as these records do.

    Agents, MDPs, streams, clocks and checkpoints.
    """
    return _lanes_kernel(tuple(reader_source(record) for record in records))


@cache
def _lanes_kernel(readers: tuple[Any, ...]) -> Any:
    read_agent, read_mdp, _, read_clock, read_checkpoints = map(compile_reader, readers)

    def run_lanes(agents, mdps, streams, clocks, checkpoints, until, most_steps, statuses):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - numba finds the types
        i = cuda.grid(1)
        if i >= statuses.size:
            return
        transitions, rewards, own = (
            cuda.local.array(4, uint64),
            cuda.local.array(4, uint64),
            cuda.local.array(4, uint64),
        )
        for k in range(4):  # in registers while it runs
            transitions[k], rewards[k], own[k] = (
                streams.transitions[k, i],
                streams.rewards[k, i],
                streams.agent[k, i],
            )
        statuses[i] = run_one(
            read_agent(agents, i), read_mdp(mdps, i), Streams(transitions, rewards, own, own), read_clock(clocks, i), read_checkpoints(checkpoints, i), until, most_steps
        )  # fmt: skip
        for k in range(4):
            streams.transitions[k, i], streams.rewards[k, i], streams.agent[k, i] = (
                transitions[k],
                rewards[k],
                own[k],
            )

    if simulated():
        return cuda.jit(run_lanes)
    _replace_some()
    return cuda.jit(run_lanes, max_registers=MAX_REGISTERS, lto=False)


_compiling = threading.Lock()
_inside = 0  # how many threads are in `exact_arithmetic`


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """While any thread is in here, kernels are compiled so that no product and sum become one operation."""
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
    global _inside  # noqa: PLW0603 - the compiler is one for the whole process
    with _compiling:
        _inside += change
        if change > 0 and _inside == 1:
            nvvm.compile_ir = partial(nvvm.compile_ir, fma=False)
        elif _inside == 0:
            nvvm.compile_ir = nvvm.compile_ir.func
