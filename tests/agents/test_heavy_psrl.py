"""Heavy-PSRL: what it is indifferent to, and what it learns."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import ks_2samp

import bench_ruin
import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.agents.heavy_psrl import NUMBER, HeavyPSRL
from heavytail.arrays import Ints
from heavytail.errors import InputError
from heavytail.laws.law import Law, law_table, laws_from_table
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots
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


def visits(mdp: MDP, seed: int, units: int = 300) -> Ints:
    """How often each state and action was played."""
    learner = ht.make_agent(mdp, seed=seed)
    learner.learn(units) if mdp.horizon else learner.learn(steps=units)
    found: Ints = learner.agent.model.visits
    return found.reshape(mdp.n_states, mdp.n_actions)


def small_world(shift: float, horizon: int | None) -> MDP:
    """Six states, three actions and rewards without noise, no two of them equal.

    All moves are random: among certain ones, to stay now or later pays exactly the same, and rounding
    decides.
    """
    rng = np.random.default_rng(4)
    P, r = rng.dirichlet(np.ones(6), (6, 3)), rng.permutation(18).reshape(6, 3) / 8.0
    return ht.mdp_from_arrays(P, r + shift, horizon=horizon)


@pytest.mark.parametrize("horizon", [12, None])
@pytest.mark.parametrize("shift", [-64.0, 1024.0])
def test_a_constant_added_to_rewards_changes_no_decision(shift: float, horizon: int | None) -> None:
    """From the first step on, also while states are unseen: 20 runs without noise, visit by visit."""
    for seed in range(20):
        plain, other = (visits(small_world(b, horizon), seed) for b in (0.0, shift))
        np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize("shift", [-1000.0, 1000.0])
@pytest.mark.parametrize("horizon", [20, None])
def test_with_noise_a_constant_changes_no_more_than_rounding_does(shift: float, horizon: int | None) -> None:
    """Visits of the best action in 100 runs each, by a Kolmogorov-Smirnov test at the level 1e-4."""
    mdp = ht.make_mdp("garnet", n_states=5, n_actions=3, law="student_t", df=1.5, horizon=horizon)
    units = 100 if horizon else 2_000
    best = np.unravel_index(np.argmax(mdp.mean_rewards), mdp.mean_rewards.shape)
    plain = [visits(mdp, seed, units)[best] for seed in range(100)]
    other = [visits(scaled(mdp, 1.0, shift), seed, units)[best] for seed in range(1000, 1100)]
    assert len({*plain}) > 10
    assert ks_2samp(plain, other, method="asymp").pvalue > 1e-4


def renumbered(mdp: MDP, numbers: Ints, S: int) -> MDP:
    """The MDP with other numbers of its states, among S of which the rest is never reached."""
    P, r = np.zeros((S, mdp.n_actions, S)), np.zeros((S, mdp.n_actions))
    P[:, :, numbers[0]] = 1.0
    for s, number in enumerate(numbers):
        P[number] = 0.0
        P[number][:, numbers] = mdp.transitions[s]
        r[number] = mdp.mean_rewards[s]
    start = np.zeros(S)
    start[numbers] = mdp.start
    return ht.mdp_from_arrays(P, r, horizon=mdp.horizon or None, start=start)


@pytest.mark.parametrize("horizon", [20, None])
def test_numbers_that_are_never_reached_change_no_decision(horizon: int | None) -> None:
    mdp = ht.make_mdp("river_swim", horizon=horizon)
    numbers = np.arange(6)
    for seed in range(5):
        plain, other = (visits(renumbered(mdp, numbers, S), seed, 1000) for S in (6, 40))
        np.testing.assert_array_equal(plain, other[:6])
        assert not other[6:].any()


@pytest.mark.parametrize("horizon", [20, None])
def test_states_and_actions_are_names(horizon: int | None) -> None:
    """Visits of the best cell in 100 runs each, by a Kolmogorov-Smirnov test at the level 1e-4."""
    mdp = ht.make_mdp("river_swim", horizon=horizon)
    numbers, units = np.array([3, 5, 0, 1, 4, 2]), 60 if horizon else 2_000
    other = renumbered(mdp, numbers, 6)
    swapped = ht.mdp_from_arrays(
        other.transitions[:, ::-1], other.mean_rewards[:, ::-1], horizon=horizon, start=other.start
    )
    plain = [visits(mdp, seed, units)[5, 1] for seed in range(100)]
    named = [visits(swapped, seed, units)[numbers[5], 0] for seed in range(1000, 1100)]
    assert len({*plain}) > 10
    assert ks_2samp(plain, named, method="asymp").pvalue > 1e-4


def test_terminal_states_with_numbers_of_their_own_change_no_decision() -> None:
    """A walk of five states that ends on either side, in one state or in many."""
    counts = []
    for ends in (1, 20):
        row, s_next, p, law, over = [], [], [], [], []
        for s in range(5):
            for a, step in enumerate((-1, 1)):
                for to, chance in ((s + step, 0.75), (s - step, 0.25)):
                    inside = 0 <= to < 5
                    row.append(2 * s + a)
                    s_next.append(to if inside else 5 + (s + a) % ends)
                    p.append(chance)
                    law.append(int(to == 5))
                    over.append(not inside)
        for s in range(5, 5 + ends):
            row += [2 * s, 2 * s + 1]
            s_next, p, law, over = [*s_next, s, s], [*p, 1.0, 1.0], [*law, 0, 0], [*over, False, False]
        pay = [ht.laws.constant(0.0), ht.laws.constant(1.0)]
        mdp = mdp_from_slots(
            row, s_next, p, laws=pay, law=law, ends=over, n_states=5 + ends, n_actions=2, horizon=20
        )
        counts.append(visits(mdp, 0))
    np.testing.assert_array_equal(counts[0][:5], counts[1][:5])
    assert not counts[1][5:].any()


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


def test_an_action_that_mostly_stays_is_tried_until_it_moves() -> None:
    """Upstream a stroke fails with probability 0.6: of 20 runs none is stuck for 2,700 episodes."""
    mdp = ht.make_mdp("river_swim")
    assert min(share_of_optimum(mdp, 3000, seed) for seed in range(20)) > 0.8


@pytest.mark.parametrize("task", [task for task in bench_ruin.TASKS if task.startswith("ruinous")])
def test_a_ruinous_arm_is_left(task: str) -> None:
    """-1000 once in a thousand: none of 10 runs plays it in a tenth of the last half of its steps."""
    assert max(bench_ruin.plays_of_worse(bench_ruin.TASKS[task], 10)[1]) < 0.1


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
    assert 2 < learner.agent.phase[NUMBER] < 30


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
