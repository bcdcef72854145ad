"""Tests of a study's claims.

Each condition on each of its environments is a test that can come out either way. The kind of test is one of
`comparisons` or `thresholds`, or one that a plugin registers as ``@register("claim", NAME)``.

All p-values of a study, for both directions of every comparison, share one correction (Holm). A claim is
reproduced if all its tests are, not reproduced if any comes out the other way, and undecided otherwise.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.registry import find
from heavytail.studies.results import LAST_TENTH, Runs, final_regret, gather_runs, mean_reward_in
from heavytail.studies.specs.spec import Claim, Condition, SpawnKey, Spec, StatisticsSpec, envs_for, make_rng

if TYPE_CHECKING:
    import pandas as pd

Verdict: TypeAlias = Literal["reproduced", "not reproduced", "undecided"]
SPANS = {"first_hundredth": (0.0, 0.01), "first_tenth": (0.0, 0.1), "last_tenth": LAST_TENTH}


class TestResult(NamedTuple):
    """The result of a condition on one environment."""

    condition: Condition
    env: str
    method: str
    estimate: float  # of two agents: by how much the first is better; of one: its median
    low: float  # the ends of its bootstrap interval; NaN if there is none
    high: float
    bound: float  # the reference of the estimate: 0, the margin, or the value
    p_value: float | None = None  # for the condition; None if an interval decides
    p_opposite: float | None = None  # for its opposite; there is one wherever there is a p-value
    adjusted: float | None = None  # the same after Holm's correction
    adjusted_opposite: float | None = None
    improvement: float | None = None  # the probability that the first agent does better in a pair of runs
    runs: int = 0
    verdict: Verdict = "undecided"


class Evidence(NamedTuple):
    """The data for testing a condition on one environment."""

    condition: Condition
    env: str
    runs: Runs  # of the condition's agent
    than: Runs | None  # of the agent that it is compared with
    whole: float  # what values and margins are shares of: the optimum, or a bound on regret
    statistics: StatisticsSpec
    rng: np.random.Generator

    @property
    def value(self) -> float:
        """The condition's value; for a bound 1 by default."""
        given = self.condition.value
        return given if given is not None else 1.0 if self.condition.of else 0.0


class Words(NamedTuple):
    """The words of a sentence about a condition, and formats of its numbers."""

    agent: str
    than: str
    metric: str
    of_optimum: str  # " of the optimum" if values are shares of it, else empty
    number: Callable[[float], str]
    percent: Callable[[float], str]


class ClaimKind(ABC):
    """One kind of test."""

    compares: ClassVar[bool] = False  # whether it compares the condition's agent with another, `than`
    is_rate: ClassVar[bool] = False  # whether its numbers are shares of runs

    def check(self, condition: Condition) -> None:
        """Raise InputError if a spec's condition lacks something, or asks for what this kind cannot test."""
        reject_bound(condition)

    @abstractmethod
    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test the condition; if there are p-values, Holm's correction of them decides later."""

    @abstractmethod
    def sentence(self, condition: Condition, words: Words) -> str:
        """Describe the test, without the environment."""


def reject_bound(condition: Condition) -> None:
    """Raise InputError if a condition names a bound on regret."""
    if condition.of:
        raise InputError(
            f"of is {condition.of!r}, a bound on regret; that is for 'at_least' and 'at_most' of metric ="
            ' "final_regret"'
        )


class ClaimResult(NamedTuple):
    """A claim, its tests and the verdict."""

    claim: Claim
    tests: list[TestResult]
    verdict: Verdict

    @property
    def decisive_test(self) -> TestResult | None:
        """The decisive test of the verdict: the weakest of those that agree with it."""
        same = [test for test in self.tests if test.verdict == self.verdict]
        return max(same, key=lambda test: test.adjusted or 0.0, default=None)

    @property
    def words(self) -> str:
        """The verdict in the words of a report."""
        return say_verdict(self.verdict, self.claim)

    @property
    def found(self) -> str:
        """The sentence that the spec has for this verdict; empty if it has none."""
        return getattr(self.claim.found, self.verdict.replace(" ", "_")) if self.claim.found else ""


def say_verdict(verdict: Verdict, claim: Claim) -> str:
    """Word a verdict: a paper's claims are reproduced, a study's own are supported."""
    return verdict if claim.place else verdict.replace("reproduced", "supported")


def find_kind(condition: Condition) -> ClaimKind:
    """Find the kind of test that a condition names."""
    kind: ClaimKind = find("claim", condition.test).builder()
    return kind


def evaluate_claims(
    spec: Spec,
    curves: "pd.DataFrame",
    optima: Mapping[str, float | None],
    bounds: Mapping[str, Mapping[str, float]] | None = None,
) -> list[ClaimResult]:
    """Evaluate all claims; the same spec and curves give the same numbers.

    Args:
        spec: the spec with the claims.
        curves: the evaluation, as returned by `Study.curves`.
        optima: by environment, the best mean reward per episode or step; None if it is unknown, and values
            and margins are then absolute.
        bounds: by environment and name, bounds on the regret of a whole run.
    """
    cells = {
        (str(agent), str(env)): gather_runs(rows)
        for (agent, env), rows in curves.groupby(["agent_key", "env_key"])
        if spec.claims
    }

    def test(condition: Condition, env: str, *place: int) -> TestResult:
        runs, than = cells[condition.agent, env], cells.get((condition.than, env))
        whole = _whole(condition, runs, optima[env], (bounds or {}).get(env, {}))
        rng = make_rng(spec.seed, SpawnKey.CLAIMS, *place)
        evidence = Evidence(condition, env, runs, than, whole, spec.statistics, rng)
        return find_kind(condition).evaluate(evidence)

    tested = [
        [
            test(condition, env, i, j, k)
            for j, condition in enumerate(claim.conditions)
            for k, env in enumerate(tested_envs(spec, condition))
        ]
        for i, claim in enumerate(spec.claims)
    ]
    corrected = iter(_corrected([test for tests in tested for test in tests], spec.statistics.significance))
    decided = [[next(corrected) for _ in tests] for tests in tested]
    return [
        ClaimResult(claim, tests, combine_verdicts([test.verdict for test in tests]))
        for claim, tests in zip(spec.claims, decided, strict=True)
    ]


def combine_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts of tests into that of their claim.

    >>> combine_verdicts(["reproduced", "undecided"]), combine_verdicts(["undecided", "not reproduced"])
    ('undecided', 'not reproduced')
    """
    if "not reproduced" in verdicts:
        return "not reproduced"
    return "reproduced" if verdicts and set(verdicts) == {"reproduced"} else "undecided"


def metric_values(condition: Condition, runs: Runs) -> Floats:
    """Compute the metric of a condition [run]."""
    if condition.metric == "final_regret":
        return final_regret(runs)
    if condition.metric in SPANS:
        return mean_reward_in(runs, *SPANS[condition.metric])
    return runs.counters[condition.counter][:, -1]


def tested_envs(spec: Spec, condition: Condition) -> list[str]:
    """List the environments of a condition: by default all where its agents run."""
    agents = [spec.agents[key] for key in (condition.agent, condition.than) if key]
    return condition.envs or [
        env for env in spec.envs if all(env in envs_for(spec, agent) for agent in agents)
    ]


def undecided(evidence: Evidence, method: str, bound: float, runs: int) -> TestResult:
    """Return the result of a test with too few runs to decide."""
    nan = float("nan")
    return TestResult(evidence.condition, evidence.env, method, nan, nan, nan, bound, runs=runs)


def _whole(condition: Condition, runs: Runs, optimum: float | None, bounds: Mapping[str, float]) -> float:
    """Return the quantity of which a condition's values and margins are shares."""
    if condition.of:
        return bounds[condition.of]
    if optimum is None or condition.metric == "counter":
        return 1.0
    units = int(runs.at[-1]) if len(runs.at) else 1
    return optimum * units if condition.metric == "final_regret" else optimum


def _corrected(tests: Sequence[TestResult], significance: float) -> list[TestResult]:
    """Apply Holm's correction over both directions of all tests, and decide by it."""
    p_values = [p for test in tests for p in (test.p_value, test.p_opposite) if p is not None]
    if not p_values:
        return list(tests)
    adjusted = iter(statistics.holm(p_values).tolist())
    return [
        _decided(test, next(adjusted), next(adjusted), significance) if test.p_value is not None else test
        for test in tests
    ]


def _decided(test: TestResult, adjusted: float, opposite: float, significance: float) -> TestResult:
    verdict: Verdict = "undecided"
    if adjusted <= significance:
        verdict = "reproduced"
    elif opposite <= significance:
        verdict = "not reproduced"
    return test._replace(adjusted=adjusted, adjusted_opposite=opposite, verdict=verdict)
