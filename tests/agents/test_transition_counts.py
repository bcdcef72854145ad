"""The observed transitions against a dictionary of counts."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.agents._transition_counts import (
    TransitionCounts,
    expected,
    new_transition_counts,
    observe,
    uniformity,
)
from heavytail.arrays import Bools, Floats, Ints, record_bytes
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.verbs import full, reset
from support.examples import examples

S, A = 40, 2
SEEN = st.lists(st.tuples(st.integers(0, S * A - 1), st.integers(0, S - 1), st.booleans()), max_size=200)
FEW_CELLS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, S - 1), st.just(False)), max_size=400)


def _work(
    model: TransitionCounts,
    cells: Ints,
    successors: Ints,
    ends: Bools,
    values: Floats,
    out: Floats,
    forget: bool,
) -> int:
    """Count transitions until all are counted or a pool is full; return how many were.

    Writes the expectation of values[1] after every cell, and last the uniformity.
    """
    if forget:
        reset(model)
    taken = 0
    while taken < cells.size and not full(model):
        observe(model, cells[taken], successors[taken], ends[taken])
        taken += 1
    for cell in range(model.visits.size):
        out[cell] = expected(model, cell, values, 1)
    out[model.visits.size] = uniformity(model)
    return taken


def shown(
    model: TransitionCounts, seen: list[tuple[int, int, bool]], values: Floats, forget: bool = False
) -> tuple[TransitionCounts, Floats]:
    """Return the model after these transitions, and the expectation of `values` after each cell.

    The last number says how evenly actions were played.
    """
    cells, successors, ends = (
        np.array([x[0] for x in seen], int),
        np.array([x[1] for x in seen], int),
        np.array([x[2] for x in seen], bool),
    )
    rows, out = np.stack([np.full_like(values, np.nan), values]), np.zeros(model.visits.size + 1)
    done = entry(_work, model)(model, cells, successors, ends, rows, out, forget)
    while done < len(seen):
        larger = with_larger_pools(model)
        assert larger.counts.size == larger.successor.size == 2 * model.counts.size
        model = larger
        done += entry(_work, model)(model, cells[done:], successors[done:], ends[done:], rows, out, False)
    return model, out


def twin(seen: list[tuple[int, int, bool]]) -> dict[int, Counter[int]]:
    counts: dict[int, Counter[int]] = {}
    for cell, s_next, terminated in seen:
        counts.setdefault(cell, Counter())[S if terminated else s_next] += 1
    return counts


def found(model: TransitionCounts) -> dict[int, dict[int, int]]:
    places = {
        cell: slice(first, first + used)
        for cell, (first, used) in enumerate(zip(model.start, model.size, strict=True))
        if used
    }
    return {
        cell: dict(zip(model.successor[at].tolist(), model.counts[at].tolist(), strict=True))
        for cell, at in places.items()
    }


VALUES = np.random.default_rng(0).normal(size=S + 1)


@given(st.one_of(SEEN, FEW_CELLS))
def test_the_model_is_a_dictionary_of_counts(seen: list[tuple[int, int, bool]]) -> None:
    model, expectations = shown(new_transition_counts(S, A), seen, VALUES)
    counts = twin(seen)
    assert found(model) == counts
    assert model.visits.tolist() == [counts[cell].total() if cell in counts else 0 for cell in range(S * A)]
    assert model.saw_terminal[0] == any(terminated for _, _, terminated in seen)
    for cell in range(S * A):
        mean = (
            sum(n * VALUES[s] for s, n in counts[cell].items()) / counts[cell].total()
            if cell in counts
            else 0.0
        )
        assert expectations[cell] == pytest.approx(mean, abs=1e-12)
    for successors in found(model).values():
        assert list(successors) == sorted(successors)


@given(SEEN)
@examples(30)
def test_uniformity_is_the_entropy_of_actions_weighted_by_visits(seen: list[tuple[int, int, bool]]) -> None:
    model, out = shown(new_transition_counts(S, A), seen, VALUES)
    visits = model.visits.reshape(S, A)
    weighted = 0.0
    for row in visits:
        weighted -= sum(n * math.log(n / row.sum(), A) for n in row if n)
    assert out[-1] == pytest.approx(weighted / visits.sum() if seen else 1.0)


@given(SEEN, st.integers(4, 12))
@examples(30)
def test_the_size_of_the_pool_changes_nothing(seen: list[tuple[int, int, bool]], doublings: int) -> None:
    small, roomy = new_transition_counts(S, A), new_transition_counts(S, A)
    size = 2**doublings
    roomy = roomy._replace(successor=np.zeros(size, np.uint32), counts=np.zeros(size, np.int64))
    (one, first), (two, second) = shown(small, seen, VALUES), shown(roomy, seen, VALUES)
    np.testing.assert_array_equal(first, second)
    for name in set(TransitionCounts._fields) - set(small.pools()):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    used = int(one.pool_used[0])
    np.testing.assert_array_equal(one.counts[:used], two.counts[:used])
    np.testing.assert_array_equal(one.successor[:used], two.successor[:used])


@given(SEEN, SEEN)
@examples(30)
def test_reset_forgets_everything(
    before: list[tuple[int, int, bool]], after: list[tuple[int, int, bool]]
) -> None:
    model, _ = shown(new_transition_counts(S, A), before, VALUES)
    again, expectations = shown(model, after, VALUES, forget=True)
    fresh, others = shown(new_transition_counts(S, A), after, VALUES)
    assert found(again) == found(fresh)
    np.testing.assert_array_equal(expectations, others)


def test_an_end_is_one_successor_whatever_the_state() -> None:
    model, expectations = shown(
        new_transition_counts(S, A), [(0, 3, True), (0, 5, True), (0, 5, False)], np.append(np.zeros(S), 6.0)
    )
    assert found(model) == {0: {S: 2, 5: 1}}
    assert expectations[0] == pytest.approx(4.0)


def _memory(n_states: int, seen: list[tuple[int, int, bool]]) -> tuple[int, int]:
    """Bytes for what was seen, beyond those of a model that has seen nothing.

    And how many successors were.
    """
    empty = new_transition_counts(n_states, 1)
    model, _ = shown(empty, seen, np.zeros(n_states + 1))
    return record_bytes(model) - record_bytes(empty), len({x[:2] for x in seen})


@pytest.mark.parametrize("n_states", [1_000, 50_000])
@pytest.mark.parametrize(
    "shape", ["one cell that leads everywhere", "every cell leads to one state", "many cells to many states"]
)
def test_memory_is_proportional_to_the_successors_seen(n_states: int, shape: str) -> None:
    """12 bytes for a place.

    A cell has room for less than twice its successors (at least 4), and less than that was left behind; the
    pool is up to twice what is given away.
    """
    rng = np.random.default_rng(1)
    cells: Any = {
        "one cell that leads everywhere": np.zeros(1000, int),
        "every cell leads to one state": np.arange(1000),
    }.get(shape, rng.integers(0, 100, 1000))
    successors = np.full(1000, 7) if shape.startswith("every") else rng.permutation(n_states)[:1000]
    used, distinct = _memory(
        n_states, [(int(c), int(s), False) for c, s in zip(cells, successors, strict=True)]
    )
    assert distinct == 1000
    assert used <= 12 * 8 * distinct + 12 * 16
    assert _memory(n_states, [(0, 1, False)] * 5000)[0] == 0
