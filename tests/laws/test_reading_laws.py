"""Laws read back from the table of an MDP, and the moments of its rewards."""

import math
from dataclasses import fields

import numpy as np
import pytest

import heavytail as ht
from heavytail.laws.law import law_table, laws_from_table
from heavytail.planning.reward_moments import reward_moments
from support import mdps


@pytest.mark.parametrize(
    "law",
    [*mdps.all_laws(), ht.laws.alpha_stable(1.0, beta=0.5, loc=1.0, scale=3.0), ht.laws.alpha_stable(2.0)],
    ids=str,
)
def test_a_law_is_read_back_as_it_was(law: ht.laws.Law) -> None:
    first = ht.laws.empirical([5.0, 6.0])
    _, found = laws_from_table(law_table([first, law]))
    assert type(found) is type(law)
    for field in fields(law):  # type: ignore[arg-type]  # every law is a dataclass
        old, new = getattr(law, field.name), getattr(found, field.name)
        assert new == (pytest.approx(old, rel=1e-12) if isinstance(old, float) else old)


def test_moments_of_the_papers_environments() -> None:
    """The numbers of the reading: 14.25 covers SixArms, 13.6 DoubleChain.

    The central moment is that of the noise.
    """
    six, chain = ht.make_mdp("six_arms"), ht.make_mdp("double_chain")
    assert reward_moments(six, 1.05).max() == pytest.approx(14.2402, abs=1e-4)
    assert reward_moments(chain, 1.05).max() == pytest.approx(13.5567, abs=1e-4)
    assert reward_moments(six, 1.05, "central").max() == pytest.approx(13.26256, abs=1e-5)
    assert math.isinf(reward_moments(six, 1.2).max())
    assert reward_moments(six, 1.05).shape == (7, 6)


def test_a_mixture_over_successors_is_weighted_and_centred_at_its_own_mean() -> None:
    mdp = ht.mdp_from_arrays([[[0.25, 0.75]], [[1.0, 0.0]]], laws=[[[4.0, 0.0]], [[2.0, 9.0]]], horizon=2)
    np.testing.assert_allclose(reward_moments(mdp, 2.0), [[4.0], [4.0]])
    np.testing.assert_allclose(reward_moments(mdp, 2.0, "central"), [[3.0], [0.0]])
    with pytest.raises(ht.InputError, match="kind is 'both'; it must be"):
        reward_moments(mdp, 2.0, "both")  # type: ignore[arg-type]
