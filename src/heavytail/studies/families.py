"""Families of environments, as a report shows them: what agents lost against what the environments differ in."""

from collections.abc import Mapping

import numpy as np

from heavytail.planning import policy_gap
from heavytail.report.curves import Task
from heavytail.report.families import Family
from heavytail.studies.env_specs import LENGTHS, EnvSpec
from heavytail.studies.plan import length_of
from heavytail.studies.spec import Spec
from heavytail.studies.tabular import Tabular
from heavytail.studies.theory_lines import lines_across
from heavytail.studies.worlds import world_of


def families_of(spec: Spec, tasks: Mapping[str, Task]) -> list[Family]:
    """The families of a study, each with the tasks of its members."""
    return [_family(spec, key, {name: env for name, env in spec.envs.items() if env.family == key}, tasks) for key in spec.families]


def _family(spec: Spec, key: str, members: Mapping[str, EnvSpec], tasks: Mapping[str, Task]) -> Family:
    said = spec.families[key]
    at = np.array([env.at for env in members.values()], np.float64)
    lengths = [length_of(spec, name) for name in members]
    return Family(
        key=key,
        place=tasks[next(iter(members))].place,
        label=said.label or key,
        axis=said.axis,
        grows=said.axis in LENGTHS,
        members=[tasks[name] for name in members],
        at=at,
        at_stake=np.array([_at_stake(env, n) for env, n in zip(members.values(), lengths, strict=True)]) if said.over_gap else None,
        bounds=lines_across(list(members.values()), at, lengths),
    )


def _at_stake(env: EnvSpec, length: int) -> float:
    """What the second best policy loses in a run; NaN where an MDP changes, and where nobody knows."""
    world = world_of(env.env, env.parameters)
    if not isinstance(world, Tabular) or len(world.worlds.mdps) > 1:
        return float("nan")
    return policy_gap(world.worlds.mdps[0]) * world.horizon * length
