"""Families of environments as maps: which agent is how good where, when two numbers vary.

Families of one environment whose axes agree and whose parameters differ in one number span a grid: the axis
to the right, that number upwards. Every agent has a map of its median final regret over the least of all
agents there: 1 where it is the best.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from heavytail.checks import is_number
from heavytail.report.figures.agent_env_matrix import EnvMap
from heavytail.report.figures.heat_maps import HeatMap, Measure
from heavytail.studies.results import Task
from heavytail.studies.specs.envs import FamilySpec
from heavytail.studies.specs.spec import Spec

MEASURE = Measure(
    "median final regret, over the least of all agents there", "regret", large_is_good=False, missing="–"
)
MIN_SHARE = 1e-3  # of the largest regret at a point: luck can make one negative, and all below it are alike


def make_family_maps(spec: Spec, tasks: Mapping[str, Task]) -> list[EnvMap]:
    """Make maps of all families that span a grid."""
    return [
        EnvMap(f"map-{env}-{axis}-{name}", _make_maps(spec, tasks, keys, name), MEASURE, f"{env}: ")
        for env, axis, name, keys in _find_grids(spec.families)
        if all(task.optimum for key, task in tasks.items() if spec.envs[key].family in keys)
    ]


def _find_grids(families: Mapping[str, FamilySpec]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Find the environment, the axis, the number that differs and the keys of families that span a grid."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for key, family in families.items():
        groups.setdefault((family.env or key, family.axis, repr(family.vary)), []).append(key)
    for (env, axis, _), keys in groups.items():
        parameters = [families[key].parameters for key in keys]
        names = {name for each in parameters for name in each}
        differing = [name for name in names if len({repr(each.get(name)) for each in parameters}) > 1]
        numbers = [each.get(differing[0]) for each in parameters] if len(differing) == 1 else []
        if len(keys) > 1 and len(set(map(repr, numbers))) == len(keys) and all(map(is_number, numbers)):
            ordered = sorted(keys, key=lambda key: families[key].parameters[differing[0]])
            yield env, axis, differing[0], ordered


def _make_maps(spec: Spec, tasks: Mapping[str, Task], keys: Sequence[str], name: str) -> list[HeatMap]:
    first = spec.families[keys[0]]
    agents = [
        key
        for key in spec.agents
        if any(key == agent.key for task in tasks.values() for agent in task.agents)
    ]
    regrets = np.full((len(agents), len(keys), len(first.vary[first.axis])), np.nan)
    for row, family in enumerate(keys):
        members = [task for key, task in tasks.items() if spec.envs[key].family == family]
        for column, task in enumerate(members):
            for agent in task.agents:
                regrets[agents.index(agent.key), row, column] = np.median(agent.runs.regret[:, -1])
    regrets = np.maximum(regrets, MIN_SHARE * np.nanmax(regrets, axis=0))
    ratios = regrets / np.nanmin(regrets, axis=0)
    rows = [spec.families[key].parameters[name] for key in keys]
    return [
        HeatMap(
            fixed={"agent": spec.agents[key].label},
            row_name=name,
            column_name=first.axis,
            rows=rows[::-1],
            columns=list(first.vary[first.axis]),
            values=values[::-1],
            chosen=None,
        )
        for key, values in zip(agents, ratios, strict=True)
    ]
