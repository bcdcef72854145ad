"""What every registered environment must be. A new one is tested by existing."""

import re

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.checking import check_mdp
from heavytail.gym.ids import id_of
from heavytail.registry import own_builders

ENVS = sorted(own_builders("env"))
SECTIONS = ["States", "Actions", "Transitions", "Rewards", "Start", "Optimum", "Source", "Args"]


@pytest.fixture(params=ENVS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_builds_and_a_learner_walks_through_it(name: str) -> None:
    mdp = check_mdp(ht.make_mdp(name))
    learner = ht.make_agent("random", mdp, seed=1)
    curve = learner.learn(50) if mdp.horizon else learner.learn(steps=500)
    assert np.isfinite(curve.mean_reward).all()


def test_its_docstring_is_a_page_in_fixed_sections(name: str) -> None:
    (found,) = (r for r in ht.registered("env") if r.name == name)
    assert re.findall(r"^(\w+):$", found.doc, re.MULTILINE) == SECTIONS
    arguments = found.doc[found.doc.index("\nArgs:") :]
    assert re.findall(r"^    (\w+):", arguments, re.MULTILINE) == list(found.parameters)


def test_its_law_can_be_replaced_and_its_means_stay(name: str) -> None:
    usual = ht.make_mdp(name)
    for replaced in (ht.make_mdp(name, law="student_t", df=1.5), ht.make_mdp(name, law=ht.laws.pareto(1.5, scale=0.1))):
        np.testing.assert_allclose(replaced.mean_rewards, usual.mean_rewards, atol=1e-12)
        assert {*replaced.laws.code} != {*usual.laws.code}
        np.testing.assert_array_equal(replaced.transitions, usual.transitions)


def test_it_is_reproducible(name: str) -> None:
    one, two = ht.make_mdp(name), ht.make_mdp(name)
    for left, right in zip(one[:5], two[:5], strict=True):
        np.testing.assert_array_equal(left, right)


def test_it_has_an_id_in_gymnasium(name: str) -> None:
    env = gymnasium.make(id_of(name))
    assert env.unwrapped.mdp.n_states == ht.make_mdp(name).n_states  # type: ignore[attr-defined]  # ours has it
