"""Systems of Markov chains, by factors and by iteration."""

import numpy as np
import pytest
from scipy.sparse import diags_array

import heavytail as ht
from heavytail.errors import InputError
from heavytail.planning import linear_systems
from heavytail.planning.matrices import make_chain


@pytest.mark.parametrize(
    ("env", "parameters"),
    [
        ("garnet", {"n_states": 300, "branching": 4}),
        ("six_arms", {}),
        ("river_swim", {"n_states": 400}),  # whose iteration does not converge
    ],
)
def test_iterated_plans_are_the_factorised_ones(
    env: str, parameters: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mdp = ht.make_mdp(env, **parameters)
    factorised = ht.planning.average_plan(mdp)
    monkeypatch.setattr(linear_systems, "MAX_WORK", 0.0)
    iterated = ht.planning.average_plan(mdp)
    np.testing.assert_array_equal(iterated.policy, factorised.policy)
    np.testing.assert_allclose(iterated.gain, factorised.gain, rtol=1e-12)
    np.testing.assert_allclose(iterated.bias, factorised.bias, rtol=1e-9, atol=1e-9)
    visited = ht.planning.stationary_distribution(mdp, factorised.policy)
    monkeypatch.undo()
    exact = ht.planning.stationary_distribution(mdp, factorised.policy)
    np.testing.assert_allclose(visited, exact, rtol=1e-9, atol=1e-12)


def test_a_random_graph_is_iterated_and_a_chain_is_factorised() -> None:
    random = ht.make_mdp("garnet", n_states=4_000, n_actions=1, branching=5)
    along = ht.make_mdp("river_swim", n_states=4_000)
    for mdp, kind in ((random, True), (along, False)):
        chain, _ = make_chain(mdp, [0] * 4_000)
        system = (diags_array(np.full(4_000, 1.01)) - chain).tocsr()
        solver = linear_systems.make_solver(system, system)
        assert isinstance(solver, linear_systems.Iterated) == kind


def test_factors_that_do_not_fit_the_memory_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1_000
    slow = diags_array([np.full(n, 1.0), np.full(n - 1, -1.0)], offsets=[0, -1]).tocsr()
    slow += diags_array(np.full(n, 1e-12))
    monkeypatch.setattr(linear_systems, "MAX_RESTARTS", 1)
    with pytest.raises(InputError, match=r"planning exactly in 1,000 states would take .* of memory"):
        linear_systems.Iterated(slow, 10**12).solve(np.ones(n))
