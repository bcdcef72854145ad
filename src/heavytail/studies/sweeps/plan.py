"""From the maps of a spec to work: every point of every map in every environment, packed into parts.

A map has hundreds of thousands of runs, and one world of those that differ in nothing but numbers; so parts are larger than those of tuning and evaluation, and their runs differ
in their point as well as in their seed. A plan names parts only: the ids of runs are made where they are done.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heavytail.errors import InputError, place_of
from heavytail.studies.plan import Part, Sheet, length_of, world_in
from heavytail.studies.specs.messages import at_point, one_line
from heavytail.studies.specs.spec import Spec, envs_of, one_value_each
from heavytail.studies.specs.sweeps import MapSpec

STEPS_PER_PART = 1_600_000_000  # about a minute of one core; 128 runs at the paper's length
MOST_RUNS = 4096  # in a part


def map_sheets(spec: Spec) -> list[Sheet]:
    """Every map in every environment."""
    return [_sheet(spec, key, said, env) for key, said in spec.maps.items() for env in envs_of(spec, said)]


def check_maps(spec: Spec, where: str = "spec") -> None:
    """Build the agent of every map in every environment, with every value of its axes once."""
    for key, said in spec.maps.items():
        for env in envs_of(spec, said):
            for point in one_value_each(said.axes):
                with one_line(f"{where}: maps.{key}{at_point(point)} on {env}"):
                    world_in(spec, env).counters(said.agent, _resolved(spec, said, env, point))
            with one_line(f"{where}: maps.{key} on {env}"):
                axes_of(spec, said, env)


def axes_of(spec: Spec, said: MapSpec, env: str) -> dict[str, tuple[float, ...]]:
    """The axes of a map as numbers that ascend, by name: their order in the file is how they are drawn, and no run depends on it."""
    first = next(one_value_each(said.axes))

    def numbers(name: str) -> tuple[float, ...]:
        found = sorted(_resolved(spec, said, env, {**first, name: value})[name] for value in said.axes[name])
        if twice := [value for value, following in itertools.pairwise(found) if value == following]:
            raise InputError(f"{place_of(['axes', name])} comes to {twice[0]:g} twice; leave one of them out")
        return tuple(found)

    return {name: numbers(name) for name in sorted(said.axes)}


def _resolved(spec: Spec, said: MapSpec, env: str, point: Mapping[str, Any]) -> dict[str, Any]:
    world = world_in(spec, env)
    return world.resolved(said.agent, {**said.parameters, **point}, length_of(spec, env) * world.horizon)


def _sheet(spec: Spec, key: str, said: MapSpec, env: str) -> Sheet:
    axes, seeds = axes_of(spec, said, env), said.seeds or spec.envs[env].seeds or spec.seeds
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    runs = [(replicate, point) for point in points for replicate in range(seeds)]
    return Sheet(key, env, axes, seeds, tuple(_packed(_bare_part(spec, said, env), runs)))


def _bare_part(spec: Spec, said: MapSpec, env: str) -> Part:
    """What all runs of a sheet have in common, as a part without runs."""
    units, complete = length_of(spec, env), _resolved(spec, said, env, next(one_value_each(said.axes)))
    return Part(
        env=spec.envs[env].env,
        env_parameters=spec.envs[env].parameters,
        agent=said.agent,
        parameters={name: value for name, value in complete.items() if name not in said.axes},
        units=units,
        steps=units * world_in(spec, env).horizon,
        checkpoints=min(said.checkpoints, units),
        spacing="even",
        seed=spec.seed,
        phase="map",
        replicates=(),
    )


def _packed(bare: Part, runs: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Part]:
    per_part = max(1, min(MOST_RUNS, STEPS_PER_PART // bare.steps))
    for k in range(0, len(runs), per_part):
        replicates, variants = zip(*runs[k : k + per_part], strict=True)
        yield bare.changed(replicates=replicates, variants=variants)
