"""The claims of a study, put to the test.

Each condition on each of its environments is a test that can come out either way.

*better* and *no_gain* compare two agents: those that ran the same replicates met the same chance, so their
differences are tested by changing signs, else the runs by changing groups. Both directions are tested, since
"the opposite holds" is a finding too, and all of them share one correction (Holm). For *no_gain* the rival is
first given the margin as a present. *at_least* and *at_most* put the bootstrap interval of the median (or the
mean) on one side of the value, or of so many times a bound on regret; *rate_at_least* and *rate_at_most* the
exact interval of the share of runs in which something happened.

The statistic of a comparison is the interquartile mean, which one lucky or lost seed does not move. Of n runs
that all agree it trims k = n // 4 at either end and can reach p = 2^(k - n), more if differences are exactly
alike: with less than about 15 seeds a study of many claims leaves comparisons undecided.

A claim is reproduced if all its tests are, not reproduced if any comes out the other way, and undecided else.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.studies.results import Runs, final_regret, gather_runs, mean_reward_in
from heavytail.studies.specs.claims import Claim, Condition
from heavytail.studies.specs.spec import Spec, envs_for

if TYPE_CHECKING:
    import pandas as pd

Verdict: TypeAlias = Literal["reproduced", "not reproduced", "undecided"]
SPANS = {"first_hundredth": (0.0, 0.01), "first_tenth": (0.0, 0.1), "last_tenth": (0.9, 1.0)}
STATISTIC: statistics.Statistic = "interquartile_mean"
CLAIMS = 2  # of spawn keys: tuning has 0 and evaluation 1


class TestResult(NamedTuple):
    """A condition on one environment and what came out."""

    condition: Condition
    env: str
    method: str
    estimate: float  # of two agents: by how much the first is better; of one: its median
    low: float  # the ends of its bootstrap interval; NaN where there is none
    high: float
    bound: float  # what the estimate is held against: 0, the margin, or the value
    p_value: float | None  # for the condition; None where an interval decides
    p_opposite: float | None  # for its opposite
    adjusted: float | None  # the same after Holm's correction
    adjusted_opposite: float | None
    improvement: float | None  # the probability that the first agent does better in a pair of runs
    runs: int
    verdict: Verdict


class ClaimResult(NamedTuple):
    """A claim, its tests and the verdict."""

    claim: Claim
    tests: list[TestResult]
    verdict: Verdict

    @property
    def decisive_test(self) -> TestResult | None:
        """The test that the verdict hangs on: of those that say the same, the weakest."""
        same = [test for test in self.tests if test.verdict == self.verdict]
        return max(same, key=lambda test: test.adjusted or 0.0, default=None)


def evaluate_claims(
    spec: Spec,
    curves: "pd.DataFrame",
    optima: Mapping[str, float | None],
    bounds: Mapping[str, Mapping[str, float]] | None = None,
) -> list[ClaimResult]:
    """The verdict on every claim; the same spec and curves give the same numbers.

    Args:
        spec: what is claimed.
        curves: the evaluation, as `Study.curves` gives it.
        optima: by environment, the best mean reward per episode or step; None where nobody knows it, and
            values and margins then stand as they are.
        bounds: by environment and name, bounds on the regret of a whole run.
    """
    cells = {
        (str(agent), str(env)): gather_runs(rows)
        for (agent, env), rows in curves.groupby(["agent_key", "env_key"])
    }
    tested = [
        [
            _test(
                spec,
                condition,
                env,
                cells,
                _whole(condition, cells[condition.agent, env], optima[env], (bounds or {}).get(env, {})),
                _rng(spec, i, j, k),
            )
            for j, condition in enumerate(claim.conditions)
            for k, env in enumerate(envs_under(spec, condition))
        ]
        for i, claim in enumerate(spec.claims)
    ]
    corrected = iter(_corrected([test for tests in tested for test in tests], spec.statistics.significance))
    judged = [[next(corrected) for _ in tests] for tests in tested]
    return [
        ClaimResult(claim, tests, combine_verdicts([test.verdict for test in tests]))
        for claim, tests in zip(spec.claims, judged, strict=True)
    ]


def combine_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim from those of its tests.

    >>> combine_verdicts(["reproduced", "undecided"]), combine_verdicts(["undecided", "not reproduced"])
    ('undecided', 'not reproduced')
    """
    if "not reproduced" in verdicts:
        return "not reproduced"
    return "reproduced" if verdicts and set(verdicts) == {"reproduced"} else "undecided"


def metric_values(condition: Condition, runs: Runs) -> Floats:
    """What a condition looks at [run]."""
    if condition.metric == "final_regret":
        return final_regret(runs)
    if condition.metric in SPANS:
        return mean_reward_in(runs, *SPANS[condition.metric])
    return runs.counters[condition.counter][:, -1]


def envs_under(spec: Spec, condition: Condition) -> list[str]:
    """Where a condition is tested: everywhere its agents run, unless it says where."""
    agents = [spec.agents[key] for key in (condition.agent, condition.than) if key]
    return condition.envs or [
        env for env in spec.envs if all(env in envs_for(spec, agent) for agent in agents)
    ]


def _rng(spec: Spec, *place: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=(CLAIMS, *place)))


def _whole(condition: Condition, runs: Runs, optimum: float | None, bounds: Mapping[str, float]) -> float:
    """What the values and margins of a condition are shares of."""
    if condition.of:
        return bounds[condition.of]
    units = int(runs.at[-1]) if len(runs.at) else 1
    return (
        1.0
        if optimum is None
        else {"counter": 1.0, "final_regret": optimum * units}.get(condition.metric, optimum)
    )


def _test(
    spec: Spec,
    condition: Condition,
    env: str,
    cells: Mapping[tuple[str, str], Runs],
    whole: float,
    rng: np.random.Generator,
) -> TestResult:
    first = cells[condition.agent, env]
    value = (1.0 if condition.of else 0.0) if condition.value is None else condition.value
    if condition.test in ("at_least", "at_most"):
        return _reach(spec, condition, env, first, value * whole, rng)
    if condition.test in ("rate_at_least", "rate_at_most"):
        return _rate(spec, condition, env, first, value)
    margin = condition.margin * abs(whole) if condition.test == "no_gain" else 0.0
    return _compare(spec, condition, env, (first, cells[condition.than, env]), margin, rng)


def _reach(
    spec: Spec, condition: Condition, env: str, runs: Runs, bound: float, rng: np.random.Generator
) -> TestResult:
    """A median, or a mean, on one side of a value."""
    n = len(runs.replicates)
    method = f"{condition.statistic} and bootstrap interval, {spec.statistics.resamples:,} resamples"
    if n < 2:
        return _nothing(condition, env, method, bound, n)
    values = metric_values(condition, runs)
    found = statistics.bootstrap_interval(
        values,
        condition.statistic,
        rng=rng,
        confidence=spec.statistics.confidence,
        resamples=spec.statistics.resamples,
    )
    return _beside(condition, env, method, found, bound, n)


def _rate(spec: Spec, condition: Condition, env: str, runs: Runs, bound: float) -> TestResult:
    """The share of runs in which something happened on one side of a value."""
    n, method = len(runs.replicates), "share of runs and its exact interval (Clopper and Pearson)"
    if n < 2:
        return _nothing(condition, env, method, bound, n)
    found = statistics.rate_interval(
        metric_values(condition, runs) > 0, confidence=spec.statistics.confidence
    )
    return _beside(condition, env, method, found, bound, n)


def _beside(
    condition: Condition, env: str, method: str, found: statistics.Interval, bound: float, runs: int
) -> TestResult:
    """An interval beside a value."""
    estimate, low, high = map(float, found)
    right, wrong = (
        (low >= bound, high < bound) if condition.test.endswith("at_least") else (high <= bound, low > bound)
    )
    verdict: Verdict = "reproduced" if right else "not reproduced" if wrong else "undecided"
    return TestResult(
        condition, env, method, estimate, low, high, bound, None, None, None, None, None, runs, verdict
    )


def _compare(
    spec: Spec,
    condition: Condition,
    env: str,
    pair: tuple[Runs, Runs],
    margin: float,
    rng: np.random.Generator,
) -> TestResult:
    """Two agents, in both directions."""
    method, n = "interquartile mean, permutation test", min(len(runs.replicates) for runs in pair)
    if n < 2:
        return _nothing(condition, env, method, margin, n)
    sign = -1.0 if condition.metric == "final_regret" else 1.0  # less regret is better
    a, b = (sign * metric_values(condition, runs) for runs in pair)
    paired = bool(np.array_equal(pair[0].replicates, pair[1].replicates))
    test = statistics.paired_permutation_test if paired else statistics.permutation_test
    ahead = test(a, b + margin, STATISTIC, rng=rng, resamples=spec.statistics.permutations)
    behind = test(b + margin, a, STATISTIC, rng=rng, resamples=spec.statistics.permutations)
    low, high = _interval_of_differences(spec, a - b, rng) if paired else (np.nan, np.nan)
    held, opposite = (ahead, behind) if condition.test == "better" else (behind, ahead)
    kind = (
        f"{'paired by seed' if paired else 'unpaired'}, {ahead.permutations:,}"
        f" permutations{', all' if ahead.exact else ''}"
    )
    estimate, improvement = ahead.effect + margin, _improvement(a, b, paired)
    return TestResult(
        condition, env, f"{method} ({kind})", estimate, low, high, margin, held.p_value, opposite.p_value, None, None, improvement, n, "undecided"
    )  # fmt: skip


def _improvement(a: Floats, b: Floats, paired: bool) -> float:
    return (
        float((0.5 * (np.sign(a - b) + 1.0)).mean())
        if paired
        else float(statistics.probability_of_improvement(a, b))
    )


def _interval_of_differences(
    spec: Spec, differences: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    found = statistics.bootstrap_interval(
        differences,
        STATISTIC,
        rng=rng,
        confidence=spec.statistics.confidence,
        resamples=spec.statistics.resamples,
    )
    return float(found.low), float(found.high)


def _nothing(condition: Condition, env: str, method: str, bound: float, runs: int) -> TestResult:
    """Less than two runs decide nothing."""
    nan = float("nan")
    return TestResult(
        condition, env, method, nan, nan, nan, bound, None, None, None, None, None, runs, "undecided"
    )


def _corrected(tests: Sequence[TestResult], significance: float) -> list[TestResult]:
    """With Holm's correction over both directions of all tests, and the verdicts that follow."""
    p_values = [p for test in tests for p in (test.p_value, test.p_opposite) if p is not None]
    if not p_values:
        return list(tests)
    adjusted = iter(statistics.holm(p_values).tolist())
    return [
        _decided(test, next(adjusted), next(adjusted), significance) if test.p_value is not None else test
        for test in tests
    ]


def _decided(test: TestResult, adjusted: float, opposite: float, significance: float) -> TestResult:
    verdict: Verdict = (
        "reproduced"
        if adjusted <= significance
        else "not reproduced"
        if opposite <= significance
        else "undecided"
    )
    return test._replace(adjusted=adjusted, adjusted_opposite=opposite, verdict=verdict)
