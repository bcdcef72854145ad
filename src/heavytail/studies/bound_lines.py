"""Bounds on regret as numbers along an axis, to be drawn beside the regret of agents."""

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from heavytail.arrays import Floats
from heavytail.bounds import Bound, Quantities, bounds_at, quantities_of
from heavytail.bounds.catalogue import theorems
from heavytail.errors import InputError, suggestion
from heavytail.studies.backends import backend_for
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.results import BoundLine
from heavytail.studies.specs.spec import EnvSpec, canonical

FAR = np.array([1e150, 1e300])  # steps between which a bound grows as in the limit, but for a thousandth


def bound_lines(env: EnvSpec, at: Floats) -> tuple[BoundLine, ...]:
    """The bounds of an environment along a run, at so many episodes or steps."""
    return _lines([env], at, [at])


def lines_across(envs: Sequence[EnvSpec], at: Floats, lengths: Sequence[int]) -> tuple[BoundLine, ...]:
    """The bounds of environments that stand along an axis, each at the end of its runs."""
    return _lines(envs, at, [np.array([length], np.float64) for length in lengths])


def check_bounds(env: EnvSpec) -> None:
    """Raise InputError if an environment shows bounds that it does not have."""
    bound_lines(env, np.array([1e6]))


def _lines(envs: Sequence[EnvSpec], at: Floats, units: Sequence[Floats]) -> tuple[BoundLine, ...]:
    shown = envs[-1].bounds.shown if envs[-1].bounds else []
    return tuple(_line(name, at, envs, units) for name in shown)


def _line(name: str, at: Floats, envs: Sequence[EnvSpec], units: Sequence[Floats]) -> BoundLine:
    bounds = [
        _bound(name, env, each * backend_for(env.env, env.parameters).horizon)
        for env, each in zip(envs, units, strict=True)
    ]
    last, words = bounds[-1], theorems()[name].label
    return BoundLine(
        name=name,
        label=words if last.is_lower else f"bound of {words}",
        at=at,
        values=np.concatenate([bound.total for bound in bounds]),
        share=np.nan if last.is_lower else float(np.exp(last.log_total[-1] - last.log_trivial[-1])),
        limit=float(np.diff(_bound(name, envs[-1], FAR).log_total)[0] / np.diff(np.log(FAR))[0]),
    )


def _bound(name: str, env: EnvSpec, steps: Floats) -> Bound:
    """A bound for an environment; of several MDPs, the largest at the last of these steps."""
    if env.bounds is None:
        raise InputError("its bounds are not named")
    quantities = _quantities(env.env, canonical(env.parameters), env.bounds.epsilon)
    by_mdp = [bounds_at(each, steps, env.bounds.delta, changes=len(quantities)) for each in set(quantities)]
    for bounds in by_mdp:
        if name not in bounds.regret:
            left_out = bounds.left_out.get(name)
            reason = f": {left_out}" if left_out is not None else f"; {suggestion(name, bounds.regret)}"
            raise InputError(f"there is no bound {name!r}{reason}")
    return max((bounds.regret[name] for bounds in by_mdp), key=lambda bound: float(bound.log_total[-1]))


@lru_cache(maxsize=256)
def _quantities(env: str, parameters: str, epsilon: float | None) -> tuple[Quantities, ...]:
    backend = backend_for(env, json.loads(parameters))
    if not isinstance(backend, TabularBackend):
        raise InputError("there are bounds for MDPs only")
    return tuple(quantities_of(mdp, epsilon) for mdp in backend.mdp.mdps)
