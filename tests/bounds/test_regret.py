import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail import InputError
from heavytail.agents.heavy_q_learning import weighted_bernstein_constant
from heavytail.bounds import Bound, compute_bound
from heavytail.bounds.catalogue import theorems
from heavytail.bounds.heavy_q_learning import learning_rate_constant
from heavytail.bounds.heavy_ucrl2 import estimator_constant, log10_pac_constant, sequence_constant
from heavytail.bounds.quantities import Case
from support.examples import examples

heavy_ucrl2 = partial(compute_bound, "heavy_ucrl2")
ucrl2 = partial(compute_bound, "ucrl2")
changing = partial(compute_bound, "changing")
heavy_ucrl2_gap = partial(compute_bound, "heavy_ucrl2_gap")
heavy_ucrl2_sample_size = partial(compute_bound, "heavy_ucrl2_sample_size")
heavy_ucrl2_expected = partial(compute_bound, "heavy_ucrl2_expected")
heavy_q_learning_sample_size = partial(compute_bound, "heavy_q_learning_sample_size")
heavy_q_bernstein = partial(compute_bound, "heavy_q_bernstein")
heavy_q_hoeffding = partial(compute_bound, "heavy_q_hoeffding")
heavy_tail_condition = partial(compute_bound, "heavy_tail_condition")

SIX: dict[str, Any] = {"S": 7, "A": 6, "diameter": 6, "r_max": 2, "raw_moment": 14.24}
SMALL: dict[str, Any] = {"S": 2, "A": 2, "diameter": 3, "r_max": 1, "raw_moment": 1.0}
EPISODES: dict[str, Any] = {"S": 7, "A": 6, "H": 25, "r_max": 2, "raw_moment": 14.24}
GROWING = {"S", "A", "H", "diameter", "r_max", "raw_moment", "changes", "settling"}
WORLD: dict[str, Any] = {**SIX, "H": 25, "gap": 0.2, "settling": 4e4, "changes": 5}
BOUNDS = [name for name, theorem in theorems().items() if theorem.panel and "lower" not in name]
BOTH = pytest.mark.parametrize("constants", ["tight", "paper"])


def all_bounds(**more: Any) -> list[Any]:
    """Every regret bound, as a function of T."""
    return [partial(compute_bound, name, **{**WORLD, "epsilon": 0.05, **more}) for name in BOUNDS]


# What is known


def test_the_numbers_of_the_reading() -> None:
    alpha = [
        log10_pac_constant(Case(S=7, A=6, raw_moment=moment, epsilon=epsilon, constants="paper"))
        for moment, epsilon in ((13.26, 0.05), (1, 0.5), (1, 1))
    ]
    assert np.round(alpha, 1).tolist() == [110.9, 12.5, 8.3]
    assert round(float(estimator_constant(Case(epsilon=0.05))), 3) == 2.798
    assert round(float(estimator_constant(Case(epsilon=1.0))), 3) == 3.748
    median = Case(epsilon=0.05, estimator="median_of_means")
    assert float(estimator_constant(median)) == pytest.approx(12 ** (1 / 1.05) * 16 ** (0.05 / 1.05))
    assert round(float(estimator_constant(replace(median, constants="paper"))), 2) == 12.57


def test_each_estimator_has_its_moment() -> None:
    world: dict[str, Any] = {**SMALL, "epsilon": 0.5, "central_moment": 1.0}
    mean, median = (
        heavy_ucrl2(1e9, **world, estimator=estimator) for estimator in ("truncated_mean", "median_of_means")
    )
    assert median.heavy_tail > mean.heavy_tail
    other = heavy_ucrl2(1e9, **{**world, "raw_moment": 9.0}, estimator="median_of_means")
    assert other.heavy_tail == median.heavy_tail


def test_with_a_variance_the_heavy_tail_term_is_what_ucrl2_pays_for_rewards() -> None:
    """Hoeffding's radius R sqrt(L / (2 n)) is K sqrt(m) = R / sqrt(2)."""
    world: dict[str, Any] = {"S": 5, "A": 3, "diameter": 4, "r_max": 2}
    T, K = np.geomspace(10, 1e12, 7), float(estimator_constant(Case(epsilon=1.0)))
    heavy = heavy_ucrl2(T, **world, epsilon=1, raw_moment=(2 / math.sqrt(2) / K) ** 2)
    light = ucrl2(T, **world)
    known = (math.sqrt(2) + 1) * 2 * np.sqrt(14 * np.log(2 * 15 * T / 0.05)) * np.sqrt(15 * T)
    np.testing.assert_allclose(heavy.heavy_tail, known)
    np.testing.assert_allclose(heavy.total, light.total)
    np.testing.assert_allclose(
        heavy.transitions,
        (math.sqrt(2) + 1) * 8 * np.sqrt(14 * 5 * np.log(2 * 3 * T / 0.05)) * np.sqrt(15 * T),
    )


def test_with_a_variance_powers_are_those_of_jaksch_et_al() -> None:
    assert float(sequence_constant(1.0)) == pytest.approx(math.sqrt(2) + 1)
    T = np.array([1e30, 1e36])

    def slope(bound: Bound) -> float:
        return float(np.diff(bound.log_total).item() / np.diff(np.log(T)).item())

    assert slope(heavy_ucrl2(T, **SMALL, epsilon=1)) == pytest.approx(1 / 2, abs=0.01)
    assert slope(changing(T, changes=3, **SMALL, epsilon=1)) == pytest.approx(2 / 3, abs=0.01)
    many = changing(1e30, changes=[1, 1000], **SMALL, epsilon=1)
    assert np.diff(many.log_total).item() / math.log(1000) == pytest.approx(1 / 3, abs=0.02)
    one, ten = (heavy_ucrl2_gap(1e15, accuracy=accuracy, **SMALL, epsilon=1) for accuracy in (0.1, 0.01))
    assert (ten.total - 1e13) / (one.total - 1e14) == pytest.approx(10, rel=0.05)  # log(T/delta) / lambda


def test_the_papers_twenty_is_safe_where_rewards_and_diameter_are_not_small() -> None:
    S, A, D, T = (
        x.ravel() for x in np.meshgrid([2, 5, 20, 100], [2, 10, 50], [1, 3, 30], np.geomspace(10, 1e14, 40))
    )
    for delta in (0.5, 0.05, 1e-6):
        light = ucrl2(T, S=S, A=A, diameter=D, r_max=1, delta=delta)
        stated = heavy_ucrl2(
            T, S=S, A=A, diameter=D, r_max=1, raw_moment=0, epsilon=0.5, delta=delta, constants="paper"
        )
        tight = heavy_ucrl2(T, S=S, A=A, diameter=D, r_max=1, raw_moment=0, epsilon=0.5, delta=delta)
        says = ~np.asarray(stated.vacuous)
        assert says.any()
        assert (tight.total / stated.total)[says].max() < 12 / 20
        assert (light.total < 34 / 20 * stated.total)[says].all()


def test_and_too_small_where_they_are() -> None:
    """Planning up to 1/sqrt(t) costs what it costs, however small rewards are."""
    poor: dict[str, Any] = {"S": 2, "A": 2, "diameter": 1, "r_max": 0.001, "raw_moment": 0, "epsilon": 0.5}
    assert heavy_ucrl2(1e9, **poor).lower_order > heavy_ucrl2(1e9, **poor, constants="paper").total


def test_a_tight_bound_is_tighter() -> None:
    T = np.geomspace(1e4, 1e12, 9)
    for epsilon in (0.05, 0.3, 1.0):
        tight, paper = (heavy_ucrl2(T, **SIX, epsilon=epsilon, constants=c) for c in ("tight", "paper"))
        assert (tight.total < paper.total).all()
        assert (tight.heavy_tail < paper.heavy_tail / 2).all()
        size = [
            heavy_ucrl2_sample_size(accuracy=0.1, **SIX, epsilon=epsilon, constants=c).log10
            for c in ("tight", "paper")
        ]
        assert size[0] < size[1]


# What must be so


@BOTH
def test_more_of_anything_is_more_regret(constants: Any) -> None:
    T = np.geomspace(50, 1e12, 20)
    for epsilon in (0.05, 0.5, 1.0):
        for regret in all_bounds(epsilon=epsilon, constants=constants):
            assert (np.diff(regret(T).total) > 0).all()
            for name in set(regret.keywords) & GROWING:
                more = {**regret.keywords, name: 2 * regret.keywords[name]}
                assert (regret.func(*regret.args, T, **more).log_total >= regret(T).log_total).all(), name
        for unsure, sure in zip(
            all_bounds(epsilon=epsilon, delta=0.5), all_bounds(epsilon=epsilon, delta=1e-9), strict=True
        ):
            assert (unsure(T).log_total <= sure(T).log_total).all()


@BOTH
@examples(25)
@given(
    epsilon=st.floats(0.01, 1.0),
    delta=st.floats(1e-12, 0.9),
    T=st.floats(1, 1e18),
    accuracy=st.floats(1e-6, 10.0),
    moment=st.floats(1e-6, 1e6),
)
def test_logarithms_are_finite(
    constants: Any, epsilon: float, delta: float, T: float, accuracy: float, moment: float
) -> None:
    more: dict[str, Any] = {**SIX, "raw_moment": moment, "epsilon": epsilon, "constants": constants}
    own = {"raw_moment": moment, "epsilon": epsilon, "constants": constants, "delta": delta}
    episodes: dict[str, Any] = {**EPISODES, **own}
    assert np.isfinite(heavy_ucrl2_gap(T, accuracy=accuracy, delta=delta, **more).log10_total)
    assert np.isfinite(heavy_ucrl2_expected(T, gap=accuracy, settling=10, **more).log10_total)
    assert np.isfinite(heavy_ucrl2_sample_size(accuracy=accuracy, delta=delta, **more).log10)
    assert np.isfinite(heavy_q_learning_sample_size(accuracy=accuracy, **episodes).log10)
    for bound in (heavy_ucrl2(T, delta=delta, **more), heavy_q_bernstein(T, **episodes)):
        assert np.isfinite(bound.log10_total)
        assert not np.isnan(bound.log10_crossing)


@BOTH
def test_at_the_papers_epsilon_nothing_overflows(constants: Any) -> None:
    T = np.geomspace(1, 1e18, 30)
    for regret in all_bounds(constants=constants):
        bound = regret(T)
        for name in ("transitions", "heavy_tail", "lower_order", "remainder", "total", "log10_total"):
            assert np.isfinite(getattr(bound, name)).all()
        np.testing.assert_allclose(
            bound.total, bound.transitions + bound.heavy_tail + bound.lower_order + bound.remainder
        )


@BOTH
def test_arrays_give_what_numbers_give(constants: Any) -> None:
    T, delta, epsilon = np.array([1e3, 1e9]), np.array([[0.1], [0.01]]), np.array([0.05, 0.5])[:, None, None]
    bound = heavy_ucrl2(T, delta=delta, epsilon=epsilon, constants=constants, **SIX)
    assert bound.total.shape == bound.rules.shape == bound.crossing.shape == (2, 2, 2)
    one = heavy_ucrl2(1e9, delta=0.1, epsilon=0.5, constants=constants, **SIX)
    assert bound.total[1, 0, 1] == one.total
    assert bound.crossing[1, 0, 1] == pytest.approx(one.crossing)
    sizes = heavy_ucrl2_sample_size(accuracy=0.1, delta=delta, epsilon=epsilon, constants=constants, **SIX)
    assert sizes.log10[1, 1, 0] == pytest.approx(
        heavy_ucrl2_sample_size(accuracy=0.1, delta=0.01, epsilon=0.5, constants=constants, **SIX).log10
    )
    wide = heavy_q_hoeffding(
        T, S=7, A=6, H=[[2], [25]], r_max=1, raw_moment=1, epsilon=0.5, constants=constants
    )
    assert (
        wide.total[1, 0]
        == heavy_q_hoeffding(
            1e3, S=7, A=6, H=25, r_max=1, raw_moment=1, epsilon=0.5, constants=constants
        ).total
    )


@BOTH
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.7, 0.95])
def test_the_heavy_tail_overtakes_where_it_says(constants: Any, epsilon: float) -> None:
    bounds: list[Any] = [
        partial(heavy_ucrl2, **{**SIX, "raw_moment": 0.01}),
        partial(changing, changes=4, **{**SIX, "raw_moment": 0.01})
        if constants == "tight"
        else partial(heavy_ucrl2, **SMALL),
        partial(heavy_q_hoeffding, **{**EPISODES, "raw_moment": 1e-4}),
    ]
    for bound in bounds:
        log_T = float(bound(10, epsilon=epsilon, constants=constants).log_crossing)
        if not 0 < log_T < 650:
            assert log_T >= 0
            continue
        before, there, after = (
            bound(math.exp(log_T + dx), epsilon=epsilon, constants=constants) for dx in (-0.01, 0.0, 0.01)
        )
        assert before.log_heavy_tail < before.log_transitions
        assert there.log_heavy_tail == pytest.approx(float(there.log_transitions), abs=1e-6)
        assert after.log_heavy_tail > after.log_transitions


def test_with_a_variance_it_overtakes_at_once_or_never() -> None:
    world = {**SMALL, "diameter": 30, "epsilon": 1}
    assert heavy_ucrl2(1e6, **world).crossing == math.inf
    assert heavy_ucrl2(1e6, **{**world, "raw_moment": 1e4}).crossing == 1
    assert heavy_tail_condition(**world).steps == math.inf
    assert ucrl2(1e6, S=2, A=2, diameter=3, r_max=1).crossing == math.inf


def test_a_bound_above_the_reward_range_is_vacuous() -> None:
    bound = heavy_ucrl2(np.geomspace(1e2, 1e16, 50), **SMALL, epsilon=0.5)
    trivial = np.geomspace(1e2, 1e16, 50)
    assert (bound.vacuous == (bound.total >= trivial)).all()
    assert bound.vacuous[0]
    assert not bound.vacuous[-1]


# Sample sizes


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 1.0])
def test_after_so_many_steps_the_average_regret_is_small(epsilon: float) -> None:
    T = float(heavy_ucrl2_sample_size(accuracy=0.1, **SMALL, epsilon=epsilon).steps)
    assert heavy_ucrl2(T, **SMALL, epsilon=epsilon).total == pytest.approx(0.1 * T)
    stated = float(heavy_ucrl2_sample_size(accuracy=0.1, **SMALL, epsilon=epsilon, constants="paper").steps)
    assert heavy_ucrl2(stated, **SMALL, epsilon=epsilon, constants="paper").total <= 0.1 * stated
    T = float(heavy_q_learning_sample_size(accuracy=0.1, **{**EPISODES, "H": 3}, epsilon=epsilon).steps)
    assert heavy_q_hoeffding(T, **{**EPISODES, "H": 3}, epsilon=epsilon).total == pytest.approx(0.1 * T)


def test_the_tight_constant_is_linear_in_the_number_of_cells() -> None:
    cases: list[tuple[Any, int]] = [("tight", 1), ("paper", 20)]
    for constants, powers in cases:
        few, many = (
            log10_pac_constant(Case(S=S, A=6, raw_moment=1, epsilon=0.05, constants=constants))
            for S in (7, 70)
        )
        assert many - few == pytest.approx(powers)


def test_the_parts_of_a_sample_size() -> None:
    size = heavy_ucrl2_sample_size(accuracy=0.1, **SMALL, epsilon=0.5)
    T = float(size.heavy_tail.steps)
    assert heavy_ucrl2(T, **SMALL, epsilon=0.5).heavy_tail == pytest.approx(0.05 * T)
    assert size.log <= max(size.transitions.log, size.heavy_tail.log)
    stated = heavy_ucrl2_sample_size(accuracy=0.1, **SMALL, epsilon=0.5, constants="paper")
    assert stated.log == max(stated.transitions.log, stated.heavy_tail.log)


# Heavy-Q-Learning


@pytest.mark.parametrize(("H", "epsilon"), [(1, 1.0), (4, 0.05), (10, 0.5)])
def test_the_constants_of_heavy_q_learning_cover_the_sums_of_the_proof(H: int, epsilon: float) -> None:
    """All visits of a step spread evenly over the cells; the errors of later steps grow by 1 + 1/H a step."""
    S, A, visits, r_max, u, delta = 2, 2, 500, 1.5, 3.0, 0.05
    T = S * A * visits * H
    a, b, iota, n = (
        1 / (1 + epsilon),
        epsilon / (1 + epsilon),
        math.log(2 * S * A * T / delta),
        np.arange(1, visits),
    )
    light = (1 + float(learning_rate_constant(H, 0.5))) * r_max * math.sqrt(H**3 * iota) * (n**-0.5).sum()
    heavy = (
        (1 + float(learning_rate_constant(H, b)))
        * weighted_bernstein_constant(H, epsilon)
        * u**a
        * iota**b
        * (n**-b).sum()
    )
    growth = sum((1 + 1 / H) ** h for h in range(H))
    bound = heavy_q_hoeffding(T, S=S, A=A, H=H, r_max=r_max, raw_moment=u, epsilon=epsilon, delta=delta)
    assert 0.9 * bound.transitions <= growth * S * A * light <= bound.transitions
    assert 0.9 * bound.heavy_tail <= growth * S * A * heavy <= bound.heavy_tail
    noise = (
        r_max * H * math.sqrt(sum((1 + 1 / H) ** (2 * h) for h in range(H)) * T / H * math.log(1 / delta) / 2)
    )
    assert bound.lower_order == pytest.approx(growth * S * A * H * r_max + noise)


def test_powers_of_the_horizon() -> None:
    H = np.array([1000, 2000])
    bound = heavy_q_hoeffding(1e9, S=2, A=2, H=H, r_max=1, raw_moment=1, epsilon=0.25)
    assert math.log2(bound.heavy_tail[1] / bound.heavy_tail[0]) == pytest.approx(1.5 / 1.25, abs=0.05)
    assert math.log2(bound.transitions[1] / bound.transitions[0]) == pytest.approx(2, abs=0.01)


def test_twice_the_rewards_are_twice_the_regret_but_in_the_papers_theorem_5() -> None:
    cases = [
        ("heavy_q_hoeffding", "tight", True),
        ("heavy_q_bernstein", "tight", True),
        ("heavy_q_bernstein", "paper", False),
    ]
    for name, constants, so in cases:
        regret = partial(compute_bound, name, 1e6, S=2, A=2, H=5, epsilon=0.5, constants=constants)
        twice, once = regret(r_max=2, raw_moment=2**1.5), regret(r_max=1, raw_moment=1)
        assert math.isclose(twice.total, 2 * once.total) is so


def test_the_papers_bernstein_bound_has_a_power_of_the_horizon_that_swamps_all_else() -> None:
    bound = heavy_q_bernstein(1.25e7, **EPISODES, epsilon=0.05, constants="paper")
    assert bound.kind == "order"
    assert bound.rules == "lower_order"
    assert bound.log10_total > 23 * math.log10(25)


# The gap


def test_the_condition_of_the_paper_has_its_exponent_in_the_wrong_place() -> None:
    """The corrected one is where the paper's terms are equal but for logarithms; the stated one is not."""
    epsilon, delta = 0.4, 0.05
    B = (2 * float(sequence_constant(epsilon, "paper")) + 1) * 7 ** (epsilon / (1 + epsilon)) * 4
    power = (2 + 2 * epsilon) / (1 - epsilon)
    world: dict[str, Any] = {"S": 4, "A": 3, "diameter": 9, "r_max": 200, "raw_moment": 1}
    T = (20 * 200 * 9 / B) ** power * 4 ** (2 * epsilon / (1 - epsilon)) / 3
    bound = heavy_ucrl2(T, **world, epsilon=epsilon, delta=delta, constants="paper")
    logs = math.log(T / delta) ** 0.5 / math.log(2 * 12 * T / delta) ** (epsilon / (1 + epsilon))
    assert bound.transitions / bound.heavy_tail == pytest.approx(logs)
    stated = heavy_tail_condition(**world, epsilon=epsilon, constants="paper")
    assert float(stated.log10) != pytest.approx(math.log10(T), abs=1)
    expected = 20 * 200 * 9**power * 4 ** (2 * epsilon / (1 - epsilon)) / (B * 3)
    assert float(stated.steps) == pytest.approx(expected)
    tight = heavy_tail_condition(**world, epsilon=epsilon)
    assert tight.log == heavy_ucrl2(10, **world, epsilon=epsilon).log_crossing


def test_bad_phases_have_as_many_steps_as_their_regret_allows() -> None:
    bound = heavy_ucrl2_gap(1e30, accuracy=0.1, **SMALL, epsilon=0.5)
    steps = (bound.transitions + bound.heavy_tail + bound.lower_order) / 0.1
    assert 1 < steps < 1e30
    heavy = heavy_ucrl2(1e30, **SMALL, epsilon=0.5).heavy_tail
    assert bound.heavy_tail == pytest.approx(heavy * (steps / 1e30) ** (1 / 1.5), rel=1e-6)
    assert bound.remainder == pytest.approx(1e29)


def test_there_are_never_more_bad_phases_than_steps() -> None:
    bound = heavy_ucrl2_gap(1e6, accuracy=0.01, **SIX, epsilon=0.05)
    assert bound.heavy_tail == pytest.approx(float(heavy_ucrl2(1e6, **SIX, epsilon=0.05).heavy_tail))


def test_with_a_gap_the_expected_regret_grows_with_the_logarithm() -> None:
    T = np.array([1e40, 1e80])
    choices: list[Any] = ["tight", "paper"]
    for constants in choices:
        bound = heavy_ucrl2_expected(T, gap=0.3, settling=1000.0, **SMALL, epsilon=0.5, constants=constants)
        assert np.diff(bound.log_heavy_tail).item() == pytest.approx(math.log(2), abs=0.02)
        np.testing.assert_allclose(bound.remainder, 1000)


def test_the_paper_loses_the_moment() -> None:
    paper = partial(heavy_ucrl2_gap, 1e9, accuracy=0.1, constants="paper", epsilon=0.5)
    assert paper(**SMALL).total == paper(**{**SMALL, "raw_moment": 100.0}).total
    tight = partial(heavy_ucrl2_gap, 1e30, accuracy=0.1, epsilon=0.5)
    ratio = (
        tight(**{**SMALL, "raw_moment": 1e4}).heavy_tail / tight(**{**SMALL, "raw_moment": 1e2}).heavy_tail
    )
    assert ratio == pytest.approx(100 ** (1 / 0.5), rel=0.05)  # v^(1/epsilon)


# Mistakes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"T": 0}, "T must be 1 or more, got 0.0"),
        ({"T": "many"}, "T must be a regular array of numbers, got 'many'"),
        ({"T": [[1], [2, 3]]}, "T must be a regular array of numbers"),
        ({"T": math.inf}, "T must be finite, got inf"),
        ({"S": 2.5}, "S must be a whole number, at least 1, got 2.5"),
        ({"A": 0}, "A must be a whole number, at least 1, got 0.0"),
        ({"diameter": -1}, "diameter must be 0 or more, got -1.0"),
        ({"diameter": math.inf}, "the diameter is infinite"),
        (
            {"diameter": None},
            "heavy_ucrl2 needs S, A, diameter, r_max, moment, epsilon: there is no long run",
        ),
        ({"T": None}, "T is not known"),
        ({"r_min": 2}, "r_max must not be below r_min"),
        ({"raw_moment": math.nan}, "moment must be finite, got nan"),
        ({"epsilon": 1.5}, "epsilon must be above 0 and at most 1, got 1.5"),
        ({"delta": 1}, "delta must be above 0 and below 1, got 1.0"),
        (
            {"T": [1, 2], "delta": [0.1, 0.2, 0.3]},
            "arrays must have shapes that go together, got T [2], delta [3]",
        ),
        ({"constants": "loose"}, "constants is 'loose'; choose from: paper, tight"),
        ({"estimator": "truncated_men"}, "estimator is 'truncated_men'; did you mean 'truncated_mean'?"),
    ],
)
def test_a_mistake_is_one_line(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"T": 10, **SMALL, "epsilon": 0.5, **change}
    with pytest.raises(InputError) as error:
        heavy_ucrl2(arguments.pop("T"), **arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_other_mistakes_are_one_line_too() -> None:
    mistakes: list[Callable[[], Any]] = [
        lambda: heavy_ucrl2_sample_size(accuracy=0.0, **SIX, epsilon=0.5),
        lambda: heavy_ucrl2_gap(10, accuracy=-1, **SIX, epsilon=0.5),
        lambda: heavy_ucrl2_expected(10, gap=0, settling=1, **SIX, epsilon=0.5),
        lambda: heavy_q_learning_sample_size(**EPISODES, epsilon=0.5, constants="none"),
        lambda: changing(10, changes=0, **SIX, epsilon=0.5),
        lambda: compute_bound("heavy_ucrl", 10),
        lambda: heavy_ucrl2(10, **SIX, epsilon=0.5, raw_momen=1.0),
    ]
    for wrong in mistakes:
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            wrong()
