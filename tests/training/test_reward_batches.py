"""Batches give the rewards drawn one by one, bit for bit, and leave the stream where those leave it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.arrays import Floats, Record, Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.elementary import log
from heavytail.kernels.rng import pair, skip_pair, stream, streams, to_open_uniform
from heavytail.laws.law import law_table
from heavytail.laws.table import draw_law
from heavytail.mdp import MDP
from heavytail.training import fused, reward_batches
from support import mdps, traces

laws = ht.laws
MAX_INT = 2**64 - 1
STABLE = [
    laws.alpha_stable(1.1),
    laws.alpha_stable(1.5, beta=0.5),
    laws.alpha_stable(1.5, beta=1.0),
    laws.alpha_stable(0.8, beta=-0.7),
    laws.alpha_stable(0.05, beta=1.0),
    laws.alpha_stable(0.05),
    laws.alpha_stable(2.0),
]


def one_law(*given: ht.laws.Law) -> MDP:
    """A state in which every action pays by a law of its own.

    Laws without a mean are put in after building.
    """
    stand_in = [laws.constant(float(i)) for i in range(len(given))]
    mdp = ht.mdp_from_arrays(np.ones((1, len(given), 1)), laws=[stand_in], horizon=10)
    return mdp._replace(laws=law_table(given))


def _prepare(record: reward_batches.RewardBatch, rewards: Stream) -> None:
    reward_batches.refill(record, rewards)


def prepared(mdp: MDP, seed: int = 1) -> reward_batches.RewardBatch:
    record = reward_batches.new_reward_batch(mdp)
    entry(_prepare, record)(record, stream(seed))
    return record


@pytest.mark.parametrize("law", [laws.normal(), *STABLE], ids=str)
def test_prepared_variates_are_the_draws_of_plain_python_bit_for_bit(law: ht.laws.Law) -> None:
    mdp, rng = one_law(law), stream(1)
    record = prepared(mdp)
    family = int(record.family[0])
    assert record.prepared[family] == 1
    with np.errstate(all="ignore"):
        single = [
            draw_law(mdp.laws.code[0], law_table([law]), 0, *pair(rng)) for _ in range(reward_batches.BATCH)
        ]
    scale = mdp.laws.parameters[0, 1]
    assert (scale * record.variates[family]).tobytes() == np.array(single).tobytes()


def _again(record: reward_batches.RewardBatch) -> None:
    reward_batches._prepare(record)  # the batch, given its raw draws


@pytest.mark.parametrize("law", [laws.normal(), *STABLE], ids=str)
def test_so_are_those_of_extreme_pairs(law: ht.laws.Law) -> None:
    mdp = one_law(law)
    record = prepared(mdp)
    middle = [0, 1, 2**11, 2**63 - 1, 2**63, 2**63 + 2**12, MAX_INT - 2**12, MAX_INT]
    raw = np.array([(first, second) for first in middle for second in middle], np.uint64)
    record.first[: len(raw)], record.second[: len(raw)] = raw.T
    entry(_again, record)(record)
    plain: Any = draw_law.cases[int(mdp.laws.code[0])]
    with np.errstate(all="ignore"):
        single = [plain(mdp.laws, 0, to_open_uniform(u), -log(to_open_uniform(w))) for u, w in raw]
    drawn = mdp.laws.parameters[0, 1] * record.variates[int(record.family[0]), : len(raw)]
    assert drawn.tobytes() == np.array(single).tobytes()
    assert not np.isnan(drawn).any()


def test_the_commonest_stable_law_is_prepared_and_the_others_draw_by_themselves() -> None:
    common, rare = laws.alpha_stable(1.1, loc=1.0), laws.alpha_stable(1.3)
    mdp = one_law(
        laws.constant(2.0),
        rare,
        common,
        laws.normal(3.0),
        laws.alpha_stable(1.1, scale=2.0),
        laws.pareto(1.5),
        laws.alpha_stable(1.0),
    )
    record = reward_batches.new_reward_batch(mdp)
    assert record.family.tolist() == [
        reward_batches.FIXED,
        reward_batches.OTHER,
        reward_batches.STABLE,
        reward_batches.NORMAL,
        reward_batches.STABLE,
        reward_batches.OTHER,
        reward_batches.OTHER,
    ]
    assert record.alpha == 1.1


def test_nothing_is_prepared_without_demand() -> None:
    record = prepared(ht.mdp_from_arrays([[[1.0]]], [[1.0]], horizon=3))
    assert not record.prefilled.any()


class Case:
    """A run whose rewards are of several families, so that batches are now prepared and now not."""

    def __init__(self, agent: str, mdp: MDP) -> None:
        self.agent, self.mdp = agent, mdp

    def learner(self) -> ht.Learner:
        scales: dict[str, Any] = {"transition_scale": 0.01} if self.agent == "q_learning" else {}
        return ht.make_agent(self.mdp, self.agent, seed=5, **scales)


def everything(learner: ht.Learner) -> traces.Trace:
    return traces.make_trace(learner, fused.new_checkpoints(np.zeros(0, np.int64), learner.agent))


CASES = {
    "six arms, learning": Case("q_learning", ht.make_mdp("six_arms", horizon=7)),
    "all laws": Case("random", mdps.mixed()),
    "continuing": Case("random", mdps.mixed(horizon=None)),
    "stable throughout": Case(
        "random", one_law(laws.alpha_stable(1.1, loc=1.0), laws.alpha_stable(1.1, scale=0.1))
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_size_of_a_batch_is_no_part_of_a_result(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for size in (256, 1, 3, 64):
        monkeypatch.setattr(reward_batches, "BATCH", size)
        learner = CASES[case].learner()
        traces.learn(learner, 400)
        found.append(everything(learner))
    for other in found[1:]:
        traces.assert_same(found[0], other)


@pytest.mark.parametrize("case", CASES)
def test_a_run_uses_one_pair_for_every_step(case: str) -> None:
    learner, rewards = CASES[case].learner(), streams(5).rewards
    traces.learn(learner, 100)
    with np.errstate(over="ignore"):
        for _ in range(int(learner.run_state.steps[0])):
            skip_pair(rewards)
    np.testing.assert_array_equal(learner.streams.rewards, rewards)


@pytest.mark.parametrize("case", CASES)
def test_a_run_saved_in_the_middle_of_a_batch_goes_on_as_if_it_had_not_been(
    case: str, tmp_path: Path
) -> None:
    once, first = CASES[case].learner(), CASES[case].learner()
    traces.learn(once, 200)
    traces.learn(first, 61)
    first.save(tmp_path / "agent.npz")
    second = ht.Learner.load(tmp_path / "agent.npz")
    traces.learn(second, 139)
    traces.assert_same(everything(once), everything(second))


def _steps(
    mdp: MDP, record: reward_batches.RewardBatch, transitions: Stream, rewards: Stream, out: Floats
) -> None:
    """Fill `out` with rewards of one cell, batch by batch."""
    for i in range(out.size):
        if record.used[0] == record.first.size:
            reward_batches.refill(record, rewards)
        _, out[i], _, _ = reward_batches.step_in_batch(
            mdp, 0, 0, 0, transitions, record, record.prefilled[0] == 1, record.used[0], rewards
        )
        record.used[0] += 1
    reward_batches.rewind(record, rewards)


@pytest.mark.parametrize(
    "law", [laws.normal(1.0), laws.alpha_stable(1.1, loc=2.0), laws.pareto(1.5), laws.constant(4.0)], ids=str
)
def test_rewards_in_batches_are_the_draws_of_the_law(law: ht.laws.Law) -> None:
    mdp, out, rewards = one_law(law), np.empty(700), stream(3)
    record: Record = reward_batches.new_reward_batch(mdp)
    entry(_steps, mdp, record)(mdp, record, stream(0), rewards, out)
    assert out.tobytes() == law.sample(700, seed=3).tobytes()
