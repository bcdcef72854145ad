"""An agent with a pool that grows: it keeps every reward it meets."""

from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints, Stream
from heavytail.kernels.rng import integer
from heavytail.kernels.verbs import act, full, update, write_counters
from heavytail.ranges import Range


class Growing(NamedTuple):
    rewards: Floats  # the pool
    used: Ints  # [1]

    def counter_names(self) -> tuple[str, ...]:
        return ("kept",)

    def pools(self) -> tuple[str, ...]:
        return ("rewards",)

    def ranges(self) -> dict[str, Range]:
        return {"used": Range(0, len(self.rewards))}


def growing(room: int) -> Growing:
    return Growing(np.zeros(room), np.zeros(1, np.int64))


@act.method(Growing)
def _act(agent: Growing, s: int, h: int, rng: Stream) -> int:
    return integer(rng, 2)


@update.method(Growing)
def _update(
    agent: Growing, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    agent.rewards[agent.used[0]] = r
    agent.used[0] += 1


@write_counters.method(Growing)
def _write_counters(agent: Growing, out: Floats) -> None:
    out[0] = agent.used[0]


@full.method(Growing)
def _full(record: Growing) -> bool:
    return record.used[0] == record.rewards.size
