"""The claims of a spec: sentences, and the conditions that must hold for each."""

from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from heavytail.studies.specs.envs import Frozen

Metric: TypeAlias = Literal["final_regret", "last_tenth", "first_tenth", "first_hundredth", "counter"]


class Condition(Frozen):
    """One thing that must hold for a claim, on every environment it names.

    `test` is a kind of claim (`heavytail.studies.claims`). "better": `agent` beats `than`; "no_gain": it does
    not, by more than `margin` of the optimum; "no_worse": `agent` is at least as good, but for `margin` of
    what the other reaches; "at_least" and "at_most": its median reaches `value`, as a
    share of the optimum (of a counter: as it is), or as a multiple of a bound on regret, if `of` names one;
    "rate_at_least" and "rate_at_most": the share of runs whose counter is above 0; "ratio_at_most": its
    median regret is at most `value` times that of `than`, or its mean one; "stuck_at_most": the share of runs
    that end below 1 - `margin` of the optimum.
    """

    test: str
    agent: str
    than: str = ""
    envs: Annotated[list[str], Field(min_length=1)] | None = None
    metric: Metric = "last_tenth"
    counter: str = ""
    value: float | None = None
    of: str = ""  # a bound that the environment shows; the value is then 1 if left out
    # what must reach the value, by its name among `heavytail.statistics`: the mean where theory speaks of
    # expected regret
    statistic: str = "median"
    margin: Annotated[float, Ge(0)] = 0.01


class Found(Frozen):
    """What each verdict on a claim means, in a plain sentence for the top of the report."""

    reproduced: str
    not_reproduced: str
    undecided: str


class Claim(Frozen):
    """A sentence that the study tests."""

    claim: str
    place: str = ""  # in a paper; such a claim is reproduced, one of the study's own is supported
    note: str = ""
    conditions: Annotated[list[Condition], Field(min_length=1)]
    found: Found | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out `found` where it is not: studies without it keep their digest."""
        values: dict[str, Any] = serialise(self)
        return {key: value for key, value in values.items() if key != "found" or value is not None}
