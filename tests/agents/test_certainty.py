"""Which cells are certain: counted by hand, and drawn by their posteriors."""

import math

import numpy as np
import pytest

from heavytail.agents._certainty import (
    EULER,
    KINDS,
    MOVES,
    RATE_PRIOR,
    REWARDS,
    SHARE_PRIOR,
    STAYS,
    STAYS_PRIOR,
    count_new_successors,
    doubt,
    draw_shares,
    has_stayed,
)
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe
from heavytail.arrays import Floats, Stream
from heavytail.estimators.sketch import Sketch, sketch
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import push

# (state, action): successors in turn, in three states with two actions
HISTORY = {
    (0, 0): [0, 0, 0, 0],  # stays
    (0, 1): [0, 0, 1],  # stays, then not
    (1, 0): [0, 0],  # moves
    (1, 1): [2, 2, 2, 2, 2],
    (2, 0): [1, 0, 1, 0],  # moves, here and there
    (2, 1): [0],  # too few to count
}
NOISY = {(1, 1), (2, 0)}


def _observe(model: TransitionCounts, record: Sketch, cell: int, s_next: int, r: float) -> None:
    observe(model, cell, s_next, False)
    push(record, cell, r)


@pytest.fixture
def counts() -> tuple[TransitionCounts, Sketch]:
    model, record = new_transition_counts(3, 2), sketch(6)
    for (s, a), successors in HISTORY.items():
        for i, s_next in enumerate(successors):
            reward = float(i) if (s, a) in NOISY else 1.0
            model = with_larger_pools(model)
            entry(_observe, model, record)(model, record, 2 * s + a, s_next, reward)
    return model, record


def test_a_cell_has_stayed_if_it_ever_led_back_to_its_own_state(
    counts: tuple[TransitionCounts, Sketch],
) -> None:
    assert [has_stayed(counts[0], cell) for cell in range(6)] == [True, True, False, False, False, False]


def _draw(model: TransitionCounts, record: Sketch, rng: Stream, out: Floats) -> None:
    for i in range(out.shape[0]):
        draw_shares(out[i], model, record, rng)


def test_shares_are_drawn_from_their_beta_posteriors(counts: tuple[TransitionCounts, Sketch]) -> None:
    """Means of 4,000 draws, within 5 standard errors."""
    shares = np.zeros((4000, KINDS))
    entry(_draw, *counts)(*counts, stream(0), shares)
    for kind, prior, random, certain in (
        (MOVES, SHARE_PRIOR, 1.0, 1 / 2 + 4 / 5),
        (STAYS, STAYS_PRIOR, 1.0, 3 / 4),
        (REWARDS, SHARE_PRIOR, 2.0, 3 / 4 + 2 / 3 + 1 / 2),
    ):
        a, b = prior + random, prior + certain
        error = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1.0)) / 4000)
        assert shares[:, kind].mean() == pytest.approx(a / (a + b), abs=5.0 * error)


def test_doubts_fade_with_visits_and_not_where_all_is_random() -> None:
    assert [doubt(0.5, n) for n in (1.0, 3.0, 9.0)] == pytest.approx([1 / 2, 1 / 4, 1 / 10])
    assert doubt(0.0, 5.0) == 0.0
    assert doubt(1.0, 5.0) == 1.0


def test_new_successors_are_those_of_random_cells_after_the_first(
    counts: tuple[TransitionCounts, Sketch],
) -> None:
    new, expected = count_new_successors(counts[0])
    assert new == RATE_PRIOR + 2.0
    harmonic = [math.log(n) + EULER + 0.5 / n for n in (2.0, 3.0)]
    assert expected == pytest.approx(RATE_PRIOR + sum(harmonic))
    assert harmonic == pytest.approx([1.5, 1.0 + 1 / 2 + 1 / 3], abs=0.03)
