"""Settings of an agent and its runs for compiled code, and checks that they are consistent.

The signature of the agent (`heavytail.deep.agents`) checks each parameter on its own. Needs no JAX, so that
runs can be planned without it.
"""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from heavytail.checks import require_memory
from heavytail.deep.envs import find_environment
from heavytail.errors import InputError, short_repr
from heavytail.registry import find

WORDS_PER_STEP = 6  # random 32-bit words: exploration, action, two of the noise, two of a reset key
MAX_WORDS = 2**28  # of random bits in a period, a gigabyte
WEIGHT_BYTES = 16  # per weight: itself, its target and two moments of its gradient
QUANTILES = 32  # of the return
REWARD_BATCH = 256  # rewards in an update of their model: large, since noise has to average out
MIN_STEP_BYTES = 20  # of a step in replay: two observations of one number, action, reward, end

PROBLEM = ("env", "runs", "low", "high")  # an agent's arguments besides its parameters
ENV_PARAMETERS = ("cap", "noise_scale", "noise_alpha", "noise_law")  # the environment's, in a study


class Settings(NamedTuple):
    """The settings that all runs of a batch share; each combination is compiled."""

    agent: str
    cap: int
    total_steps: int
    hidden: tuple[int, ...]
    discount: float
    batch: int
    replay: int
    start: int
    update_every: int
    target_every: int
    adam_epsilon: float
    last_exploration: float
    exploration_share: float
    noise_law: str
    loss: str = "huber"  # these are parameters of heavy_dqn only
    transform_at: str = "collection"
    bits: int = 16

    @property
    def models_rewards(self) -> bool:
        """True if targets use a model's rewards instead of those drawn."""
        return models_rewards(self.agent)

    @property
    def replayed(self) -> int:
        """The number of transitions replayed in an update."""
        return self.batch + (REWARD_BATCH if self.models_rewards else 0)

    @property
    def quantiles(self) -> int:
        """The number of quantiles of the return behind a value; 1 if the value itself is learnt."""
        return QUANTILES if self.agent == "qr_dqn" else 1


class RunSettings(NamedTuple):
    """The settings in which the runs of a batch may differ."""

    seed: int
    noise_scale: float
    noise_alpha: float
    learning_rate: float
    last_learning_rate: float
    transform: str = "none"  # these are parameters of heavy_dqn only
    coefficient: float = 0.015
    epsilon: float = 0.05
    clip: float = 1.0


PER_RUN = RunSettings._fields


def models_rewards(agent: str) -> bool:
    """Return whether an agent has a model of the reward."""
    return agent == "robust_dqn"


@cache
def parameter_names(agent: str) -> tuple[str, ...]:
    """List the parameters that an agent takes."""
    return tuple(name for name in find("deep_agent", agent).parameters if name not in PROBLEM)


def agent_parameters(agent: str) -> tuple[str, ...]:
    """List the parameters that a study leaves to the agent: it sets the steps and seeds itself."""
    others = (*ENV_PARAMETERS, "total_steps", "seed")
    return tuple(name for name in parameter_names(agent) if name not in others)


def complete_parameters(env: str, agent: str = "heavy_dqn", **given: Any) -> dict[str, Any]:
    """Complete the parameters of a run with their defaults, as values that JSON can hold.

    A mistake is a one-line error.

    Args:
        env: the name of a compiled environment.
        agent: "heavy_dqn", "robust_dqn" or "qr_dqn".
        **given: arguments of the agent, except `runs`.

    >>> complete = complete_parameters("mountain_car", seed=3, total_steps=1234)
    >>> complete["seed"], complete["cap"], complete["hidden"], complete["total_steps"]
    (3, 200, [512, 512], 1200)
    """
    complete = complete_arguments(agent, given)
    settings = make_settings(agent, complete, find_environment(env).max_episode_steps)
    return {**own_parameters(settings, agent), **own_parameters(make_run(agent, complete), agent)}


def complete_arguments(agent: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an agent, checked and with defaults; only parameters may be given."""
    for name in PROBLEM:
        if name in given:
            raise InputError(f"{agent}: {name} is not a parameter of a run")
    return find("deep_agent", agent).arguments(**given)


def own_parameters(record: Settings | RunSettings, agent: str) -> dict[str, Any]:
    """Return the values of an agent's parameters, in a form that JSON can hold."""
    names = parameter_names(agent)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in record._asdict().items()
        if name in names
    }


def make_settings(agent: str, complete: Mapping[str, Any], limit: int | None = None) -> Settings:
    """Make the settings of a batch from an agent's arguments, which must be consistent.

    The default cap is the environment's limit. `total_steps` is rounded down to whole periods.
    """
    own = {name: complete[name] for name in Settings._fields if name in complete}
    if own["cap"] is None and limit is None:
        raise InputError(
            f"{agent}: the environment has no step limit; give the most steps that an episode may have, such"
            " as cap=500"
        )
    settings = Settings(agent, **{**own, "cap": limit if own["cap"] is None else own["cap"]})
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
    # The minimum size of a run's weights, with one input and one output
    weights = sum(n * m for n, m in pairwise((1, *settings.hidden, 1)))
    require_memory(f"{agent}: a network of layers {short_repr(settings.hidden)}", WEIGHT_BYTES * weights)
    require_memory(f"{agent}: a replay of {settings.replay:,} steps", MIN_STEP_BYTES * settings.replay)
    return settings._replace(total_steps=settings.total_steps // period * period)


def make_run(agent: str, complete: Mapping[str, Any]) -> RunSettings:
    """Make the settings of one run from an agent's arguments."""
    run = RunSettings(**{name: complete[name] for name in PER_RUN if name in complete})
    if complete["noise_law"] == "pareto" and run.noise_alpha <= 1.0:
        raise InputError(
            f"{agent}: noise_alpha is {run.noise_alpha}; it must be above 1, where Pareto's law has a mean to"
            " subtract"
        )
    return run
