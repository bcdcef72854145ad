"""``"true"`` as a parameter: the same number as in a study, or one line."""

from typing import Any

import pytest

import heavytail as ht
from heavytail.studies.backends import backend_for


@pytest.mark.parametrize("agent", ["heavy_q_learning", "heavy_ucrl2", "heavy_ucbvi"])
def test_the_moment_is_that_of_a_study(agent: str) -> None:
    backend = backend_for("six_arms", {})
    given: dict[str, Any] = {"epsilon": 0.05, "moment": "true"}
    wanted = backend.resolve_parameters(agent, given, 1000)["moment"]
    mdp = ht.make_mdp("six_arms")
    assert ht.make_agent(mdp, agent, seed=0, **given).parameters["moment"] == wanted


def test_the_number_of_changes_is_that_of_the_mdp() -> None:
    mdp = ht.make_mdp("changing_bandits", planned_steps=1000)
    learner = ht.make_agent(mdp, "restarting", agent="ucrl2", epsilon=1.0, changes="true", seed=0)
    assert learner.parameters["changes"] == len(mdp.mdps) == 2


def test_where_nothing_tells_it_is_one_line() -> None:
    mdp = ht.make_mdp("six_arms")
    with pytest.raises(
        ht.InputError, match="moment is 'true', but this environment is not an MDP to compute it from"
    ):
        ht.make_agent(ht.gym.MDPEnv("six_arms"), "heavy_q_learning", epsilon=0.05, moment="true")
    with pytest.raises(ht.InputError, match="no finite moment of order"):
        ht.make_agent(mdp, "heavy_q_learning", epsilon=0.5, moment="true")
