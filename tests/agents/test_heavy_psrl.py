"""Heavy-PSRL: its draws against slow twins, what it is indifferent to, and what it learns."""

import math
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import heavytail as ht
from heavytail.agents._common_shape import (
    FIRST_OMEGA,
    FIRST_TAU,
    MIN_TESTED,
    OMEGAS,
    POOLED,
    PRIOR_PRECISION,
    SKEW_PRIOR,
    STEP,
    SYMMETRIC,
    TAUS,
    draw_common_shape,
    draw_spread,
    skew_odds,
)
from heavytail.agents._reward_posterior import draw_mean
from heavytail.agents.heavy_psrl import HeavyPSRL
from heavytail.arrays import Floats, Indices, Ints, Stream
from heavytail.errors import InputError
from heavytail.estimators.sketch import (
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    SPREAD,
    SPREAD_ERROR,
    Sketch,
    sketch,
)
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import push
from heavytail.laws.law import Law, laws_from_table
from heavytail.laws.table import law_table
from heavytail.mdp import MDP
from heavytail.training.agent_file import flatten
from support import traces


def sketch_of(samples: Floats) -> Sketch:
    """A sketch of samples [cell, n]."""
    record = sketch(len(samples))
    for cell, row in enumerate(samples):
        for x in row:
            if record.histogram.used[0] == record.summary.shape[0]:
                record = with_larger_pools(record)
            entry(_push, record)(record, cell, float(x))
    return record


def _push(record: Sketch, cell: int, x: float) -> None:
    push(record, cell, x)


class Draws(NamedTuple):
    """What is common of cells, as drawn, and what was drawn of each."""

    tau: Floats  # [n]
    offset: Floats  # [n]
    pooled: Floats  # [n, 3] log spread, its variance between cells, and its noise
    kinds: Ints  # [n, cells]
    spreads: Floats  # [n, cells]
    means: Floats  # [n, cells]


def _draw(record: Sketch, kinds: Indices, scratch: Floats, rng: Stream, out: Draws) -> None:
    for i in range(out.tau.size):
        common = draw_common_shape(record, kinds, scratch, rng)
        out.tau[i], out.offset[i] = common.tau, common.offset
        out.pooled[i, 0], out.pooled[i, 1] = common.log_spread, common.spread_variance
        out.pooled[i, 2] = common.spread_noise
        for cell in range(kinds.size):
            out.kinds[i, cell] = kinds[cell]
            if kinds[cell] == POOLED and common.known:
                out.spreads[i, cell] = draw_spread(record, cell, common, rng)
            out.means[i, cell] = draw_mean(record, cell, int(kinds[cell]), common, rng)


def draws(record: Sketch, n: int, seed: int = 0) -> Draws:
    """Draw n times."""
    each = (n, record.n.size)
    out = Draws(
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, 3)),
        np.zeros(each, np.int64),
        np.zeros(each),
        np.zeros(each),
    )
    entry(_draw, record)(record, np.zeros(record.n.size, np.uint32), np.zeros(TAUS), stream(seed), out)
    return out


def log_likelihood(x: Floats, variance: Floats, tau: float) -> float:
    """The log likelihood of x ~ N(mu, variance + tau^2), mu ~ N(0, 1 / PRIOR_PRECISION)."""
    covariance = np.diag(variance + tau**2) + 1.0 / PRIOR_PRECISION
    return float(multivariate_normal.logpdf(x, cov=covariance))


def test_tau_has_the_posterior_of_the_normal_model() -> None:
    """Of 4,000 draws, against the likelihoods by their definition; 5 standard errors."""
    x = np.array([ht.laws.pareto(1.5, loc=i).sample(400, seed=i) for i in range(6)])
    record = sketch_of(x)
    found = draws(record, 4000)
    assert (found.kinds == POOLED).all()
    rows, n = record.summary[record.histogram.block], record.n
    o, e = rows[:, OFFSET], rows[:, OFFSET_ERROR]
    variance = np.maximum(e**2, n.sum() / (e**-2.0).sum() / n)
    y = np.log(rows[:, SPREAD])
    noise = np.average(n * rows[:, SPREAD_ERROR] ** 2, weights=n)
    y -= np.average(y, weights=n)
    omegas, taus = FIRST_OMEGA * STEP ** np.arange(OMEGAS), FIRST_TAU * STEP ** np.arange(TAUS)
    alike = log_likelihood(o, variance, 0.0) + log_likelihood(y, noise / n, 0.0)
    apart = np.mean([math.exp(log_likelihood(y, noise / n, omega)) for omega in omegas])
    weights = [math.exp(alike)]
    weights += [math.exp(log_likelihood(o, variance, tau)) * float(apart) / TAUS for tau in taus]
    p = np.array(weights) / sum(weights)
    assert 0.1 < p[0] < 0.9
    for tau, expected in zip([0.0, *taus], p, strict=True):
        assert np.isclose(found.tau, tau).mean() == pytest.approx(expected, abs=5.0 * math.sqrt(0.25 / 4000))


def shares_of_one_law(samples: list[Floats]) -> float:
    """How often cells are drawn as of one law."""
    return float((draws(sketch_of(cast("Floats", samples)), 200).tau == 0.0).mean())


def test_cells_of_one_law_at_several_places_are_drawn_as_such() -> None:
    pareto = [ht.laws.pareto(1.5, loc=i).sample(2000, seed=i) for i in range(8)]
    assert shares_of_one_law(pareto) > 0.8
    assert shares_of_one_law([(1.0 + i) * x for i, x in enumerate(pareto)]) == 0.0
    assert shares_of_one_law([x if i % 2 else -x for i, x in enumerate(pareto)]) == 0.0


def test_the_common_offset_is_drawn_around_the_mean_of_all_and_not_below() -> None:
    record = sketch_of(np.array([ht.laws.pareto(1.5, loc=i).sample(2000, seed=i) for i in range(8)]))
    found = draws(record, 500)
    offset = found.offset[found.tau == 0.0]
    rows = record.summary[record.histogram.block]
    centre = np.average(rows[:, OFFSET], weights=rows[:, OFFSET_ERROR] ** -2.0)
    assert offset.min() == pytest.approx(centre, rel=0.1)
    assert 0.2 < (offset > offset.min()).mean() < 0.8


def test_light_tails_and_symmetric_laws_are_not_pooled() -> None:
    laws = [ht.laws.pareto(1.5), ht.laws.empirical([0.0, 0.0, 0.0, 4.0]), ht.laws.student_t(df=1.5)]
    kinds = draws(sketch_of(np.array([law.sample(1000, seed=0) for law in laws])), 200).kinds
    assert (kinds[:, 0] == POOLED).all()
    assert not (kinds[:, 1] == POOLED).any()
    assert (kinds[:, 2] == SYMMETRIC).mean() > 0.9


def test_spreads_are_pooled_by_the_method_of_moments() -> None:
    x = np.array([(1.0 + i) * ht.laws.pareto(1.8).sample(300 + 100 * i, seed=i)[:300] for i in range(6)])
    record = sketch_of(x)
    found = draws(record, 1)
    assert (found.kinds == POOLED).all()
    rows, n = record.summary[record.histogram.block], record.n
    y = np.log(rows[:, SPREAD])
    noise = np.average(n * rows[:, SPREAD_ERROR] ** 2, weights=n)
    w = n / noise
    q = (w * (y - np.average(y, weights=w)) ** 2).sum()
    variance = max(q - (len(y) - 1.0), 0.0) / (w.sum() - (w * w).sum() / w.sum())
    centre = np.average(y, weights=1.0 / (noise / n + variance))
    assert variance > 0.1
    assert found.pooled[0] == pytest.approx([centre, variance, noise], rel=0.02)


def test_a_cell_of_few_samples_has_the_spread_of_the_others() -> None:
    """Few samples miss the tail; with a spread as small as they show a cell would never be tried again."""
    many = [ht.laws.pareto(1.5).sample(2000, seed=i) for i in range(12)]
    few = np.linspace(1.0, 1.4, 9) ** 2
    record = sketch_of(cast("Floats", [*many, few]))
    found = draws(record, 1000)
    own = float(record.summary[record.histogram.block[-1], SPREAD])
    typical = float(np.median(found.spreads[:, :-1]))
    assert own < 0.4 * typical
    last = found.spreads[found.kinds[:, -1] == POOLED, -1]
    assert np.median(last) == pytest.approx(typical, rel=0.3)


def test_symmetric_cells_are_drawn_around_the_trimmed_mean() -> None:
    x = np.array([ht.laws.student_t(df=1.5, loc=3.0).sample(500, seed=i) for i in range(4)])
    means = draws(sketch_of(x), 500).means
    assert np.abs(np.median(means, axis=0) - 3.0).max() < 0.5
    assert means.std(axis=0).max() < 0.5


def test_draws_of_cells_of_one_shape_move_together() -> None:
    """Pooling: what is uncertain of the common offset cancels in comparisons."""
    x = np.array([ht.laws.pareto(1.5, loc=0.3 * (i == 0)).sample(3000, seed=i) for i in range(20)])
    means = draws(sketch_of(x), 2000).means
    correlations = np.asarray(np.corrcoef(means.T))
    assert correlations[np.triu_indices(20, 1)].mean() > 0.1  # 0 if each were drawn by itself, to within 0.01


def skew_odds_of(law: Law, samples: int) -> float:
    """The odds of skewness that six cells of one law give to others."""
    record, odds = sketch_of(np.array([law.sample(samples, seed=i) for i in range(6)])), np.zeros(1)
    entry(_skew_odds, record)(record, odds)
    return float(odds[0])


def _skew_odds(record: Sketch, odds: Floats) -> None:
    odds[0] = skew_odds(record)


def test_heavy_cells_of_many_samples_tell_others_how_probably_they_are_skewed() -> None:
    symmetric, skewed = ht.laws.student_t(df=1.5), ht.laws.pareto(1.5)
    assert skew_odds_of(symmetric, MIN_TESTED) == pytest.approx(SKEW_PRIOR / (6.0 + SKEW_PRIOR), rel=0.5)
    assert skew_odds_of(skewed, MIN_TESTED) == pytest.approx((6.0 + SKEW_PRIOR) / SKEW_PRIOR, rel=0.1)


@pytest.mark.parametrize(
    ("law", "samples"), [(ht.laws.student_t(df=1.5), MIN_TESTED - 1), (ht.laws.normal(), MIN_TESTED)]
)
def test_few_samples_and_light_tails_say_nothing_of_skewness_elsewhere(law: Law, samples: int) -> None:
    assert skew_odds_of(law, samples) == pytest.approx(1.0, abs=0.3)


def test_a_skewed_mean_is_drawn_at_or_above_the_centre_of_its_posterior() -> None:
    record = sketch_of(ht.laws.pareto(1.5).sample(1000, seed=0)[None])
    means = draws(record, 500).means[:, 0]
    row = record.summary[0]
    centre = row[MIDDLE] + row[SPREAD] * row[OFFSET]
    assert means.min() == centre
    assert 0.2 < (means > centre).mean() < 0.8


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


@pytest.mark.parametrize("env", ["six_arms", "double_chain"])
def test_rewards_in_another_unit_change_no_decision(env: str) -> None:
    """A power of two rounds nothing: every visit is the same."""
    mdp = ht.make_mdp(env)
    visits = []
    for factor in (1.0, 2.0**30):
        learner = ht.make_agent(scaled(mdp, factor, 0.0), seed=5)
        learner.learn(300)
        visits.append(learner.agent.model.visits.copy())
    np.testing.assert_array_equal(visits[0], visits[1])


@pytest.mark.parametrize("shift", [-1000.0, 1000.0])
def test_a_constant_added_to_all_rewards_changes_little(shift: float) -> None:
    """Only the first draws, before any range of rewards is known, may differ: it finds the best arm alike."""
    mdp = ht.make_mdp("six_arms")
    moved = scaled(mdp, 1.0, shift)
    plain, other = (ht.make_agent(m, seed=5).learn(3000, checkpoints=10).mean_reward for m in (mdp, moved))
    steps = 25 * 3000 * np.arange(1, 11) / 10
    apart = plain - (other - shift * steps)
    assert abs(apart[-1] - apart[-2]) < 0.01 * (plain[-1] - plain[-2])


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
    """DeepSea has 110 cells on the way down: half of the runs lose fewer than 45 episodes."""
    mdp = ht.make_mdp("deep_sea", size=10)
    assert np.median([regret(mdp, 300, seed) for seed in range(11)]) < 45.0


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
        ht.make_agent("random", ht.make_mdp("six_arms")).beliefs()


def test_its_counters_say_what_it_has_learnt() -> None:
    curve = ht.make_agent(ht.make_mdp("six_arms", law="pareto", alpha=1.5), seed=0).learn(2000)
    frame = curve.to_frame()
    assert frame["phases"].is_monotonic_increasing
    assert frame["skewed_cells"].iloc[-1] >= 1
    assert 0.0 < frame["reward_rate"].iloc[-1] <= 1.0


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
