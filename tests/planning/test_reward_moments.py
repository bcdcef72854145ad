"""The largest moment of the rewards of an MDP, found without computing most of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.mdp import MDP
from heavytail.planning.reward_moments import largest_moment, law_families, reward_moments, usable_epsilon
from support.examples import examples

LAWS = [ht.laws.constant(), ht.laws.pareto(alpha=1.5), ht.laws.normal(), ht.laws.empirical([0.0, 1.0, 5.0])]
LOCATED = st.tuples(st.sampled_from(LAWS), st.floats(-3.0, 3.0))


def _mdp(located: list[tuple[ht.laws.Law, float]], shares: list[float]) -> MDP:
    """One state; each action pays by two of the laws, moved to their means."""
    n = len(located)
    p = np.array([[share, 1.0 - share] for share in shares[:n]])
    laws = [law.with_mean(mean) for law, mean in located]
    which = np.stack([np.arange(n), np.roll(np.arange(n), 1)], axis=1)
    return ht.mdp_from_slots(
        np.repeat(np.arange(n), 2),
        [0] * 2 * n,
        p.ravel(),
        laws=laws,
        law=which.ravel(),
        n_states=1,
        n_actions=n,
    )


@examples(40)
@given(st.lists(LOCATED, min_size=1, max_size=6), st.lists(st.floats(0.01, 0.99), min_size=6, max_size=6))
def test_it_is_the_largest_of_all_moments_to_the_last_bit(
    located: list[tuple[ht.laws.Law, float]], shares: list[float]
) -> None:
    mdp = _mdp(located, shares)
    for kind in ("raw", "central"):
        assert largest_moment([mdp], 0.25, kind)[1] == reward_moments(mdp, 1.25, kind).max()


def test_few_moments_of_a_large_mdp_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ends of the family and the rows near its end, instead of 6,000; of those that tie, some."""
    mdp = ht.make_mdp("garnet", n_states=2_000, law=ht.laws.normal())
    computed: list[float] = []
    law, moment = type(ht.laws.normal()), type(ht.laws.normal())._moment

    def count(self: ht.laws.Law, p: float, center: float) -> float:
        computed.append(center)
        return moment(self, p, center)  # type: ignore[arg-type]

    monkeypatch.setattr(law, "_moment", count)
    largest = float(mdp.row_means.max())
    assert largest_moment([mdp], 1.0)[1] == pytest.approx(1.0 + largest * largest)
    assert len(computed) < 10
    assert largest_moment([mdp], 1.0, "central")[1] == pytest.approx(1.0)
    assert len(computed) < 1_000


def test_an_infinite_moment_is_the_largest() -> None:
    mdp = _mdp([(ht.laws.pareto(alpha=1.5), 1.0), (ht.laws.constant(), 100.0)], [0.5, 0.5])
    assert math.isinf(largest_moment([mdp], 0.6)[1])
    assert usable_epsilon(mdp) == pytest.approx(0.25)


def test_families_are_laws_that_differ_in_loc_only() -> None:
    laws = [
        ht.laws.normal(0.0, 1.0),
        ht.laws.normal(5.0, 1.0),
        ht.laws.normal(0.0, 2.0),
        ht.laws.constant(5.0),
    ]
    table = ht.mdp_from_arrays([[[1.0]] * 4], laws=[laws]).laws
    first, second, *others = law_families(table).tolist()
    assert first == second
    assert len({first, *others}) == 3
