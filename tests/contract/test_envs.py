"""What every registered environment must be. A new one is tested by existing."""

import re

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.errors import InputError
from heavytail.gym.ids import CHANGING, gymnasium_id
from heavytail.mdp.mdp_file import as_changing
from heavytail.mdp.validation import check_mdp
from heavytail.registry import own_builders

ENVS = sorted(own_builders("env"))
SECTIONS = ["States", "Actions", "Transitions", "Rewards", "Start", "Optimum", "Source", "Args"]


@pytest.fixture(params=ENVS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_builds_and_a_learner_walks_through_it(name: str) -> None:
    changing = as_changing(ht.make_mdp(name))
    for mdp in changing.mdps:
        check_mdp(mdp)
    learner = ht.make_agent(changing, "random", seed=1)
    curve = learner.learn(50) if learner.unit == "episodes" else learner.learn(steps=500)
    assert np.isfinite(curve.mean_reward).all()


def test_its_docstring_is_a_page_in_fixed_sections(name: str) -> None:
    (found,) = (r for r in ht.registered("env") if r.name == name)
    assert re.findall(r"^(\w+):$", found.doc, re.MULTILINE) == SECTIONS
    arguments = found.doc[found.doc.index("\nArgs:") :]
    assert re.findall(r"^    (\w+):", arguments, re.MULTILINE) == list(found.parameters)


def test_its_law_can_be_replaced_and_its_means_stay(name: str) -> None:
    usual = as_changing(ht.make_mdp(name))
    laws = {"law": "student_t", "df": 1.5}, {"law": ht.laws.pareto(1.5, scale=0.1)}
    for replaced in (as_changing(ht.make_mdp(name, **law)) for law in laws):
        assert replaced.at == usual.at
        for mdp, other in zip(usual.mdps, replaced.mdps, strict=True):
            np.testing.assert_allclose(other.mean_rewards, mdp.mean_rewards, atol=1e-12)
            assert {*other.laws.code} != {*mdp.laws.code}
            np.testing.assert_array_equal(other.transitions, mdp.transitions)


def test_it_is_reproducible(name: str) -> None:
    one, two = (as_changing(ht.make_mdp(name)) for _ in range(2))
    for first, second in zip(one.mdps, two.mdps, strict=True):
        for left, right in zip(first[:5], second[:5], strict=True):
            np.testing.assert_array_equal(left, right)


def test_it_has_an_id_in_gymnasium_unless_it_changes(name: str) -> None:
    changing = as_changing(ht.make_mdp(name))
    assert (len(changing.mdps) > 1) == name.startswith(CHANGING)
    if len(changing.mdps) > 1:
        assert gymnasium_id(name) not in gymnasium.registry
        with pytest.raises(InputError, match="mdp is a ChangingMDP; it must be an MDP"):
            ht.gym.MDPEnv(name)
        with pytest.raises(AttributeError, match="ChangingMDP has no 'start'; each of its mdps has"):
            ht.planning.gain(ht.make_mdp(name))
    else:
        env = gymnasium.make(gymnasium_id(name))
        # Our environments have an `mdp`.
        assert env.unwrapped.mdp.n_states == ht.make_mdp(name).n_states  # type: ignore[attr-defined]
