"""Bandits that chance deals, and those whose best arms move on."""

import numpy as np
import pytest

import heavytail as ht
from heavytail.errors import InputError


def test_every_state_is_a_bandit_and_chance_chooses_the_next() -> None:
    mdp = ht.make_mdp("bandits", n_states=3, n_actions=4, gap=0.25, best=2, law="student_t", df=1.5)
    np.testing.assert_allclose(mdp.transitions, 1 / 3)
    np.testing.assert_allclose(mdp.start, 1 / 3)
    expected = np.full((3, 4), 0.75)
    expected[[0, 1, 2], [2, 3, 0]] = 1.0
    np.testing.assert_allclose(mdp.mean_rewards, expected)
    assert ht.planning.gain(mdp) == pytest.approx(1.0)
    assert ht.planning.diameter(mdp) == pytest.approx(3.0)


def test_regret_counts_worse_arms_and_nothing_else() -> None:
    """Whatever states chance deals: after any number of steps regret is a multiple of the gap."""
    mdp = ht.make_mdp("bandits", gap=0.5, law="alpha_stable", alpha=1.3)
    curve = ht.make_agent(mdp, "random", seed=3).learn(steps=5000)
    lost = (curve.steps - curve.mean_reward) / 0.5
    np.testing.assert_allclose(lost, np.rint(lost), atol=1e-9)
    assert 0.45 < lost[-1] / 5000 < 0.55


def test_best_arms_move_on_at_times_spread_over_the_run() -> None:
    changing = ht.make_mdp("changing_bandits", changes=4, planned_steps=1001, n_actions=3, gap=1.0)
    assert changing.at == (250, 500, 750)
    assert [mdp.mean_rewards[0].argmax() for mdp in changing.mdps] == [0, 1, 2, 0]
    assert len(ht.make_mdp("changing_bandits", changes=1).mdps) == 1
    curve = ht.make_agent(changing, "random", seed=0).learn(steps=1001)
    assert 0.3 < curve.mean_reward[-1] / 1001 < 0.37


def test_too_few_steps_for_the_periods_are_one_line() -> None:
    with pytest.raises(
        InputError, match=r"^changing_bandits: planned_steps is 3; for 5 periods it must be at least 5$"
    ):
        ht.make_mdp("changing_bandits", changes=5, planned_steps=3)
