"""Agents against environments: how each did everywhere, in one heat map.

With an environment for each scale of the noise and an agent for each value of a parameter, that is the map of
one against the other.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heavytail.report.figures.figure import Figure
from heavytail.report.figures.heat_maps import HeatMap, Measure, make_heat_map_figure
from heavytail.studies.results import Task, final_reward
from heavytail.studies.specs.spec import Spec, env_kind

MIN_SIDE = 3  # agents and environments; fewer are seen at a glance in their tables


class EnvMap(NamedTuple):
    """Maps, side by side, of what agents reach in several environments."""

    name: str
    maps: list[HeatMap]
    measure: Measure
    title_prefix: str = ""

    @property
    def title(self) -> str:
        """The quantity in its tiles, and where."""
        return self.title_prefix + self.measure.words.capitalize()

    def make_figure(self) -> Figure:
        """Describe it for paper."""
        return make_heat_map_figure(self.maps, self.measure, self.title)


def make_agent_env_matrices(spec: Spec, tasks: Mapping[str, Task]) -> list[EnvMap]:
    """Make a map for each kind of environments of which there are enough, with enough agents in common."""
    kinds: dict[str, list[Task]] = {}
    for key, task in tasks.items():
        kinds.setdefault(env_kind(spec.envs[key].env), []).append(task)
    matrices = [_make_matrix(kind, spec, some) for kind, some in kinds.items()]
    return [matrix for matrix in matrices if min(matrix.maps[0].values.shape) >= MIN_SIDE]


def _make_matrix(kind: str, spec: Spec, tasks: Sequence[Task]) -> EnvMap:
    medians = {
        (agent.key, task.key): float(np.median(final_reward(agent.runs)))
        for task in tasks
        for agent in task.agents
    }
    agents = [key for key in spec.agents if sum((key, task.key) in medians for task in tasks) >= MIN_SIDE]
    columns = [task for task in tasks if sum((key, task.key) in medians for key in agents) >= MIN_SIDE]
    measure = _choose_measure(spec, columns)
    wholes = [task.optimum if measure.share and task.optimum else 1.0 for task in columns]
    values = [
        [medians.get((key, task.key), np.nan) / whole for task, whole in zip(columns, wholes, strict=True)]
        for key in agents
    ]
    heat_map = HeatMap(
        fixed={},
        row_name="agent",
        column_name="environment",
        rows=[spec.agents[key].label for key in agents],
        columns=[task.label for task in columns],
        values=np.reshape(values, (len(agents), len(columns))),
        chosen=None,
    )
    return EnvMap(f"map-{kind}", [heat_map], measure)


def _choose_measure(spec: Spec, tasks: Sequence[Task]) -> Measure:
    """Shares of the optimum where it is known: they compare everywhere.

    Rewards compare only where environments differ in nothing but their parameters.
    """
    if all(task.optimum for task in tasks):
        words = "median reward in the last tenth, of the optimum"
        return Measure(words, "reward", large_is_good=True, share=True, missing="–")
    same = len({spec.envs[task.key].env for task in tasks}) == 1
    words = f"median {tasks[0].reward} per {tasks[0].per} in the last tenth"
    return Measure(words, tasks[0].reward, large_is_good=True, by_column=not same, missing="–")
