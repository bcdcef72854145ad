"""Runs in lanes end as the same runs do alone, to the last bit."""

import random
import warnings
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.arrays import Ints
from heavytail.errors import InputError
from heavytail.files import read_arrays, write_arrays
from heavytail.kernels.rng import streams
from heavytail.mdp import MDP
from heavytail.mdp.changing import ChangingMDP, changing_mdp
from heavytail.training import fused
from heavytail.training.lanes import batch
from heavytail.training.lanes.batch import Lanes, bytes_per_lane, lanes_that_fit, width_for
from heavytail.training.lanes.device import BLOCK
from heavytail.training.lanes.layout import (
    Deduplicated,
    IndexedArrays,
    in_lanes,
    own_arrays,
    read_lane,
    record_shape,
)
from heavytail.training.learner import Learner

AT = np.array([1, 7, 40, 60])


class Run(NamedTuple):
    """One of the runs that are done both ways."""

    agent: str
    parameters: dict[str, Any]
    mdp: ChangingMDP
    seed: int

    def learner(self) -> Learner:
        return ht.make_agent(self.mdp, self.agent, seed=self.seed, **self.parameters)


def make_lanes(runs: Sequence[Run], at: Ints = AT) -> Lanes:
    every = np.arange(len(runs))
    learners = [run.learner() for run in runs]
    changing = list({id(run.mdp): run.mdp for run in runs}.values())
    which = np.array([[id(mdp) for mdp in changing].index(id(run.mdp)) for run in runs])
    return Lanes(
        Deduplicated([learner.agent for learner in learners], every),
        Deduplicated(changing, which),
        Deduplicated([streams(run.seed) for run in runs], every),
        at,
    )


def assert_as_alone(lanes: Lanes, runs: Sequence[Run], skip: Collection[int] = ()) -> None:
    """Everything that a run leaves behind."""
    values = lanes.values()
    for i, run in enumerate(runs):
        if i in skip:
            continue
        learner = run.learner()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that more steps were made than planned
            curve = learner.learn(**{learner.unit: int(lanes.at[-1])}, checkpoints=lanes.at.tolist())  # type: ignore[arg-type]
        state = lanes.state
        assert np.array_equal(values[i, :, fused.MEAN], curve.mean_reward)
        assert np.array_equal(values[i, :, fused.REALISED], curve.realised_reward)
        for k, counted in enumerate(curve.counters.values()):
            assert np.array_equal(values[i, :, fused.FIRST_COUNTER + k], counted, equal_nan=True)
        for found, expected in zip(
            state[:3], (learner.agent, learner.streams, learner.run_state), strict=True
        ):
            assert_same(read_lane(found, i), expected)


def assert_same(found: Any, expected: Any) -> None:
    """The same but for the room in pools: in lanes they grow together."""
    theirs = flatten("x", expected)
    for path, array in flatten("x", found).items():
        same = array[: len(theirs[path])] if array.ndim else array
        assert same.tobytes() == theirs[path].tobytes(), path
        assert not array.ndim or not array[len(theirs[path]) :].any(), path


def sequence(*mdps: MDP, at: Sequence[int] = ()) -> ChangingMDP:
    return changing_mdp(mdps, at)


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "FIRST_CHUNK", 37)
    monkeypatch.setattr(batch, "next_chunk", lambda *known: 37)


def points_and_seeds(*changing: ChangingMDP) -> list[Run]:
    """Two points, three seeds and some MDPs of one shape."""
    points = [
        {"epsilon": 0.05, "moment": 1.0, "reward_scale": scale, "transition_scale": scale}
        for scale in (1e-5, 1e-3)
    ]
    return [
        Run("heavy_q_learning", point, mdp, seed) for mdp in changing for point in points for seed in range(3)
    ]


@pytest.mark.usefixtures("short_chunks")
def test_points_seeds_and_mdps_side_by_side() -> None:
    mdps = [ht.make_mdp("six_arms", law=ht.laws.student_t(df)) for df in (1.5, 3.0)]
    assert record_shape(mdps[0]) == record_shape(mdps[1])
    runs, chunks = points_and_seeds(*map(sequence, mdps)), list[float]()
    lanes = make_lanes(runs)
    shared = in_lanes(Deduplicated(mdps, np.array([0, 1])))
    assert isinstance(shared.laws.parameters, IndexedArrays)
    lanes.run(lambda: chunks.append(lanes.share()))
    assert len(chunks) > 5
    assert chunks == sorted(chunks)
    assert (chunks[0] < 0.1, chunks[-1]) == (True, 1.0)
    assert_as_alone(lanes, runs)
    assert lanes.errors() == {}
    assert lanes.steps() == len(runs) * 60 * mdps[0].horizon
    assert len({lanes.values()[i].tobytes() for i in range(len(runs))}) == len(runs)  # they differ


def wandering(seed: int, broken: float | None = None) -> MDP:
    """Five states, from each of which all can be reached; the sample with this value is no number."""
    transitions = np.random.default_rng(seed).dirichlet(np.ones(5), size=(5, 2))
    mdp = ht.mdp_from_arrays(transitions, laws=[[ht.laws.empirical(range(100))] * 2] * 5)
    mdp.laws.samples[mdp.laws.samples == broken] = np.nan
    return mdp


def test_pools_grow() -> None:
    runs = [Run("ucrl2", {}, sequence(wandering(0)), seed) for seed in range(3)]
    lanes = make_lanes(runs, at=np.array([10, 400, 900]))
    before = lanes.state.agents
    lanes.run()
    shapes = [dict(zip(*_paths(record), strict=True)) for record in (before, lanes.state.agents)]
    assert shapes[0] != shapes[1]
    assert_as_alone(lanes, runs)


def _paths(record: Any) -> tuple[list[str], list[Any]]:
    found = dict(own_arrays("x", record))
    return list(found), [held.shape for held in found.values()]


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("at", [[20], [20, 21, 55], [59, 60, 90]])
def test_an_mdp_that_changes(at: list[int]) -> None:
    mdps = [ht.make_mdp("double_chain"), ht.make_mdp("double_chain", law=ht.laws.normal(0.0, 2.0))] * 2
    runs = points_and_seeds(sequence(*mdps[: len(at) + 1], at=at))
    lanes = make_lanes(runs)
    lanes.run()
    assert_as_alone(lanes, runs)


def broken_at(sample: float) -> ChangingMDP:
    """One state, two actions, a law given by samples: the one with this value is no number."""
    mdp = ht.mdp_from_arrays([[[1.0], [1.0]]], laws=[[ht.laws.empirical(range(50))] * 2], horizon=3)
    mdp.laws.samples[mdp.laws.samples == sample] = np.nan
    return sequence(mdp)


@pytest.mark.usefixtures("short_chunks")
def test_a_nan_reward_ends_one_lane_and_no_other() -> None:
    runs = [Run("q_learning", {}, broken_at(sample), seed) for sample in (-1.0, 13.0) for seed in range(3)]
    lanes = make_lanes(runs)
    lanes.run()
    assert set(lanes.errors()) == {3, 4, 5}
    for i, message in lanes.errors().items():
        with pytest.raises(InputError) as caught:
            runs[i].learner().learn(60)
        assert str(caught.value) == message
    assert_as_alone(lanes, runs, skip={3, 4, 5})
    assert lanes.share() == 1.0


class Stop(Exception):  # noqa: N818 - no error
    pass


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("seed", range(3))
def test_stopped_at_random_chunks_it_goes_on_from_a_file(seed: int, tmp_path: Path) -> None:
    """Pools that grow, an MDP that changes and a lane that is given up, all before or after a stop."""
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    changing = [sequence(wandering(0), wandering(1, broken), at=[300]) for broken in (None, 13.0)]
    runs = [Run("ucrl2", {}, mdp, seed) for mdp in changing for seed in range(2)]
    at = np.array([10, 400, 900])
    lanes, file, stops = make_lanes(runs, at), tmp_path / "lanes.npz", 0

    def stop_now_and_then() -> None:
        nonlocal stops
        if chance.random() < 0.5:
            stops += 1
            raise Stop

    while True:
        try:
            lanes.run(stop_now_and_then)
        except Stop:
            write_arrays(file, lanes.arrays())
            lanes = make_lanes(runs, at)
            lanes.restore(read_arrays(file, "lanes"))
        else:
            break
    assert stops > 2
    whole = make_lanes(runs, at)
    whole.run()
    assert whole.errors() == lanes.errors() != {}
    assert lanes.values().tobytes() == whole.values().tobytes()
    assert {path: array.tobytes() for path, array in lanes.arrays().items()} == {
        p: a.tobytes() for p, a in whole.arrays().items()
    }
    assert_as_alone(lanes, runs, skip=set(lanes.errors()))


# How wide, and how many fit


@given(st.integers(1, 10**6))
def test_widths_are_few_and_wide_enough(lanes: int) -> None:
    width = width_for(lanes)
    assert lanes <= width < max(2 * lanes, BLOCK + 1)
    assert width % BLOCK == 0
    assert width_for(width) == width


def test_there_are_few_widths() -> None:
    widths = sorted({width_for(lanes) for lanes in range(1, 65_537)})
    assert (widths[0], widths[-1]) == (BLOCK, 65_536)
    assert all(next_width == 2 * width for width, next_width in pairwise(widths))


def test_the_memory_of_a_lane_is_that_of_all_lanes_divided() -> None:
    run = points_and_seeds(sequence(ht.make_mdp("six_arms")))[0]
    lanes = make_lanes([run] * 5)
    held = sum(array.nbytes for path, array in lanes.arrays().items() if path != "error_status")
    each = bytes_per_lane(run.learner().agent, len(AT))
    assert held / width_for(5) <= each < 1.05 * held / width_for(5)


def test_as_many_lanes_as_fit_the_memory() -> None:
    agent = points_and_seeds(sequence(ht.make_mdp("six_arms")))[0].learner().agent
    each = bytes_per_lane(agent, 10)
    assert lanes_that_fit(100 * each, agent, 10) == 80
    assert lanes_that_fit(each // 2, agent, 10) == 1


def test_what_another_version_left_is_refused() -> None:
    lanes = make_lanes(points_and_seeds(sequence(ht.make_mdp("six_arms"))))
    arrays = lanes.arrays()
    arrays["lanes/agents/elsewhere"] = arrays.pop("lanes/agents/truncated")
    with pytest.raises(InputError, match="saved by another version"):
        lanes.restore(arrays)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("agents/policy", 9, r"lane 3/agents/policy holds 9; .* between 0 and 5"),
        ("agents/model/start", 10**6, "lane 3/agents/model/start holds 1000000"),
        ("agents/delta", 0.5, "lane 3/agents/delta is 0.5, and differs"),
        ("checkpoints/reached", -1, "lane 3/checkpoints/reached holds -1"),
        ("run_states/state", 7, "run state does not fit"),
        ("streams/agent", 0, "a random stream is all zeros"),
    ],
)
def test_lanes_that_are_not_valid_are_refused(path: str, value: float, message: str) -> None:
    mdp = sequence(ht.make_mdp("six_arms"))
    runs = [Run("ucrl2", {"delta": 0.1 if seed < 2 else 0.2}, mdp, seed) for seed in range(5)]
    lanes = make_lanes(runs)
    arrays = lanes.arrays()
    lanes.restore(arrays)
    arrays[f"lanes/{path}"][..., 3] = value
    with pytest.raises(InputError, match=message):
        lanes.restore(arrays)
