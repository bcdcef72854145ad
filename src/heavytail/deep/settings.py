"""The parameters of deep agents: their types, defaults and checks, in one table.

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
QUANTILES = 32  # of the return
REWARD_BATCH = 256  # of rewards in an update of their model: noise is what has to be averaged out
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
    noise_law: Literal["alpha_stable", "student_t", "pareto"] = "alpha_stable"
    agent: str = "heavy_dqn"

    @property
    def models_rewards(self) -> bool:
        """Whether targets use a model's rewards instead of those drawn."""
        return AGENTS[self.agent].models_rewards

    @property
    def replayed(self) -> int:
        """How many transitions are replayed in an update."""
        return self.batch + (REWARD_BATCH if self.models_rewards else 0)

    @property
    def quantiles(self) -> int:
        """How many quantiles of the return a value is made of; 1: the value itself is learnt."""
        return AGENTS[self.agent].quantiles


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
    {
        "cap": None,
        **{name: value for name, value in Settings._field_defaults.items() if name != "agent"},
        **RunSettings._field_defaults,
    }
)
PER_RUN = RunSettings._fields


class AgentKind(NamedTuple):
    """A deep agent: what it is, and the parameters that it does not take, with their values."""

    about: str
    fixed: Mapping[str, Any] = MappingProxyType({})
    models_rewards: bool = False  # targets use a model's rewards instead of those drawn
    quantiles: int = 1  # of the return, of which a value is made; 1: the value itself is learnt

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that it takes."""
        return tuple(name for name in DEFAULTS if name not in self.fixed)


# What agents that leave rewards as they are do not take
_RAW_REWARDS = MappingProxyType(
    {
        "transform": "none",
        **{
            name: DEFAULTS[name]
            for name in ("coefficient", "epsilon", "clip", "transform_at", "loss", "bits")
        },
    }
)
AGENTS: Mapping[str, AgentKind] = MappingProxyType(
    {
        "heavy_dqn": AgentKind("DQN with a reward transform; by default Heavy-DQN"),
        "qr_dqn": AgentKind(
            "DQN by quantiles of the return, of which the middle ones count",
            _RAW_REWARDS,
            quantiles=QUANTILES,
        ),
        "robust_dqn": AgentKind(
            "DQN with a robust model of the reward; nothing to tune", _RAW_REWARDS, models_rewards=True
        ),
    }
)
# Whose parameters they are in a study, which sets the number of steps and the seeds itself.
ENV_PARAMETERS = ("cap", "noise_scale", "noise_alpha", "noise_law")


def agent_parameters(agent: str) -> tuple[str, ...]:
    """List the parameters that are an agent's own in a study."""
    others = (*ENV_PARAMETERS, "total_steps", "seed")
    return tuple(name for name in AGENTS[agent].parameters if name not in others)


VARYING_AGENT_PARAMETERS = tuple(name for name in agent_parameters("heavy_dqn") if name in PER_RUN)


def complete_parameters(env: str, agent: str = "heavy_dqn", **given: Any) -> dict[str, Any]:
    """Complete the parameters of a run with their defaults, as values that JSON can hold.

    A mistake is an error of one line.

    Args:
        env: the name of a compiled environment.
        agent: "heavy_dqn", "robust_dqn" or "qr_dqn".
        **given: whatever the agent takes, but for `runs`.

    >>> complete = complete_parameters("mountain_car", seed=3, total_steps=1234)
    >>> complete["seed"], complete["cap"], complete["hidden"], complete["total_steps"]
    (3, 200, [512, 512], 1200)
    """
    limit = find_environment(env).max_episode_steps
    settings = check_settings(with_default_cap(given, limit, agent), agent)
    return {**own_parameters(settings, agent), **own_parameters(check_run(given, agent), agent)}


def own_parameters(record: Settings | RunSettings, agent: str) -> dict[str, Any]:
    """Return the values of the parameters that an agent takes, as JSON can hold them."""
    values, names = record._asdict(), AGENTS[agent].parameters
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if name in names
    }


def with_default_cap(given: Mapping[str, Any], limit: int | None, agent: str = "heavy_dqn") -> dict[str, Any]:
    """Add the environment's limit of steps as the cap, where none is given."""
    cap = limit if given.get("cap") is None else given["cap"]
    if cap is None:
        raise InputError(
            f"{agent}: the environment names no limit of steps; say after how many an episode ends at the"
            " latest, such as cap=500"
        )
    return {**given, "cap": cap}


def check_settings(given: Mapping[str, Any], agent: str = "heavy_dqn") -> Settings:
    """Check what the runs of a batch share; `total_steps` is rounded down to whole periods."""
    values = _cast(Settings, given, agent)
    widths = check_widths(values["hidden"], agent)
    settings = Settings(**{**values, "hidden": widths, "agent": agent})
    period = settings.target_every
    if period % settings.update_every:
        raise InputError(
            f"{agent}: target_every {period} must be a multiple of update_every {settings.update_every}"
        )
    if settings.start < settings.batch:
        raise InputError(f"{agent}: start is {settings.start}; it must be at least batch, {settings.batch}")
    if settings.total_steps < period:
        raise InputError(
            f"{agent}: total_steps is {settings.total_steps}; it must be at least target_every, {period}"
        )
    words = period // settings.update_every * (WORDS_PER_STEP * settings.update_every + settings.replayed)
    if words > MAX_WORDS:
        raise InputError(
            f"{agent}: target_every {period} and batch {settings.batch} take {words:,} random words in a"
            f" period; there is room for {MAX_WORDS:,}"
        )
    require_memory(f"{agent}: a network of layers {short_repr(settings.hidden)}", _network_bytes(settings))
    require_memory(f"{agent}: a replay of {settings.replay:,} steps", MIN_STEP_BYTES * settings.replay)
    return settings._replace(total_steps=settings.total_steps // period * period)


def _network_bytes(settings: Settings) -> int:
    """Return the least that the weights of a run take, with one input and one output."""
    return WEIGHT_BYTES * sum(n * m for n, m in pairwise((1, *settings.hidden, 1)))


def check_run(given: Mapping[str, Any], agent: str = "heavy_dqn") -> RunSettings:
    """Check the parameters of one run."""
    run = RunSettings(**_cast(RunSettings, given, agent))
    if given.get("noise_law") == "pareto" and run.noise_alpha <= 1.0:
        raise InputError(
            f"{agent}: noise_alpha is {run.noise_alpha}; Pareto's law has a mean, which is left out of the"
            " noise, if it is above 1"
        )
    return run


def check_names(given: Mapping[str, Any], agent: str = "heavy_dqn") -> None:
    """Raise an error for an agent that does not exist, or a parameter that it does not have."""
    if not isinstance(agent, str) or agent not in AGENTS:
        raise InputError(f"there is no deep agent {short_repr(agent)}; {suggestion(str(agent), AGENTS)}")
    names = AGENTS[agent].parameters
    for name in given:
        if name not in names:
            raise InputError(f"{agent} has no parameter {short_repr(name)}; {suggestion(str(name), names)}")


def _cast(record: Any, given: Mapping[str, Any], agent: str) -> dict[str, Any]:
    check_names(given, agent)
    hints = get_type_hints(record, include_extras=True)
    values = {**DEFAULTS, **AGENTS[agent].fixed, **given}
    return {
        name: cast_value(values[name], hints[name], f"{agent}: {name}")
        for name in record._fields
        if name in values
    }


def check_widths(hidden: Any, agent: str) -> tuple[int, ...]:
    """Return the widths of hidden layers; one line where they are none."""
    if isinstance(hidden, (str, bytes)) or not hasattr(hidden, "__iter__"):
        raise InputError(
            f"{agent}: hidden is {short_repr(hidden)}; it must be the widths of the layers, such as"
            " (512, 512)"
        )
    return tuple(cast_value(width, Count32, f"{agent}: hidden[{i}]") for i, width in enumerate(hidden))
