"""Q-learning against the formulas of its docstring, whichever actions are taken."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.agents.q_learning import q_learning
from heavytail.kernels.rng import stream
from heavytail.mdp.problem import Problem
from heavytail.serving.online_agent import OnlineAgent

H, S, A = 2, 2, 3
PROBLEM = Problem(n_states=S, n_actions=A, horizon=H, r_max=1.0)
VISITS = st.tuples(*(st.integers(0, n - 1) for n in (H, S, A, S)), st.booleans())
REWARDS = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, 1e300])


@given(st.lists(st.tuples(VISITS, REWARDS), max_size=40))
def test_the_update_is_its_formula_and_the_first_largest_entry_is_played(visits: list[Any]) -> None:
    agent: Any = q_learning(PROBLEM, transition_scale=0.1)
    steps: OnlineAgent[int] = OnlineAgent(agent, stream(0), PROBLEM)
    iota = math.log(2 * S * A * 10_000_000 / 0.05)
    q, counts = np.empty((H, S, A)), np.zeros((H, S, A))
    q[0], q[1] = 2.0, 1.0
    for (h, s, a, s_next, terminated), r in visits:
        steps.update(s, a, r, s_next, h, terminated=terminated)
        counts[h, s, a] += 1
        t = counts[h, s, a]
        value = 0.0 if terminated or h + 1 == H else min(1.0, q[h + 1, s_next].max())
        target = r + 0.1 * math.sqrt(H**3 * iota / t) + value
        q[h, s, a] += (H + 1) / (H + t) * (target - q[h, s, a])
    assert agent.q == pytest.approx(q, rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(agent.visits, counts)
    for h in range(H):
        assert [steps.act(s, h) for s in range(S)] == agent.q[h].argmax(axis=-1).tolist()
