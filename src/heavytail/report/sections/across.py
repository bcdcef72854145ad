"""Agents against environments: how each did everywhere, in one map.

With an environment for each scale of the noise and an agent for each value of a parameter, that is the map of
one against the other.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from heavytail.report.figures.heatmaps import HeatMap, Measure, heat_maps
from heavytail.studies.results import Task, mean_reward_in
from heavytail.studies.specs.spec import Spec, env_kind

LEAST = 3  # agents and environments; fewer are seen at a glance in their tables


class AgentEnvMatrix(NamedTuple):
    """A map of agents against environments of one kind."""

    name: str
    map: HeatMap
    measure: Measure


def across_of(spec: Spec, tasks: Mapping[str, Task]) -> list[AgentEnvMatrix]:
    """A map for each kind of environments of which there are enough, with enough agents in common."""
    kinds: dict[str, list[Task]] = {}
    for key, task in tasks.items():
        kinds.setdefault(env_kind(spec.envs[key].env), []).append(task)
    found = [_across(kind, spec, some) for kind, some in kinds.items()]
    return [each for each in found if min(each.map.values.shape) >= LEAST]


def _across(kind: str, spec: Spec, tasks: Sequence[Task]) -> AgentEnvMatrix:
    medians = {
        (agent.key, task.key): float(np.median(mean_reward_in(agent.runs, 0.9, 1.0)))
        for task in tasks
        for agent in task.agents
    }
    agents = [key for key in spec.agents if sum((key, task.key) in medians for task in tasks) >= LEAST]
    there = [task for task in tasks if sum((key, task.key) in medians for key in agents) >= LEAST]
    measure = _measure(spec, there)
    wholes = [task.optimum if measure.share and task.optimum else 1.0 for task in there]
    values = [
        [medians.get((key, task.key), np.nan) / whole for task, whole in zip(there, wholes, strict=True)]
        for key in agents
    ]
    labels = [spec.agents[key].label for key in agents]
    shape = (len(agents), len(there))
    return AgentEnvMatrix(
        f"map-{kind}",
        HeatMap(
            {},
            "agent",
            "environment",
            labels,
            [task.label for task in there],
            np.reshape(values, shape),
            None,
        ),
        measure,
    )


def _measure(spec: Spec, tasks: Sequence[Task]) -> Measure:
    """Shares of the optimum compare everywhere.

    Rewards do only where the environment differs in nothing but its parameters.
    """
    if all(task.optimum for task in tasks):
        return Measure(
            "median reward in the last tenth, of the optimum",
            "reward",
            large_is_good=True,
            share=True,
            missing="–",
        )
    same = len({spec.envs[task.key].env for task in tasks}) == 1
    words = f"median {tasks[0].reward} per {tasks[0].per} in the last tenth"
    return Measure(words, tasks[0].reward, large_is_good=True, by_column=not same, missing="–")


def across_section(maps: Sequence[AgentEnvMatrix], pictures: Sequence[str]) -> str:
    """The maps of a study, each with a link to the same for paper."""
    return "".join(
        (
            f"<p class=quiet>{escape(_words(each))} <a"
            f' href="{escape(picture)}">SVG</a></p>\n{heat_maps([each.map], each.measure)}'
        )
        for each, picture in zip(maps, pictures, strict=True)
    )


def _words(across: AgentEnvMatrix) -> str:
    scale = "a scale of each environment's own" if across.measure.by_column else "one scale for all"
    gaps = " A dash: the agent did not run there." if np.isnan(across.map.values).any() else ""
    return f"{across.measure.words.capitalize()}. Bright is good, on {scale}.{gaps}"
