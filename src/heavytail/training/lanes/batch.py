"""Runs in lanes: tens of thousands at once, one per GPU thread, with the CPU's kernels.

The lanes of a batch share one agent class and one MDP shape; all numbers in both may differ, and so may the
seeds. The GPU works in chunks of a second, or of a fraction of one if it also draws a desktop and must not
stay busy for long; between chunks Python handles Ctrl-C, reports progress, enlarges pools and may save
everything to a file.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from heavytail.agent_file import find_array
from heavytail.arrays import Bools, Floats, Ints, Record
from heavytail.errors import InputError
from heavytail.files import Arrays
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import Streams
from heavytail.kernels.validity import check_record
from heavytail.mdp.changing import ChangingMDP
from heavytail.training.fused import (
    ERROR_MESSAGES,
    FULL,
    PAUSED,
    Checkpoints,
    RunState,
    check_run_state,
    new_checkpoints,
    new_run_state,
    next_chunk,
)
from heavytail.training.lanes.device import BLOCK, blocks, chunk_seconds, to_device, to_host
from heavytail.training.lanes.layout import (
    Deduplicated,
    in_lanes,
    lane_bytes,
    on_host,
    own_arrays,
    pool_paths,
    read_lane,
    with_arrays,
)

FIRST_CHUNK = 200  # steps
WIDE = 65_536  # above this many lanes, widths are multiples of it
MEMORY_SHARE = 0.8  # of the free memory; pools may grow into the rest
MAX_UNITS = np.iinfo(np.int64).max


def bytes_per_lane(agent: Record, checkpoints: int) -> int:
    """Return the bytes of memory that one lane needs."""
    recorded = new_checkpoints(np.arange(checkpoints), agent)
    return sum(map(lane_bytes, (agent, new_run_state(), recorded))) + 4 * 4 * 8  # four streams


def lanes_that_fit(free_bytes: int, agent: Record, checkpoints: int) -> int:
    """Return how many lanes fit into this much free memory; at least one."""
    return max(1, int(MEMORY_SHARE * free_bytes) // bytes_per_lane(agent, checkpoints))


def width_for(lanes: int) -> int:
    """Return the width of arrays for this many lanes; some columns may stay unused.

    Each width needs its own compiled kernels, so there are only a few widths.

    >>> [width_for(n) for n in (3, 200, 65_536, 65_537)]
    [128, 256, 65536, 131072]
    """
    return max(BLOCK, 1 << (lanes - 1).bit_length()) if lanes <= WIDE else WIDE * -(-lanes // WIDE)


def _pad(records: Deduplicated) -> Deduplicated:
    """Add unused lanes at the end, up to the width."""
    unused = width_for(len(records.which)) - len(records.which)
    return Deduplicated(records.unique, np.concatenate([records.which, np.zeros(unused, np.int64)]))


class LaneState(NamedTuple):
    """The whole state of the lanes, in GPU memory."""

    agents: Record
    streams: Streams
    run_states: RunState
    checkpoints: Checkpoints


class Lanes:
    """A batch of runs, side by side on a GPU."""

    def __init__(self, agents: Deduplicated, mdps: Deduplicated, streams: Deduplicated, at: Ints) -> None:
        """Make lanes at the start of their runs.

        Args:
            agents: records of agents.
            mdps: changing MDPs that all change at the same times.
            streams: random streams.
            at: checkpoints, in episodes or steps; the last is the end.
        """
        self.mdps, self.at, self.size = mdps, at, len(agents.which)
        same = np.zeros(self.size, np.int64)
        run_states = Deduplicated([new_run_state()], same)
        checkpoints = Deduplicated([new_checkpoints(at, agents.unique[0])], same)
        records = (agents, streams, run_states, checkpoints)
        self.state = LaneState(*(in_lanes(_pad(record)) for record in records))
        self.error_status = np.zeros(self.size, np.int64)  # the status that stopped a lane early, else 0

    def run(self, on_chunk: Callable[[], None] = lambda: None) -> None:
        """Run to the end; `on_chunk` is called after each chunk."""
        first: ChangingMDP = self.mdps.unique[0]
        for k, until in enumerate((*first.at, int(self.at[-1]))):
            current = Deduplicated([changing.played[k] for changing in self.mdps.unique], self.mdps.which)
            self._run_until(in_lanes(_pad(current)), min(until, int(self.at[-1])), on_chunk)

    def share(self) -> float:
        """Return the share of all episodes or steps that is done."""
        units = to_host(self.state.run_states.episodes_or_steps)[0, : self.size]
        return float(np.minimum(units, self.at[-1]).mean() / self.at[-1])

    def steps(self) -> int:
        """Return how many steps all lanes have made."""
        return int(to_host(self.state.run_states.steps).sum())

    def values(self) -> Floats:
        """Return the recorded values, [L, C, columns of `heavytail.training.fused`]."""
        values = to_host(self.state.checkpoints.values)
        return np.ascontiguousarray(np.moveaxis(values, -1, 0)[: self.size])

    def arrays(self) -> Arrays:
        """Copy the whole state of the lanes to the host, for `restore`."""
        own = {path: to_host(array) for path, array in own_arrays("lanes", self.state)}
        return {"error_status": self.error_status, **own}

    def restore(self, arrays: Arrays) -> None:
        """Continue from the `arrays` of other lanes made with the same arguments.

        Arrays that do not fit raise a one-line error and leave these lanes unchanged.
        """
        begun = on_host(self.state)
        if set(arrays) != {"error_status", *dict(own_arrays("lanes", begun))}:
            raise InputError(
                "these lanes were saved by another version of heavytail, with other arrays;"
                " remove their file to start them again"
            )
        self._check(arrays, begun)
        own = {path: to_device(arrays[path]) for path, _ in own_arrays("lanes", begun)}
        self.error_status, self.state = arrays["error_status"], with_arrays("lanes", self.state, own)

    def _check(self, arrays: Arrays, begun: LaneState) -> None:
        """Check the arrays of other lanes, lane by lane: compiled code trusts them."""
        error_status = find_array("error_status", arrays, self.error_status)
        if not np.isin(error_status, [0, *ERROR_MESSAGES]).all():
            raise InputError("error_status names an error that does not exist")
        pools = set(pool_paths("lanes", begun))
        for path, array in own_arrays("lanes", begun):
            find_array(path, arrays, array, grows=path in pools)
        mdp, left = self.mdps.unique[0].mdps[0], with_arrays("lanes", begun, arrays)
        for i in range(self.size):
            lane = read_lane(left, i)
            for name, record, fresh in zip(LaneState._fields, lane, read_lane(begun, i), strict=True):
                check_record(f"lane {i}/{name}", record, fresh)
            check_run_state(lane.run_states, mdp.n_states, mdp.horizon)

    def errors(self) -> dict[int, str]:
        """Return the error messages of the lanes that failed, by lane."""
        run_states = self.state.run_states
        steps, states = to_host(run_states.steps)[0], to_host(run_states.state)[0]
        return {
            int(i): ERROR_MESSAGES[int(self.error_status[i])].format(step=steps[i], state=states[i])
            for i in np.flatnonzero(self.error_status)
        }

    def _run_until(self, mdps: Record, until: int, on_chunk: Callable[[], None]) -> None:
        # Here, because importing it starts CUDA
        from heavytail.training.lanes.cuda_kernels import exact_arithmetic, lanes_kernel

        statuses = to_device(np.full(self.size, PAUSED))
        max_steps, seconds = FIRST_CHUNK, chunk_seconds()
        while True:
            started, records = time.perf_counter(), (self.state.agents, mdps, *self.state[1:])
            kernel = lanes_kernel(*records)
            with exact_arithmetic():
                kernel[blocks(self.size), BLOCK](*records, until, max_steps, statuses)
            reached = to_host(statuses)
            if (reached == FULL).any():
                self._grow(int(np.argmax(reached == FULL)))
            self._stop_failed(np.isin(reached, list(ERROR_MESSAGES)), reached)
            on_chunk()
            if not np.isin(reached, (PAUSED, FULL)).any():
                return
            max_steps = next_chunk(max_steps, max_steps, time.perf_counter() - started, seconds)

    def _stop_failed(self, failed: Bools, statuses: Ints) -> None:
        """Stop the lanes that failed: they count as having done all episodes or steps."""
        if failed.any():
            self.error_status[failed] = statuses[failed]
            units = to_host(self.state.run_states.episodes_or_steps).copy()
            units[0, np.flatnonzero(failed)] = MAX_UNITS
            run_states = self.state.run_states._replace(episodes_or_steps=to_device(units))
            self.state = self.state._replace(run_states=run_states)

    def _grow(self, lane: int) -> None:
        """Enlarge in all lanes the pools that are full in one."""
        larger = with_larger_pools(read_lane(self.state.agents, lane))
        self.state = self.state._replace(agents=with_pool_sizes(self.state.agents, larger))


def with_pool_sizes(agents: Record, larger: Record) -> Record:
    """Return the agents of all lanes with pools as large as those of `larger`."""
    fields: list[Any] = []
    for value, template in zip(agents, larger, strict=True):
        if hasattr(template, "_fields"):
            fields.append(with_pool_sizes(value, template))
        elif hasattr(value, "shape") and np.ndim(template) and value.shape[0] != len(template):
            added = np.zeros((len(template) - value.shape[0], *value.shape[1:]), value.dtype)
            fields.append(to_device(np.concatenate([to_host(value), added])))
        else:
            fields.append(value)
    return type(agents)(*fields)
