"""The loop of a lane gives what the fused loop gives.

The same bits after any number of steps, for every registered agent. Both run as plain Python, whose bits are
those of compiled code (`tests/contract/test_agents.py`): compiled, the two loops of each agent take minutes.
"""

from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import streams
from heavytail.mdp import MDP
from heavytail.registry import find
from heavytail.training import fused
from heavytail.training.lanes.cuda_kernels import run_lane
from heavytail.training.reward_batches import new_reward_batch
from support import traces
from support.growing_agent import growing
from support.mdps import infinite, mixed
from support.wild_agent import Wild

STOPS = (1, 7, 301, 33)  # steps; the fused loop prepares 256 rewards at a time
STEPS = 700  # or somewhat more, in whole episodes


def nan_now_and_then() -> MDP:
    """Make an MDP in which one reward in twenty is NaN, in every state and for every action.

    No law has such a mean, so the sample is changed after building.
    """
    mdp = ht.mdp_from_arrays(
        np.full((2, 2, 2), 0.5), laws=[[ht.laws.empirical(range(20))] * 2] * 2, horizon=3
    )
    mdp.laws.samples[mdp.laws.samples == 19.0] = np.nan
    return mdp


MDPS: dict[str, Callable[[], MDP]] = {
    "six_arms": lambda: ht.make_mdp("six_arms"),
    "river_swim": lambda: ht.make_mdp("river_swim", horizon=None),
    "terminal": mixed,
    "nan": nan_now_and_then,
    "infinite": infinite,
}


class Side(NamedTuple):
    """One of two runs that should be the same, and what it remembers."""

    agent: Record
    mdp: MDP
    rest: tuple[Any, ...]  # streams, run_state, checkpoints

    def trace(self) -> traces.Trace:
        named = zip(("agent", "streams", "run_state", "recorded"), (self.agent, *self.rest), strict=True)
        return {path: array.copy() for name, record in named for path, array in flatten(name, record).items()}

    def with_room(self) -> "Side":
        return self._replace(agent=with_larger_pools(self.agent))


def side(agent: Record, mdp: MDP) -> Side:
    units = -(-STEPS // max(mdp.horizon, 1))
    return Side(
        agent, mdp, (streams(3), fused.new_run_state(), fused.new_checkpoints(np.array([1, 7, units]), agent))
    )


def fused_chunk(run: Side, max_steps: int) -> int:
    (own, run_state, recorded), batch = run.rest, new_reward_batch(run.mdp)
    chunk = entry(fused.run_chunk, run.agent, run.mdp, own, batch, run_state, recorded)
    return chunk(run.agent, run.mdp, own, batch, run_state, recorded, int(recorded.at[-1]), max_steps)


def lane_chunk(run: Side, max_steps: int) -> int:
    own, run_state, recorded = run.rest
    chunk = entry(run_lane, run.agent, run.mdp, own, run_state, recorded)
    return chunk(run.agent, run.mdp, own, run_state, recorded, int(recorded.at[-1]), max_steps)


def statuses_met(build: Callable[[], Record], mdp: MDP) -> list[int]:
    """Run both ways to the end, and compare all there is at every stop; why they stopped."""
    one, lane, met = side(build(), mdp), side(build(), mdp), list[int]()
    for max_steps in cycle(STOPS):
        met.append(fused_chunk(one, max_steps))
        assert lane_chunk(lane, max_steps) == met[-1]
        traces.assert_same(one.trace(), lane.trace())
        if met[-1] == fused.FULL:
            one, lane = one.with_room(), lane.with_room()
        elif met[-1] != fused.PAUSED:
            break
    return met


def builder(agent: str, mdp: MDP) -> Callable[[], Record]:
    return lambda: ht.make_agent(mdp, agent, seed=0, **find("agent", agent).example).agent


def can(agent: str, mdp: str) -> bool:
    try:
        builder(agent, MDPS[mdp]())()
    except InputError as error:
        if "continuing" not in str(error):
            raise
        return False
    return True


CASES = [(found.name, mdp) for found in ht.registered("agent") for mdp in MDPS if can(found.name, mdp)]


def test_every_mdp_is_used() -> None:
    assert {mdp for _, mdp in CASES} == set(MDPS)


@pytest.mark.parametrize(("agent", "name"), CASES)
def test_a_lane_goes_as_the_fused_loop_does(agent: str, name: str) -> None:
    mdp = MDPS[name]()
    met = statuses_met(builder(agent, mdp), mdp)
    assert met[-1] == (fused.NAN if name == "nan" else fused.DONE)
    assert name == "nan" or met.count(fused.PAUSED) > 1


def test_pools_grow_in_both() -> None:
    assert statuses_met(lambda: growing(1), mixed()).count(fused.FULL) > 5


def test_an_action_that_does_not_exist_ends_both() -> None:
    assert statuses_met(lambda: Wild(2), mixed()) == [fused.BAD_ACTION]
