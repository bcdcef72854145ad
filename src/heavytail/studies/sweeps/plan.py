"""From the maps of a spec to work: every point of every map in every environment, packed into parts.

A map has hundreds of thousands of runs, and one world of those that differ in nothing but numbers; so parts
are larger than those of tuning and evaluation, and their runs differ in their point as well as in their seed.
A plan names parts only: the ids of runs are made where they are done.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heavytail.errors import InputError, key_path
from heavytail.studies.plan import Part, Sweep, backend_in, run_length
from heavytail.studies.specs.messages import describe_point, one_line_errors
from heavytail.studies.specs.spec import Spec, envs_for, one_at_a_time
from heavytail.studies.specs.sweeps import SweepSpec

STEPS_PER_PART = 1_600_000_000  # about a minute of one core; 128 runs at the paper's length
MAX_RUNS = 4096  # in a part


def plan_sweeps(spec: Spec) -> list[Sweep]:
    """Every map in every environment."""
    return [_sheet(spec, key, said, env) for key, said in spec.maps.items() for env in envs_for(spec, said)]


def check_maps(spec: Spec, where: str = "spec") -> None:
    """Build the agent of every map in every environment, with every value of its axes once."""
    for key, said in spec.maps.items():
        for env in envs_for(spec, said):
            for point in one_at_a_time(said.axes):
                with one_line_errors(f"{where}: maps.{key}{describe_point(point)} on {env}"):
                    backend_in(spec, env).counters(said.agent, _resolved(spec, said, env, point))
            with one_line_errors(f"{where}: maps.{key} on {env}"):
                sweep_axes(spec, said, env)


def sweep_axes(spec: Spec, said: SweepSpec, env: str) -> dict[str, tuple[float, ...]]:
    """The axes of a map as numbers that ascend, by name.

    Their order in the file is how they are drawn, and no run depends on it.
    """
    first = next(one_at_a_time(said.axes))

    def numbers(name: str) -> tuple[float, ...]:
        found = sorted(_resolved(spec, said, env, {**first, name: value})[name] for value in said.axes[name])
        if twice := [value for value, following in itertools.pairwise(found) if value == following]:
            raise InputError(f"{key_path(['axes', name])} comes to {twice[0]:g} twice; leave one of them out")
        return tuple(found)

    return {name: numbers(name) for name in sorted(said.axes)}


def _resolved(spec: Spec, said: SweepSpec, env: str, point: Mapping[str, Any]) -> dict[str, Any]:
    backend = backend_in(spec, env)
    return backend.resolved(said.agent, {**said.parameters, **point}, run_length(spec, env) * backend.horizon)


def _sheet(spec: Spec, key: str, said: SweepSpec, env: str) -> Sweep:
    axes, seeds = sweep_axes(spec, said, env), said.seeds or spec.envs[env].seeds or spec.seeds
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    runs = [(replicate, point) for point in points for replicate in range(seeds)]
    return Sweep(key, env, axes, seeds, tuple(_packed(_bare_part(spec, said, env), runs)))


def _bare_part(spec: Spec, said: SweepSpec, env: str) -> Part:
    """What all runs of a sheet have in common, as a part without runs."""
    units, complete = run_length(spec, env), _resolved(spec, said, env, next(one_at_a_time(said.axes)))
    return Part(
        env=spec.envs[env].env,
        env_parameters=spec.envs[env].parameters,
        agent=said.agent,
        parameters={name: value for name, value in complete.items() if name not in said.axes},
        units=units,
        steps=units * backend_in(spec, env).horizon,
        checkpoints=min(said.checkpoints, units),
        spacing="even",
        seed=spec.seed,
        phase="map",
        replicates=(),
    )


def _packed(bare: Part, runs: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Part]:
    per_part = max(1, min(MAX_RUNS, STEPS_PER_PART // bare.steps))
    for k in range(0, len(runs), per_part):
        replicates, variants = zip(*runs[k : k + per_part], strict=True)
        yield bare.changed(replicates=replicates, variants=variants)
