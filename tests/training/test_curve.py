import io
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.errors import InputError
from support import mdps


def test_regret_is_what_the_best_policy_would_have_earned_less_what_was() -> None:
    mdp = mdps.mixed()
    curve = ht.make_agent(mdp, "random", seed=1).learn(200, checkpoints=4)
    expected = ht.planning.optimal_value(mdp) * curve.at - curve.mean_reward
    np.testing.assert_allclose(curve.regret, expected)


def test_regret_goes_on_over_a_change_and_over_a_second_learn() -> None:
    two = [ht.make_mdp("two_state", best=best) for best in (0, 1)]
    learner = ht.make_agent(ht.changing_mdp(two, at=[100]), "random", seed=0)
    learner.learn(steps=50)
    curve = learner.learn(steps=150, checkpoints=3)
    before, after = (ht.planning.gain(mdp) for mdp in two)
    best = [100 * before, 100 * before + 50 * after, 100 * before + 100 * after]
    np.testing.assert_allclose(curve.regret, best - curve.mean_reward)


def test_a_gymnasium_environment_has_no_regret() -> None:
    curve = ht.make_agent(gymnasium.make("FrozenLake-v1"), "random", horizon=5, seed=0).learn(10)
    with pytest.raises(InputError, match="regret: the best policy of this environment is unknown"):
        curve.regret  # noqa: B018 - the look-up is the test


@pytest.mark.parametrize("name", ["episodes", "steps", "infinite", "gymnasium"])
def test_every_curve_can_be_drawn(name: str) -> None:
    envs: dict[str, Callable[[], Any]] = {
        "episodes": lambda: ht.make_mdp("six_arms"),
        "steps": lambda: ht.make_mdp("two_state"),
        "infinite": mdps.MDPS["infinite"],
        "gymnasium": lambda: gymnasium.make("FrozenLake-v1"),
    }
    learner = ht.make_agent(envs[name](), "random", horizon=5 if name == "gymnasium" else None, seed=0)
    figure = learner.learn(**{learner.unit: 300}).plot()  # type: ignore[arg-type]
    labels = [axes.get_ylabel() for axes in figure.axes]
    unit = "a step" if name == "steps" else "an episode"
    assert labels == [f"reward of {unit}"] + ["regret"] * (name != "gymnasium")
    figure.savefig(io.BytesIO())


def test_outliers_do_not_hide_the_lines() -> None:
    """Realised rewards reach hundreds of times the mean; the axis does not."""
    curve = ht.make_agent(ht.make_mdp("six_arms"), "optimal", seed=4).learn(20_000, checkpoints=200)
    axes = curve.plot().axes[0]
    reached = np.abs(np.diff(curve.realised_reward) / 100).max()
    assert axes.get_ylim()[1] < 0.5 * reached
    assert any("beyond the picture" in text.get_text() for text in axes.get_legend().get_texts())  # type: ignore[union-attr]


def test_the_best_policy_is_in_the_picture_of_an_agent_far_below_it() -> None:
    mdp = ht.make_mdp("six_arms", law="constant")
    axes = ht.make_agent(mdp, "random", seed=0).learn(1000).plot().axes[0]
    assert axes.get_ylim()[0] < 10 < ht.planning.optimal_value(mdp) < axes.get_ylim()[1]


def test_an_empty_curve_is_one_line() -> None:
    curve = ht.Curve("episodes", np.array([], np.int64), np.array([]), np.array([]), {})
    assert repr(curve) == "Curve(no checkpoint, in episodes)"
    with pytest.raises(InputError, match="plot: this curve has no checkpoint yet"):
        curve.plot()


def test_a_curve_is_shown_in_one_line() -> None:
    curve = ht.make_agent(ht.make_mdp("two_state"), "random", seed=0).learn(steps=1000, checkpoints=10)
    assert repr(curve).startswith("Curve(steps=1,000, checkpoints=10, mean_reward=")
    assert len(repr(curve)) < 110
