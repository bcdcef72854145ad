"""`Learner.policy` and `Learner.evaluate`: what an agent would do and earn if it stopped learning."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import heavytail as ht
from heavytail.errors import InputError
from heavytail.training.evaluation import summarise_returns
from support import mdps


def test_the_policy_is_what_predict_says_in_every_state() -> None:
    learner = ht.make_agent(mdps.mixed(), "q_learning", seed=3)
    learner.learn(50)
    H, S = learner.mdp.horizon, learner.mdp.n_states
    assert learner.policy().tolist() == [[learner.predict(s, h) for s in range(S)] for h in range(H)]


def test_the_policy_of_a_continuing_problem_has_no_steps() -> None:
    mdp = ht.make_mdp("two_state")
    learner = ht.make_agent(mdp, "optimal", seed=0)
    assert learner.policy().tolist() == ht.planning.average_plan(mdp).policy.tolist()


def test_a_gymnasium_policy_counts_actions_as_the_environment_does() -> None:
    class From5(gymnasium.Env[Any, Any]):
        observation_space = spaces.Discrete(2)
        action_space = spaces.Discrete(3, start=5)

        def reset(self, **_: Any) -> Any:
            return 0, {}

        def step(self, action: Any) -> Any:
            return 1, float(action), False, False, {}

    learner = ht.make_agent(From5(), "q_learning", horizon=3, r_max=7.0, seed=0)
    learner.learn(100)
    assert learner.policy().min() >= 5
    assert learner.evaluate(20).returns.max() <= 21.0


@pytest.mark.parametrize("name", ["six_arms", "two_state"])
def test_returns_average_to_the_exact_value(name: str) -> None:
    """At confidence 0.999, with light tails."""
    mdp = ht.make_mdp(name, law="normal") if name == "six_arms" else ht.make_mdp(name)
    learner = ht.make_agent(mdp, "optimal", seed=0)
    found = learner.evaluate(**{learner.unit: 20_000}, confidence=0.999)
    best = ht.planning.optimal_value(mdp) if mdp.horizon else ht.planning.gain(mdp)
    assert found.value == learner.policy_value() == pytest.approx(best)
    assert found.low < best < found.high
    assert found.high - found.low < 0.3 * abs(best)


def test_an_agent_that_draws_its_actions_has_no_exact_value_but_draws_anew_in_every_step() -> None:
    learner = ht.make_agent(ht.make_mdp("six_arms", law="constant"), "random", seed=0)
    found = learner.evaluate(2000)
    assert found.value is learner.policy_value() is None
    uniform = np.full((7, 6), 1 / 6)
    exact = ht.planning.policy_value(learner.mdp, uniform)
    assert found.low < exact < found.high


def test_the_same_seed_gives_the_same_returns_and_another_others() -> None:
    learner = ht.make_agent(mdps.mixed(), "optimal", seed=0)
    one, same, other = (learner.evaluate(50, seed=seed).returns for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_evaluating_in_a_gymnasium_environment_leaves_it_alone() -> None:
    runs = []
    for evaluated in (False, True):
        learner = ht.make_agent(gymnasium.make("FrozenLake-v1"), "q_learning", horizon=20, r_max=1.0, seed=0)
        learner.learn(30)
        if evaluated:
            assert len(learner.evaluate(10).returns) == 10
        runs.append(learner.learn(30).realised_reward)
    np.testing.assert_array_equal(runs[0], runs[1])


def test_an_environment_that_cannot_be_copied_is_one_line_and_another_may_be_given() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    env.unwrapped.handle = (i for i in range(3))  # type: ignore[attr-defined]  # as one to a simulator
    learner = ht.make_agent(env, "q_learning", horizon=10, r_max=1.0, seed=0)
    learner.learn(10)
    with pytest.raises(
        InputError, match=r"this environment cannot be copied \(TypeError: .*pass another as env="
    ):
        learner.evaluate(5)
    assert len(learner.evaluate(5, env=gymnasium.make("FrozenLake-v1")).returns) == 5
    with pytest.raises(InputError, match=r"env has \(48, 4, 10\) states, actions and steps"):
        learner.evaluate(5, env=gymnasium.make("CliffWalking-v1"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "evaluate: this is in episodes, so say episodes="),
        ({"steps": 3}, "evaluate: this is in episodes"),
        ({"episodes": 0}, "evaluate: episodes must be at least 1, got 0"),
        ({"episodes": 1, "confidence": 95}, "evaluate: confidence must be below 1"),
        ({"episodes": 1, "env": 3}, "env= is for Gymnasium environments"),
    ],
)
def test_mistakes_are_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ht.make_agent(mdps.mixed(), "optimal").evaluate(**arguments)


def test_returns_that_are_no_numbers_are_one_line() -> None:
    with pytest.raises(InputError, match="a return is nan"):
        summarise_returns(np.array([1.0, np.nan]), 0.9, None)


def test_the_interval_holds_the_mean_of_returns_without_a_variance() -> None:
    """In at least 180 of 200 samples at confidence 0.95; 190 are expected, and 0.15% of tests would fail."""
    law, held = ht.laws.alpha_stable(alpha=1.2, loc=3.0), 0
    for seed in range(200):
        found = summarise_returns(law.sample(300, seed=seed), 0.95, None)
        held += found.low < 3.0 < found.high
    assert held >= 180


def test_it_is_shown_in_one_line() -> None:
    found = summarise_returns(np.array([1.0, 1.0, 1.0]), 0.9, 1.0)
    assert repr(found) == "Evaluation(mean=1 [1, 1] at 90%, value=1, returns=<3>)"
