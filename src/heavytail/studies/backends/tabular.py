"""The backend of MDPs: tabular agents, one run after the other."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from heavytail.arrays import Floats, Ints
from heavytail.envs import make_mdp
from heavytail.kernels.verbs import counter_names
from heavytail.mdp.changing import ChangingMDP
from heavytail.mdp.mdp_file import as_changing
from heavytail.mdp.problem import Problem, make_problem
from heavytail.planning.regret import best_rates, best_rewards, regret_by_gaps
from heavytail.registry import find
from heavytail.studies.backends.backend import RunCurve, RunResult, WorkContext, failure
from heavytail.studies.part import Part, Run
from heavytail.training.curve import place_checkpoints
from heavytail.training.make_agent import make_agent, with_true_values


class TabularBackend:
    """An MDP, or several that follow each other."""

    varying: frozenset[str] = frozenset()
    max_runs: int | None = None
    longest_episode = 1
    is_exclusive = False

    def __init__(self, env: str, parameters: Mapping[str, Any]) -> None:
        self.mdp = as_changing(make_mdp(env, **parameters))
        self.problem: Problem = make_problem(*self.mdp.mdps)
        self.unit: Literal["episode", "step"] = "episode" if self.problem.horizon else "step"
        self.horizon = max(self.problem.horizon, 1)
        self._rates: list[float] | None = None

    @cached_property
    def mdp_with_gaps(self) -> ChangingMDP:
        """The MDP for runs that record gaps."""
        return regret_by_gaps(self.mdp)

    def mdp_for(self, part: Part) -> ChangingMDP:
        """Return the MDP in which the runs of a part step."""
        return self.mdp_with_gaps if part.regret == "gaps" else self.mdp

    def best(self, at: Ints) -> Floats:
        """Return the mean cumulative reward of the best policy of each MDP while it lasts."""
        if self._rates is None:  # here, because planning a study does not need it
            self._rates = best_rates(self.mdp)
        return best_rewards(self.mdp, self._rates, at)

    def resolve_parameters(self, agent: str, parameters: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Check an agent's parameters and fill in the defaults.

        `planned_steps` (T) is the length of the run.
        """
        entry, given = find("agent", agent), dict(parameters)
        if "planned_steps" in entry.parameters and "planned_steps" not in given:
            given["planned_steps"] = steps
        given = with_true_values(agent, given, self.problem, self.mdp.mdps)
        complete = entry.arguments(self.problem, **given)
        del complete["problem"]
        return complete

    def counter_names(self, agent: str, parameters: Mapping[str, Any]) -> Sequence[str]:
        """Return the names of the agent's counters."""
        return counter_names(find("agent", agent).builder(self.problem, **parameters))

    def checkpoints(self, part: Part) -> Ints:
        """Return the episodes or steps after which the runs of a part are recorded."""
        return place_checkpoints(0, part.units, part.checkpoints, part.spacing)

    def run(self, part: Part, context: WorkContext) -> Iterator[RunResult]:
        """Compute one run after the other."""
        for run in part.runs:
            try:
                yield self._run(part, run)
            except Exception as error:  # noqa: BLE001 - it is recorded, and the other runs continue
                yield failure(error)

    def made_with(self) -> dict[str, str]:
        """Return nothing beyond what all parts record."""
        return {}

    def _run(self, part: Part, run: Run) -> RunCurve:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a study plans its own steps, and nobody sees a worker's
            learner = make_agent(
                self.mdp_for(part), part.agent, seed=part.seed_for(run.replicate), **run.parameters
            )
            amount: dict[str, Any] = {learner.unit: part.units}
            curve = learner.learn(**amount, checkpoints=part.checkpoints, spacing=part.spacing)
        return RunCurve(
            curve.at,
            curve.mean_reward,
            curve.realised_reward,
            self.best(curve.at) - curve.mean_reward,
            curve.counters,
        )
