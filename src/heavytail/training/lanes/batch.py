"""Runs in lanes: tens of thousands of them, one per thread of a GPU, with the kernels of the CPU.

Lanes of a batch have one kind of agent and one shape of MDP; they may differ in every number of both, and in
their seed. The GPU works in chunks of a fraction of a second, since one that also draws a desktop must not be
busy for long; between chunks Python sees Ctrl-C, hears how far it is, enlarges pools and may keep all there
is in a file.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Bools, Floats, Ints, Record
from heavytail.errors import InputError
from heavytail.files import Arrays
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import Streams
from heavytail.mdp.changing import ChangingMDP
from heavytail.training.fused import (
    ERROR_MESSAGES,
    FULL,
    PAUSED,
    Checkpoints,
    RunState,
    new_checkpoints,
    new_clock,
    next_chunk,
)
from heavytail.training.lanes.device import BLOCK, blocks, to_device, to_host
from heavytail.training.lanes.layout import (
    Deduplicated,
    in_lanes,
    lane_bytes,
    lane_of,
    own_arrays,
    with_arrays,
)

CHUNK_SECONDS = 0.2
FIRST_CHUNK = 200  # steps
WIDE = 65_536
SPARE = 0.8  # of the free memory is used: pools may grow
NEVER = np.iinfo(np.int64).max


def bytes_per_lane(agent: Record, checkpoints: int) -> int:
    """The memory that a lane needs."""
    recorded = new_checkpoints(np.arange(checkpoints), agent)
    return sum(map(lane_bytes, (agent, new_clock(), recorded))) + 4 * 4 * 8  # four streams


def lanes_that_fit(free_bytes: int, agent: Record, checkpoints: int) -> int:
    """How many lanes fit so much free memory; at least one."""
    return max(1, int(SPARE * free_bytes) // bytes_per_lane(agent, checkpoints))


def width_for(lanes: int) -> int:
    """Room for how many lanes is made for so many.

    Kernels know it, so there are few widths, and few kernels.

    >>> [width_for(n) for n in (3, 200, 65_536, 65_537)]
    [128, 256, 65536, 131072]
    """
    return max(BLOCK, 1 << (lanes - 1).bit_length()) if lanes <= WIDE else WIDE * -(-lanes // WIDE)


def _padded(different: Deduplicated) -> Deduplicated:
    """The same with lanes at the end that nobody runs."""
    spare = width_for(len(different.which)) - len(different.which)
    return Deduplicated(different.things, np.concatenate([different.which, np.zeros(spare, np.int64)]))


class LaneState(NamedTuple):
    """Where lanes stand: all that they remember, in the memory of the GPU."""

    agents: Record
    streams: Streams
    clocks: RunState
    checkpoints: Checkpoints


class Lanes:
    """Some runs, side by side."""

    def __init__(self, agents: Deduplicated, worlds: Deduplicated, streams: Deduplicated, at: Ints) -> None:
        """Lanes at their first moment.

        Args:
            agents: records of agents.
            worlds: changing MDPs, which change at the same times.
            streams: random streams.
            at: checkpoints, in episodes or steps; the last is the end.
        """
        self.worlds, self.at, self.size = worlds, at, len(agents.which)
        alike = np.zeros(self.size, np.int64)
        clocks, checkpoints = (
            Deduplicated([new_clock()], alike),
            Deduplicated([new_checkpoints(at, agents.things[0])], alike),
        )
        self.standing = LaneState(
            *(in_lanes(_padded(each)) for each in (agents, streams, clocks, checkpoints))
        )
        self.trouble = np.zeros(
            self.size, np.int64
        )  # why lanes were given up, a Status; 0 for those that were not

    def run(self, on_chunk: Callable[[], None] = lambda: None) -> None:
        """Run to the end; `on_chunk` is called after each chunk."""
        world: ChangingMDP = self.worlds.things[0]
        for k, until in enumerate((*world.at, int(self.at[-1]))):
            mdps = in_lanes(
                _padded(Deduplicated([each.mdps[k] for each in self.worlds.things], self.worlds.which))
            )
            self._run_until(mdps, min(until, int(self.at[-1])), on_chunk)

    def share(self) -> float:
        """How much is done."""
        units = to_host(self.standing.clocks.units)[0, : self.size]
        return float(np.minimum(units, self.at[-1]).mean() / self.at[-1])

    def steps(self) -> int:
        """How many steps all lanes have made."""
        return int(to_host(self.standing.clocks.steps).sum())

    def values(self) -> Floats:
        """What was recorded, [L, C, columns of `heavytail.training.fused`]."""
        return np.ascontiguousarray(
            np.moveaxis(to_host(self.standing.checkpoints.values), -1, 0)[: self.size]
        )

    def arrays(self) -> Arrays:
        """All that lanes remember, from which `restore` goes on."""
        return {
            "trouble": self.trouble,
            **{path: to_host(held) for path, held in own_arrays("lanes", self.standing)},
        }

    def restore(self, arrays: Arrays) -> None:
        """Be where other lanes, made from the same things, were when they gave these arrays."""
        if set(arrays) != {"trouble", *dict(own_arrays("lanes", self.standing))}:
            raise InputError(
                "these lanes were left by another version of heavytail, which remembered other"
                " things; remove their file to start them anew"
            )
        self.trouble, self.standing = arrays["trouble"], with_arrays("lanes", self.standing, arrays)

    def errors(self) -> dict[int, str]:
        """What went wrong, by lane."""
        steps, state = to_host(self.standing.clocks.steps)[0], to_host(self.standing.clocks.state)[0]
        return {
            int(i): ERROR_MESSAGES[int(self.trouble[i])].format(step=steps[i], state=state[i])
            for i in np.flatnonzero(self.trouble)
        }

    def _run_until(self, mdps: Record, until: int, on_chunk: Callable[[], None]) -> None:
        from heavytail.training.lanes.cuda_kernels import exact_arithmetic, lanes_kernel

        statuses = to_device(np.full(self.size, PAUSED))
        most_steps = FIRST_CHUNK
        while True:
            standing, started = self.standing, time.perf_counter()
            kernel = lanes_kernel(standing.agents, mdps, *standing[1:])
            with exact_arithmetic():
                kernel[blocks(self.size), BLOCK](
                    standing.agents, mdps, *standing[1:], until, most_steps, statuses
                )
            found = to_host(statuses)
            if (found == FULL).any():
                self._grow(int(np.argmax(found == FULL)))
            self._give_up(np.isin(found, list(ERROR_MESSAGES)), found)
            on_chunk()
            if not np.isin(found, (PAUSED, FULL)).any():
                return
            most_steps = next_chunk(most_steps, most_steps, time.perf_counter() - started, CHUNK_SECONDS)

    def _give_up(self, lost: Bools, statuses: Ints) -> None:
        """Let lanes rest that came to grief: their clocks show the end."""
        if lost.any():
            self.trouble[lost] = statuses[lost]
            units = to_host(self.standing.clocks.units).copy()
            units[0, np.flatnonzero(lost)] = NEVER
            self.standing = self.standing._replace(
                clocks=self.standing.clocks._replace(units=to_device(units))
            )

    def _grow(self, lane: int) -> None:
        """Enlarge in all lanes the pools that are full in one."""
        larger = with_larger_pools(lane_of(self.standing.agents, lane))
        self.standing = self.standing._replace(agents=_with_room(self.standing.agents, larger))


def _with_room(agents: Record, larger: Record) -> Record:
    """The agents with arrays as large as those of `larger`."""
    fields: list[Any] = []
    for value, model in zip(agents, larger, strict=True):
        if hasattr(model, "_fields"):
            fields.append(_with_room(value, model))
        elif hasattr(value, "shape") and np.ndim(model) and value.shape[0] != len(model):
            fields.append(
                to_device(
                    np.concatenate(
                        [
                            to_host(value),
                            np.zeros((len(model) - value.shape[0], *value.shape[1:]), value.dtype),
                        ]
                    )
                )
            )
        else:
            fields.append(value)
    return type(agents)(*fields)
