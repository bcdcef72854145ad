"""Posterior sampling.

Its draws have the moments of the posterior, and its plan is that of the MDP drawn.
"""

import math
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agents.psrl import PSRL, draw_rewards, draw_transitions, psrl, solve
from heavytail.arrays import Floats, Stream
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import stream
from support import mdps

PROBLEM = ht.Problem(n_states=3, n_actions=2, horizon=4, r_max=1.0)
DRAWS = 20_000


def _draw_many(agent: PSRL, rng: Stream, transitions: Floats, rewards: Floats) -> None:
    """Draw again and again, and keep what was drawn; then solve the last."""
    for i in range(rewards.shape[0]):
        draw_transitions(agent, rng)
        draw_rewards(agent, rng)
        for k in range(agent.drawn.shape[0]):
            for cell in range(agent.drawn.shape[1]):
                transitions[i, k, cell] = agent.drawn[k, cell]
        for cell in range(agent.rewards.size):
            rewards[i, cell] = agent.rewards[cell]
    solve(agent)


def drawn(agent: PSRL, n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Transitions [n, S + 1, S*A] and mean rewards [n, S*A]."""
    transitions, rewards = np.zeros((n, *agent.drawn.shape)), np.zeros((n, agent.rewards.size))
    entry(_draw_many, agent)(agent, stream(seed), transitions, rewards)
    return transitions, rewards


def learnt(**parameters: Any) -> PSRL:
    """Make an agent that has seen some transitions and rewards, given as arrays."""
    agent = psrl(PROBLEM, **parameters)
    rng = np.random.default_rng(4)
    seen = rng.integers(0, 6, agent.weights.shape) * (rng.random(agent.weights.shape) < 0.7)
    agent.weights[:] += seen
    agent.visits[:] = seen.sum(axis=0)
    agent.sums[:] = agent.visits * rng.normal(1.0, 2.0, agent.visits.size)
    return agent


@pytest.mark.parametrize("prior_count", [1.0, 0.3, 2.5])
def test_transitions_are_drawn_from_the_dirichlet_posterior(prior_count: float) -> None:
    """Means, variances and covariances of 20,000 draws.

    6 cells of 4 means and 10 products, three priors: at five standard errors one of these tests fails once in
    7,000 suites.
    """
    agent = learnt(prior_count=prior_count)
    agent.weights[3, 0] = 0.0  # no end was seen there
    found, _ = drawn(agent, DRAWS)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found >= 0).all()
    assert (found[:, 3, 0] == 0).all()
    total = agent.weights.sum(axis=0)
    centre = agent.weights / total
    assert (np.abs(found.mean(axis=0) - centre) < 5 * _standard_error(found) + 1e-12).all()
    for i in range(4):
        for j in range(i + 1):
            products = (found[:, i] - centre[i]) * (found[:, j] - centre[j])
            expected = (centre[i] * (i == j) - centre[i] * centre[j]) / (total + 1)
            assert (np.abs(products.mean(axis=0) - expected) < 5 * _standard_error(products) + 1e-12).all()


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_mean_rewards_are_drawn_from_the_normal_posterior(scale: float) -> None:
    """Mean, variance and fourth moment of 20,000 draws of 6 cells, twice.

    Five standard errors: once in 48,000 suites.
    """
    agent = learnt(prior_mean=2.0, prior_precision=0.5, noise_precision=3.0, reward_scale=scale)
    _, found = drawn(agent, DRAWS, seed=1)
    precision = 0.5 + 3.0 * agent.visits
    centre = (0.5 * 2.0 + 3.0 * agent.sums) / precision
    standard = (found - centre) * np.sqrt(precision) / scale
    for power, expected in ((1, 0.0), (2, 1.0), (4, 3.0)):
        assert (
            np.abs((standard**power).mean(axis=0) - expected) < 5 * _standard_error(standard**power)
        ).all()


def test_before_anything_was_seen_draws_are_the_priors() -> None:
    """Uniform on the simplex, N(0, 1), and no end. Five standard errors for 48 statistics: once in 36,000."""
    transitions, rewards = drawn(psrl(PROBLEM), DRAWS)
    assert (transitions[:, 3] == 0).all()
    for sample, centre in (
        (transitions[:, :3], 1 / 3),
        (transitions[:, :3] ** 2, 1 / 6),
        (rewards, 0.0),
        (rewards**2, 1.0),
    ):
        assert (np.abs(sample.mean(axis=0) - centre) < 5 * _standard_error(sample)).all()


def _standard_error(sample: Floats) -> Floats:
    return sample.std(axis=0) / math.sqrt(len(sample))


@pytest.mark.parametrize("seed", range(5))
def test_the_plan_is_that_of_the_drawn_mdp(seed: int) -> None:
    """By `planning`, in the same MDP with the end as a terminal state of its own."""
    agent = learnt()
    transitions, rewards = drawn(agent, 3, seed)
    dense = np.zeros((4, 2, 4))
    dense[:3] = transitions[-1].T.reshape(3, 2, 4)
    dense[3, :, 3] = 1.0
    means = np.zeros((4, 2))
    means[:3] = rewards[-1].reshape(3, 2)
    mdp = ht.mdp_from_arrays(dense, means, horizon=4, terminal=[False, False, False, True])
    plan = ht.planning.episodic_plan(mdp)
    q = agent.q.reshape(4, 3, 2)
    np.testing.assert_allclose(q.max(axis=2), plan.values[:4, :3], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(q.argmax(axis=2), plan.policy[:, :3])


def test_it_counts_what_it_meets_and_expects_an_end_only_where_it_saw_one() -> None:
    mdp = mdps.mixed()
    learner = ht.make_agent(mdp, "psrl", seed=0)
    learner.learn(30)
    agent = learner.agent
    seen = agent.weights - np.array([[1.0], [1.0], [1.0], [0.0]])
    np.testing.assert_array_equal(seen.sum(axis=0), agent.visits)
    assert agent.visits.sum() == learner.run_state.steps[0]
    assert agent.sums.sum() == pytest.approx(learner.run_state.totals[1])
    assert (seen[2] == 0).all()  # state 2 is terminal: to go there is to end
    can_end = mdp.transitions.reshape(6, 3)[:, 2] > 0
    assert (seen[3, can_end & (agent.visits > 10)] > 0).all()
    assert (seen[3, ~can_end] == 0).all()
    assert ((agent.drawn[3] > 0) <= can_end).all()


def test_one_mdp_is_drawn_for_an_episode() -> None:
    """And played to its end: nothing of the plan changes within it."""
    steps = ht.make_online(PROBLEM.n_states, PROBLEM.n_actions, "psrl", seed=3, horizon=PROBLEM.horizon)
    steps.begin(0)
    before = steps.agent.q.copy()
    for h in range(4):
        assert steps.act(1, h) == before.reshape(4, 3, 2)[h, 1].argmax()
        steps.update(1, 0, 5.0, 1, h)
        np.testing.assert_array_equal(steps.agent.q, before)
    steps.begin(0)
    assert not np.array_equal(steps.agent.q, before)
    assert steps.agent.sums.sum() == 20.0


def test_a_problem_too_large_is_one_line() -> None:
    with pytest.raises(
        InputError,
        match=(
            r"^psrl keeps 2 S\^2 A numbers, 40,000,000,000 for 100,000 states and 2 actions; it is for"
            r" smaller problems$"
        ),
    ):
        psrl(ht.Problem(n_states=100_000, n_actions=2, horizon=5, r_max=1.0))


def test_a_small_prior_count_draws_a_distribution() -> None:
    """Weights of a thousandth: a draw is one state, nearly surely."""
    transitions, _ = drawn(psrl(PROBLEM, prior_count=0.001), 200)
    np.testing.assert_allclose(transitions.sum(axis=1), 1.0, rtol=1e-12)
