"""The deep agents by name: each makes a `DeepLearner` of its kind, with the parameters that it takes."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from heavytail.deep.envs import find_environment
from heavytail.deep.gym_driver import environment_from_gymnasium
from heavytail.deep.learner import DeepLearner
from heavytail.deep.settings import AGENTS, PER_RUN, check_names, check_run, check_settings, with_default_cap
from heavytail.errors import InputError


def robust_dqn(
    env: "str | gymnasium.Env[Any, Any]" = "mountain_car",
    *,
    runs: Sequence[Mapping[str, Any]] | None = None,
    low: Any = None,
    high: Any = None,
    **parameters: Any,
) -> DeepLearner:
    """Make a learner by DQN with a robust model of the reward: the one to begin with.

    Targets use the mean reward that a second, small network predicts, learnt from replay by a regression for
    heavy tails, and a bonus for what is new. It needs no prior knowledge of the noise or the size of rewards:
    rewards of 0.001 and of 1000 are learnt alike. `heavytail.deep.reward_model` has the equations, and
    ``learn().beliefs`` what the model believes.

    Args:
        env: as in `heavy_dqn`.
        runs: as in `heavy_dqn`.
        low: as in `heavy_dqn`.
        high: as in `heavy_dqn`.
        **parameters: those of `heavy_dqn` but for those of its transforms (`transform`, `coefficient`,
            `epsilon`, `clip`, `transform_at`, `bits`) and its `loss`, which is Huber's.

    >>> small = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100}
    >>> learner = robust_dqn("pendulum", noise_scale=5.0, **small)
    >>> learner.learn(checkpoints=2).beliefs.residual_scale.shape
    (1, 2)
    """
    return _make_learner("robust_dqn", env, runs, low, high, parameters)


def heavy_dqn(
    env: "str | gymnasium.Env[Any, Any]" = "mountain_car",
    *,
    runs: Sequence[Mapping[str, Any]] | None = None,
    low: Any = None,
    high: Any = None,
    **parameters: Any,
) -> DeepLearner:
    """Make a learner by DQN with a reward transform.

    By default Heavy-DQN with the table of the paper (Zhuang and Sui 2021, section 3.4 and appendix).

    Args:
        env: "mountain_car", "cart_pole", "acrobot", "pendulum" or another compiled environment that is
            registered; "gymnax/" and the name of one of gymnax's; or a Gymnasium environment with a Box of
            observations and Discrete actions, which is driven step by step and can have one run only.
        runs: the runs of a batch, each with what it changes of the parameters in the second list; one run if
            left out.
        low: the lower bounds of observations, for scaling; a Gymnasium environment's own if left out.
            Components without bounds are squashed, x / (1 + |x|).
        high: the upper bounds.
        **parameters: those of the whole batch:

            - total_steps: of training; schedules end there. 500,000, as in Dopamine; the paper does not say.
              Rounded down to a multiple of `target_every`.
            - cap: steps in an episode; the environment's limit if left out. The paper does not say.
            - hidden: widths of the hidden layers.
            - discount: of rewards to come.
            - batch: transitions in an update.
            - replay: transitions remembered.
            - start: steps before updates begin, rounded up to a multiple of `target_every`.
            - update_every: steps between updates.
            - target_every: steps between copies of the network to the target: a period. All counts of steps
              are multiples of it.
            - adam_epsilon: of the optimiser.
            - last_exploration: the final share of random actions; the initial one is 1.
            - exploration_share: of all steps, after which exploration has its final value.
            - loss: "huber" or "squared".
            - transform_at: "collection", with the visit count at that time, or "replay", with the visit count
              at the time of replay.
            - bits: of the hash of observations, at most 31; memory doubles with each.
            - noise_law: "alpha_stable", "student_t" or "pareto" (less its mean): of the noise that is added
              to rewards.

            And those in which runs may differ:

            - seed.
            - transform: "none", "clip", "sign", "zero" (the paper's) or "truncate_clip".
            - coefficient, epsilon: of the growing threshold.
            - clip: the fixed one.
            - noise_scale, noise_alpha: of that noise, its tail index the second.
            - learning_rate, last_learning_rate: at the first and at the last step.

    >>> small = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100, "bits": 8}
    >>> learner = heavy_dqn("cart_pole", seed=1, **small)
    >>> learner.learn(checkpoints=2).steps
    array([300, 600])
    """
    return _make_learner("heavy_dqn", env, runs, low, high, parameters)


def qr_dqn(
    env: "str | gymnasium.Env[Any, Any]" = "mountain_car",
    *,
    runs: Sequence[Mapping[str, Any]] | None = None,
    low: Any = None,
    high: Any = None,
    **parameters: Any,
) -> DeepLearner:
    """Make a learner by QR-DQN (Dabney et al. 2018), where the middle half of the quantiles counts.

    The return's quantiles are learnt, and an action is worth the mean of the middle half, which heavy tails
    do not disturb.

    Args:
        env: as in `heavy_dqn`.
        runs: as in `heavy_dqn`.
        low: as in `heavy_dqn`.
        high: as in `heavy_dqn`.
        **parameters: those of `robust_dqn`.

    >>> small = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100}
    >>> learner = qr_dqn("pendulum", runs=[{"seed": 0}, {"seed": 1}], **small)
    >>> learner.learn(checkpoints=2).mean_return.shape
    (2, 2)
    """
    return _make_learner("qr_dqn", env, runs, low, high, parameters)


def _make_learner(
    agent: str,
    env: "str | gymnasium.Env[Any, Any]",
    runs: Sequence[Mapping[str, Any]] | None,
    low: Any,
    high: Any,
    parameters: Mapping[str, Any],
) -> DeepLearner:
    gym_env = None if isinstance(env, str) else env
    if gym_env is None and not (low is None and high is None):
        raise InputError(f"{agent}: {env} has bounds of its own; low and high are for Gymnasium environments")
    if gym_env is not None and len(runs or [{}]) > 1:
        raise InputError(
            f"{agent}: a Gymnasium environment can have one run, got {len(runs or [])}; the"
            " compiled environments take many"
        )
    for run in runs or []:
        _check_varied(run, agent)
    check_names(parameters, agent)
    environment = (
        find_environment(env) if isinstance(env, str) else environment_from_gymnasium(env, low, high, agent)
    )
    settings = check_settings(with_default_cap(parameters, environment.max_episode_steps, agent), agent)
    checked = [check_run({**parameters, **run}, agent) for run in runs or [{}]]
    return DeepLearner(environment, settings, checked, gym_env)


def _check_varied(run: Mapping[str, Any], agent: str) -> None:
    check_names(run, agent)
    names = [name for name in PER_RUN if name in AGENTS[agent].parameters]
    for name in run:
        if name not in names:
            raise InputError(
                f"{agent}: runs of a batch cannot differ in {name}; they can in {', '.join(names)}"
            )
