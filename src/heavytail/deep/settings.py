"""The parameters of `heavy_dqn`: their types, defaults and checks, in one table.

Needs no JAX, so that runs can be planned without it.
"""

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from heavytail.checks import MomentOrder, NonNegative, Positive, Probability, cast_value, require_memory
from heavytail.deep.envs import find_environment
from heavytail.errors import InputError, short_repr, suggestion

Count32: TypeAlias = Annotated[int, Ge(1), Lt(2**31)]  # compiled code counts in 32 bits
WORDS_PER_STEP = 6  # random 32-bit words: exploration, action, two of the noise, two of a reset key
MAX_WORDS = 2**28  # of random bits in a period, a gigabyte
WEIGHT_BYTES = 16  # of a weight: it, its target and two moments of its gradient
MIN_STEP_BYTES = 20  # of a step in replay: two observations of one number, action, reward, end


class Settings(NamedTuple):
    """Parameters that all runs of a batch share; each combination is compiled."""

    cap: Count32  # steps in an episode; the environment's limit by default, since the paper does not say
    total_steps: Count32 = 500_000
    hidden: tuple[int, ...] = (512, 512)
    discount: Probability = 0.99
    batch: Count32 = 64
    replay: Count32 = 500_000
    start: Count32 = 500
    update_every: Count32 = 2
    target_every: Count32 = 50
    adam_epsilon: Positive = 0.0003125
    last_exploration: Probability = 0.01
    exploration_share: Annotated[float, Gt(0), Le(1)] = 0.1
    loss: Literal["huber", "squared"] = "huber"
    transform_at: Literal["collection", "replay"] = "collection"
    bits: Annotated[int, Ge(1), Le(31)] = 16  # of the hash; codes are signed 32-bit numbers


class RunSettings(NamedTuple):
    """Parameters in which the runs of a batch may differ."""

    seed: Annotated[int, Ge(0), Lt(2**32)] = 0
    transform: Literal["none", "clip", "sign", "zero", "truncate_clip"] = "zero"  # as in the paper
    coefficient: Positive = 0.015  # the paper's best
    epsilon: MomentOrder = 0.05
    clip: Positive = 1.0
    noise_scale: NonNegative = 0.0
    noise_alpha: Annotated[float, Gt(0), Le(2)] = 1.1
    learning_rate: NonNegative = 1e-4
    last_learning_rate: NonNegative = 1e-5


DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"cap": None, **Settings._field_defaults, **RunSettings._field_defaults}
)
PER_RUN = RunSettings._fields

# Whose parameters they are in a study, which sets the number of steps and the seeds itself.
AGENTS = ("heavy_dqn",)
ENV_PARAMETERS = ("cap", "noise_scale", "noise_alpha")
AGENT_PARAMETERS = tuple(name for name in DEFAULTS if name not in (*ENV_PARAMETERS, "total_steps", "seed"))
VARYING_AGENT_PARAMETERS = tuple(name for name in AGENT_PARAMETERS if name in PER_RUN)


def complete_parameters(env: str, **given: Any) -> dict[str, Any]:
    """Complete the parameters of a run of `heavy_dqn` with their defaults, as values that JSON can hold.

    A mistake is an error of one line.

    Args:
        env: the name of a compiled environment.
        **given: whatever `heavy_dqn` takes, but for `runs`.

    >>> complete = complete_parameters("mountain_car", seed=3, total_steps=1234)
    >>> complete["seed"], complete["cap"], complete["hidden"], complete["total_steps"]
    (3, 200, [512, 512], 1200)
    """
    settings = check_settings(with_default_cap(given, find_environment(env).max_episode_steps))
    return {**settings._asdict(), "hidden": list(settings.hidden), **check_run(given)._asdict()}


def with_default_cap(given: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """Add the environment's limit of steps as the cap, where none is given."""
    cap = limit if given.get("cap") is None else given["cap"]
    if cap is None:
        raise InputError(
            "heavy_dqn: the environment has no limit of steps; say after how many an episode ends,"
            " such as cap=500"
        )
    return {**given, "cap": cap}


def check_settings(given: Mapping[str, Any]) -> Settings:
    """Check what the runs of a batch share; `total_steps` is rounded down to whole periods."""
    check_names(given)
    values = _cast(Settings, given)
    settings = Settings(**{**values, "hidden": _check_widths(values["hidden"])})
    period = settings.target_every
    if period % settings.update_every:
        raise InputError(
            f"heavy_dqn: target_every {period} must be a multiple of update_every {settings.update_every}"
        )
    if settings.start < settings.batch:
        raise InputError(f"heavy_dqn: start is {settings.start}; it must be at least batch, {settings.batch}")
    if settings.total_steps < period:
        raise InputError(
            f"heavy_dqn: total_steps is {settings.total_steps}; it must be at least target_every, {period}"
        )
    words = period // settings.update_every * (WORDS_PER_STEP * settings.update_every + settings.batch)
    if words > MAX_WORDS:
        raise InputError(
            f"heavy_dqn: target_every {period} and batch {settings.batch} take {words:,} random words in a"
            f" period; there is room for {MAX_WORDS:,}"
        )
    require_memory(f"heavy_dqn: a network of layers {short_repr(settings.hidden)}", _network_bytes(settings))
    require_memory(f"heavy_dqn: a replay of {settings.replay:,} steps", MIN_STEP_BYTES * settings.replay)
    return settings._replace(total_steps=settings.total_steps // period * period)


def _network_bytes(settings: Settings) -> int:
    """Return the least that the weights of a run take, with one input and one output."""
    return WEIGHT_BYTES * sum(n * m for n, m in pairwise((1, *settings.hidden, 1)))


def check_run(given: Mapping[str, Any]) -> RunSettings:
    """Check the parameters of one run."""
    check_names(given)
    return RunSettings(**_cast(RunSettings, given))


def check_names(given: Mapping[str, Any]) -> None:
    """Raise an error for a parameter that does not exist."""
    for name in given:
        if name not in DEFAULTS:
            raise InputError(
                f"heavy_dqn has no parameter {short_repr(name)}; {suggestion(str(name), DEFAULTS)}"
            )


def _cast(record: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    hints, values = get_type_hints(record, include_extras=True), {**DEFAULTS, **given}
    return {name: cast_value(values[name], hints[name], f"heavy_dqn: {name}") for name in record._fields}


def _check_widths(hidden: Any) -> tuple[int, ...]:
    if isinstance(hidden, (str, bytes)) or not hasattr(hidden, "__iter__"):
        raise InputError(
            f"heavy_dqn: hidden is {short_repr(hidden)}; it must be the widths of the layers, such as"
            " (512, 512)"
        )
    return tuple(cast_value(width, Count32, f"heavy_dqn: hidden[{i}]") for i, width in enumerate(hidden))
