"""What an agent would do in its next episode, while it stays as it is."""

import copy
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.arrays import record_bytes
from heavytail.serving.session import session_aside
from support.online import NAMES, example_agent


def _between_episodes(name: str) -> ht.OnlineAgent[Any]:
    agent = example_agent(name)
    rng = np.random.default_rng(0)
    for i in range(120):
        s = i % 3
        agent.update(s, agent.act(s), float(rng.standard_t(1.5)), (s + 1) % 3)
    assert agent.session.in_episode[0] == 0
    return agent


def _arrays(session: Any) -> dict[str, bytes]:
    return {path: array.tobytes() for path, array in flatten("session", session).items()}


@pytest.mark.parametrize("name", NAMES)
def test_asking_between_episodes_changes_nothing(name: str) -> None:
    agent = _between_episodes(name)
    agent.session.predictions[:] = 1  # from which agents that draw their actions do
    before = _arrays(agent.session)
    asked = [agent.predict(s, h) for h in range(4) for s in range(3)]
    agent.policy()
    agent.session.predictions[:] = 1
    assert _arrays(agent.session) == before
    assert set(asked) <= {0, 1}


@pytest.mark.parametrize("name", ["q_learning", "ucbvi", "ucrl2"])
def test_what_is_predicted_is_done(name: str) -> None:
    agent = _between_episodes(name)
    for s in range(3):
        assert copy.deepcopy(agent).act(s) == agent.predict(s)


@pytest.mark.parametrize(
    ("name", "copied"), [("heavy_q_learning", False), ("random", False), ("ucbvi", True)]
)
def test_only_an_agent_that_does_something_at_the_beginning_is_copied(name: str, copied: bool) -> None:
    session = _between_episodes(name).session
    aside = session_aside(session, ht.Problem(n_states=3, n_actions=2, horizon=4))
    assert (aside.agent is not session.agent) == copied
    assert record_bytes(aside.agent) == record_bytes(session.agent)


def test_a_plan_serves_until_more_is_learnt() -> None:
    """One that is drawn shows it: the next plan is drawn by other numbers."""
    agent, plans = _between_episodes("psrl"), set()
    for _ in range(20):
        plan = agent.policy()
        np.testing.assert_array_equal(agent.policy(), plan)
        plans.add(plan.tobytes())
        for h in range(4):
            agent.update(0, 0, 0.0, 1, h)
    assert len(plans) > 1
