"""The parameters of `heavy_dqn`, checked and completed.

Needs no JAX, so that runs can be planned without it.

What is in `Settings` is the same for all runs of a batch, and each combination is compiled; the runs may
differ in what is in `RunSettings`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from heavytail.checks import Count, MomentOrder, NonNegative, Positive, Probability, cast_value
from heavytail.deep.parameters import CAPS, GYMNAX, OF_A_BATCH, OF_A_RUN, OF_AN_ENVIRONMENT
from heavytail.errors import InputError, suggestion


class Settings(NamedTuple):
    """What all runs of a batch share."""

    total_steps: Count
    cap: Count  # steps in an episode; the paper does not say how many
    hidden: tuple[int, ...]
    discount: Probability
    batch: Count
    replay: Count
    start: Count
    update_every: Count
    target_every: Count
    adam_epsilon: Positive
    last_exploration: Probability
    exploration_share: Annotated[float, Gt(0), Le(1)]
    loss: Literal["huber", "squared"]
    transform_at: Literal["collection", "replay"]
    bits: Annotated[int, Ge(1), Le(31)]  # of the hash; codes are numbers of 32 bits with a sign


class RunSettings(NamedTuple):
    """In what the runs of a batch may differ."""

    seed: Annotated[int, Ge(0), Lt(2**32)]
    transform: Literal["none", "clip", "sign", "zero", "truncate_clip"]
    coefficient: Positive
    epsilon: MomentOrder
    clip: Positive
    noise_scale: NonNegative
    noise_alpha: Annotated[float, Gt(0), Le(2)]
    learning_rate: NonNegative
    last_learning_rate: NonNegative


PER_RUN = RunSettings._fields
DEFAULTS: Mapping[str, Any] = {
    "total_steps": 500_000,
    "seed": 0,
    **OF_AN_ENVIRONMENT,
    **OF_A_BATCH,
    **OF_A_RUN,
}


def complete_parameters(env: str, **given: Any) -> dict[str, Any]:
    """All parameters of a run of `heavy_dqn`, with the defaults for those not given, as values that JSON can hold; a mistake is an error of one line.

    Args:
        env: the name of a compiled environment.
        **given: whatever `heavy_dqn` takes, but for `runs`.

    >>> page = complete_parameters("mountain_car", seed=3, total_steps=1234)
    >>> page["seed"], page["cap"], page["hidden"], page["total_steps"]
    (3, 200, [512, 512], 1200)
    """
    settings = check_settings({"cap": default_cap(env), **_without_none(given)})
    return {**settings._asdict(), "hidden": list(settings.hidden), **check_run(given)._asdict()}


def check_settings(given: Mapping[str, Any]) -> Settings:
    """What the runs of a batch share, checked; `total_steps` is rounded down to whole periods."""
    check_names(given)
    values = _cast(Settings, given)
    settings = Settings(**{**values, "hidden": _widths(values["hidden"])})
    if settings.target_every % settings.update_every:
        raise InputError(
            f"heavy_dqn: target_every {settings.target_every} must be a multiple of update_every"
            f" {settings.update_every}"
        )
    if settings.start < settings.batch:
        raise InputError(f"heavy_dqn: start is {settings.start}; it must be at least batch, {settings.batch}")
    if settings.total_steps < settings.target_every:
        raise InputError(
            f"heavy_dqn: total_steps is {settings.total_steps}; it must be at least target_every,"
            f" {settings.target_every}"
        )
    return settings._replace(
        total_steps=settings.total_steps // settings.target_every * settings.target_every
    )


def check_run(given: Mapping[str, Any]) -> RunSettings:
    """What belongs to a run, checked."""
    check_names(given)
    return RunSettings(**_cast(RunSettings, given))


def check_names(given: Mapping[str, Any]) -> None:
    """Complain of a parameter that does not exist."""
    for name in given:
        if name not in DEFAULTS:
            raise InputError(f"heavy_dqn has no parameter {name!r}; {suggestion(str(name), DEFAULTS)}")


def default_cap(env: Any) -> int:
    """After how many steps an episode ends, where the user does not say."""
    if isinstance(env, str) and env.startswith(GYMNAX):
        from heavytail.deep.envs.gymnax import cap_of  # here, because gymnax is an extra

        return cap_of(env.removeprefix(GYMNAX))
    if env not in CAPS:
        raise InputError(f"there is no compiled environment {env!r}; {suggestion(str(env), CAPS)}")
    return CAPS[env]


def _without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None or name != "cap"}


def _cast(record: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    hints, values = get_type_hints(record, include_extras=True), {**DEFAULTS, **given}
    return {name: cast_value(values[name], hints[name], f"heavy_dqn: {name}") for name in record._fields}


def _widths(hidden: Any) -> tuple[int, ...]:
    if isinstance(hidden, (str, bytes)) or not hasattr(hidden, "__iter__"):
        raise InputError(
            f"heavy_dqn: hidden is {hidden!r:.60}; it must be the widths of the layers, such as (512, 512)"
        )
    return tuple(cast_value(width, Count, f"heavy_dqn: hidden[{i}]") for i, width in enumerate(hidden))
