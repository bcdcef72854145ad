import itertools

import numpy as np
import pytest

import heavytail as ht
from heavytail import InputError
from heavytail.arrays import Floats
from heavytail.planning.policy_enumeration import count_policies, policy_facts


def naive_settling(P: Floats, r: Floats, gain: Floats, gap: float, far: int) -> int:
    """The least T' from which on the average reward of T steps is within gap / 2, from all T up to `far`."""
    total, expected, last = np.zeros(len(r)), r.copy(), 0
    for t in range(1, far + 1):
        total += expected
        expected = P @ expected
        if np.abs(total / t - gain).max() >= gap / 2:
            last = t
    return last + 1


@pytest.mark.parametrize("seed", range(6))
def test_all_policies_against_a_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = ht.mdp_from_arrays(rng.dirichlet(np.full(3, 0.4), size=(3, 2)), rng.normal(size=(3, 2)))
    facts = policy_facts(mdp)
    assert facts.gap == pytest.approx(ht.planning.policy_gap(mdp))
    latest = np.zeros((3, 2), np.int64)
    for actions in itertools.product(range(2), repeat=3):
        P, r = mdp.transitions[range(3), actions], mdp.mean_rewards[range(3), actions]
        gain, bias = ht.planning.policy_gain_and_bias(mdp, list(actions))
        time = naive_settling(P, r, gain, facts.gap, int(2 * np.ptp(bias) / facts.gap) + 2)
        latest[range(3), actions] = np.maximum(latest[range(3), actions], time)
    np.testing.assert_array_equal(facts.settling_times, latest)
    assert facts.settling == sum(np.ceil(1 + np.log2(t)) * t for t in latest.ravel())


def test_periodic_policies_too() -> None:
    swap = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    mdp = ht.mdp_from_arrays(swap, np.array([[0.3, 0.0], [0.0, 1.0]]))
    facts = policy_facts(mdp)
    assert facts.gap == pytest.approx(ht.planning.policy_gap(mdp))
    assert (facts.settling_times >= 1).all()


def test_actions_that_do_the_same_count_once() -> None:
    six = ht.make_mdp("six_arms")
    assert count_policies(six) == 6 * 2**6
    assert policy_facts(six).gap == pytest.approx(0.2)


def test_where_all_policies_are_optimal() -> None:
    facts = policy_facts(ht.mdp_from_arrays([[[1.0], [1.0]]], [[2.0, 2.0]]))
    assert (facts.gap, facts.settling) == (0.0, 0.0)


def test_very_slow_policies_get_an_upper_bound() -> None:
    slow = policy_facts(ht.make_mdp("two_state", delta=1e-6, gap=1e-7))
    assert slow.settling_times.max() > 1_000_000


def test_too_many_policies() -> None:
    with pytest.raises(
        InputError,
        match=r"policy_facts goes through all policies, and this MDP has \d[\d,]+; it takes up to 100,000",
    ):
        policy_facts(ht.make_mdp("deep_sea"))
