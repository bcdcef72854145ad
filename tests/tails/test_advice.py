import re

import numpy as np
import pytest

import heavytail as ht
from heavytail.laws.law import Law
from heavytail.registry import registered
from heavytail.tails.advice import choose_epsilon


@pytest.mark.parametrize("law", [ht.laws.normal(), ht.laws.pareto(1.2), ht.laws.pareto(0.8)], ids=str)
def test_advice_names_what_there_is(law: Law) -> None:
    text = " ".join(ht.tails.diagnose(law.sample(10_000, seed=0)).advice)
    agents = {entry.name for entry in registered("agent")}
    assert set(re.findall(r'"(\w+)"', text)) <= agents
    for room, name in re.findall(r"ht\.(gym|deep)\.(\w+)", text):
        assert hasattr(getattr(ht, room), name)


def test_the_numbers_for_the_paper_are_accepted_and_near_the_truth() -> None:
    law = ht.laws.student_t(1.5)
    found = ht.tails.diagnose(law.sample(100_000, seed=0))
    assert 0.0 < found.epsilon < 0.5
    assert found.moment == pytest.approx(law.moment(1.0 + found.epsilon), rel=0.3)
    mdp = ht.make_mdp("six_arms")
    ht.make_agent(mdp, "heavy_q_learning", epsilon=found.epsilon, moment=found.moment, seed=0)


def test_who_may_have_no_mean_is_told() -> None:
    found = ht.tails.diagnose(ht.laws.pareto(0.8).sample(10_000, seed=0))
    assert found.mean_finite < 0.1
    assert any("Even the mean may be infinite" in sentence for sentence in found.advice)
    assert "if it is finite" in repr(found)


@pytest.mark.parametrize("low", np.linspace(0.5, 6.0, 12))
def test_epsilon_is_safely_below_the_index(low: float) -> None:
    epsilon = choose_epsilon(low)
    assert 0.05 <= epsilon <= 1.0
    assert 1.0 + epsilon < max(low, 1.06)
