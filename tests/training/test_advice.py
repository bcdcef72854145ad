"""What learners say by themselves."""

import logging
import math
from typing import Any

import gymnasium
import pytest

import heavytail as ht
from heavytail.gym import AddRewardNoise
from heavytail.training import advice
from heavytail.training.advice import suggest_moment

NOISE = ht.laws.student_t(df=1.5, scale=3.0)


def noisy_lake() -> Any:
    return AddRewardNoise(gymnasium.make("FrozenLake-v1"), NOISE)


@pytest.mark.parametrize("agent", ["heavy_q_learning", "heavy_ucrl2", "heavy_ucbvi"])
def test_a_moment_that_truncates_most_rewards_is_called_in_question_once(agent: str) -> None:
    mdp = ht.mdp_from_arrays([[[1.0], [1.0]]], laws=[[NOISE, NOISE.with_mean(1.0)]], horizon=2)
    learner = ht.make_agent(mdp, agent, epsilon=0.2, moment=1e-6, seed=0)
    true = max(law.moment(1.2) for law in (NOISE, NOISE.with_mean(1.0)))
    message = (
        rf"^{agent} truncated \d+% of all rewards: moment=1e-06 is too small.* laws have {true:.3g}; with"
    )
    with pytest.warns(UserWarning, match=message):
        learner.learn(600)
    learner.learn(600)  # warnings are errors


@pytest.mark.parametrize("parameters", [{}, {"moment": 30.0}])
def test_a_moment_that_is_large_enough_or_not_given_is_not(parameters: dict[str, Any]) -> None:
    mdp = ht.mdp_from_arrays([[[1.0], [1.0]]], laws=[[NOISE, NOISE.with_mean(1.0)]], horizon=2)
    ht.make_agent(mdp, "heavy_q_learning", epsilon=0.2, seed=0, **parameters).learn(600)


def test_in_a_gymnasium_environment_the_rewards_suggest_one() -> None:
    """Within a factor of three of the truth, which is that of the noise but for a reward of 1 at the goal."""
    learner = ht.make_agent(
        noisy_lake(), "heavy_q_learning", horizon=20, epsilon=0.2, moment=1e-6, r_max=1.0, seed=0
    )
    with pytest.warns(UserWarning, match="the rewards so far suggest") as caught:
        learner.learn(300)
    suggested = float(str(caught[0].message).split("suggest ")[1].split(";")[0])
    assert NOISE.moment(1.2) / 3 < suggested < NOISE.moment(1.2) * 30
    learner.learn(10)


def test_rewards_of_what_is_seldom_visited_suggest_nothing() -> None:
    assert math.isnan(suggest_moment(1.5, [(0, 1.0)] * 9))
    assert suggest_moment(2.0, [(0, 3.0)] * 10 + [(1, 100.0)] * 3 + [(0, math.inf)]) == 9.0


def test_a_policy_for_each_step_is_noted_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "_said", set())
    with caplog.at_level(logging.WARNING, "heavytail"):
        ht.make_agent(noisy_lake(), "random", seed=0).learn(1)  # which learns none
        ht.make_agent(noisy_lake(), "q_learning", horizon=5, r_max=1.0, seed=0).learn(1)  # as it was told to
        assert not caplog.messages
        for _ in range(2):
            ht.make_agent(noisy_lake(), "q_learning", r_max=1.0, seed=0).learn(1)
    (message,) = caplog.messages
    assert message.startswith("heavytail: episodes have 100 steps, and q_learning learns a policy for each")
    assert "policy() is [100, 16]" in message
