"""Which cells are certain: counted by hand, and drawn by their posteriors."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from heavytail.agents._certainty import (
    CERTAIN,
    EULER,
    GROUP_PRIOR,
    IS_USUAL,
    RANDOM,
    RATE_PRIOR,
    SHARE_PRIOR,
    STAYED_PRIOR,
    USUAL_PRIOR,
    VALUE,
    Certainty,
    count_new_successors,
    doubt,
    draw_beta,
    draw_change,
    draw_pays_otherwise,
    draw_shares,
    new_certainty,
    see_first_visit,
)
from heavytail.agents._change_rates import same_again
from heavytail.agents._index_list import IndexList, append, new_index_list
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe
from heavytail.arrays import Floats, Stream
from heavytail.estimators.sketch import Sketch, sketch
from heavytail.kernels.compiling import entry, interpret
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import push

A = 2
OTHER, USUAL = 2 * A, 2 * A + 1  # groups of rewards
# (state, action): successors in turn, in three states with two actions
HISTORY = {
    (0, 0): [0, 0, 0, 0],  # stays
    (0, 1): [0, 0, 1],  # stays, then not
    (1, 0): [0, 0],  # moves
    (1, 1): [2, 2, 2, 2, 2],
    (2, 0): [1, 0, 1, 0],  # moves, here and there
    (2, 1): [0],  # too few to count
}
NOISY = {(1, 1): 3.0, (2, 0): 4.0}  # what they pay at first; later more


class Seen(NamedTuple):
    certainty: Certainty
    model: TransitionCounts
    rewards: Sketch
    tried: IndexList


def _see(seen: Seen, cell: int, s: int, s_next: int, r: float) -> None:
    if seen.model.visits[cell] == 0:
        see_first_visit(seen.certainty, cell, s_next == s, r)
        append(seen.tried, cell)
    observe(seen.model, cell, s_next, False)
    push(seen.rewards, cell, r)


@pytest.fixture
def seen() -> Seen:
    found = Seen(new_certainty(3, A), new_transition_counts(3, A), sketch(3 * A), new_index_list(3 * A))
    for (s, a), successors in HISTORY.items():
        for i, s_next in enumerate(successors):
            reward = NOISY[s, a] + i if (s, a) in NOISY else 1.0
            found = with_larger_pools(found)
            entry(_see, found)(found, A * s + a, s, s_next, reward)
    return found


def _draw(seen: Seen, rng: Stream, out: Floats) -> None:
    for i in range(out.shape[0]):
        draw_shares(seen.certainty, seen.model, seen.rewards, seen.tried, rng)
        for group in range(out.shape[1]):
            out[i, group] = seen.certainty.shares[group]


def draws(seen: Seen, n: int) -> Floats:
    shares = np.zeros((n, seen.certainty.shares.size))
    entry(_draw, seen)(seen, stream(0), shares)
    return shares


def test_cells_are_counted_in_the_group_of_their_first_visit(seen: Seen) -> None:
    draws(seen, 1)
    np.testing.assert_array_equal(seen.certainty.stayed, [1, 1, 0, 0, 0, 0])
    news = {n: 1.0 - same_again(seen.certainty.rates, n) for n in (2, 4, 5)}
    certain, random = seen.certainty.cells[CERTAIN], seen.certainty.cells[RANDOM]
    np.testing.assert_allclose(certain[:OTHER], [news[2], news[5], news[4], 0.0])  # moved, then stayed
    np.testing.assert_array_equal(random[:OTHER], [1.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(certain[OTHER:], [0.0, 3 / 4 + 2 / 3 + 1 / 2])
    np.testing.assert_array_equal(random[OTHER:], [2.0, 0.0])


def slow_shares(seen: Seen, n: int) -> Floats:
    """The same shares by NumPy's random numbers."""
    rng = np.random.default_rng(0)
    certain, random = seen.certainty.cells
    k, c = random[:OTHER].reshape(2, A), certain[:OTHER].reshape(2, A)
    out = np.zeros((n, OTHER + 2))
    for row in out:
        of_all = rng.beta(SHARE_PRIOR + k.sum(), SHARE_PRIOR + c.sum())
        for a in range(A):
            of_action = _around(rng, GROUP_PRIOR, of_all, k[:, a].sum(), c[:, a].sum())
            row[a] = _around(rng, GROUP_PRIOR, of_action, k[0, a], c[0, a])
            more = STAYED_PRIOR
            row[A + a] = _around(rng, GROUP_PRIOR, of_action, k[1, a] + more, c[1, a] + more)
        row[OTHER] = rng.beta(SHARE_PRIOR + random[OTHER], SHARE_PRIOR + certain[OTHER])
        row[USUAL] = _around(rng, USUAL_PRIOR, row[OTHER], random[USUAL], certain[USUAL])
    return out


def _around(rng: np.random.Generator, w: float, q: float, k: float, c: float) -> float:
    return float(rng.beta(max(w * q + k, 1e-12), max(w * (1.0 - q) + c, 1e-12)))


def test_shares_are_drawn_around_those_of_the_action_and_of_all(seen: Seen) -> None:
    """Means of 20,000 draws beside as many by NumPy, within 5 standard errors."""
    fast = draws(seen, 20_000)
    slow = slow_shares(seen, 20_000)
    error = np.sqrt((fast.var(axis=0) + slow.var(axis=0)) / 20_000)
    assert (np.abs(fast.mean(axis=0) - slow.mean(axis=0)) <= 5.0 * error + 1e-9).all()


# What is usual


def _vote(certainty: Certainty, rewards: Floats) -> None:
    for i in range(rewards.size):
        see_first_visit(certainty, i, False, rewards[i])


@pytest.mark.parametrize(
    ("rewards", "usual"),
    [
        ([0.0] * 8 + [1.0, 2.0], {0.0}),
        ([1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 4.0], {0.0}),
        ([0.0, -1.0, 0.0, -1.0, 5.0], {0.0, -1.0}),
        ([1.0, 2.0, 3.0, 4.0, 5.0], set()),
        ([0.0, 0.0, 1.0, 2.0, 3.0, 4.0], set()),  # a third is not more than a third
    ],
)
def test_a_reward_is_usual_if_more_than_a_third_of_cells_paid_it_first(
    rewards: list[float], usual: set[float]
) -> None:
    n = len(rewards)
    found = Seen(new_certainty(n, 1), new_transition_counts(n, 1), sketch(n), new_index_list(n))
    for s, r in enumerate(rewards):
        found = with_larger_pools(found)
        entry(_see, found)(found, s, s, (s + 1) % n, r)
    draws(found, 1)
    held = found.certainty.usual[found.certainty.usual[:, IS_USUAL] == 1.0, VALUE]
    assert set(held) == usual


# Doubts


def test_doubts_fade_with_visits_and_not_where_all_is_random() -> None:
    assert [doubt(0.5, 1.0 / n) for n in (1, 3, 9)] == pytest.approx([1 / 2, 1 / 4, 1 / 10])
    assert doubt(0.0, 0.2) == 0.0
    assert doubt(1.0, 0.2) == 1.0
    assert doubt(1.0, 0.0) == 0.0  # nor is anything divided by 0


def _draw_doubts(seen: Seen, cell: int, n: int, rng: Stream, out: Floats) -> None:
    for i in range(out.shape[1]):
        out[0, i] = draw_change(seen.certainty, cell, n, rng)
        out[1, i] = 1.0 if draw_pays_otherwise(seen.certainty, seen.rewards, cell, n, rng) else 0.0


def test_cells_are_drawn_as_random_as_often_as_they_are_doubted(seen: Seen) -> None:
    """20,000 draws of a cell that moved and paid the usual reward, within 5 standard errors.

    That it moved to the same state twice says nothing of cells like it, by which it is judged.
    """
    draws(seen, 1)
    seen.certainty.shares[:] = 0.3
    out, cell, n = np.zeros((2, 20_000)), 2, 2
    entry(_draw_doubts, seen, cell, n)(seen, cell, n, stream(3), out)
    moved_again, group = same_again(seen.certainty.rates, n), 0
    shape = seen.certainty.shapes[group]
    assert shape > seen.certainty.cells[CERTAIN, group] == 1.0 - moved_again
    by_others = moved_again * shape / (shape - (1.0 - moved_again))
    for share, same in zip((out > 0.0).mean(axis=1), (by_others, 1 / n), strict=True):
        expected = 0.3 * same / (0.3 * same + 0.7)
        assert share == pytest.approx(expected, abs=5.0 * math.sqrt(expected * (1.0 - expected) / 20_000))


def test_a_first_visit_is_as_random_as_cells_like_it_all_are(seen: Seen) -> None:
    draws(seen, 1)
    seen.certainty.shares[:], seen.certainty.shapes[:] = 1.0, 0.0
    out, cell, n = np.zeros((2, 100)), 5, 1
    entry(_draw_doubts, seen, cell, n)(seen, cell, n, stream(3), out)
    assert (out > 0.0).all()


def test_a_beta_variate_of_shapes_0_is_a_number() -> None:
    drawn = [
        interpret(draw_beta, stream(seed), x, y)
        for seed in range(5)
        for x, y in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
    ]
    assert np.isfinite(drawn).all()
    assert interpret(draw_beta, stream(0), 1.0, 0.0) == 1.0


def test_new_successors_are_those_of_random_cells_after_the_first(seen: Seen) -> None:
    new, expected = count_new_successors(seen.model, seen.tried)
    assert new == RATE_PRIOR + 2.0
    harmonic = [math.log(n) + EULER + 0.5 / n for n in (2.0, 3.0)]
    assert expected == pytest.approx(RATE_PRIOR + sum(harmonic))
    assert harmonic == pytest.approx([1.5, 1.0 + 1 / 2 + 1 / 3], abs=0.03)
