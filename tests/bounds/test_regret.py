import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail import InputError
from heavytail.agents.heavy_q_learning import weighted_bernstein_constant
from heavytail.bounds import (
    Bound,
    changing_regret,
    estimator_constant,
    heavy_q_learning_regret,
    heavy_q_learning_sample_size,
    heavy_tail_condition,
    heavy_ucrl2_expected_regret,
    heavy_ucrl2_gap_regret,
    heavy_ucrl2_regret,
    heavy_ucrl2_sample_size,
    learning_rate_constant,
    log10_pac_constant,
    q_learning_regret,
    restart_schedule,
    sequence_constant,
    ucbvi_regret,
    ucrl2_regret,
)
from support.examples import examples

SIX: dict[str, Any] = {"S": 7, "A": 6, "diameter": 6, "reward_range": 2, "moment": 14.24}
SMALL: dict[str, Any] = {"S": 2, "A": 2, "diameter": 3, "reward_range": 1, "moment": 1.0}
EPISODES: dict[str, Any] = {"S": 7, "A": 6, "H": 25, "r_max": 2, "moment": 14.24}
GROWING = {"S", "A", "H", "diameter", "reward_range", "moment", "r_max", "changes", "settling"}
BOTH = pytest.mark.parametrize("constants", ["tight", "paper"])


def all_bounds(**more: Any) -> list[Any]:
    """Every regret bound, as a function of T."""
    epsilon = {"epsilon": more.pop("epsilon", 0.05)}
    without_delta = {name: value for name, value in more.items() if name != "delta"}
    return [
        partial(heavy_ucrl2_regret, **SIX, **epsilon, **more),
        partial(heavy_ucrl2_gap_regret, accuracy=0.1, **SIX, **epsilon, **more),
        partial(heavy_ucrl2_expected_regret, gap=0.2, settling=4e4, **SIX, **epsilon, **without_delta),
        partial(changing_regret, changes=5, **SIX, **epsilon, **more),
        partial(heavy_q_learning_regret, **EPISODES, **epsilon, **more),
        partial(heavy_q_learning_regret, bonus="bernstein", **EPISODES, **epsilon, **more),
        partial(ucrl2_regret, **{k: SIX[k] for k in ("S", "A", "diameter", "reward_range")}, **more),
        partial(q_learning_regret, **{k: EPISODES[k] for k in ("S", "A", "H", "r_max")}, **more),
        partial(ucbvi_regret, **{k: EPISODES[k] for k in ("S", "A", "H", "r_max")}, **more),
    ]


# What is known


def test_the_numbers_of_the_reading() -> None:
    alpha = partial(log10_pac_constant, 0.1, S=7, A=6, constants="paper")
    found = [alpha(moment=13.26, epsilon=0.05), alpha(moment=1, epsilon=0.5), alpha(moment=1, epsilon=1)]
    assert np.round(found, 1).tolist() == [110.9, 12.5, 8.3]
    assert round(float(estimator_constant(0.05)), 3) == 2.798
    assert round(float(estimator_constant(1.0)), 3) == 3.748
    assert round(float(estimator_constant(0.05, "median_of_means")), 1) == round(
        12 ** (1 / 1.05) * 16 ** (0.05 / 1.05), 1
    )
    assert round(float(estimator_constant(0.05, "median_of_means", "paper")), 2) == 12.57
    assert restart_schedule(3e6, changes=5, epsilon=0.05).tolist() == [1, 5, 277, 8200, 154_743, 2_065_215]
    assert restart_schedule(1e5, changes=2, epsilon=1.0).tolist()[:6] == [1, 2, 7, 16, 32, 54]


def test_with_a_variance_the_heavy_tail_term_is_what_ucrl2_pays_for_rewards() -> None:
    """Hoeffding's radius R sqrt(L / (2 n)) is K sqrt(m) = R / sqrt(2)."""
    world: dict[str, Any] = {"S": 5, "A": 3, "diameter": 4, "reward_range": 2}
    T, K = np.geomspace(10, 1e12, 7), float(estimator_constant(1.0))
    heavy = heavy_ucrl2_regret(T, **world, epsilon=1, moment=(2 / math.sqrt(2) / K) ** 2)
    light = ucrl2_regret(T, **world)
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

    assert slope(heavy_ucrl2_regret(T, **SMALL, epsilon=1)) == pytest.approx(1 / 2, abs=0.01)
    assert slope(changing_regret(T, changes=3, **SMALL, epsilon=1)) == pytest.approx(2 / 3, abs=0.01)
    many = changing_regret(1e30, changes=[1, 1000], **SMALL, epsilon=1)
    assert np.diff(many.log_total).item() / math.log(1000) == pytest.approx(1 / 3, abs=0.02)
    one, ten = (
        heavy_ucrl2_gap_regret(1e15, accuracy=accuracy, **SMALL, epsilon=1) for accuracy in (0.1, 0.01)
    )
    assert (ten.total - 1e13) / (one.total - 1e14) == pytest.approx(10, rel=0.05)  # log(T/delta) / lambda


def test_the_papers_twenty_is_safe_where_rewards_and_diameter_are_not_small() -> None:
    S, A, D, T = (
        x.ravel() for x in np.meshgrid([2, 5, 20, 100], [2, 10, 50], [1, 3, 30], np.geomspace(10, 1e14, 40))
    )
    for delta in (0.5, 0.05, 1e-6):
        light = ucrl2_regret(T, S=S, A=A, diameter=D, reward_range=1, delta=delta)
        stated = heavy_ucrl2_regret(
            T, S=S, A=A, diameter=D, reward_range=1, moment=0, epsilon=0.5, delta=delta, constants="paper"
        )
        tight = heavy_ucrl2_regret(
            T, S=S, A=A, diameter=D, reward_range=1, moment=0, epsilon=0.5, delta=delta
        )
        says = ~np.asarray(stated.vacuous)
        assert says.any()
        assert (tight.total / stated.total)[says].max() < 12 / 20
        assert (light.total < 34 / 20 * stated.total)[says].all()


def test_and_too_small_where_they_are() -> None:
    """Planning up to 1/sqrt(t) costs what it costs, however small rewards are."""
    poor: dict[str, Any] = {"S": 2, "A": 2, "diameter": 1, "reward_range": 0.001, "moment": 0, "epsilon": 0.5}
    assert (
        heavy_ucrl2_regret(1e9, **poor).lower_order > heavy_ucrl2_regret(1e9, **poor, constants="paper").total
    )


def test_a_tight_bound_is_tighter() -> None:
    T = np.geomspace(1e4, 1e12, 9)
    for epsilon in (0.05, 0.3, 1.0):
        tight, paper = (
            heavy_ucrl2_regret(T, **SIX, epsilon=epsilon, constants=c) for c in ("tight", "paper")
        )
        assert (tight.total < paper.total).all()
        assert (tight.heavy_tail < paper.heavy_tail / 2).all()
        size = [
            heavy_ucrl2_sample_size(0.1, **SIX, epsilon=epsilon, constants=c).total.log10
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
                assert (regret.func(T, **more).log_total >= regret(T).log_total).all(), name
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
    more: dict[str, Any] = {**SIX, "moment": moment, "epsilon": epsilon, "constants": constants}
    own = {"moment": moment, "epsilon": epsilon, "constants": constants, "delta": delta}
    episodes: dict[str, Any] = {**EPISODES, **own}
    assert np.isfinite(heavy_ucrl2_gap_regret(T, accuracy=accuracy, delta=delta, **more).log10_total)
    assert np.isfinite(heavy_ucrl2_expected_regret(T, gap=accuracy, settling=10, **more).log10_total)
    assert np.isfinite(heavy_ucrl2_sample_size(accuracy, delta=delta, **more).total.log10)
    assert np.isfinite(heavy_q_learning_sample_size(accuracy, **episodes).total.log10)
    for bound in (
        heavy_ucrl2_regret(T, delta=delta, **more),
        heavy_q_learning_regret(T, bonus="bernstein", **episodes),
    ):
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
    bound = heavy_ucrl2_regret(T, delta=delta, epsilon=epsilon, constants=constants, **SIX)
    assert bound.total.shape == bound.rules.shape == bound.crossing.shape == (2, 2, 2)
    one = heavy_ucrl2_regret(1e9, delta=0.1, epsilon=0.5, constants=constants, **SIX)
    assert bound.total[1, 0, 1] == one.total
    assert bound.crossing[1, 0, 1] == pytest.approx(one.crossing)
    sizes = heavy_ucrl2_sample_size(0.1, delta=delta, epsilon=epsilon, constants=constants, **SIX)
    assert sizes.total.log10[1, 1, 0] == pytest.approx(
        heavy_ucrl2_sample_size(0.1, delta=0.01, epsilon=0.5, constants=constants, **SIX).total.log10
    )
    wide = heavy_q_learning_regret(
        T, S=7, A=6, H=[[2], [25]], r_max=1, moment=1, epsilon=0.5, constants=constants
    )
    assert (
        wide.total[1, 0]
        == heavy_q_learning_regret(
            1e3, S=7, A=6, H=25, r_max=1, moment=1, epsilon=0.5, constants=constants
        ).total
    )


@BOTH
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.7, 0.95])
def test_the_heavy_tail_overtakes_where_it_says(constants: Any, epsilon: float) -> None:
    for bound in (
        partial(heavy_ucrl2_regret, **{**SIX, "moment": 0.01}),
        partial(changing_regret, changes=4, **{**SIX, "moment": 0.01})
        if constants == "tight"
        else partial(heavy_ucrl2_regret, **SMALL),
        partial(heavy_q_learning_regret, **{**EPISODES, "moment": 1e-4}),
    ):
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
    assert heavy_ucrl2_regret(1e6, **world).crossing == math.inf
    assert heavy_ucrl2_regret(1e6, **{**world, "moment": 1e4}).crossing == 1
    assert heavy_tail_condition(**world).steps == math.inf
    assert ucrl2_regret(1e6, S=2, A=2, diameter=3, reward_range=1).crossing == math.inf


def test_a_bound_above_the_reward_range_is_vacuous() -> None:
    bound = heavy_ucrl2_regret(np.geomspace(1e2, 1e16, 50), **SMALL, epsilon=0.5)
    trivial = np.geomspace(1e2, 1e16, 50)
    assert (bound.vacuous == (bound.total >= trivial)).all()
    assert bound.vacuous[0]
    assert not bound.vacuous[-1]


# Sample sizes


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 1.0])
def test_after_so_many_steps_the_average_regret_is_small(epsilon: float) -> None:
    T = float(heavy_ucrl2_sample_size(0.1, **SMALL, epsilon=epsilon).total.steps)
    assert heavy_ucrl2_regret(T, **SMALL, epsilon=epsilon).total == pytest.approx(0.1 * T)
    stated = float(heavy_ucrl2_sample_size(0.1, **SMALL, epsilon=epsilon, constants="paper").total.steps)
    assert heavy_ucrl2_regret(stated, **SMALL, epsilon=epsilon, constants="paper").total <= 0.1 * stated
    T = float(heavy_q_learning_sample_size(0.1, **{**EPISODES, "H": 3}, epsilon=epsilon).total.steps)
    assert heavy_q_learning_regret(T, **{**EPISODES, "H": 3}, epsilon=epsilon).total == pytest.approx(0.1 * T)


def test_the_tight_constant_is_linear_in_the_number_of_cells() -> None:
    few, many = (log10_pac_constant(0.1, S=S, A=6, moment=1, epsilon=0.05) for S in (7, 70))
    assert many - few == pytest.approx(1)
    few, many = (
        log10_pac_constant(0.1, S=S, A=6, moment=1, epsilon=0.05, constants="paper") for S in (7, 70)
    )
    assert many - few == pytest.approx(20)


def test_the_parts_of_a_sample_size() -> None:
    size = heavy_ucrl2_sample_size(0.1, **SMALL, epsilon=0.5)
    T = float(size.heavy_tail.steps)
    assert heavy_ucrl2_regret(T, **SMALL, epsilon=0.5).heavy_tail == pytest.approx(0.05 * T)
    assert size.total.log <= max(size.transitions.log, size.heavy_tail.log)
    stated = heavy_ucrl2_sample_size(0.1, **SMALL, epsilon=0.5, constants="paper")
    assert stated.total.log == max(stated.transitions.log, stated.heavy_tail.log)


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
    bound = heavy_q_learning_regret(T, S=S, A=A, H=H, r_max=r_max, moment=u, epsilon=epsilon, delta=delta)
    assert 0.9 * bound.transitions <= growth * S * A * light <= bound.transitions
    assert 0.9 * bound.heavy_tail <= growth * S * A * heavy <= bound.heavy_tail
    noise = (
        r_max * H * math.sqrt(sum((1 + 1 / H) ** (2 * h) for h in range(H)) * T / H * math.log(1 / delta) / 2)
    )
    assert bound.lower_order == pytest.approx(growth * S * A * H * r_max + noise)


def test_powers_of_the_horizon() -> None:
    H = np.array([1000, 2000])
    bound = heavy_q_learning_regret(1e9, S=2, A=2, H=H, r_max=1, moment=1, epsilon=0.25)
    assert math.log2(bound.heavy_tail[1] / bound.heavy_tail[0]) == pytest.approx(1.5 / 1.25, abs=0.05)
    assert math.log2(bound.transitions[1] / bound.transitions[0]) == pytest.approx(2, abs=0.01)


def test_twice_the_rewards_are_twice_the_regret_but_in_the_papers_theorem_5() -> None:
    cases: list[tuple[Any, Any, bool]] = [
        ("hoeffding", "tight", True),
        ("bernstein", "tight", True),
        ("bernstein", "paper", False),
    ]
    for bonus, constants, so in cases:
        regret = partial(
            heavy_q_learning_regret, 1e6, S=2, A=2, H=5, epsilon=0.5, bonus=bonus, constants=constants
        )
        assert math.isclose(regret(r_max=2, moment=2**1.5).total, 2 * regret(r_max=1, moment=1).total) is so


def test_the_papers_bernstein_bound_has_a_power_of_the_horizon_that_swamps_all_else() -> None:
    bound = heavy_q_learning_regret(1.25e7, **EPISODES, epsilon=0.05, bonus="bernstein", constants="paper")
    assert bound.kind == "order"
    assert bound.rules == "lower_order"
    assert bound.log10_total > 23 * math.log10(25)


# The gap


def test_the_condition_of_the_paper_has_its_exponent_in_the_wrong_place() -> None:
    """The corrected one is where the paper's terms are equal but for logarithms; the stated one is not."""
    epsilon, delta = 0.4, 0.05
    B = (2 * float(sequence_constant(epsilon, "paper")) + 1) * 7 ** (epsilon / (1 + epsilon)) * 4
    power = (2 + 2 * epsilon) / (1 - epsilon)
    world: dict[str, Any] = {"S": 4, "A": 3, "diameter": 9, "reward_range": 200, "moment": 1}
    T = (20 * 200 * 9 / B) ** power * 4 ** (2 * epsilon / (1 - epsilon)) / 3
    bound = heavy_ucrl2_regret(T, **world, epsilon=epsilon, delta=delta, constants="paper")
    logs = math.log(T / delta) ** 0.5 / math.log(2 * 12 * T / delta) ** (epsilon / (1 + epsilon))
    assert bound.transitions / bound.heavy_tail == pytest.approx(logs)
    stated = heavy_tail_condition(**world, epsilon=epsilon, constants="paper")
    assert float(stated.log10) != pytest.approx(math.log10(T), abs=1)
    expected = 20 * 200 * 9**power * 4 ** (2 * epsilon / (1 - epsilon)) / (B * 3)
    assert float(stated.steps) == pytest.approx(expected)
    tight = heavy_tail_condition(**world, epsilon=epsilon)
    assert tight.log == heavy_ucrl2_regret(10, **world, epsilon=epsilon).log_crossing


def test_bad_phases_have_as_many_steps_as_their_regret_allows() -> None:
    bound = heavy_ucrl2_gap_regret(1e30, accuracy=0.1, **SMALL, epsilon=0.5)
    steps = (bound.transitions + bound.heavy_tail + bound.lower_order) / 0.1
    assert 1 < steps < 1e30
    heavy = heavy_ucrl2_regret(1e30, **SMALL, epsilon=0.5).heavy_tail
    assert bound.heavy_tail == pytest.approx(heavy * (steps / 1e30) ** (1 / 1.5), rel=1e-6)
    assert bound.remainder == pytest.approx(1e29)


def test_there_are_never_more_bad_phases_than_steps() -> None:
    bound = heavy_ucrl2_gap_regret(1e6, accuracy=0.01, **SIX, epsilon=0.05)
    assert bound.heavy_tail == pytest.approx(float(heavy_ucrl2_regret(1e6, **SIX, epsilon=0.05).heavy_tail))


def test_with_a_gap_the_expected_regret_grows_with_the_logarithm() -> None:
    T = np.array([1e40, 1e80])
    choices: list[Any] = ["tight", "paper"]
    for constants in choices:
        bound = heavy_ucrl2_expected_regret(
            T, gap=0.3, settling=1000.0, **SMALL, epsilon=0.5, constants=constants
        )
        assert np.diff(bound.log_heavy_tail).item() == pytest.approx(math.log(2), abs=0.02)
        np.testing.assert_allclose(bound.remainder, 1000)


def test_the_paper_loses_the_moment() -> None:
    paper = partial(heavy_ucrl2_gap_regret, 1e9, accuracy=0.1, constants="paper", epsilon=0.5)
    assert paper(**SMALL).total == paper(**{**SMALL, "moment": 100.0}).total
    tight = partial(heavy_ucrl2_gap_regret, 1e30, accuracy=0.1, epsilon=0.5)
    ratio = tight(**{**SMALL, "moment": 1e4}).heavy_tail / tight(**{**SMALL, "moment": 1e2}).heavy_tail
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
        ({"diameter": math.inf}, "diameter must be finite, got inf"),
        ({"moment": math.nan}, "moment must be finite, got nan"),
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
        heavy_ucrl2_regret(arguments.pop("T"), **arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_other_mistakes_are_one_line_too() -> None:
    for wrong in (
        lambda: heavy_ucrl2_sample_size(0.0, **SIX, epsilon=0.5),
        lambda: heavy_ucrl2_gap_regret(10, accuracy=-1, **SIX, epsilon=0.5),
        lambda: heavy_ucrl2_expected_regret(10, gap=0, settling=1, **SIX, epsilon=0.5),
        lambda: heavy_q_learning_regret(10, **EPISODES, epsilon=0.5, bonus="none"),  # type: ignore[arg-type]
        lambda: heavy_q_learning_sample_size(0.1, **EPISODES, epsilon=0.5, constants="none"),  # type: ignore[arg-type]
        lambda: changing_regret(10, changes=0, **SIX, epsilon=0.5),
        lambda: restart_schedule(1e30, changes=2, epsilon=1.0),
        lambda: restart_schedule([1, 2], changes=2, epsilon=1.0),  # type: ignore[arg-type]
        lambda: restart_schedule(1e6, changes=1000, epsilon=0.001),
    ):
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            wrong()
