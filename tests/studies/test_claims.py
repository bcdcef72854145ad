"""Claims about made-up curves, of which it is known what is true."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heavytail.errors import InputError
from heavytail.studies.claims import ClaimResult, evaluate_claims
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import Spec

RUNS, UNITS, OPTIMUM = 12, 1000, 2.0


def spec(*conditions: dict[str, Any], agents: tuple[str, ...] = ("good", "bad"), **more: Any) -> Spec:
    return make_spec(
        {
            "name": "claims",
            "episodes": UNITS,
            "seeds": RUNS,
            "envs": {"six_arms": {}},
            "agents": {key: {"agent": "random"} for key in agents},
            "claims": [{"claim": "It holds.", "place": "here", "conditions": list(conditions)}],
            **more,
        }
    )


def runs(
    agent: str,
    pace: float | list[float],
    *,
    env: str = "six_arms",
    replicates: Iterable[int] = range(RUNS),
    seed: int = 0,
    **counters: float,
) -> pd.DataFrame:
    """Curves whose mean reward per episode is `pace`, one number or one for each tenth of the run."""
    rng = np.random.default_rng(seed)
    at = np.arange(1, 11) * UNITS // 10
    frames = []
    for replicate in replicates:
        reward = np.cumsum(np.broadcast_to(pace, 10) + rng.normal(0.0, 0.01)) * UNITS / 10
        columns = {
            "at": at,
            "mean_reward": reward,
            "realised_reward": reward,
            "regret": OPTIMUM * at - reward,
        }
        frames.append(
            pd.DataFrame(
                {
                    "agent_key": agent,
                    "env_key": env,
                    "replicate": replicate,
                    **columns,
                    "error": None,
                    **counters,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def failed(agent: str, replicate: int) -> pd.DataFrame:
    nothing = {
        "at": 0,
        "mean_reward": np.nan,
        "realised_reward": np.nan,
        "regret": np.nan,
        "error": "ValueError: no",
    }
    return pd.DataFrame([{"agent_key": agent, "env_key": "six_arms", "replicate": replicate, **nothing}])


def verdict(made: Spec, *frames: pd.DataFrame) -> ClaimResult:
    return evaluate_claims(
        made, pd.concat(frames, ignore_index=True), {"six_arms": OPTIMUM, "double_chain": OPTIMUM}
    )[0]


BETTER: dict[str, Any] = {"test": "better", "agent": "good", "than": "bad"}


@pytest.mark.parametrize("metric", ["last_tenth", "first_tenth", "first_hundredth", "final_regret"])
def test_a_difference_is_found_in_its_direction(metric: str) -> None:
    found = verdict(spec({**BETTER, "metric": metric}), runs("good", 1.8), runs("bad", 1.0, seed=1))
    assert found.verdict == "reproduced"
    assert (found.tests[0].adjusted or 1.0) < 0.01 < (found.tests[0].adjusted_opposite or 0.0)
    assert found.tests[0].estimate == pytest.approx(800.0 if metric == "final_regret" else 0.8, rel=0.05)
    assert found.tests[0].low <= found.tests[0].estimate <= found.tests[0].high
    assert found.tests[0].improvement == 1.0


@pytest.mark.parametrize("metric", ["last_tenth", "final_regret"])
def test_the_opposite_is_a_failure(metric: str) -> None:
    found = verdict(spec({**BETTER, "metric": metric}), runs("good", 1.0), runs("bad", 1.8, seed=1))
    assert found.verdict == "not reproduced"
    assert found.decisive_test is found.tests[0]
    assert found.tests[0].improvement == 0.0


def test_no_difference_decides_nothing() -> None:
    same = runs("bad", 1.5, seed=0)
    assert verdict(spec(BETTER), runs("good", 1.5, seed=0), same).verdict == "undecided"
    assert verdict(spec(BETTER), runs("good", 1.5, seed=7), same).verdict == "undecided"


def test_tenths_are_of_the_run() -> None:
    early = runs("good", [1.9] + [1.0] * 9)
    late = runs("bad", [0.5] + [1.0] * 8 + [1.7], seed=1)
    assert verdict(spec({**BETTER, "metric": "first_tenth"}), early, late).verdict == "reproduced"
    assert verdict(spec({**BETTER, "metric": "last_tenth"}), early, late).verdict == "not reproduced"


def test_a_ratio_of_regrets_is_decided_by_its_interval() -> None:
    def found(value: float) -> ClaimResult:
        condition = {"test": "ratio_at_most", "agent": "good", "than": "bad", "metric": "final_regret"}
        return verdict(spec({**condition, "value": value}), runs("good", 1.9), runs("bad", 1.0, seed=1))

    assert found(0.2).verdict == "reproduced"  # regret is 0.1 an episode against 1
    assert found(0.1).verdict == "undecided"
    assert found(0.05).verdict == "not reproduced"
    assert found(0.2).tests[0].estimate == pytest.approx(0.1, abs=0.02)
    assert found(0.2).tests[0].low < found(0.2).tests[0].estimate < found(0.2).tests[0].high


def test_a_ratio_of_means_counts_lost_runs() -> None:
    condition = {"test": "ratio_at_most", "agent": "good", "than": "bad", "metric": "final_regret"}
    lost = [runs("bad", 1.9, replicates=range(32)), runs("bad", 0.0, replicates=range(32, 40))]

    def found(statistic: str) -> ClaimResult:
        asked = {**condition, "value": 0.7, "statistic": statistic}
        return verdict(spec(asked), runs("good", 1.8, replicates=range(40), seed=1), pd.concat(lost))

    assert found("median").verdict == "not reproduced"  # regret is 0.2 an episode against 0.1
    assert found("mean").verdict == "reproduced"  # against 0.48
    assert found("mean").tests[0].estimate == pytest.approx(0.2 / 0.48, abs=0.02)
    assert "ratio of means" in found("mean").tests[0].method


def test_against_an_agent_without_regret_no_ratio_holds() -> None:
    condition = {"test": "ratio_at_most", "agent": "good", "than": "bad", "metric": "final_regret"}
    flawless = runs("bad", 2.0).assign(regret=0.0)
    found = verdict(spec({**condition, "value": 5.0}), runs("good", 1.9), flawless)
    assert found.verdict == "not reproduced"
    assert found.tests[0].estimate == math.inf


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"test": "ratio_at_most", "agent": "good", "than": "bad", "value": 1.0}, "is for regret"),
        ({"test": "ratio_at_most", "agent": "good", "than": "bad", "metric": "final_regret"}, "needs value="),
        (
            {**BETTER, "test": "ratio_at_most", "metric": "final_regret", "value": 1.0, "statistic": "mode"},
            "no statistic 'mode'",
        ),
        (
            {"test": "stuck_at_most", "agent": "good", "value": 0.1, "metric": "final_regret"},
            "is for rewards",
        ),
    ],
)
def test_conditions_that_cannot_be_tested_are_one_line(condition: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec(condition)


NO_GAIN = {"test": "no_gain", "than": "bad", "margin": 0.05}  # 0.1 per episode
NO_WORSE = {"test": "no_worse", "than": "bad", "margin": 0.1}  # 0.15 per episode
STUCK = {"test": "stuck_at_most", "value": 0.3, "margin": 0.1}


@pytest.mark.parametrize(
    ("condition", "pace", "expected"),
    [
        (NO_GAIN, 1.5, "reproduced"),
        (NO_GAIN, 1.8, "not reproduced"),
        (NO_GAIN, 1.6, "undecided"),  # evidence is needed here too
        ({**NO_GAIN, "metric": "final_regret"}, 1.5, "reproduced"),
        (NO_WORSE, 1.5, "reproduced"),
        (NO_WORSE, 1.8, "reproduced"),
        (NO_WORSE, 1.2, "not reproduced"),
        (NO_WORSE, 1.35, "undecided"),
        ({**NO_WORSE, "margin": 0.3}, 1.2, "reproduced"),
        (STUCK, 1.95, "reproduced"),
        (STUCK, [1.95] * 9 + [1.5], "not reproduced"),
        ({**STUCK, "margin": 0.5}, 1.5, "reproduced"),
        ({"test": "at_least", "value": 0.9}, 1.9, "reproduced"),
        ({"test": "at_least", "value": 0.9}, 1.5, "not reproduced"),
        ({"test": "at_least", "value": 0.9}, 1.8, "undecided"),
        ({"test": "at_most", "value": 0.9}, 1.9, "not reproduced"),
        ({"test": "at_most", "value": 0.9}, 1.5, "reproduced"),
        ({"test": "at_most", "value": 0.9}, 1.8, "undecided"),
    ],
)
def test_a_condition_holds_or_not(condition: dict[str, Any], pace: Any, expected: str) -> None:
    """Beside an agent with a pace of 1.5, of 2.0 that are possible."""
    asked = spec({"agent": "good", **condition})
    assert verdict(asked, runs("good", pace), runs("bad", 1.5, seed=1)).verdict == expected


def test_values_are_shares_of_the_optimum_and_of_all_there_was() -> None:
    rewards = {"test": "at_least", "agent": "good", "value": 0.9}
    regret = {"test": "at_most", "agent": "good", "value": 0.2, "metric": "final_regret"}
    found = verdict(spec(rewards, regret), runs("good", 1.8), runs("bad", 1.0))
    assert [test.bound for test in found.tests] == pytest.approx([1.8, 0.2 * OPTIMUM * UNITS])
    assert [test.adjusted for test in found.tests] == [None, None]
    assert found.tests[1].verdict == "reproduced"


def test_counters_are_taken_as_they_are() -> None:
    condition = {"test": "at_least", "agent": "good", "metric": "counter", "counter": "uniformity"}
    for uniformity, expected in ((0.95, "reproduced"), (0.5, "not reproduced")):
        frames = runs("good", 1.0, uniformity=uniformity), runs("bad", 1.0)
        assert verdict(spec({**condition, "value": 0.8}), *frames).verdict == expected


def test_a_claim_stands_or_falls_on_all_environments() -> None:
    made = spec(BETTER, envs={"six_arms": {}, "double_chain": {}})
    there = [runs("good", 1.8), runs("bad", 1.0, seed=1)]
    for pace, expected in ((1.8, "reproduced"), (1.0, "undecided"), (0.5, "not reproduced")):
        here = [runs("good", pace, env="double_chain", seed=2), runs("bad", 1.0, env="double_chain", seed=3)]
        found = verdict(made, *there, *here)
        assert [test.env for test in found.tests] == ["six_arms", "double_chain"]
        assert found.verdict == expected
    elsewhere = spec({**BETTER, "envs": ["six_arms"]}, envs={"six_arms": {}, "double_chain": {}})
    assert verdict(elsewhere, *there, *here).verdict == "reproduced"


def test_many_tests_make_each_harder() -> None:
    small = {**BETTER, "metric": "last_tenth"}
    frames = [runs("good", 1.0, replicates=range(8)), runs("bad", 0.5, replicates=range(8), seed=1)]
    alone, among = verdict(spec(small), *frames), verdict(spec(*[small] * 20), *frames)
    assert (alone.verdict, among.verdict) == ("reproduced", "undecided")  # 4 / 256, twice and 40 times
    assert alone.tests[0].p_value == among.tests[0].p_value


def test_runs_that_failed_are_left_out_and_unpair_the_rest() -> None:
    frames = [runs("good", 1.8, replicates=range(1, RUNS)), failed("good", 0), runs("bad", 1.0, seed=1)]
    found = verdict(spec(BETTER), *frames)
    assert found.verdict == "reproduced"
    assert "unpaired" in found.tests[0].method
    assert found.tests[0].runs == RUNS - 1


def test_one_run_decides_nothing() -> None:
    frames = [runs("good", 1.8, replicates=[0]), runs("bad", 1.0, replicates=[0])]
    for condition in (BETTER, {"test": "at_least", "agent": "good", "value": 0.5}):
        assert verdict(spec(condition), *frames).verdict == "undecided"
    assert verdict(spec(BETTER), failed("good", 0), runs("bad", 1.0)).verdict == "undecided"


def test_one_wild_run_changes_nothing() -> None:
    wild = runs("good", 1.0)
    wild.loc[wild["replicate"] == 3, "mean_reward"] *= 1e6
    assert verdict(spec(BETTER), wild, runs("bad", 1.5, seed=1)).verdict == "not reproduced"


def test_the_same_curves_give_the_same_numbers() -> None:
    frames = [runs("good", 1.8), runs("bad", 1.7, seed=1)]
    both = spec(BETTER, {"test": "at_least", "agent": "good", "value": 0.9})
    assert verdict(both, *frames) == verdict(both, *frames)


# Rates, and bounds


RATE: dict[str, Any] = {"agent": "good", "metric": "counter", "counter": "escapes", "value": 0.1}


@pytest.mark.parametrize(
    ("escaped", "at_most", "at_least"),
    [
        (0, "reproduced", "not reproduced"),
        (3, "undecided", "undecided"),
        (12, "not reproduced", "reproduced"),
    ],
)
def test_a_rate_is_held_against_its_exact_interval(escaped: int, at_most: str, at_least: str) -> None:
    """Of 40 runs: with 0 it ends at 8.8 %, with 3 it is from 1.6 % to 20.4 %, with 12 it begins at 16.6 %."""
    frames = [runs("good", 1.8, replicates=[i], escapes=float(i < escaped) * (1 + i)) for i in range(40)]
    for test, expected in (("rate_at_most", at_most), ("rate_at_least", at_least)):
        (found,) = verdict(spec({**RATE, "test": test}), *frames).tests
        assert found.verdict == expected
        assert found.estimate == escaped / 40
        assert found.low == pytest.approx({0: 0.0, 3: 0.0157, 12: 0.1656}[escaped], abs=1e-4)
        assert found.high == pytest.approx({0: 0.0881, 3: 0.2039, 12: 0.4653}[escaped], abs=1e-4)
        assert found.runs == 40


def test_a_mean_may_be_asked_for() -> None:
    """Of twenty runs 16 lose 200 and four 1,200: the median is 200, the mean 400.

    Held against 220, the one is below for certain, and the other is not.
    """
    frames = [runs("good", 1.8 if i < 16 else 0.8, replicates=[i], seed=i) for i in range(20)]
    asked = {"test": "at_least", "agent": "good", "metric": "final_regret", "value": 0.11}
    median, mean = (
        verdict(spec({**asked, **more}), *frames).tests[0] for more in ({}, {"statistic": "mean"})
    )
    assert median.estimate == pytest.approx(200, abs=10)
    assert mean.estimate == pytest.approx(400, abs=10)
    assert median.verdict == "not reproduced"
    assert mean.verdict == "reproduced"


def test_regret_is_held_against_a_bound() -> None:
    """The regret of a pace of 1.8 is 200: below a bound of 250, above one of 150, and below twice that."""
    cases = [(250.0, None, "reproduced"), (150.0, None, "not reproduced"), (150.0, 2.0, "reproduced")]
    for bound, value, expected in cases:
        asked = {"test": "at_most", "agent": "good", "metric": "final_regret", "of": "heavy_ucrl2"}
        made = spec({**asked, "value": value}, envs={"six_arms": {"bounds": {"shown": ["heavy_ucrl2"]}}})
        (judged,) = evaluate_claims(
            made, runs("good", 1.8), {"six_arms": OPTIMUM}, {"six_arms": {"heavy_ucrl2": bound}}
        )
        assert judged.verdict == expected
        assert judged.tests[0].bound == bound * (value or 1.0)
