"""Plan sweeps: every point of every sweep in every environment, packed into parts.

A sweep has hundreds of thousands of runs, which differ in nothing but numbers; so parts are larger than those
of tuning and evaluation, and their runs differ in their point as well as in their seed. A plan names parts
only: the ids of runs are made where they are computed.
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
    """Every sweep in every environment."""
    return [
        _plan_sweep(spec, key, sweep, env)
        for key, sweep in spec.maps.items()
        for env in envs_for(spec, sweep)
    ]


def check_sweeps(spec: Spec, where: str = "spec") -> None:
    """Build the agent of every sweep in every environment, with every value of its axes once."""
    for key, sweep in spec.maps.items():
        for env in envs_for(spec, sweep):
            for point in one_at_a_time(sweep.axes):
                with one_line_errors(f"{where}: maps.{key}{describe_point(point)} on {env}"):
                    backend_in(spec, env).counter_names(sweep.agent, _resolve(spec, sweep, env, point))
            with one_line_errors(f"{where}: maps.{key} on {env}"):
                sweep_axes(spec, sweep, env)


def sweep_axes(spec: Spec, sweep: SweepSpec, env: str) -> dict[str, tuple[float, ...]]:
    """The axes of a sweep as ascending numbers, by name.

    Their order in the file says how they are drawn, and no run depends on it.
    """
    first = next(one_at_a_time(sweep.axes))

    def numbers(name: str) -> tuple[float, ...]:
        values = sorted(_resolve(spec, sweep, env, {**first, name: v})[name] for v in sweep.axes[name])
        if twice := [value for value, following in itertools.pairwise(values) if value == following]:
            raise InputError(f"{key_path(['axes', name])} comes to {twice[0]:g} twice; leave one of them out")
        return tuple(values)

    return {name: numbers(name) for name in sorted(sweep.axes)}


def _resolve(spec: Spec, sweep: SweepSpec, env: str, point: Mapping[str, Any]) -> dict[str, Any]:
    backend = backend_in(spec, env)
    return backend.resolve_parameters(
        sweep.agent, {**sweep.parameters, **point}, run_length(spec, env) * backend.horizon
    )


def _plan_sweep(spec: Spec, key: str, sweep: SweepSpec, env: str) -> Sweep:
    axes, seeds = sweep_axes(spec, sweep, env), sweep.seeds or spec.envs[env].seeds or spec.seeds
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    runs = [(replicate, point) for point in points for replicate in range(seeds)]
    return Sweep(key, env, axes, seeds, tuple(_pack(_bare_part(spec, key, env), runs)))


def _bare_part(spec: Spec, key: str, env: str) -> Part:
    """Make the part that all runs of a sweep share, without runs."""
    sweep = spec.maps[key]
    units, complete = run_length(spec, env), _resolve(spec, sweep, env, next(one_at_a_time(sweep.axes)))
    return Part(
        env=spec.envs[env].env,
        env_parameters=spec.envs[env].parameters,
        agent=sweep.agent,
        parameters={name: value for name, value in complete.items() if name not in sweep.axes},
        units=units,
        steps=units * backend_in(spec, env).horizon,
        checkpoints=min(sweep.checkpoints, units),
        spacing="even",
        seed=spec.seed,
        phase="map",
        replicates=(),
        regret=spec.regret,
        keys=((key, env),),
    )


def _pack(bare: Part, runs: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Part]:
    per_part = max(1, min(MAX_RUNS, STEPS_PER_PART // bare.steps))
    for k in range(0, len(runs), per_part):
        replicates, variants = zip(*runs[k : k + per_part], strict=True)
        yield bare.changed(replicates=replicates, variants=variants)
