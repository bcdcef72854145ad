"""The greedy actions that Q-learning keeps, against a search of its table."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heavytail.agents.q_learning import MAX_VISITS, q_learning
from heavytail.kernels.array_ops import find_greedy
from heavytail.kernels.rng import stream
from heavytail.kernels.validity import check_record
from heavytail.mdp.problem import Problem
from heavytail.training.stepwise import Stepwise

PROBLEM = Problem(n_states=2, n_actions=3, horizon=2, r_max=1.0)
CELLS = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2))
FEW = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, 1e300])


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 1.0, np.inf]), min_size=1, max_size=6))
def test_the_largest_entry_and_the_next_are_found(row: list[float]) -> None:
    where, best, other = find_greedy(np.array([[row]]), 0, 0)
    assert (where, best) == (int(np.argmax(row)), max(row))
    assert other == max(row[:where] + row[where + 1 :], default=-np.inf)


@given(st.lists(st.tuples(CELLS, FEW), max_size=40))
def test_greedy_actions_are_those_of_the_table_whichever_action_was_taken(visits: list[Any]) -> None:
    agent: Any = q_learning(PROBLEM, transition_scale=0.1)
    steps = Stepwise(agent, stream(0), PROBLEM)
    for (h, s, a), r in visits:
        steps.update(s, a, r, 0, h)
    np.testing.assert_array_equal(agent.greedy, agent.q.argmax(axis=-1))
    np.testing.assert_array_equal(agent.best, agent.q.max(axis=-1))
    other = np.sort(agent.q)[..., -2]
    near = agent.runner_up <= other + 3e-7 * np.abs(other) + 1e-37
    assert ((other <= agent.runner_up) & (near | (other > 3e38))).all()
    check_record("agent", agent, q_learning(PROBLEM, transition_scale=0.1))


def test_counts_stop_where_32_bits_end() -> None:
    agent: Any = q_learning(PROBLEM, transition_scale=0.1)
    steps = Stepwise(agent, stream(0), PROBLEM)
    agent.visits[0, 0, 0] = MAX_VISITS - 1
    for _ in range(3):
        steps.update(0, 0, 1.0, 0, 0)
        assert agent.visits[0, 0, 0] == MAX_VISITS
