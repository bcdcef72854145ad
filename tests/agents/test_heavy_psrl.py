"""Heavy-PSRL: what it is indifferent to, and what it learns."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.agents._common_shape import SYMMETRIC
from heavytail.agents.heavy_psrl import NUMBER, STALE_AFTER, HeavyPSRL
from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.laws.law import Law, law_table, laws_from_table
from heavytail.mdp import MDP
from support import traces

# What it is indifferent to


def scaled(mdp: MDP, factor: float, shift: float) -> MDP:
    """The MDP with rewards times a factor, plus a constant."""
    laws, old = [], cast("list[Any]", laws_from_table(mdp.laws))
    for law in old:
        moved = {"loc": factor * law.loc + shift}
        if hasattr(law, "scale"):
            moved["scale"] = factor * law.scale
        laws.append(replace(law, **moved))
    return mdp._replace(laws=law_table(laws), row_means=factor * mdp.row_means + shift)


@pytest.mark.parametrize("seed", [5, 6, 7])
@pytest.mark.parametrize("env", ["six_arms", "double_chain"])
def test_rewards_in_another_unit_change_no_decision(env: str, seed: int) -> None:
    """A power of two rounds little: every visit is the same."""
    mdp = ht.make_mdp(env)
    visits = []
    for factor in (1.0, 2.0**30):
        learner = ht.make_agent(scaled(mdp, factor, 0.0), seed=seed)
        learner.learn(300)
        visits.append(learner.agent.model.visits.copy())
    np.testing.assert_array_equal(visits[0], visits[1])


@pytest.mark.parametrize("shift", [-1000.0, 1000.0])
def test_a_constant_added_to_all_rewards_changes_little(shift: float) -> None:
    """Only the first draws, before any range of rewards is known, may differ: it finds the best arm alike.

    What 20 runs gain in their last tenth, in the median within 1%; single runs may still be looking.
    """
    mdp, episodes = ht.make_mdp("six_arms"), 3000
    steps = 25 * episodes / 10

    def gains(m: MDP, constant: float) -> Floats:
        curves = [ht.make_agent(m, seed=seed).learn(episodes, checkpoints=10) for seed in range(20)]
        return (
            np.array([curve.mean_reward[-1] - curve.mean_reward[-2] for curve in curves]) - constant * steps
        )

    plain, other = np.median(gains(mdp, 0.0)), np.median(gains(scaled(mdp, 1.0, shift), shift))
    assert other == pytest.approx(plain, rel=0.01)


# What it learns


def share_of_optimum(mdp: MDP, episodes: int, seed: int) -> float:
    curve = ht.make_agent(mdp, seed=seed).learn(episodes, checkpoints=10)
    last = (curve.mean_reward[-1] - curve.mean_reward[-2]) / (0.1 * episodes)
    return float(last / ht.planning.optimal_value(mdp))


@pytest.mark.parametrize(
    "mdp",
    [
        ht.make_mdp("six_arms"),
        ht.make_mdp("double_chain", law="student_t", df=1.5),
        ht.make_mdp("six_arms", law="pareto", alpha=1.5),
        ht.make_mdp("river_swim"),
        ht.make_mdp("six_arms", law="normal"),
    ],
    ids=["stable", "student_t", "pareto", "river_swim", "normal"],
)
def test_it_finds_the_best_policy_told_nothing(mdp: MDP) -> None:
    """Four of five seeds end within 10% of the optimum after 20,000 episodes."""
    assert sum(share_of_optimum(mdp, 20_000, seed) > 0.9 for seed in range(5)) >= 4


def regret(mdp: MDP, episodes: int, seed: int) -> float:
    mean_reward = ht.make_agent(mdp, seed=seed).learn(episodes).mean_reward[-1]
    return float(episodes * ht.planning.optimal_value(mdp) - mean_reward)


def test_where_nothing_is_random_one_visit_of_each_cell_is_enough() -> None:
    """DeepSea has 110 cells on the way down: half of the runs lose fewer than 36 episodes."""
    mdp = ht.make_mdp("deep_sea", size=10)
    assert np.median([regret(mdp, 300, seed) for seed in range(11)]) < 36.0


def test_a_cell_that_pays_as_no_other_does_is_not_taken_for_certain() -> None:
    """A treasure with noise, where all else is certain: none of 20 runs is stuck by its first reward."""
    mdp = ht.make_mdp("deep_sea", size=6, seed=5, law="student_t", df=1.5)
    assert min(share_of_optimum(mdp, 3000, seed) for seed in range(20)) > 0.8


def test_a_cell_that_pays_what_most_do_is_tried_once_or_twice() -> None:
    """On SixArms 30 cells lead back to the hub for nothing: half of them have at most 2 visits."""
    learner = ht.make_agent(ht.make_mdp("six_arms", law="normal"), seed=3)
    learner.learn(2000)
    visits = learner.agent.model.visits.reshape(7, 6)[1:]
    assert np.median(visits[~np.eye(6, dtype=bool)]) <= 2


@pytest.mark.parametrize("best", [0, 1])
def test_an_action_that_was_unlucky_at_first_is_tried_again(best: int) -> None:
    """Which of two is best is learnt whatever its number: of 20 runs 19 end within 5% of the optimum."""
    mdp = ht.make_mdp("two_state", best=best, gap=0.1, horizon=20)
    assert sum(share_of_optimum(mdp, 3000, seed) > 0.95 for seed in range(20)) >= 19


def test_actions_that_are_equally_good_are_all_tried() -> None:
    """At the last step a transition costs nothing: there it is learnt for free which action leads on."""
    mdp = ht.make_mdp("two_state", best=0, horizon=5)
    learner = ht.make_agent(mdp, seed=0)
    learner.learn(2000)
    poor = learner.agent.model.visits.reshape(2, 2)[0]
    assert poor[1] > 0.1 * poor[0]
    assert learner.predict(0, step=0) == 0


def test_an_action_that_mostly_stays_is_tried_until_it_moves() -> None:
    """Upstream a stroke fails with probability 0.6: of 20 runs none is stuck for 2,700 episodes."""
    mdp = ht.make_mdp("river_swim")
    assert min(share_of_optimum(mdp, 3000, seed) for seed in range(20)) > 0.8


def test_one_episode_tries_several_unknown_actions() -> None:
    """Once moves are known to be certain, a cell takes one visit, and the plan changes on the way."""
    mdp = ht.make_mdp("bandits", n_states=2, n_actions=50, horizon=20, law="constant")
    learner = ht.make_agent(mdp, seed=0)
    learner.learn(10)
    assert (learner.agent.sketch.n > 0).sum() > 2 * 10


def test_it_learns_in_a_continuing_problem() -> None:
    mdp = ht.make_mdp("river_swim", horizon=None)
    curve = ht.make_agent(mdp, seed=1).learn(steps=200_000, checkpoints=10)
    last = (curve.mean_reward[-1] - curve.mean_reward[-2]) / 20_000
    assert last > 0.9 * ht.planning.gain(mdp)


# Phases


def stale_draws_kept(law: Law) -> tuple[int, int]:
    """How many episodes kept a stale draw, of phases that visited no skewed cell, and of others."""
    mdp = ht.make_mdp("bandits", n_states=1, n_actions=3, horizon=4, law=law)
    learner = ht.make_agent(mdp, seed=0)
    kept = [0, 0]
    for _ in range(300):
        learner.learn(1)
        agent: HeavyPSRL = learner.agent
        visited = agent.in_phase > 0
        stale = (STALE_AFTER * agent.in_phase >= agent.model.visits)[visited].any()
        skewed = (agent.kinds[visited] != SYMMETRIC).any()
        phases = int(agent.phase[NUMBER])
        learner.learn(1)
        kept[int(skewed)] += int(stale and learner.agent.phase[NUMBER] == phases)
    return kept[0], kept[1]


def test_a_stale_draw_is_kept_only_where_a_tail_may_not_have_shown() -> None:
    assert stale_draws_kept(ht.laws.normal())[0] == 0
    plain, skewed = stale_draws_kept(ht.laws.pareto(1.5))
    assert plain == 0
    assert skewed > 10


def test_among_very_many_cells_a_phase_lasts_until_a_hundredth_of_them_has_news() -> None:
    """Each of the first steps meets a new state, and a draw for all cells at each would take too long."""
    mdp = ht.make_mdp("garnet", n_states=2000, n_actions=10, branching=10, horizon=None)
    learner = ht.make_agent(mdp, seed=0)
    learner.learn(steps=10_000)
    assert (learner.agent.model.visits > 0).sum() > 5_000
    assert learner.agent.phase[NUMBER] < 1_500


@pytest.mark.parametrize("horizon", [None, 5])
def test_a_phase_of_a_large_problem_waits_for_as_many_news_as_it_costs(horizon: int | None) -> None:
    """Few of very many actions are tried, and all those of states seen are drawn."""
    mdp = ht.make_mdp("garnet", n_states=200, n_actions=1_000, branching=2, horizon=horizon)
    learner = ht.make_agent(mdp, seed=0)
    if horizon:
        learner.learn(episodes=200)
    else:
        learner.learn(steps=1_000)
    drawn = mdp.n_actions * int(learner.agent.seen.size[0])
    assert drawn > 100 * learner.agent.tried.size[0]
    assert 5 < learner.agent.phase[NUMBER] < 30


def test_states_never_seen_are_not_drawn() -> None:
    """Where two of 1,000 states are reached, nothing is known or drawn of the others."""
    transitions = np.zeros((1_000, 1, 1_000))
    transitions[:, 0, 1] = 1.0
    transitions[1, 0] = np.eye(1_000)[0]
    learner = ht.make_agent(ht.mdp_from_arrays(transitions, np.ones((1_000, 1)), horizon=4), seed=0)
    learner.learn(100)
    agent: HeavyPSRL = learner.agent
    assert set(agent.seen.items[: agent.seen.size[0]]) == {0, 1}
    assert not agent.rewards[2:].any()
    assert not agent.lump[2:].any()


# Looking inside


def test_beliefs_are_a_row_for_each_state_and_action() -> None:
    mdp = ht.make_mdp("six_arms", law="pareto", alpha=1.5)
    learner = ht.make_agent(mdp, seed=0)
    learner.learn(3000)
    table = learner.beliefs()
    assert len(table) == 42
    visits = learner.agent.model.visits
    np.testing.assert_array_equal(table["n"], visits)
    unknown = table[table["n"] < 2]
    assert unknown[["mean", "mean_low", "skewed"]].isna().all().all()
    known = table[table["n"] > 500]
    true = mdp.mean_rewards.reshape(-1)[known.index]
    assert ((known["mean_low"] - 1e-9 <= true) & (true <= known["mean_high"] + 1e-9)).mean() > 0.7
    assert (known["right_index"].dropna() >= 1.05).all()


def test_looking_at_beliefs_changes_nothing_that_is_learnt() -> None:
    plain, watched = (ht.make_agent(ht.make_mdp("six_arms"), seed=3) for _ in range(2))
    for episodes in (50, 70, 200):
        plain.learn(episodes)
        watched.learn(episodes)
        watched.beliefs()
    traces.assert_same(flatten("agent", plain.agent), flatten("agent", watched.agent))


def test_an_agent_without_beliefs_says_so() -> None:
    with pytest.raises(InputError, match="random keeps no beliefs about rewards; heavy_psrl does"):
        ht.make_agent(ht.make_mdp("six_arms"), "random").beliefs()


def test_its_counters_say_what_it_has_learnt() -> None:
    curve = ht.make_agent(ht.make_mdp("six_arms", law="pareto", alpha=1.5), seed=0).learn(2000)
    frame = curve.to_frame()
    assert frame["phases"].is_monotonic_increasing
    assert frame["skewed_cells"].iloc[-1] >= 1
    assert frame["certain_cells"].iloc[-1] == 31  # five ways into arms are random, and staying in any pays so
    assert 0.0 < frame["successor_rate"].iloc[-1] <= 1.0


# Hostile rewards


@pytest.mark.parametrize(
    "law",
    [
        ht.laws.constant(0.0),
        ht.laws.constant(1e300),
        ht.laws.empirical([1e300, -1e300]),
        ht.laws.empirical([0.0, 1.0, 2.0, 3.0]),
        ht.laws.empirical([1e-310, 0.0]),
        ht.laws.pareto(1.01),
        ht.laws.student_t(df=1.01, scale=1e200),
    ],
)
@pytest.mark.parametrize("horizon", [4, None])
def test_hostile_rewards_end_in_numbers(law: Law, horizon: int | None) -> None:
    mdp = ht.mdp_from_arrays(np.full((2, 2, 2), 0.5), laws=[[law] * 2] * 2, horizon=horizon)
    learner = ht.make_agent(mdp, seed=0)
    if horizon:
        learner.learn(episodes=2000)
    else:
        learner.learn(steps=3000)
    agent: HeavyPSRL = learner.agent
    assert np.isfinite(agent.rewards).all()
    assert np.isfinite(agent.values).all()
    assert agent.policy.max() < 2
