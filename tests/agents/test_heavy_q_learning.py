import math
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agents.heavy_q_learning import heavy_q_learning, weighted_bernstein_constant
from heavytail.kernels.rng import stream
from heavytail.mdp.problem import Problem
from heavytail.serving.online_agent import OnlineAgent
from support import naive

PROBLEM = Problem(n_states=1, n_actions=1, horizon=1, r_max=1.0)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("horizon", [1, 2, 10])
def test_the_tight_constant_is_the_maximum_of_k(horizon: int, epsilon: float) -> None:
    best = weighted_bernstein_constant(horizon, epsilon)
    values = [naive.bernstein_constant(horizon, t, epsilon) for t in (1, 2, 3, 5, 10, 30, 100, 300, 600)]
    assert max(values) <= best
    assert max(values) >= 0.98 * best
    assert best < 8 * horizon


def test_the_constant_has_the_values_of_the_reading() -> None:
    for horizon, low, high in ((2, 3.8, 4.1), (10, 8.0, 8.1), (25, 14.7, 14.8)):
        assert (
            low - 0.05
            <= weighted_bernstein_constant(horizon, 0.05)
            <= weighted_bernstein_constant(horizon, 1.0)
            <= high + 0.05
        )


def test_rewards_are_truncated_and_bonuses_paid_as_the_algorithm_says() -> None:
    """One cell, one step.

    Q after t visits is the weighted mean of truncated rewards and bonuses, summed naively.
    """
    epsilon, moment, horizon = 0.3, 2.0, 1
    agent: Any = heavy_q_learning(
        PROBLEM, epsilon=epsilon, moment=moment, reward_scale=0.5, transition_scale=0.25, bonus_scale=2.0
    )
    steps: OnlineAgent[int] = OnlineAgent(agent, stream(0), PROBLEM)
    rewards = ht.laws.student_t(df=1.4).sample(60, seed=1) * 3
    rewards[5] = math.inf
    iota = math.log(2 * 10_000_000 / 0.05)
    a, b = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    constant = weighted_bernstein_constant(horizon, epsilon)
    expected = 0.0
    kept = [
        naive.truncated(r, t, epsilon=epsilon, moment=moment, iota=iota) for t, r in enumerate(rewards, 1)
    ]
    for t, (r, counted) in enumerate(zip(rewards, kept, strict=True), 1):
        steps.update(0, 0, float(r), 0, 0, terminated=True)
        bonus = 2.0 * (0.25 * math.sqrt(horizon**3 * iota / t) + 0.5 * constant * moment**a * (iota / t) ** b)
        rate = (horizon + 1) / (horizon + t)
        expected = (1 - rate) * expected + rate * (counted + bonus)
        assert agent.table.q[0, 0, 0] == pytest.approx(expected, rel=1e-12)
    assert agent.truncated[0] == sum(c != r for c, r in zip(kept, rewards, strict=True)) > 1


def test_the_papers_constant_is_eight_times_the_horizon() -> None:
    tight: Any = heavy_q_learning(PROBLEM, epsilon=0.5, moment=1.0, constants="tight")
    paper: Any = heavy_q_learning(PROBLEM, epsilon=0.5, moment=1.0, constants="paper")
    assert paper.reward_bonus / tight.reward_bonus == pytest.approx(8 / weighted_bernstein_constant(1, 0.5))


def test_a_small_moment_does_not_shrink_r_max() -> None:
    one: Any = heavy_q_learning(PROBLEM, epsilon=0.5, moment=1e-6)
    two: Any = heavy_q_learning(PROBLEM, epsilon=0.5, moment=1e6)
    np.testing.assert_array_equal(one.table.q, two.table.q)
    assert one.table.bonus.factor == two.table.bonus.factor
