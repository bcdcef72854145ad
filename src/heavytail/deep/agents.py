"""The deep agents by name. Each makes a `DeepLearner`; its signature lists the parameters.

Needs no JAX until an agent is made, so that runs can be planned without it.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import gymnasium
from annotated_types import Ge, Gt, Le, Lt

from heavytail.arrays import Floats
from heavytail.checks import Count32, MomentOrder, NonNegative, Positive, Probability
from heavytail.deep.envs import find_environment
from heavytail.deep.settings import PER_RUN, complete_arguments, make_run, make_settings, parameter_names
from heavytail.errors import InputError, install_extra
from heavytail.registry import register

if TYPE_CHECKING:
    from heavytail.deep.learner import DeepLearner
else:
    DeepLearner = Any  # its module imports JAX

Env: TypeAlias = gymnasium.Env[Any, Any] | str
Runs: TypeAlias = Sequence[Mapping[str, Any]]
Ends: TypeAlias = Floats | Sequence[float] | float
Seed: TypeAlias = Annotated[int, Ge(0), Lt(2**32)]
Share: TypeAlias = Annotated[float, Gt(0), Le(1)]
StableIndex: TypeAlias = Annotated[float, Gt(0), Le(2)]
Noise: TypeAlias = Literal["alpha_stable", "student_t", "pareto"]


@register("deep_agent", "robust_dqn")
def robust_dqn(
    env: Env = "mountain_car",
    *,
    runs: Runs | None = None,
    low: Ends | None = None,
    high: Ends | None = None,
    seed: Seed = 0,
    noise_scale: NonNegative = 0.0,
    noise_alpha: StableIndex = 1.1,
    learning_rate: NonNegative = 1e-4,
    last_learning_rate: NonNegative = 1e-5,
    cap: Count32 | None = None,
    total_steps: Count32 = 500_000,
    hidden: tuple[Count32, ...] = (512, 512),
    discount: Probability = 0.99,
    batch: Count32 = 64,
    replay: Count32 = 500_000,
    start: Count32 = 500,
    update_every: Count32 = 2,
    target_every: Count32 = 50,
    adam_epsilon: Positive = 0.0003125,
    last_exploration: Probability = 0.01,
    exploration_share: Share = 0.1,
    noise_law: Noise = "alpha_stable",
) -> "DeepLearner":
    """Make a learner by DQN with a robust model of the reward: the one to start with.

    Targets use the mean reward predicted by a second, small network, learnt from replay by a regression for
    heavy tails, and a novelty bonus. It needs no prior knowledge of the noise or the size of rewards: rewards
    of 0.001 and of 1000 are learnt equally well. `heavytail.deep.reward_model` has the equations, and
    ``learn().beliefs`` the state of the model.

    Args:
        env: "mountain_car", "cart_pole", "acrobot", "pendulum" or another compiled environment that is
            registered; "gymnax/" and the name of one of gymnax's; or a Gymnasium environment with a Box of
            observations and Discrete actions, which is driven step by step and can have only one run.
        runs: the runs of a batch, each a dictionary of changes to the parameters from `seed` to
            `last_learning_rate`; by default one run.
        low: the lower bounds of observations, for scaling; by default a Gymnasium environment's own.
            Components without bounds are squashed, x / (1 + |x|).
        high: the upper bounds.
        seed: the seed of all random numbers of a run.
        noise_scale: the scale of noise added to rewards; none by default.
        noise_alpha: the tail index of that noise.
        learning_rate: the rate at the first step.
        last_learning_rate: the rate at the last step.
        cap: the most steps in an episode; by default the environment's limit.
        total_steps: steps of training, rounded down to a multiple of `target_every`; schedules end there.
        hidden: widths of the hidden layers.
        discount: the discount of future rewards.
        batch: transitions in an update.
        replay: transitions remembered.
        start: steps before updates begin, rounded up to a multiple of `target_every`.
        update_every: steps between updates.
        target_every: steps between copies of the network to the target: a period.
        adam_epsilon: the optimiser's epsilon.
        last_exploration: the final share of random actions; the initial one is 1.
        exploration_share: the share of all steps after which exploration has its final value.
        noise_law: the law of the noise; Pareto's is used less its mean.

    >>> small = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100}
    >>> learner = robust_dqn("pendulum", noise_scale=5.0, **small)
    >>> learner.learn(checkpoints=2).beliefs.residual_scale.shape
    (1, 2)
    """
    return _make_learner("robust_dqn", **locals())


@register("deep_agent", "heavy_dqn")
def heavy_dqn(
    env: Env = "mountain_car",
    *,
    runs: Runs | None = None,
    low: Ends | None = None,
    high: Ends | None = None,
    seed: Seed = 0,
    transform: Literal["none", "clip", "sign", "zero", "truncate_clip"] = "zero",
    coefficient: Positive = 0.015,
    epsilon: MomentOrder = 0.05,
    clip: Positive = 1.0,
    noise_scale: NonNegative = 0.0,
    noise_alpha: StableIndex = 1.1,
    learning_rate: NonNegative = 1e-4,
    last_learning_rate: NonNegative = 1e-5,
    cap: Count32 | None = None,
    total_steps: Count32 = 500_000,
    hidden: tuple[Count32, ...] = (512, 512),
    discount: Probability = 0.99,
    batch: Count32 = 64,
    replay: Count32 = 500_000,
    start: Count32 = 500,
    update_every: Count32 = 2,
    target_every: Count32 = 50,
    adam_epsilon: Positive = 0.0003125,
    last_exploration: Probability = 0.01,
    exploration_share: Share = 0.1,
    loss: Literal["huber", "squared"] = "huber",
    transform_at: Literal["collection", "replay"] = "collection",
    bits: Annotated[int, Ge(1), Le(31)] = 16,  # codes are signed 32-bit numbers
    noise_law: Noise = "alpha_stable",
) -> "DeepLearner":
    """Make a learner by DQN with a reward transform.

    By default Heavy-DQN with the paper's table (Zhuang and Sui 2021, section 3.4 and appendix). The paper
    does not give the number of steps or the length of an episode: here they are Dopamine's 500,000, and the
    environment's own limit.

    Args:
        env: a compiled environment or one of Gymnasium's, as in `robust_dqn`.
        runs: runs of a batch, each with its changes to the parameters `seed` to `last_learning_rate`.
        low: the lower bounds of observations, for scaling; by default a Gymnasium environment's own.
        high: the upper bounds.
        seed: the seed of all random numbers of a run.
        transform: the transform of rewards: "none", "clip", "sign", "zero" (the paper's) or "truncate_clip".
        coefficient: coefficient of the growing threshold; the default is the paper's best.
        epsilon: epsilon of the growing threshold.
        clip: the fixed threshold.
        noise_scale: the scale of noise added to rewards; none by default.
        noise_alpha: the tail index of that noise.
        learning_rate: the rate at the first step.
        last_learning_rate: the rate at the last step.
        cap: the most steps in an episode; by default the environment's limit.
        total_steps: steps of training, rounded down to a multiple of `target_every`; schedules end there.
        hidden: widths of the hidden layers.
        discount: the discount of future rewards.
        batch: transitions in an update.
        replay: transitions remembered.
        start: steps before updates begin, rounded up to a multiple of `target_every`.
        update_every: steps between updates.
        target_every: steps between copies of the network to the target: a period.
        adam_epsilon: the optimiser's epsilon.
        last_exploration: the final share of random actions; the initial one is 1.
        exploration_share: the share of all steps after which exploration has its final value.
        loss: the loss of values.
        transform_at: "collection", with the visit count at that time, or "replay", with the visit count at
            the time of replay.
        bits: bits of the hash of observations, used to count visits; memory doubles with each.
        noise_law: the law of the noise; Pareto's is used less its mean.

    >>> small = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100, "bits": 8}
    >>> learner = heavy_dqn("cart_pole", seed=1, **small)
    >>> learner.learn(checkpoints=2).steps
    array([300, 600])
    """
    return _make_learner("heavy_dqn", **locals())


@register("deep_agent", "qr_dqn")
def qr_dqn(
    env: Env = "mountain_car",
    *,
    runs: Runs | None = None,
    low: Ends | None = None,
    high: Ends | None = None,
    seed: Seed = 0,
    noise_scale: NonNegative = 0.0,
    noise_alpha: StableIndex = 1.1,
    learning_rate: NonNegative = 1e-4,
    last_learning_rate: NonNegative = 1e-5,
    cap: Count32 | None = None,
    total_steps: Count32 = 500_000,
    hidden: tuple[Count32, ...] = (512, 512),
    discount: Probability = 0.99,
    batch: Count32 = 64,
    replay: Count32 = 500_000,
    start: Count32 = 500,
    update_every: Count32 = 2,
    target_every: Count32 = 50,
    adam_epsilon: Positive = 0.0003125,
    last_exploration: Probability = 0.01,
    exploration_share: Share = 0.1,
    noise_law: Noise = "alpha_stable",
) -> "DeepLearner":
    """Make a learner by QR-DQN (Dabney et al. 2018) that uses the middle half of the quantiles.

    It learns quantiles of the return; the value of an action is the mean of the middle half, which heavy
    tails do not disturb.

    Args:
        env: a compiled environment or one of Gymnasium's, as in `robust_dqn`.
        runs: runs of a batch, each with its changes to the parameters `seed` to `last_learning_rate`.
        low: the lower bounds of observations, for scaling; by default a Gymnasium environment's own.
        high: the upper bounds.
        seed: the seed of all random numbers of a run.
        noise_scale: the scale of noise added to rewards; none by default.
        noise_alpha: the tail index of that noise.
        learning_rate: the rate at the first step.
        last_learning_rate: the rate at the last step.
        cap: the most steps in an episode; by default the environment's limit.
        total_steps: steps of training, rounded down to a multiple of `target_every`; schedules end there.
        hidden: widths of the hidden layers.
        discount: the discount of future rewards.
        batch: transitions in an update.
        replay: transitions remembered.
        start: steps before updates begin, rounded up to a multiple of `target_every`.
        update_every: steps between updates.
        target_every: steps between copies of the network to the target: a period.
        adam_epsilon: the optimiser's epsilon.
        last_exploration: the final share of random actions; the initial one is 1.
        exploration_share: the share of all steps after which exploration has its final value.
        noise_law: the law of the noise; Pareto's is used less its mean.

    >>> small = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100}
    >>> learner = qr_dqn("pendulum", runs=[{"seed": 0}, {"seed": 1}], **small)
    >>> learner.learn(checkpoints=2).mean_return.shape
    (2, 2)
    """
    return _make_learner("qr_dqn", **locals())


def _make_learner(
    agent: str, env: Env, runs: Runs | None, low: Ends | None, high: Ends | None, **shared: Any
) -> "DeepLearner":
    require_jax()
    from heavytail.deep.gym_driver import environment_from_gymnasium  # here, because it imports JAX
    from heavytail.deep.learner import DeepLearner

    gym_env = None if isinstance(env, str) else env
    if gym_env is None and not (low is None and high is None):
        raise InputError(f"{agent}: {env} has its own bounds; low and high are for Gymnasium environments")
    if gym_env is not None and len(runs or [{}]) > 1:
        raise InputError(
            f"{agent}: a Gymnasium environment can have one run, got {len(runs or [])}; the"
            " compiled environments take many"
        )
    for run in runs or []:
        _check_varied(agent, run)
    environment = (
        find_environment(env) if isinstance(env, str) else environment_from_gymnasium(env, low, high, agent)
    )
    settings = make_settings(agent, shared, environment.max_episode_steps)
    checked = [make_run(agent, complete_arguments(agent, {**shared, **run})) for run in runs or [{}]]
    return DeepLearner(environment, settings, checked, gym_env)


def require_jax() -> None:
    """Raise InputError if JAX is missing."""
    if find_spec("jax") is None or find_spec("optax") is None:
        raise InputError(f"heavytail.deep needs JAX; {install_extra('deep')}")


def _check_varied(agent: str, run: Mapping[str, Any]) -> None:
    names = parameter_names(agent)
    for name in names:
        if name in run and name not in PER_RUN:
            varying = ", ".join(name for name in names if name in PER_RUN)
            raise InputError(f"{agent}: runs of a batch cannot differ in {name}; they can in {varying}")
