"""What is wrong with an MDP or a policy is said in one line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail import planning
from heavytail.arrays import Ints
from heavytail.errors import InputError
from heavytail.planning.policy_enumeration import all_gains
from support import mdps

CONTINUING = ht.mdp_from_arrays(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)))
EPISODIC = ht.mdp_from_arrays(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)), horizon=4)
LONG = ht.mdp_from_slots(
    np.arange(6000), np.zeros(6000), np.ones(6000), np.zeros(6000), n_states=6000, n_actions=1
)
WIDE = ht.mdp_from_slots(
    np.arange(12000), np.zeros(12000), np.ones(12000), np.zeros(12000), n_states=6000, n_actions=2
)
NO_EPISODES = "this problem is continuing, so it has no episodes; ask for its gain, or give it a horizon="
NO_LONG_RUN = (
    "transitions or rewards depend on the step of the episode, so there is no long run; ask for episodic"
    " values"
)
SHAPES = "a policy is actions [3] or probabilities [3, 2], in episodes also one for each step; got "
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: planning.episodic_plan(CONTINUING), NO_EPISODES),
    (lambda: planning.optimal_value(CONTINUING), NO_EPISODES),
    (lambda: planning.policy_values(CONTINUING, [0, 0, 0]), NO_EPISODES),
    (lambda: planning.policy_value(CONTINUING, [0, 0, 0]), NO_EPISODES),
    (lambda: planning.average_plan(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.gain(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.span(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.policy_gain(mdps.staged(), [0, 0]), NO_LONG_RUN),
    (lambda: planning.stationary_distribution(mdps.staged(), [0, 0]), NO_LONG_RUN),
    (lambda: planning.diameter(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.times_to(mdps.staged(), 0), NO_LONG_RUN),
    (lambda: planning.policy_gap(mdps.staged()), NO_LONG_RUN),
    (lambda: all_gains(mdps.staged(), 0, 1), NO_LONG_RUN),
    (lambda: planning.policy_gain(EPISODIC, [0, 0]), SHAPES + "int64[2]"),
    (lambda: planning.policy_gain(EPISODIC, [0.0, 0.0, 0.0]), SHAPES + "float64[3]"),
    (lambda: planning.policy_gain(EPISODIC, np.zeros((4, 3), np.int64)), SHAPES + "int64[4, 3]"),
    (lambda: planning.policy_value(EPISODIC, np.zeros((5, 3), np.int64)), SHAPES + "int64[5, 3]"),
    (lambda: planning.policy_value(EPISODIC, np.full((2, 3), 0.5)), SHAPES + "float64[2, 3]"),
    (lambda: planning.policy_value(EPISODIC, [["0", "1"]] * 3), SHAPES + "<U1[3, 2]"),
    (lambda: planning.policy_value(EPISODIC, "best"), SHAPES + "<U4[]"),
    (
        lambda: planning.policy_gain(EPISODIC, [0, 2, 0]),
        "a policy chooses action 2 in state 1; actions go from 0 to 1",
    ),
    (
        lambda: planning.policy_value(EPISODIC, [0, 0, -1]),
        "a policy chooses action -1 in state 2; actions go from 0 to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[0.5, 0.5], [0.5, 0.4], [1.0, 0.0]]),
        "a policy's probabilities in state 1 sum to 0.9; they must sum to 1",
    ),
    (
        lambda: planning.policy_value(EPISODIC, np.full((4, 3, 2), 0.500001)),
        "a policy's probabilities in state 0 sum to 1.000002; they must sum to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[0.5, 0.5], [1.0, 0.0], [np.nan, 1.0]]),
        "a policy takes action 0 in state 2 with probability nan; it must lie from 0 to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[-0.5, 1.5], [1.0, 0.0], [0.0, 1.0]]),
        "a policy takes action 0 in state 0 with probability -0.5; it must lie from 0 to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[np.inf, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        "a policy's probabilities in state 0 sum to inf; they must sum to 1",
    ),
    (
        lambda: planning.policy_gap(WIDE),
        "policy_gap goes through all 2**6000 policies of this MDP; it takes up to 2,000,000",
    ),
    (
        lambda: planning.diameter(LONG),
        "diameter solves one problem per state, and this MDP has 6,000; it takes up to 5,000",
    ),
    (lambda: planning.times_to(CONTINUING, 3), "target is 3; states go from 0 to 2"),
    (lambda: planning.times_to(CONTINUING, -1), "target is -1; states go from 0 to 2"),
    (
        lambda: all_gains(CONTINUING, 0, 9),
        "the policies of this MDP are numbered from 0 to 2**3; got 0 to 9",
    ),
]


@pytest.mark.parametrize(("ask", "message"), MISTAKES)
def test_mistakes_are_one_line(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ask()
    assert str(caught.value) == message


def test_single_precision_probabilities_are_a_policy() -> None:
    policy = np.random.default_rng(0).dirichlet(np.ones(6), 7).astype(np.float32)
    mdp = ht.make_mdp("six_arms")
    exact = policy.astype(np.float64) / policy.astype(np.float64).sum(axis=1, keepdims=True)
    assert planning.policy_value(mdp, policy) == pytest.approx(planning.policy_value(mdp, exact), rel=1e-14)
    assert planning.policy_gain(mdp, policy) == pytest.approx(planning.policy_gain(mdp, exact), rel=1e-14)


def test_whole_numbers_may_be_probabilities_where_they_cannot_be_actions() -> None:
    mdp = ht.make_mdp("six_arms")
    one_hot: Ints = np.eye(6, dtype=np.int64)[[5] * 7]
    assert planning.policy_value(mdp, one_hot) == planning.policy_value(mdp, [5] * 7)
