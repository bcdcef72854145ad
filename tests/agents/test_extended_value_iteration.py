"""Extended value iteration against linear programs, which need no sorting and no half distances."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.agents._extended_value_iteration import (
    MAX_BACKUPS,
    backup,
    best_state,
    lowest_mass,
    optimistic_value,
    plan_average,
    plan_episode,
)
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe
from heavytail.arrays import Floats, Indices, Ints
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from support.examples import examples
from support.naive_agents import best_expectation_by_linear_program, best_expectation_by_sorting


class Guess(NamedTuple):
    """What a plan is made from, and its output."""

    model: TransitionCounts
    rewards: Floats
    half_widths: Floats
    values: Floats
    policy: Indices
    keys: Floats
    weights: Floats


EPISODE, AVERAGE, VALUES = 0, 1, 2
TOLERANCE = 1e-6  # the linear programs' own is 1e-7


def _plan(g: Guess, kind: int, tolerance: float, out: Floats) -> int:
    """Plan for an episode, or for the average reward with one more backup after it.

    Or write the optimistic expectation of values[0] after every cell.
    """
    if kind == EPISODE:
        plan_episode(g.model, g.rewards, g.half_widths, g.values, g.policy, g.keys, g.weights)
        return 0
    if kind == AVERAGE:
        taken = plan_average(
            g.model, g.rewards, g.half_widths, g.values, g.policy, g.keys, g.weights, tolerance
        )
        backup(g.model, g.rewards, g.half_widths, g.values, 0, g.policy, 1, g.keys, g.weights)
        return taken
    best = best_state(g.model, g.values, 0)
    for cell in range(out.size):
        out[cell] = optimistic_value(g.model, cell, g.values, 0, best, g.half_widths[cell], g.keys, g.weights)
    return best


def _tell(model: TransitionCounts, counts: Ints) -> bool:
    """Show a model transitions by their counts [S*A, S + 1], the last column being ends.

    False where it has no room.
    """
    for cell in range(counts.shape[0]):
        for s_next in range(counts.shape[1]):
            for _ in range(counts[cell, s_next]):
                if model.pool_used[0] + 2 * model.max_capacity[0] > model.counts.size:
                    return False
                observe(model, cell, min(s_next, model.n_states - 1), s_next == model.n_states)
    return True


def guess(counts: Ints, rewards: Floats, distances: Floats, horizon: int) -> Guess:
    """From counts [S, A, S + 1], optimistic rewards [S, A] and L1 distances [S, A]."""
    S, A = rewards.shape
    model = new_transition_counts(S, A)
    while model.counts.size < 32 * S * A:  # more than enough
        model.pool_used[0] = model.counts.size
        model = with_larger_pools(model)
    model.pool_used[0] = 0
    assert entry(_tell, model)(model, np.ascontiguousarray(counts.reshape(S * A, S + 1)))
    return Guess(
        model,
        rewards.ravel().copy(),
        distances.ravel() / 2,
        np.zeros((2, S + 1)),
        np.zeros((horizon or 2, S), np.uint32),
        np.zeros(S + 1),
        np.zeros(S + 1),
    )


def planned(g: Guess, kind: int, tolerance: float = 1e-9, out: Floats | None = None) -> int:
    return entry(_plan, g)(g, kind, tolerance, np.zeros(g.rewards.size) if out is None else out)


def plausible_q(counts: Ints, rewards: Floats, distances: Floats, values: Floats) -> Floats:
    """One backup [S, A] by linear programs.

    The end is plausible where it was seen anywhere, and before the first visit everything is.
    """
    S, A = rewards.shape
    after = np.append(values[:S], 0.0)[: S + bool(counts[:, :, S].any())]
    q = np.zeros((S, A))
    for s, a in itertools.product(range(S), range(A)):
        seen = counts[s, a, : len(after)]
        distance = distances[s, a] if seen.any() else 2.0
        p = seen / seen.sum() if seen.any() else np.full(len(after), 1 / len(after))
        q[s, a] = rewards[s, a] + best_expectation_by_linear_program(p, distance, after)
    return q


@st.composite
def tiny(draw: st.DrawFn, *, ends: bool) -> tuple[Ints, Floats, Floats]:
    """Counts, rewards and distances of two or three states and two actions.

    Some cells may never have been visited.
    """
    S, A = draw(st.integers(2, 3)), 2
    numbers = st.lists(st.integers(0, 6), min_size=S * A * (S + 1), max_size=S * A * (S + 1))
    counts = np.array(draw(numbers)).reshape(S, A, S + 1)
    if not ends:
        counts[:, :, S] = 0
    reals = st.lists(st.floats(-3, 3), min_size=S * A, max_size=S * A)
    distances = st.lists(st.one_of(st.floats(0.05, 2.5), st.just(0.1)), min_size=S * A, max_size=S * A)
    return counts, np.array(draw(reals)).reshape(S, A), np.array(draw(distances)).reshape(S, A)


# The pieces


KEYS = st.lists(
    st.tuples(st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0]), st.integers(0, 9)), min_size=1, max_size=40
)


@given(KEYS.filter(lambda pairs: any(w for _, w in pairs)), st.floats(0, 1))
def test_the_lowest_mass_is_what_sorting_finds(pairs: list[tuple[float, int]], share: float) -> None:
    keys, weights = (
        np.array([k for k, _ in pairs]),
        np.array([w for _, w in pairs]) / sum(w for _, w in pairs),
    )
    left, expected = share, 0.0
    for i in np.argsort(keys):
        expected += min(left, weights[i]) * keys[i]
        left -= min(left, weights[i])
    spare = np.full(3, np.inf)  # beyond the first n nothing is read
    found = lowest_mass(np.append(keys, spare), np.append(weights, spare), len(keys), share)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(tiny(ends=True), st.data())
@examples(60)
def test_the_optimistic_value_is_the_best_over_the_confidence_set(
    case: tuple[Ints, Floats, Floats], data: st.DataObject
) -> None:
    counts, rewards, distances = case
    S = len(counts)
    values = np.array(data.draw(st.lists(st.floats(-5, 5) | st.just(1.0), min_size=S, max_size=S)))
    g, out = guess(counts, rewards, distances, 3), np.zeros(rewards.size)
    g.values[0, :S] = values
    best = planned(g, VALUES, out=out)
    expected = plausible_q(counts, np.zeros_like(rewards), distances, values)
    np.testing.assert_allclose(out.reshape(expected.shape), expected, atol=TOLERANCE)
    assert best == np.append(values, 0.0)[: S + bool(counts[:, :, S].any())].argmax()


@given(
    st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any),
    st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    st.floats(0, 2.5),
)
@examples(60)
def test_the_slow_twins_sorting_is_the_linear_program(
    counts: list[int], values: list[float], distance: float
) -> None:
    p, v = np.array(counts) / sum(counts), np.array(values)
    assert best_expectation_by_sorting(p, distance, v) == pytest.approx(
        best_expectation_by_linear_program(p, distance, v), abs=TOLERANCE
    )


# Plans


@given(tiny(ends=True))
@examples(25)
def test_an_episode_is_planned_as_by_linear_programs(case: tuple[Ints, Floats, Floats]) -> None:
    H = 3
    g = guess(*case, H)
    planned(g, EPISODE)
    values, S = np.zeros(len(case[0])), len(case[0])
    for h in reversed(range(H)):
        q = plausible_q(*case, values)
        values = q.max(axis=1)
        np.testing.assert_allclose(
            q[np.arange(S), g.policy[h]], values, atol=TOLERANCE
        )  # the chosen actions are best; among ties any is
    np.testing.assert_allclose(g.values[H % 2, :S], values, atol=TOLERANCE)
    assert (g.values[:, S] == 0).all()


def extended(counts: Ints, rewards: Floats, distances: Floats) -> ht.MDP:
    """The MDP whose actions are an action and an extreme point.

    Of every order of the states, the distribution that is best for values in that order.
    """
    S, A = rewards.shape
    orders = list(itertools.permutations(range(S)))
    transitions = np.zeros((S, A * len(orders), S))
    for s, a, (k, order) in itertools.product(range(S), range(A), enumerate(orders)):
        seen = counts[s, a, :S]
        q = seen / seen.sum() if seen.any() else np.eye(S)[order[0]]
        q[order[0]] = min(1.0, q[order[0]] + distances[s, a] / 2)
        for worst in order[::-1]:
            q[worst] -= min(q[worst], max(q.sum() - 1.0, 0.0))
        transitions[s, a * len(orders) + k] = q / q.sum()
    return ht.mdp_from_arrays(transitions, np.repeat(rewards, len(orders), axis=1))


@given(tiny(ends=False))
@examples(25)
def test_the_average_reward_is_planned_up_to_its_tolerance(case: tuple[Ints, Floats, Floats]) -> None:
    """What a backup adds lies around the optimal gain, whatever the values.

    So a backup by linear programs proves the plan right.
    """
    counts, rewards, distances = case
    S, g = len(counts), guess(*case, 0)
    taken = planned(g, AVERAGE, 1e-9)
    assert taken < MAX_BACKUPS
    q, values = plausible_q(counts, rewards, distances, g.values[0]), g.values[0, :S]
    rise = q.max(axis=1) - values
    assert np.ptp(rise) < TOLERANCE
    np.testing.assert_allclose(
        q[np.arange(S), g.policy[0]] - values, rise, atol=TOLERANCE
    )  # the chosen actions are best
    np.testing.assert_allclose(g.values[1, :S] - values, rise, atol=TOLERANCE)
    assert values[0] == 0.0
    gain = ht.planning.average_plan(extended(counts, rewards, distances)).gain
    np.testing.assert_allclose(rise, gain, atol=TOLERANCE)


@given(tiny(ends=False), st.floats(0.01, 1.0))
@examples(15)
def test_a_wider_tolerance_costs_no_more_than_itself(
    case: tuple[Ints, Floats, Floats], tolerance: float
) -> None:
    """In the best MDP for the policy found its gain is within the tolerance of the best."""
    counts, rewards, distances = case
    g = guess(*case, 0)
    planned(g, AVERAGE, tolerance)
    best = extended(counts, rewards, distances)
    per_action = best.n_actions // rewards.shape[1]
    kept = np.array([[int(a) * per_action + k for k in range(per_action)] for a in g.policy[0]])
    only = ht.mdp_from_arrays(
        np.take_along_axis(best.transitions, kept[:, :, None], axis=1),
        np.take_along_axis(best.mean_rewards, kept, axis=1),
    )
    assert (
        ht.planning.average_plan(only).gain.min()
        >= ht.planning.average_plan(best).gain.max() - tolerance - 1e-9
    )


def test_a_periodic_chain_is_planned_all_the_same() -> None:
    """Two states that follow each other, rewards 0 and 1: gain 1/2.

    Undamped backups swap the differences forever; an action that stays for 0.4 is not worth it.
    """
    counts = np.zeros((2, 2, 3), int)
    counts[0, 0, 1] = counts[1, 0, 0] = counts[0, 1, 0] = counts[1, 1, 1] = 1000
    rewards, distances = np.array([[0.0, 0.4], [1.0, 0.4]]), np.zeros((2, 2))
    values = np.zeros(2)
    spans = []
    for _ in range(50):
        new = plausible_q(counts, rewards, distances, values).max(axis=1)
        spans.append(np.ptp(new - values))
        values = new
    assert spans[-1] == pytest.approx(spans[-2]) != 0.0  # it does not settle
    g = guess(counts, rewards, distances, 0)
    assert planned(g, AVERAGE, 1e-9) < 300
    np.testing.assert_allclose(g.values[1, :2] - g.values[0, :2], 0.5, atol=1e-8)
    assert g.policy[0].tolist() == [0, 0]


def test_a_plan_starts_from_the_one_before_and_never_runs_for_ever() -> None:
    rng = np.random.default_rng(0)
    counts = np.append(rng.integers(1, 30, (3, 2, 3)), np.zeros((3, 2, 1), int), axis=2)
    rewards = rng.normal(size=(3, 2))
    g = guess(counts, rewards, np.full((3, 2), 0.05), 0)
    first = planned(g, AVERAGE, 1e-6)
    assert first > 5
    assert planned(g, AVERAGE, 1e-6) == 1
    apart = np.zeros((2, 1, 3), int)
    apart[0, 0, 0] = apart[1, 0, 1] = 1
    never = guess(
        apart, np.array([[0.0], [1.0]]), np.zeros((2, 1)), 0
    )  # two states, each for itself: no gain is common to both
    assert planned(never, AVERAGE, 1e-9) == MAX_BACKUPS
    assert np.isfinite(never.values).all()


def test_a_tolerance_below_the_resolution_of_floats_is_not_waited_for() -> None:
    """Rewards may be 1e100, as a valid interval of the sample mean may give.

    Their differences never come below 1e84 unless they vanish.
    """
    rng, taken = np.random.default_rng(0), []
    for _ in range(20):
        counts = np.append(rng.integers(1, 30, (3, 2, 3)), np.zeros((3, 2, 1), int), axis=2)
        taken.append(
            planned(
                guess(counts, 1e100 * rng.uniform(0.5, 1.0, (3, 2)), np.full((3, 2), 0.05), 0), AVERAGE, 1e-3
            )
        )
    assert max(taken) < 1000
