import math
from functools import cache, partial

import numpy as np
import pytest

from heavytail.bounds import compute_bound

hard_instance_steps = partial(compute_bound, "hard_instance_steps")
lower_bound = partial(compute_bound, "lower_bound")
episodic_lower_bound = partial(compute_bound, "episodic_lower_bound")
heavy_ucrl2 = partial(compute_bound, "heavy_ucrl2")
heavy_q_hoeffding = partial(compute_bound, "heavy_q_hoeffding")


def test_the_papers_construction_needs_many_steps() -> None:
    assert float(hard_instance_steps(S=7, A=6, epsilon=0.05).steps) == pytest.approx(42 * 2**21)
    found = lower_bound([1.25e7, 1e8], S=7, A=6, raw_moment=1.0, epsilon=0.05, constants="paper")
    assert found.holds.tolist() == [False, True]
    assert found.total[1] == pytest.approx(42 ** (0.05 / 1.05) * 1e8 ** (1 / 1.05))
    assert episodic_lower_bound(
        1e9, S=7, A=6, H=25, raw_moment=1.0, epsilon=0.5, constants="paper"
    ).total == pytest.approx(25 * 42 ** (1 / 3) * 1e6)


def test_its_factor_is_as_told() -> None:
    many = lower_bound(1e12, S=1, A=10**6, raw_moment=1.0, epsilon=[0.05, 1.0])
    assert np.round(many.total / np.array([1e6 ** (0.05 / 1.05) * 1e12 ** (1 / 1.05), 1e9]), 2).tolist() == [
        0.41,
        0.45,
    ]


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_no_upper_bound_is_below_it(epsilon: float) -> None:
    T = np.geomspace(10, 1e15, 40)
    for S, A in ((1, 2), (5, 3), (30, 20)):
        low = lower_bound(T, S=S, A=A, raw_moment=2.0, epsilon=epsilon)
        high = heavy_ucrl2(T, S=S, A=A, diameter=S, r_max=1, raw_moment=2.0, epsilon=epsilon)
        assert (low.total < high.heavy_tail).all()
        assert not low.vacuous.any()
        low = episodic_lower_bound(T, S=S, A=A, H=8, raw_moment=2.0, epsilon=epsilon)
        assert (
            low.total
            < heavy_q_hoeffding(T, S=S, A=A, H=8, r_max=1, raw_moment=2.0, epsilon=epsilon).heavy_tail
        ).all()


def test_with_one_action_there_is_nothing_to_learn() -> None:
    found = lower_bound(1e6, S=3, A=1, raw_moment=1.0, epsilon=0.5)
    assert found.total == 0
    assert not found.holds


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 6), (0.5, 12), (0.2, 30)])
def test_not_even_the_best_agent_is_better_on_average(epsilon: float, n: int) -> None:
    """Two arms, by dynamic programming over what has been seen.

    The regret of the agent that knows the laws, but not which arm is which.
    """
    b, most = epsilon / (1 + epsilon), 0.5
    kappa = min((b * most / ((b + 0.5) * math.sqrt((1 - math.log(2)) / 4))) ** 2, n / 4)
    q = kappa * 2 / n

    @cache
    def pulls_of_the_worse(left: int, pays: int, misses: int) -> float:
        """The expected number, by the odds that arm 0 is the good one.

        Arm 0 paid `pays` times more often than arm 1 and missed `misses` times more often.
        """
        if left == 0:
            return 0.0
        odds = 2.0**pays * ((1 - q) / (1 - q / 2)) ** misses
        good = odds / (1 + odds)

        def after(first: bool) -> float:
            right = good if first else 1 - good
            hit = right * q + (1 - right) * q / 2
            sign = 1 if first else -1
            more, less = (
                pulls_of_the_worse(left - 1, pays + sign, misses),
                pulls_of_the_worse(left - 1, pays, misses + sign),
            )
            return 1 - right + hit * more + (1 - hit) * less

        return min(after(first=True), after(first=False))

    best = q**b / 2 * pulls_of_the_worse(n, 0, 0)
    promised = float(lower_bound(n, S=1, A=2, raw_moment=1.0, epsilon=epsilon).total)
    assert 0 < promised <= best
