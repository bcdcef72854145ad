"""Environments of impossible sizes are refused at once, in one line with the numbers."""

from typing import Any

import pytest

import heavytail as ht
from heavytail.errors import InputError
from heavytail.planning import episodic

HUGE = [10**9, 2**53, 10**250]
SIZES = ("n_states", "n_actions", "n_leaves", "branching", "size", "length", "changes", "horizon")


def sizes() -> list[tuple[str, str]]:
    """Every size that an environment takes; plugins' are not asked."""
    return [
        (entry.name, name)
        for entry in ht.registered("env")
        for name in entry.parameters
        if name in SIZES and entry.builder.__module__.startswith("heavytail.")
    ]


@pytest.mark.parametrize(("env", "parameter"), sizes())
@pytest.mark.parametrize("value", HUGE)
def test_a_huge_environment_is_refused_or_costs_nothing(env: str, parameter: str, value: int) -> None:
    given: dict[str, Any] = {parameter: value}
    if parameter == "n_actions":
        given["n_states"] = 10**5
    if (
        parameter == "horizon" and env != "heavy_chain" and value < 2**62
    ):  # a long episode takes no memory by itself
        assert ht.make_mdp(env, horizon=value).horizon == value
        return
    with pytest.raises(InputError) as caught:
        ht.make_mdp(env, **{k: v for k, v in given.items() if k in parameters(env)})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def parameters(env: str) -> list[str]:
    return next(list(entry.parameters) for entry in ht.registered("env") if entry.name == env)


def test_the_message_has_the_numbers() -> None:
    with pytest.raises(InputError) as caught:
        ht.make_mdp("garnet", n_states=10**9)
    assert str(caught.value).startswith(
        "garnet: 9,000,000,000 possible transitions would take 1.35 TB of memory"
    )


def test_planning_an_episode_that_does_not_fit_is_one_line() -> None:
    mdp = ht.make_mdp("six_arms", horizon=10**11)
    for plan in (ht.planning.optimal_value, lambda mdp: ht.planning.policy_value(mdp, [0] * 7)):
        with pytest.raises(InputError) as caught:
            plan(mdp)
        assert str(caught.value).startswith("planning 100,000,000,000 steps in 7 states would take 11.2 TB")


def test_planning_that_takes_long_says_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodic, "LONG", 10)
    with pytest.warns(UserWarning, match=r"^planning an episode of 20 steps takes about 0\.0 s$"):
        ht.planning.optimal_value(ht.make_mdp("six_arms", horizon=20))


def test_no_order_of_moments_is_too_small_for_a_message() -> None:
    with pytest.raises(InputError, match=r"heavy_bandit: planned_steps is 10,000; .* at least 1.27e\+30"):
        ht.make_mdp("heavy_bandit", epsilon=1e-6)


def test_many_changes_share_their_bandits() -> None:
    changing = ht.make_mdp("changing_bandits", changes=100_000, planned_steps=100_000, n_actions=3)
    assert len({id(mdp) for mdp in changing.mdps}) == 3
    few = ht.make_mdp("changing_bandits", changes=5, planned_steps=1000)
    assert [mdp.mean_rewards.argmax(axis=1).tolist() for mdp in few.mdps] == [[0, 1], [1, 0]] * 2 + [[0, 1]]


def test_the_schedule_of_restarts_has_a_limit() -> None:
    mdp = ht.make_mdp("two_state")
    with pytest.raises(InputError, match="restarting: changes must be at most 1000000, got 1000000000"):
        ht.make_agent(mdp, "restarting", agent="ucrl2", changes=10**9, epsilon=1.0)


@pytest.mark.parametrize("agent", ["q_learning", "ucbvi"])
def test_an_agent_whose_tables_do_not_fit_is_one_line(agent: str) -> None:
    mdp = ht.make_mdp("six_arms", horizon=10**12)
    with pytest.raises(InputError, match=f"^{agent} does not fit in memory: Unable to allocate") as caught:
        ht.make_agent(mdp, agent)
    assert "\n" not in str(caught.value)
