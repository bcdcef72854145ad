"""Planning against three twins that share no code with it.

Plain loops, dense enumeration of all policies, and linear programming.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import heavytail as ht
from heavytail import planning
from heavytail.arrays import Bools, Floats, Ints
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.planning.hitting_times import policy_towards, predecessor_graph
from heavytail.planning.matrices import transition_matrix
from support import mdps

KINDS = ["dense", "sparse", "deterministic", "periodic", "multichain"]
FEW = settings(
    max_examples=40, deadline=None
)  # seconds, not milliseconds, for the first example: it imports scipy
MANY = settings(max_examples=100, deadline=None)


# Random models


class Model(NamedTuple):
    p: Floats  # [S, A, S] or [H, S, A, S]
    r: Floats  # [S, A] or [H, S, A]
    start: Floats
    terminal: Bools
    horizon: int

    def mdp(self) -> MDP:
        rewards = self.r[..., None] if self.r.ndim == 3 else self.r
        terminal = self.terminal if self.terminal.any() else None
        return ht.mdp_from_arrays(
            self.p, rewards, start=self.start, terminal=terminal, horizon=self.horizon or None
        )

    def continued(self) -> Floats:
        """Transitions of the continuing reading: what ends leads back to the start."""
        ended = (self.p * self.terminal).sum(axis=-1, keepdims=True)
        return np.where(self.terminal, 0.0, self.p) + ended * self.start


def mild(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Random probabilities, none of them so small that the twins, which take powers, are less exact than what they judge."""
    return 0.8 * rng.dirichlet(np.ones(shape[-1]), shape[:-1]) + 0.2 / shape[-1]


def transitions(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Probabilities [..., S, A, S]."""
    n = shape[-1]
    if kind == "dense":
        return mild(rng, shape)
    if kind == "deterministic":
        return np.eye(n)[rng.integers(n, size=shape[:-1])]
    allowed = rng.random(shape) < 0.4
    if kind == "periodic":  # a step leads from one half of the states to the other
        allowed = np.broadcast_to((np.arange(n)[:, None, None] + np.arange(n)) % 2 == 1, shape).copy()
    if (
        kind == "multichain"
    ):  # nothing leads out of the even states, nor out of the odd ones but from the last
        allowed &= (np.arange(n)[:, None, None] + np.arange(n)) % 2 == 0
        allowed[..., -1, :, :] = True
    states = np.broadcast_to(np.arange(n)[:, None], shape[:-1])
    allowed |= (allowed.sum(axis=-1) == 0)[..., None] * np.eye(n, dtype=bool)[states]
    weights = allowed * rng.integers(1, 4, size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


@st.composite
def models(
    draw: st.DrawFn,
    *,
    most_states: int = 4,
    episodic: bool = False,
    staged: bool = False,
    kinds: list[str] = KINDS,
    ties: bool = True,
) -> Model:
    """Small MDPs; rewards are often whole numbers, so that policies tie."""
    S, A, H = draw(st.integers(1, most_states)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lead = (H,) if staged and draw(st.booleans()) else ()
    p = transitions(draw(st.sampled_from(kinds)), (*lead, S, A, S), rng)
    r = (
        rng.integers(-1, 3, size=(*lead, S, A)).astype(np.float64)
        if ties and draw(st.booleans())
        else rng.normal(size=(*lead, S, A))
    )
    start = np.eye(S)[rng.integers(S)] if draw(st.booleans()) else mild(rng, (S,))
    ends = episodic or draw(st.booleans())
    return Model(p, r, start, (rng.random(S) < 0.3) & ends & draw(st.booleans()), H if ends else 0)


def stochastic(model: Model, seed: int, steps: int = 0) -> Floats:
    """A random policy [S, A] or [H, S, A], in which some actions are never taken."""
    rng = np.random.default_rng(seed)
    weights = rng.random((*((steps,) if steps else ()), *model.r.shape[-2:])) * (
        rng.random(model.r.shape[-2:]) < 0.7
    )
    weights[..., 0] += weights.sum(axis=-1) == 0
    policy: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return policy


# Twins


def naive_values(model: Model, choose: Callable[[int, int, list[float]], float]) -> list[list[float]]:
    """Backward induction in loops; `choose` makes a value of those of the actions."""
    S, A = model.r.shape[-2:]
    values = [[0.0] * S]
    for h in reversed(range(model.horizon)):
        p, r = (model.p[h] if model.p.ndim == 4 else model.p), (model.r[h] if model.r.ndim == 3 else model.r)
        now = []
        for s in range(S):
            q = []
            for a in range(A):
                total = float(r[s, a])
                for s_next in range(S):
                    if not model.terminal[s_next]:
                        total += float(p[s, a, s_next]) * values[0][s_next]
                q.append(total)
            now.append(choose(h, s, q))
        values.insert(0, now)
    return values


def cesaro(chain: Floats) -> Floats:
    """The average of the powers of a chain, over 2**50 of them.

    The first 2n are the first n, and the same again n steps later.
    """
    average, power = np.eye(len(chain)), chain
    for _ in range(50):
        average = 0.5 * (average + power @ average)
        power = power @ power
        power = power / power.sum(axis=1, keepdims=True)
    return average / average.sum(axis=1, keepdims=True)


def naive_gain_and_bias(chain: Floats, rewards: Floats) -> tuple[Floats, Floats]:
    """By the fundamental matrix (Puterman 1994, appendix A)."""
    limit = cesaro(chain)
    gain = limit @ rewards
    bias = np.asarray(np.linalg.solve(np.eye(len(chain)) - chain + limit, rewards - gain), np.float64)
    return gain, bias - limit @ bias


def policies(model: Model) -> Iterator[tuple[int, ...]]:
    S, A = model.r.shape
    return itertools.product(range(A), repeat=S)


def every_gain_and_bias(model: Model) -> tuple[Floats, Floats]:
    """[policies, S] of all deterministic policies."""
    p, states = model.continued(), np.arange(len(model.r))
    each = [
        naive_gain_and_bias(p[states, list(policy)], model.r[states, list(policy)])
        for policy in policies(model)
    ]
    return np.array([gain for gain, _ in each]), np.array([bias for _, bias in each])


def lp_gains(model: Model) -> Floats:
    """The least superharmonic gain (Puterman 1994, section 9.3), for any MDP.

    Min sum g, g >= P g, g + h >= r + P h.
    """
    S, A = model.r.shape
    p = model.continued().reshape(S * A, S)
    own = np.repeat(np.eye(S), A, axis=0)
    gain_rows, bias_rows = np.hstack([p - own, np.zeros_like(p)]), np.hstack([-own, p - own])
    found = linprog(
        np.concatenate([np.ones(S), np.zeros(S)]),
        A_ub=np.vstack([gain_rows, bias_rows]), b_ub=np.concatenate([np.zeros(S * A), -model.r.ravel()]), bounds=(None, None),
    )  # fmt: skip
    assert found.status == 0
    return np.asarray(found.x[:S])


def lp_gain_by_frequencies(model: Model) -> float:
    """Max sum x r over how often x(s, a) is visited (Puterman 1994, section 8.8), for communicating MDPs."""
    S, A = model.r.shape
    balance = np.repeat(np.eye(S), A, axis=0).T - model.continued().reshape(S * A, S).T
    found = linprog(
        -model.r.ravel(), A_eq=np.vstack([balance, np.ones(S * A)]), b_eq=np.concatenate([np.zeros(S), [1.0]])
    )
    assert found.status == 0
    return -float(found.fun)


def naive_times(model: Model, target: int) -> Floats:
    """The least hitting times over all deterministic policies.

    Infinite under a policy that may miss the target.
    """
    p, S = model.continued(), len(model.r)
    best = np.where(np.arange(S) == target, 0.0, np.inf)
    for policy in policies(model):
        chain = p[np.arange(S), list(policy)].copy()
        chain[target] = np.eye(S)[target]
        reaches = np.linalg.matrix_power((np.eye(S) + chain > 0).astype(np.float64), S) > 0
        sure = np.array(
            [reaches[reaches[s], target].all() and s != target for s in range(S)]
        )  # whatever comes next, it can still be reached
        (on_the_way,) = np.nonzero(sure)
        times = np.linalg.solve(
            np.eye(len(on_the_way)) - chain[np.ix_(on_the_way, on_the_way)], np.ones(len(on_the_way))
        )
        best[on_the_way] = np.minimum(best[on_the_way], times)
    return best


# In episodes


@given(models(episodic=True, staged=True))
@MANY
def test_optimal_values_equal_loops(model: Model) -> None:
    plan = planning.episodic_plan(model.mdp())
    np.testing.assert_allclose(plan.values, naive_values(model, lambda h, s, q: max(q)), rtol=0, atol=1e-12)
    assert planning.optimal_value(model.mdp()) == pytest.approx(
        float(model.start @ plan.values[0]), abs=1e-12
    )


@given(models(episodic=True, staged=True))
@FEW
def test_the_optimal_policy_earns_the_optimal_values(model: Model) -> None:
    plan = planning.episodic_plan(model.mdp())
    np.testing.assert_allclose(
        planning.policy_values(model.mdp(), plan.policy), plan.values, rtol=0, atol=1e-12
    )
    assert planning.policy_value(model.mdp(), plan.policy) == pytest.approx(
        planning.optimal_value(model.mdp()), abs=1e-12
    )


@given(models(episodic=True, staged=True), st.integers(0, 2**32), st.booleans())
@MANY
def test_values_of_stochastic_policies_equal_loops(model: Model, seed: int, each_step: bool) -> None:
    policy = stochastic(model, seed, model.horizon if each_step else 0)
    by_step = np.broadcast_to(policy, (model.horizon, *model.r.shape[-2:]))
    naive = naive_values(model, lambda h, s, q: sum(w * x for w, x in zip(by_step[h, s], q, strict=True)))
    np.testing.assert_allclose(planning.policy_values(model.mdp(), policy), naive, rtol=0, atol=1e-12)


@given(models(episodic=True, staged=True), st.integers(0, 2**32), st.booleans())
@FEW
def test_values_of_deterministic_policies_equal_loops(model: Model, seed: int, each_step: bool) -> None:
    shape = (model.horizon, model.r.shape[-2]) if each_step else model.r.shape[-2:-1]
    policy = np.random.default_rng(seed).integers(model.r.shape[-1], size=shape)
    by_step = np.broadcast_to(policy, (model.horizon, model.r.shape[-2]))
    naive = naive_values(model, lambda h, s, q: q[by_step[h, s]])
    np.testing.assert_allclose(planning.policy_values(model.mdp(), policy), naive, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        planning.policy_values(model.mdp(), policy.astype(np.uint8)), naive, rtol=0, atol=1e-12
    )


def test_no_history_beats_backward_induction() -> None:
    """All deterministic policies of three steps, one after the other."""
    rng = np.random.default_rng(3)
    model = Model(
        rng.dirichlet(np.ones(2), (3, 2, 2)),
        rng.normal(size=(3, 2, 2)),
        np.array([0.4, 0.6]),
        np.array([False, False]),
        3,
    )
    every = [
        planning.policy_value(model.mdp(), np.reshape(policy, (3, 2)))
        for policy in itertools.product(range(2), repeat=6)
    ]
    assert planning.optimal_value(model.mdp()) == pytest.approx(max(every), abs=1e-14)


def test_the_first_of_equally_good_actions_is_taken() -> None:
    mdp = ht.mdp_from_arrays([[[1.0]] * 3], [[1.0, 2.0, 2.0]], horizon=2)
    assert planning.episodic_plan(mdp).policy.tolist() == [[1], [1]]


def test_rewards_by_law_and_successor_count_with_their_means() -> None:
    mdp = mdps.mixed()
    S, A = mdp.n_states, mdp.n_actions
    model = Model(
        mdp.transitions,
        mdp.mean_rewards.reshape(S, A),
        mdp.start,
        np.array([False, False, True]),
        mdp.horizon,
    )
    np.testing.assert_allclose(
        planning.episodic_plan(mdp).values, naive_values(model, lambda h, s, q: max(q)), atol=1e-12
    )


# Continuing


@given(models())
@MANY
def test_gain_and_bias_equal_the_best_of_all_policies(model: Model) -> None:
    """The bias is the largest among the policies whose gain is the largest in every state."""
    plan, (gains, biases) = planning.average_plan(model.mdp()), every_gain_and_bias(model)
    np.testing.assert_allclose(plan.gain, gains.max(axis=0), rtol=0, atol=1e-9)
    optimal = (gains >= gains.max(axis=0) - 1e-9).all(axis=1)
    np.testing.assert_allclose(plan.bias, biases[optimal].max(axis=0), rtol=0, atol=1e-7)
    assert planning.span(model.mdp()) == pytest.approx(np.ptp(biases[optimal].max(axis=0)), abs=1e-7)
    assert planning.gain(model.mdp()) == pytest.approx(float(model.start @ plan.gain), abs=1e-12)


@given(models(most_states=6))
@FEW
def test_gain_equals_linear_programming(model: Model) -> None:
    np.testing.assert_allclose(planning.average_plan(model.mdp()).gain, lp_gains(model), rtol=0, atol=1e-6)


@given(models(most_states=7, kinds=["dense"]))
@FEW
def test_gain_of_communicating_mdps_equals_linear_programming_over_frequencies(model: Model) -> None:
    gain = planning.average_plan(model.mdp()).gain
    reached = ~model.terminal if not model.terminal.all() else np.zeros(len(gain), np.bool_)
    np.testing.assert_allclose(gain[reached], lp_gain_by_frequencies(model), rtol=0, atol=1e-6)


@given(models(most_states=6))
@MANY
def test_the_plan_solves_the_optimality_equations_and_its_policy_earns_it(model: Model) -> None:
    plan, p = planning.average_plan(model.mdp()), model.continued()
    later = p @ plan.gain
    np.testing.assert_allclose(later.max(axis=1), plan.gain, rtol=0, atol=1e-10)
    keeping = later >= plan.gain[:, None] - 1e-10
    now = np.where(keeping, model.r + p @ plan.bias, -np.inf)
    np.testing.assert_allclose(now.max(axis=1), plan.gain + plan.bias, rtol=0, atol=1e-9)
    gain, bias = planning.policy_gain_and_bias(model.mdp(), plan.policy)
    np.testing.assert_allclose(gain, plan.gain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bias, plan.bias, rtol=0, atol=1e-10)


@given(models(), st.integers(0, 2**32))
@MANY
def test_gain_and_bias_of_stochastic_policies(model: Model, seed: int) -> None:
    policy = stochastic(model, seed)
    chain, rewards = np.einsum("sa,sat->st", policy, model.continued()), (policy * model.r).sum(axis=1)
    gain, bias = planning.policy_gain_and_bias(model.mdp(), policy)
    naive_gain, naive_bias = naive_gain_and_bias(chain, rewards)
    np.testing.assert_allclose(gain, naive_gain, rtol=0, atol=1e-8)
    np.testing.assert_allclose(bias, naive_bias, rtol=0, atol=1e-6)
    assert planning.policy_gain(model.mdp(), policy) == pytest.approx(float(model.start @ gain), abs=1e-12)


@given(models())
@FEW
def test_gain_and_bias_of_deterministic_policies(model: Model) -> None:
    states, p = np.arange(len(model.r)), model.continued()
    for policy in itertools.islice(policies(model), 8):
        naive_gain, naive_bias = naive_gain_and_bias(p[states, list(policy)], model.r[states, list(policy)])
        gain, bias = planning.policy_gain_and_bias(model.mdp(), policy)
        np.testing.assert_allclose(gain, naive_gain, rtol=0, atol=1e-9)
        np.testing.assert_allclose(bias, naive_bias, rtol=0, atol=1e-7)


@given(models(), st.integers(0, 2**32))
@MANY
def test_the_stationary_distribution_equals_the_average_of_all_powers(model: Model, seed: int) -> None:
    policy = stochastic(model, seed)
    chain = np.einsum("sa,sat->st", policy, model.continued())
    found = planning.stationary_distribution(model.mdp(), policy)
    np.testing.assert_allclose(found, model.start @ cesaro(chain), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found @ chain, found, rtol=0, atol=1e-12)
    assert found @ (policy * model.r).sum(axis=1) == pytest.approx(
        planning.policy_gain(model.mdp(), policy), abs=1e-9
    )


@given(models(kinds=["dense"]), st.integers(0, 2**32))
@FEW
def test_the_stationary_distribution_of_a_dense_chain_is_its_eigenvector(model: Model, seed: int) -> None:
    policy = stochastic(model, seed)
    values, vectors = np.linalg.eig(np.einsum("sa,sat->st", policy, model.continued()).T)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    np.testing.assert_allclose(
        planning.stationary_distribution(model.mdp(), policy), vector / vector.sum(), rtol=0, atol=1e-10
    )


def test_of_several_optimal_policies_the_one_with_the_largest_bias_is_found() -> None:
    """Both states may stay for 1; leaving pays nothing. Whoever moves first loses 1, though no gain."""
    mdp = ht.mdp_from_arrays([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], [[1.0, 0.0], [1.0, 0.0]])
    plan = planning.average_plan(mdp)
    assert plan.policy.tolist() == [0, 0]
    assert plan.bias.tolist() == [0.0, 0.0]
    assert planning.span(mdp) == 0.0


def test_a_large_reward_on_the_way_to_a_lower_gain_tempts_nobody() -> None:
    """As before, and a third state that may go to the first or, for 100, to a fourth where nothing is ever paid."""
    hop = np.eye(4)[[[0, 1], [0, 1], [0, 3], [3, 3]]]
    mdp = ht.mdp_from_arrays(hop, [[1.0, 0.0], [0.0, 1.0], [0.0, 100.0], [0.0, 0.0]])
    plan = planning.average_plan(mdp)
    assert plan.gain.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert plan.bias.tolist() == [0.0, 0.0, -1.0, 0.0]
    assert plan.policy[:3].tolist() == [0, 1, 0]


def test_classes_with_equal_gain_do_not_make_a_state_between_them_cycle() -> None:
    """From state 0 two equally good cycles can be reached, each of which could be entered at its better or its worse half."""
    hop = np.zeros((5, 4, 5))
    hop[0, range(4), [1, 2, 3, 4]] = 1.0
    hop[1, :, 2] = hop[2, :, 1] = hop[3, :, 4] = hop[4, :, 3] = 1.0
    rewards = np.array([0.0, 3.0, 1.0, 2.5, 1.5])[:, None] * np.ones(4)
    plan = planning.average_plan(ht.mdp_from_arrays(hop, rewards[None, :, :, None]))
    assert plan.policy[0] == 0
    np.testing.assert_allclose(plan.gain, 2.0, rtol=1e-15)
    np.testing.assert_allclose(plan.bias, [-1.5, 0.5, -0.5, 0.25, -0.25], rtol=0, atol=1e-15)


def test_the_terminal_state_of_an_episode_leads_back_to_the_start() -> None:
    """Two steps to the goal and the next is the first again: the goal itself is never visited."""
    forward = [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]]
    mdp = ht.mdp_from_arrays(forward, [[0.0], [6.0], [100.0]], horizon=9, terminal=[False, False, True])
    assert planning.gain(mdp) == 3.0
    assert planning.stationary_distribution(mdp, [0, 0, 0]).tolist() == [0.5, 0.5, 0.0]
    assert planning.optimal_value(mdp) == 6.0
    assert planning.diameter(mdp) == np.inf


# Times


@given(models())
@MANY
def test_times_equal_the_best_of_all_policies_in_every_state(model: Model) -> None:
    for target in range(len(model.r)):
        np.testing.assert_allclose(
            planning.times_to(model.mdp(), target), naive_times(model, target), rtol=1e-8
        )


@given(models())
@FEW
def test_the_diameter_is_the_largest_of_these_times(model: Model) -> None:
    assert planning.diameter(model.mdp()) == pytest.approx(
        max(naive_times(model, s).max() for s in range(len(model.r))), rel=1e-8
    )


@given(models(kinds=["dense"], most_states=6))
@FEW
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
        rows=np.concatenate([[0], np.repeat(s, 2), [n - 1]]), successors=np.concatenate([[0], inner, [n - 1]]),
        probabilities=np.concatenate([[1.0], np.full(2 * len(s), 0.5), [1.0]]), rewards=np.zeros(2 * n - 2), n_states=n, n_actions=1,
    )  # fmt: skip
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


# All policies


@given(models(most_states=3))
@FEW
def test_the_gap_is_that_of_a_naive_enumeration(model: Model) -> None:
    gains = sorted({round(float(g), 7) for g in every_gain_and_bias(model)[0].ravel()}, reverse=True)
    assert planning.policy_gap(model.mdp()) == pytest.approx(
        gains[0] - gains[1] if len(gains) > 1 else 0.0, abs=1e-6
    )


@given(models())
@FEW
def test_all_gains_come_in_the_order_of_their_digits(model: Model) -> None:
    S, A = model.r.shape
    naive, _ = every_gain_and_bias(model)
    numbers = [sum(a * A**s for s, a in enumerate(policy)) for policy in policies(model)]
    np.testing.assert_allclose(planning.all_gains(model.mdp(), 0, A**S)[numbers], naive, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(
        planning.all_gains(model.mdp(), A**S - 1, A**S), planning.all_gains(model.mdp(), 0, A**S)[-1:]
    )


def test_the_numbers_of_policies_may_be_long() -> None:
    """2**70 policies: the last one always takes the second action."""
    n = 70
    mdp = ht.mdp_from_arrays(
        np.tile(np.eye(n)[:, None], (1, 2, 1)), np.stack([np.zeros(n), np.arange(1.0, n + 1)], axis=1)
    )
    np.testing.assert_allclose(planning.all_gains(mdp, 2**n - 1, 2**n), [np.arange(1.0, n + 1)], rtol=1e-13)
    np.testing.assert_allclose(planning.all_gains(mdp, 0, 1), np.zeros((1, n)), atol=1e-13)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_gap_of_six_arms_is_that_of_its_two_best(scale: float) -> None:
    mdp = one_arm_less(3)
    assert planning.policy_gap(mdp._replace(row_means=mdp.row_means * scale)) == pytest.approx(
        0.2 * scale, rel=1e-9
    )


def test_the_gap_of_rewards_that_have_much_in_common() -> None:
    mdp = one_arm_less(3)
    assert planning.policy_gap(mdp._replace(row_means=mdp.row_means + 2.0**30)) == pytest.approx(
        0.2, abs=1e-5
    )
    assert planning.policy_gap(mdp._replace(row_means=0.0 * mdp.row_means + 1e9 / 3.0)) == 0.0


def test_a_long_chain_without_choices_has_one_gain() -> None:
    mdp = ht.mdp_from_slots(
        np.arange(100_000),
        np.roll(np.arange(100_000), -1),
        np.ones(100_000),
        np.arange(100_000.0),
        n_states=100_000,
        n_actions=1,
    )
    assert planning.policy_gap(mdp) == 0.0
    assert planning.all_gains(mdp, 0, 0).shape == (0, 100_000)
    np.testing.assert_allclose(planning.all_gains(mdp, 0, 1), 49_999.5, rtol=1e-12)


def one_arm_less(arms: int) -> MDP:
    """SixArms with fewer arms: 6**7 policies are too many for a test."""
    p, r = np.zeros((arms + 1, arms, arms + 1)), np.zeros((arms + 1, arms))
    p[1:, :, 0] = 1.0
    for a in range(arms):
        p[0, a, [a + 1, 0]] = 1.0 - 0.25 * a, 0.25 * a
        p[a + 1, a], r[a + 1, a] = np.eye(arms + 1)[a + 1], 1.0 + 0.2 * a
    return ht.mdp_from_arrays(p, r)


# Numbers of the page of readings


@pytest.mark.parametrize(("probabilities", "value"), [("strehl", 28.8), ("episodic", 40.06), ("ones", 48.0)])
def test_values_of_six_arms(probabilities: str, value: float) -> None:
    assert round(planning.optimal_value(ht.make_mdp("six_arms", probabilities=probabilities)), 2) == value


@pytest.mark.parametrize("probabilities", ["strehl", "episodic", "ones"])
def test_in_the_long_run_the_sixth_arm_is_the_best(probabilities: str) -> None:
    for horizon in (25, None):
        mdp = ht.make_mdp("six_arms", probabilities=probabilities, horizon=horizon)
        plan = planning.average_plan(mdp)
        np.testing.assert_allclose(plan.gain, 2.0, rtol=1e-12)
        assert plan.policy[0] == plan.policy[6] == 5


def test_values_of_the_arms_with_strehls_probabilities() -> None:
    mdp = ht.make_mdp("six_arms", probabilities="strehl")
    values = [round(planning.policy_value(mdp, [arm] * 7), 2) for arm in range(6)]
    assert values == [28.8, 22.14, 22.01, 16.88, 13.02, 5.56]
    assert [round(planning.policy_gain(mdp, [arm] * 7), 9) for arm in range(6)] == [
        1.2,
        1.2,
        1.4,
        1.6,
        1.8,
        2.0,
    ]


@pytest.mark.parametrize(
    ("symmetric", "head", "value", "gain"),
    [
        (False, "hub", 3.1611, 0.7265),
        (False, "self", 3.3228, 0.7282),
        (True, "hub", 4.4357, 0.7311),
        (True, "self", 4.6530, 0.7381),
    ],
)
def test_values_and_gains_of_double_chain(symmetric: bool, head: str, value: float, gain: float) -> None:
    mdp = ht.make_mdp("double_chain", symmetric=symmetric, head=head)
    assert round(planning.optimal_value(mdp), 4) == value
    assert round(planning.gain(mdp), 4) == gain
    assert (
        planning.episodic_plan(mdp).policy[0, 0] == planning.average_plan(mdp).policy[0] == 1
    )  # to the lower chain


def test_the_upper_chain_of_double_chain_is_worth_less_than_what_is_stated() -> None:
    """Never the lower chain: from 2.41 to 2.52."""
    for symmetric in (False, True):
        for head, most in (("hub", 2.41), ("self", 2.52)):
            mdp = ht.make_mdp("double_chain", symmetric=symmetric, head=head)
            n = mdp.n_states
            only_upper = ht.mdp_from_arrays(mdp.transitions[:, :1].repeat(2, axis=1) * (np.arange(n) == 0)[:, None, None]
                                            + mdp.transitions * (np.arange(n) > 0)[:, None, None], mdp.mean_rewards, horizon=10)  # fmt: skip
            assert round(planning.optimal_value(only_upper), 2) == most


# Rivers: a chain in which the way right is slow and the way left is sure


def river(n: int, *, left_reward: float = 0.005, horizon: int | None = None) -> MDP:
    """RiverSwim with 0.6 to set off, written out here so that its closed forms stay with it."""
    s = np.arange(n)
    back, forth = np.maximum(s - 1, 0), np.minimum(s + 1, n - 1)
    successors = np.stack([back, back, s, forth], axis=1)
    p = np.tile([1.0, 0.05, 0.6, 0.35], (n, 1))
    p[0, 1:], p[-1, 1:] = [0.0, 0.4, 0.6], [0.4, 0.6, 0.0]
    rewards = np.zeros((n, 4))
    rewards[0, 0], rewards[-1, 1:] = left_reward, 1.0
    rows = np.stack([2 * s, 2 * s + 1, 2 * s + 1, 2 * s + 1], axis=1)
    return ht.mdp_from_slots(
        rows.ravel(), successors.ravel(), p.ravel(), rewards.ravel(), n_states=n, n_actions=2, horizon=horizon
    )


def river_times(n: int) -> Floats:
    """Expected steps from each state to the right end.

    With e_0 = 1 / 0.6 and e_s = 1 / 0.35 + e_{s-1} / 7 for one state further, added up.
    """
    further = [1.0 / 0.6]
    for _ in range(n - 2):
        further.append(1.0 / 0.35 + further[-1] / 7.0)
    return np.concatenate([np.cumsum(further[::-1])[::-1], [0.0]])


def river_gain(n: int) -> float:
    """How often the right end is visited.

    Going left from it the visits are 1, 8/7, 8/49, ..., and at the left end 0.05 / 0.6 of their neighbour's.
    """
    visits = [1.0] + [8.0 / 7.0 / 7.0**k for k in range(min(n - 2, 300))]
    return 1.0 / (sum(visits) + visits[-1] * 0.05 / 0.6)


@pytest.mark.parametrize("n", [6, 50, 100_000])
def test_the_gain_and_span_of_a_river(n: int) -> None:
    """Always right; the bias of a state is less than the end's by the gain for every step on the way, the end's own reward aside."""
    plan = planning.average_plan(river(n))
    assert plan.policy.tolist() == [1] * n
    np.testing.assert_allclose(plan.gain, river_gain(n), rtol=1e-12)
    np.testing.assert_allclose(plan.bias[-1] - plan.bias, river_gain(n) * river_times(n), rtol=1e-9)


@pytest.mark.parametrize("n", [6, 50, 100_000])
def test_times_along_a_river(n: int) -> None:
    np.testing.assert_allclose(planning.times_to(river(n), n - 1), river_times(n), rtol=1e-9)
    np.testing.assert_allclose(planning.times_to(river(n), 0), np.arange(n), rtol=1e-9)


@pytest.mark.parametrize("n", [6, 14, 50, 100_000])
@pytest.mark.parametrize("reward", [0.9, 2.0])
def test_where_the_left_end_is_better_the_river_is_left_though_a_half_improved_policy_would_take_ages(
    n: int, reward: float
) -> None:
    """Only the left end improved, the others still swimming right: it would take 7**n steps to get there."""
    plan = planning.average_plan(river(n, left_reward=reward))
    np.testing.assert_allclose(plan.gain, reward, rtol=1e-12)
    assert plan.policy[: n // 2].tolist() == [0] * (n // 2)
    still = plan.policy == 0
    np.testing.assert_allclose(plan.bias[still], -reward * np.arange(n)[still], rtol=1e-9)


def test_a_long_river_in_episodes_equals_two_short_ones() -> None:
    """In 40 steps nobody comes from one end to the other."""
    H, n, few = 40, 100_000, 100
    long, short = (
        planning.episodic_plan(river(n, horizon=H)),
        planning.episodic_plan(river(2 * few, horizon=H)),
    )
    np.testing.assert_allclose(long.values[:, :few], short.values[:, :few], rtol=1e-13)
    np.testing.assert_allclose(long.values[:, -few:], short.values[:, -few:], rtol=1e-13)
    assert not long.values[:, few:-few].any()
    policy_values = planning.policy_values(river(n, horizon=H), long.policy)
    np.testing.assert_allclose(policy_values, long.values, rtol=1e-13)


def test_a_random_walk_along_a_long_river_is_uniform() -> None:
    n = 100_000
    s = np.arange(n)
    ends = np.stack([np.maximum(s - 1, 0), np.minimum(s + 1, n - 1)], axis=1).ravel()
    mdp = ht.mdp_from_slots(
        np.arange(2 * n), ends, np.ones(2 * n), np.repeat(s, 2) / n, n_states=n, n_actions=2
    )
    np.testing.assert_allclose(
        planning.stationary_distribution(mdp, np.full((n, 2), 0.5)), 1.0 / n, rtol=1e-6
    )
    assert planning.policy_gain(mdp, np.full((n, 2), 0.5)) == pytest.approx((n - 1) / (2 * n), rel=1e-8)
    assert planning.gain(mdp) == pytest.approx((n - 1) / n, rel=1e-12)


def test_river_swim_is_as_stated() -> None:
    mdp = ht.make_mdp("river_swim", n_states=50, horizon=None)
    assert planning.gain(mdp) == pytest.approx(3.0 / 7.0, rel=1e-9)


def grid(n: int, noise: float, seed: int) -> MDP:
    """Four moves on n by n squares, each of which goes astray in every direction with probability `noise`, for rewards at random."""
    s = np.arange(n * n)
    x, y = s // n, s % n
    around = [
        np.maximum(x - 1, 0) * n + y,
        np.minimum(x + 1, n - 1) * n + y,
        x * n + np.maximum(y - 1, 0),
        x * n + np.minimum(y + 1, n - 1),
    ]
    successors = np.repeat(np.stack(around, axis=1)[:, None, :], 4, axis=1).ravel()
    p = np.tile((noise + (1.0 - 4.0 * noise) * np.eye(4)).ravel(), n * n)
    rewards = np.repeat(np.random.default_rng(seed).random(4 * n * n), 4)
    return ht.mdp_from_slots(
        np.repeat(np.arange(4 * n * n), 4), successors, p, rewards, n_states=n * n, n_actions=4
    )


@pytest.mark.parametrize("noise", [0.05, 0.01, 0.002])
@pytest.mark.parametrize("seed", range(3))
def test_a_grid_is_solved_though_improved_policies_would_settle_in_many_places(
    noise: float, seed: int
) -> None:
    """On the way to the best policy are some that stay in several good places, 1e11 steps apart.

    Between bounds that value iteration gives.
    """
    mdp = grid(20, noise, seed)
    p, values = transition_matrix(mdp, restart=True), np.zeros(400)
    for _ in range(5000):
        now = (mdp.row_means + p @ values).reshape(400, 4).max(axis=1)
        change, values = now - values, 0.5 * (values + now)
        values -= values[0]
    gain = planning.average_plan(mdp).gain
    assert change.max() - change.min() < 2e-3
    assert change.min() - 1e-12 <= gain.min() <= gain.max() <= change.max() + 1e-12


# Numbers large and small


@given(models(staged=True, episodic=True), st.sampled_from([2.0**30, 2.0**-30]))
@FEW
def test_powers_of_two_scale_episodes_to_the_last_bit(model: Model, scale: float) -> None:
    plan, scaled = (
        planning.episodic_plan(model.mdp()),
        planning.episodic_plan(model._replace(r=model.r * scale).mdp()),
    )
    np.testing.assert_array_equal(scaled.values, plan.values * scale)
    np.testing.assert_array_equal(scaled.policy, plan.policy)


@given(models(), st.sampled_from([2.0**30, 2.0**-30]))
@FEW
def test_powers_of_two_scale_the_long_run_to_the_last_bit(model: Model, scale: float) -> None:
    plan, scaled = (
        planning.average_plan(model.mdp()),
        planning.average_plan(model._replace(r=model.r * scale).mdp()),
    )
    np.testing.assert_array_equal(scaled.gain, plan.gain * scale)
    np.testing.assert_array_equal(scaled.bias, plan.bias * scale)
    np.testing.assert_array_equal(scaled.policy, plan.policy)


@given(models(ties=False), st.sampled_from([1e9, 1e-9]))
@FEW
def test_scaled_rewards_scale_gain_and_bias_and_keep_the_policy(model: Model, scale: float) -> None:
    plan, scaled = (
        planning.average_plan(model.mdp()),
        planning.average_plan(model._replace(r=model.r * scale).mdp()),
    )
    np.testing.assert_allclose(scaled.gain / scale, plan.gain, rtol=0, atol=1e-10)
    np.testing.assert_allclose(scaled.bias / scale, plan.bias, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(scaled.policy, plan.policy)


@given(models(), st.sampled_from([-3.0, 1024.0, 2.0**30]))
@MANY
def test_shifted_rewards_shift_the_gain_and_keep_the_bias(model: Model, shift: float) -> None:
    rounded = model._replace(r=np.round(model.r * 256.0) / 256.0)  # so that the shift is exact
    plan, shifted = (
        planning.average_plan(rounded.mdp()),
        planning.average_plan(rounded._replace(r=rounded.r + shift).mdp()),
    )
    np.testing.assert_allclose(shifted.gain - shift, plan.gain, rtol=0, atol=1e-12 * abs(shift) + 1e-11)
    np.testing.assert_allclose(shifted.bias, plan.bias, rtol=0, atol=1e-4 if shift > 1e6 else 1e-8)


@given(models(most_states=5))
@FEW
def test_rewards_that_are_all_zero_or_all_the_same(model: Model) -> None:
    for level in (0.0, 0.1, -1e9):
        plan = planning.average_plan(model._replace(r=np.full_like(model.r, level)).mdp())
        np.testing.assert_allclose(plan.gain, level, rtol=1e-14)
        np.testing.assert_allclose(plan.bias, 0.0, atol=1e-13 * abs(level))


def test_one_state() -> None:
    mdp = ht.mdp_from_arrays([[[1.0], [1.0]]], [[3.0, -1.0]])
    plan = planning.average_plan(mdp)
    assert (plan.gain.tolist(), plan.bias.tolist(), plan.policy.tolist()) == ([3.0], [0.0], [0])
    assert planning.diameter(mdp) == planning.span(mdp) == 0.0
    assert planning.policy_gap(mdp) == 4.0
    assert planning.times_to(mdp, 0).tolist() == [0.0]
    assert planning.stationary_distribution(mdp, [1]).tolist() == [1.0]


def test_a_gap_is_zero_where_every_policy_is_optimal() -> None:
    assert planning.policy_gap(ht.mdp_from_arrays(np.full((3, 2, 3), 1 / 3), np.ones((3, 2)))) == 0.0


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-14, 1e-12, 1e-10])
def test_many_tied_policies_do_not_cycle(noise: float) -> None:
    """Every cell pays the same but for noise, on 200 random MDPs.

    Any policy is within the noise of the best.
    """
    for seed in range(200):
        rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        r = 1.0 + noise * rng.normal(size=(5, 3))
        plan = planning.average_plan(ht.mdp_from_arrays(transitions(kind, (5, 3, 5), rng), r))
        np.testing.assert_allclose(plan.gain, 1.0, rtol=0, atol=10.0 * noise + 1e-14)


def halves(slip: float) -> MDP:
    """Two pairs of states; within a pair one mixes at once, between them one slips."""
    p = np.zeros((4, 2, 4))
    p[:2, :, :2] = p[2:, :, 2:] = 0.5
    p[1, :, 2] = p[2, :, 1] = slip
    p[1, :, 1] = p[2, :, 2] = 0.5 - slip
    return ht.mdp_from_arrays(p, [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize("slip", [1e-3, 1e-6, 1e-9])
def test_an_mdp_that_is_hardly_cut_is_solved(slip: float) -> None:
    np.testing.assert_allclose(
        planning.average_plan(halves(slip)).gain, 0.5, rtol=0, atol=1e-15 / slip + 1e-12
    )
    assert planning.diameter(halves(slip)) == pytest.approx(2.0 / slip, rel=1e-15 / slip + 10.0 * slip)


@pytest.mark.parametrize("slip", [1e-12, 1e-14, 1e-16])
def test_an_mdp_that_is_all_but_cut_raises_rather_than_to_answer_nonsense(slip: float) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: planning.gain(halves(slip)),
        lambda: planning.policy_gain(halves(slip), [0, 0, 0, 0]),
        lambda: planning.stationary_distribution(halves(slip), [0, 0, 0, 0]),
        lambda: planning.diameter(halves(slip)),
    ]
    for ask in asked:
        with pytest.raises(
            ArithmeticError, match=r"^parts of this Markov chain are more than 1e\+11 steps apart"
        ):
            ask()


def leak(slip: float, trap: float) -> MDP:
    """In state 0 one goes to state 1, where every step pays 1, or stays for 2 and sooner or later slips into state 2, where every step pays `trap`."""
    p = np.zeros((3, 2, 3))
    p[0, 0, 1] = p[1, :, 1] = p[2, :, 2] = 1.0
    p[0, 1, [0, 2]] = 1.0 - slip, slip
    return ht.mdp_from_arrays(p, [[0.0, 2.0], [1.0, 1.0], [trap, trap]])


@pytest.mark.parametrize("slip", [1e-3, 1e-6, 1e-9, 1e-10])
def test_a_rare_slip_into_a_trap_is_seen(slip: float) -> None:
    plan = planning.average_plan(leak(slip, trap=0.0))
    assert plan.policy[0] == 0
    np.testing.assert_allclose(plan.gain, [1.0, 1.0, 0.0], atol=1e-14)


def test_a_slip_too_rare_to_be_seen_raises() -> None:
    with pytest.raises(ArithmeticError, match=r"more than 1e\+11 steps apart"):
        planning.average_plan(leak(1e-14, trap=0.0))
    with pytest.raises(
        ArithmeticError, match="which policies of this MDP are better than others is beyond double precision"
    ):
        planning.average_plan(
            leak(5e-11, trap=1.0 - 1e-4)
        )  # within rounding no loss at one step, and at last 1e-4 for ever


# Mistakes


CONTINUING = ht.mdp_from_arrays(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)))
EPISODIC = ht.mdp_from_arrays(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)), horizon=4)
LONG = ht.mdp_from_slots(
    np.arange(6000), np.zeros(6000), np.ones(6000), np.zeros(6000), n_states=6000, n_actions=1
)
WIDE = ht.mdp_from_slots(
    np.arange(12000), np.zeros(12000), np.ones(12000), np.zeros(12000), n_states=6000, n_actions=2
)
NO_EPISODES = "this problem is continuing, so it has no episodes; ask for its gain, or give it a horizon="
NO_LONG_RUN = (
    "transitions or rewards depend on the step of the episode, so there is no long run; ask for episodic"
    " values"
)
SHAPES = "a policy is actions [3] or probabilities [3, 2], in episodes also one for each step; got "
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: planning.episodic_plan(CONTINUING), NO_EPISODES),
    (lambda: planning.optimal_value(CONTINUING), NO_EPISODES),
    (lambda: planning.policy_values(CONTINUING, [0, 0, 0]), NO_EPISODES),
    (lambda: planning.policy_value(CONTINUING, [0, 0, 0]), NO_EPISODES),
    (lambda: planning.average_plan(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.gain(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.span(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.policy_gain(mdps.staged(), [0, 0]), NO_LONG_RUN),
    (lambda: planning.stationary_distribution(mdps.staged(), [0, 0]), NO_LONG_RUN),
    (lambda: planning.diameter(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.times_to(mdps.staged(), 0), NO_LONG_RUN),
    (lambda: planning.policy_gap(mdps.staged()), NO_LONG_RUN),
    (lambda: planning.all_gains(mdps.staged(), 0, 1), NO_LONG_RUN),
    (lambda: planning.policy_gain(EPISODIC, [0, 0]), SHAPES + "int64[2]"),
    (lambda: planning.policy_gain(EPISODIC, [0.0, 0.0, 0.0]), SHAPES + "float64[3]"),
    (lambda: planning.policy_gain(EPISODIC, np.zeros((4, 3), np.int64)), SHAPES + "int64[4, 3]"),
    (lambda: planning.policy_value(EPISODIC, np.zeros((5, 3), np.int64)), SHAPES + "int64[5, 3]"),
    (lambda: planning.policy_value(EPISODIC, np.full((2, 3), 0.5)), SHAPES + "float64[2, 3]"),
    (lambda: planning.policy_value(EPISODIC, [["0", "1"]] * 3), SHAPES + "<U1[3, 2]"),
    (lambda: planning.policy_value(EPISODIC, "best"), SHAPES + "<U4[]"),
    (
        lambda: planning.policy_gain(EPISODIC, [0, 2, 0]),
        "a policy chooses action 2 in state 1; actions go from 0 to 1",
    ),
    (
        lambda: planning.policy_value(EPISODIC, [0, 0, -1]),
        "a policy chooses action -1 in state 2; actions go from 0 to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[0.5, 0.5], [0.5, 0.4], [1.0, 0.0]]),
        "a policy's probabilities in state 1 sum to 0.9; they must sum to 1",
    ),
    (
        lambda: planning.policy_value(EPISODIC, np.full((4, 3, 2), 0.500001)),
        "a policy's probabilities in state 0 sum to 1.000002; they must sum to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[0.5, 0.5], [1.0, 0.0], [np.nan, 1.0]]),
        "a policy takes action 0 in state 2 with probability nan; it must lie from 0 to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[-0.5, 1.5], [1.0, 0.0], [0.0, 1.0]]),
        "a policy takes action 0 in state 0 with probability -0.5; it must lie from 0 to 1",
    ),
    (
        lambda: planning.policy_gain(EPISODIC, [[np.inf, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        "a policy's probabilities in state 0 sum to inf; they must sum to 1",
    ),
    (
        lambda: planning.policy_gap(WIDE),
        "policy_gap goes through all 2**6000 policies of this MDP; it takes up to 2,000,000",
    ),
    (
        lambda: planning.diameter(LONG),
        "diameter solves one problem per state, and this MDP has 6,000; it takes up to 5,000",
    ),
    (lambda: planning.times_to(CONTINUING, 3), "target is 3; states go from 0 to 2"),
    (lambda: planning.times_to(CONTINUING, -1), "target is -1; states go from 0 to 2"),
    (
        lambda: planning.all_gains(CONTINUING, 0, 9),
        "the policies of this MDP are numbered from 0 to 2**3; got 0 to 9",
    ),
]


@pytest.mark.parametrize(("ask", "message"), MISTAKES)
def test_mistakes_are_one_line(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ask()
    assert str(caught.value) == message


def test_single_precision_probabilities_are_a_policy() -> None:
    policy = np.random.default_rng(0).dirichlet(np.ones(6), 7).astype(np.float32)
    mdp = ht.make_mdp("six_arms")
    exact = policy.astype(np.float64) / policy.astype(np.float64).sum(axis=1, keepdims=True)
    assert planning.policy_value(mdp, policy) == pytest.approx(planning.policy_value(mdp, exact), rel=1e-14)
    assert planning.policy_gain(mdp, policy) == pytest.approx(planning.policy_gain(mdp, exact), rel=1e-14)


def test_whole_numbers_may_be_probabilities_where_they_cannot_be_actions() -> None:
    mdp = ht.make_mdp("six_arms")
    one_hot: Ints = np.eye(6, dtype=np.int64)[[5] * 7]
    assert planning.policy_value(mdp, one_hot) == planning.policy_value(mdp, [5] * 7)
