"""Least expected times against enumeration of all policies and value iteration."""

import numpy as np
import pytest
from hypothesis import given

import heavytail as ht
from heavytail import planning
from heavytail.planning.hitting_times import policy_towards, predecessor_graph
from heavytail.planning.matrices import transition_matrix
from support.planning_twins import FEW_EXAMPLES, MANY_EXAMPLES, Model, models, naive_times


@given(models())
@MANY_EXAMPLES
def test_times_equal_the_best_of_all_policies_in_every_state(model: Model) -> None:
    for target in range(len(model.r)):
        np.testing.assert_allclose(
            planning.times_to(model.mdp(), target), naive_times(model, target), rtol=1e-8
        )


@given(models())
@FEW_EXAMPLES
def test_the_diameter_is_the_largest_of_these_times(model: Model) -> None:
    assert planning.diameter(model.mdp()) == pytest.approx(
        max(naive_times(model, s).max() for s in range(len(model.r))), rel=1e-8
    )


@given(models(kinds=["dense"], most_states=6))
@FEW_EXAMPLES
def test_times_equal_value_iteration(model: Model) -> None:
    p, target = np.delete(model.continued(), 0, axis=2), 0
    times = np.zeros(len(model.r))
    for _ in range(3000):
        times[1:] = (1.0 + p @ times[1:]).min(axis=1)[1:]
    found = planning.times_to(model.mdp(), target)
    np.testing.assert_allclose(found[times < 200], times[times < 200], rtol=1e-5)


def test_a_state_that_may_fall_into_a_trap_is_infinitely_far_and_its_neighbour_is_not() -> None:
    """0 the target, 1 a trap, 2 risks the trap whatever it does, 3 may go by 2 or, slowly, around it."""
    p = np.zeros((4, 2, 4))
    p[0, :, 0] = p[1, :, 1] = 1.0
    p[2, 0, [0, 1]], p[2, 1, [0, 1]] = [0.9, 0.1], [0.5, 0.5]
    p[3, 0, 2], p[3, 1, [0, 3]] = 1.0, [0.25, 0.75]
    mdp = ht.mdp_from_arrays(p, np.zeros((4, 2)))
    assert planning.times_to(mdp, 0).tolist() == [0.0, np.inf, np.inf, 4.0]
    assert planning.times_to(mdp, 1).tolist() == [np.inf, 0.0, np.inf, np.inf]
    assert planning.times_to(mdp, np.int64(3)).tolist() == [np.inf, np.inf, np.inf, 0.0]
    assert planning.diameter(mdp) == np.inf


def test_between_a_trap_and_the_target_every_state_is_lost_one_after_the_other() -> None:
    n = 100_000
    s = np.arange(1, n - 1)
    inner = np.stack([s - 1, s + 1], axis=1).ravel()
    mdp = ht.mdp_from_slots(
        rows=np.concatenate([[0], np.repeat(s, 2), [n - 1]]),
        successors=np.concatenate([[0], inner, [n - 1]]),
        probabilities=np.concatenate([[1.0], np.full(2 * len(s), 0.5), [1.0]]),
        rewards=np.zeros(2 * n - 2),
        n_states=n,
        n_actions=1,
    )
    assert np.isinf(planning.times_to(mdp, n - 1)[:-1]).all()


def test_of_two_ways_the_one_that_does_not_fall_back_is_tried_first() -> None:
    """The bold action succeeds half of the time, else it loses all: 2**60 steps.

    The steady one takes ten steps each.
    """
    n = 60
    p = np.zeros((n + 1, 2, n + 1))
    for s in range(n):
        p[s, 0, [s + 1, 0]] = 0.5, 0.5
        p[s, 1, [s + 1, s]] = 0.1, 0.9
    p[n, :, n] = 1.0
    times = planning.times_to(ht.mdp_from_arrays(p, np.zeros((n + 1, 2))), n)
    assert times[n - 1] == pytest.approx(10.0, rel=1e-9)
    assert times[0] == pytest.approx(2.0 + times[1], rel=1e-9)


def test_states_that_cannot_come_nearer_do_something_else() -> None:
    mdp = ht.mdp_from_arrays(np.eye(3)[[[0, 1], [1, 1], [2, 2]]], np.zeros((3, 2)))
    matrix = transition_matrix(mdp, restart=True)
    assert policy_towards(
        matrix, predecessor_graph(matrix), np.array([False, True, False]), otherwise=np.array([7, 8, 9])
    ).tolist() == [
        1,
        8,
        9,
    ]


def test_of_several_actions_the_likeliest_says_how_far_a_state_is() -> None:
    mdp = ht.mdp_from_arrays([[[0.75, 0.25], [0.5, 0.5], [0.9, 0.1]], [[0.0, 1.0]] * 3], np.zeros((2, 3)))
    assert predecessor_graph(transition_matrix(mdp, restart=True)).toarray().tolist() == [
        [1 / 0.9, 0.0],
        [2.0, 1.0],
    ]
