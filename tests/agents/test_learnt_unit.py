"""Agents in environments that tell nothing of rewards: what they learn of them, and what changes nothing."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.estimators.sketch import Sketch
from heavytail.estimators.sketch_moments import moment_size
from heavytail.gym.env import MDPEnv
from heavytail.kernels.compiling import entry
from heavytail.laws.law import Law

SKETCH: Any = ht.estimators.sketch
AGENTS = ("q_learning", "heavy_q_learning", "ucbvi", "heavy_ucbvi", "ucrl2", "heavy_ucrl2")


class Scaled(gymnasium.RewardWrapper[Any, Any]):
    """An environment whose rewards are in another unit; it does not say of which MDP it is."""

    def __init__(self, env: gymnasium.Env[int, Any], factor: float) -> None:
        super().__init__(env)
        self.factor = factor

    def reward(self, reward: Any) -> float:
        return float(reward) * self.factor


def learner(agent: str, factor: float = 1.0, **parameters: Any) -> ht.Learner:
    """An agent in bandits of 3 states and 2 actions that pay 0.5 or 1 on average, with Student t noise."""
    sizes: dict[str, Any] = {"n_states": 3, "n_actions": 2, "horizon": 4}
    env = Scaled(gymnasium.make("heavytail/Bandits-v0", **sizes, law="student_t", df=1.5), factor)
    return ht.make_agent(env, agent, horizon=4, seed=3, **parameters)


@pytest.mark.parametrize("agent", AGENTS)
def test_rewards_in_another_unit_change_no_decision(agent: str) -> None:
    one, other = learner(agent), learner(agent, 2.0**-30)
    first, second = one.learn(60), other.learn(60)
    np.testing.assert_array_equal(first.mean_reward, second.mean_reward * 2.0**30)
    assert first.mean_reward[-1] != 0.0


@pytest.mark.parametrize("agent", ["q_learning", "heavy_q_learning"])
def test_the_unit_is_the_size_of_rewards(agent: str) -> None:
    """The largest mean is 1000, and sizes are a few times as large."""
    curve = learner(agent, 1000.0).learn(200)
    assert 500.0 < curve.counters["unit"][-1] < 10_000.0


def test_a_range_without_a_moment_is_refused() -> None:
    with pytest.raises(InputError, match="give both moment= and r_max=, or neither"):
        learner("heavy_q_learning", r_max=1.0)


def test_what_is_given_is_not_learnt() -> None:
    curve = learner("heavy_q_learning", r_max=1.0, moment=5.0, epsilon=0.4).learn(5)
    assert "unit" not in curve.counters


@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_a_change_of_unit_converts_what_was_learnt(bonus: str) -> None:
    """Values are in units of rewards, and cells never visited keep their optimistic start."""
    agent: Any = ht.make_online(3, 2, "q_learning", seed=0, horizon=2, bonus=bonus)
    rng = np.random.default_rng(0)
    for _ in range(40):
        agent.update(0, int(rng.integers(2)), float(rng.normal(50.0, 1.0)), 1, 0, terminated=False)
    table, unit = agent.agent.agent, float(agent.agent.unit[0])
    visited = table.visits > 0
    assert 40.0 < unit < 60.0
    assert table.q[visited].max() < 5.0
    assert (table.q[0, 2] == 2.0).all()  # steps left, times 1


@pytest.mark.parametrize("agent", AGENTS)
def test_it_looks_for_rewards_where_it_has_seen_none(agent: str) -> None:
    """A corridor of six states pays at its end only; a step to the left leads back to its start."""
    corridor = ht.mdp_from_arrays(
        [[np.eye(6)[0], np.eye(6)[min(s + 1, 5)]] for s in range(6)],
        [[0.0, float(s == 5)] for s in range(6)],
        horizon=10,
    )
    env = Scaled(MDPEnv(mdp=corridor), 1.0)
    curve = ht.make_agent(env, agent, horizon=10, seed=1).learn(2000)
    assert curve.realised_reward[-1] > 0.0


# Sizes


def _sizes(record: Sketch, orders: Floats, out: Floats) -> None:
    for i in range(orders.size):
        out[i] = moment_size(record, 0, orders[i])


@pytest.mark.parametrize(
    ("law", "order"),
    [
        (ht.laws.normal(2.0, 1.0), 1.5),
        (ht.laws.pareto(1.8), 1.3),
        (ht.laws.student_t(1.6), 1.1),
        (ht.laws.alpha_stable(1.4, beta=0.5), 1.05),
        (ht.laws.bernoulli(0.2), 2.0),
    ],
)
def test_sizes_bound_the_moment_within_a_factor(law: Law, order: float) -> None:
    """Of 10,000 samples, the median of 9: at least 0.9 of the true size, and at most 2.5 times it."""
    true, found = law.moment(order) ** (1.0 / order), []
    for seed in range(9):
        estimator = SKETCH()
        estimator.push(law.sample(10_000, seed=seed))
        out = np.zeros(1)
        entry(_sizes, estimator.record)(estimator.record, np.array([order]), out)
        found.append(out[0])
    assert 0.9 * true < np.median(found) < 2.5 * true
    assert math.isfinite(max(found))
