"""Heavy-tailed noise on the rewards of any environment."""

import dataclasses
import math
import secrets
from typing import Any, cast
from zlib import crc32

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from heavytail.errors import InputError, short_repr
from heavytail.gym_answers import check_step, to_float
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import stream
from heavytail.laws import Law
from heavytail.laws.law import fill, law_table
from heavytail.registry import find

BATCH_SIZE = 256  # draws made at once: a call into compiled code costs as much as a hundred draws
# The spawn key of the noise under the environment's seed, of which an MDPEnv uses the first few
NOISE_KEY = crc32(b"AddRewardNoise")


class AddRewardNoise(gymnasium.Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Add one draw of a law to each reward of any environment.

    The noise has its own random stream, so the environment behaves exactly as it would without it. The k-th
    draw after ``reset(seed=seed)`` depends only on the seed and k. Without a seed the first ``reset()`` uses
    the environment's `np_random_seed`, which is fresh entropy then, and ``reset(seed=env.np_random_seed)``
    replays everything. A wrapper around another one draws noise independent of the inner one's.

    Each step's ``info`` has ``raw_reward`` (the environment's own), ``reward_noise`` (what was added) and
    ``mean_reward``: that of the environment where its info has one, else the raw reward, plus the law's mean.
    A law that has no finite mean adds nothing there: ``mean_reward`` is then the centre of the noise.

    Args:
        env: the environment.
        law: a law of `heavytail.laws`, or its name.
        **parameters: the law's, if it is given by name.

    Attributes:
        law: the law.
        mean_reward_shift: by how much the noise changes expected rewards, the law's mean; None if that is not
            finite.
        noise_seed: the seed of the current noise; None before the first reset.

    In either form the law is recorded by its name and parameters, so that ``env.spec.to_json()`` keeps it and
    ``gymnasium.make(env.spec)`` makes the same environment again. Only if you wrote a law that its registered
    builder cannot build from its fields, give it by name so that it survives in JSON.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> from heavytail.gym import AddRewardNoise
    >>> env = AddRewardNoise(gymnasium.make("MountainCar-v0"), ht.laws.alpha_stable(alpha=1.1, scale=5.0))
    >>> same = AddRewardNoise(gymnasium.make("MountainCar-v0"), "alpha_stable", alpha=1.1, scale=5.0)
    >>> _, _ = env.reset(seed=0), same.reset(seed=0)
    >>> _, reward, _, _, info = env.step(0)
    >>> info["mean_reward"], info["raw_reward"], reward == info["raw_reward"] + info["reward_noise"]
    (-1.0, -1.0, True)
    >>> same.step(0)[1] == reward
    True
    """

    def __init__(self, env: gymnasium.Env[ObsType, ActType], law: Law | str, **parameters: Any) -> None:
        if not isinstance(cast("Any", env), gymnasium.Env):
            raise InputError(
                f"AddRewardNoise: env is {short_repr(env)}; it must be a Gymnasium environment; for a vector"
                " give gymnasium.make_vec(..., wrappers=[...]) a function that adds the noise to each"
            )
        self.law = _check_law(law, parameters)
        RecordConstructorArgs.__init__(self, **_constructor_arguments(self.law, {"law": law, **parameters}))
        gymnasium.Wrapper.__init__(self, env)
        self.noise_seed: int | None = None
        self._layer = _count_layers(env)
        self._table = law_table([self.law])
        self._stream = stream(0)
        self._unused: list[float] = []  # draws, the next one last
        self.mean_reward_shift = mean if math.isfinite(mean := self.law.mean()) else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode; `seed` also restarts the noise, which otherwise continues."""
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None or self.noise_seed is None:
            self.noise_seed = self._env_seed() if seed is None else int(seed)
            self._stream = stream(np.random.SeedSequence(self.noise_seed, spawn_key=(NOISE_KEY, self._layer)))
            self._unused = []
        return observation, info

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Make one step, with noise added to its reward."""
        if self.noise_seed is None:
            raise ResetNeeded("step: no episode has begun; call reset() first")
        observation, raw, terminated, truncated, info = check_step(self.env.step(action))
        noise = self._draw()
        reward = raw + noise
        if math.isnan(reward):
            raise InputError(
                f"the reward is nan: the environment gave {raw} and {self.law} added {noise}; a"
                " reward must be a number"
            )
        shift = 0.0 if self.mean_reward_shift is None else self.mean_reward_shift
        mean = to_float("mean_reward", info.get("mean_reward", raw)) + shift
        info = {**info, "mean_reward": mean, "raw_reward": raw, "reward_noise": noise}
        return observation, reward, terminated, truncated, info

    def _draw(self) -> float:
        if not self._unused:
            batch = np.empty(BATCH_SIZE)
            entry(fill, self._table)(self._table, self._stream, batch)
            self._unused = batch[::-1].tolist()
        return self._unused.pop()

    def _env_seed(self) -> int:
        seed = self.env.np_random_seed
        # Gymnasium reports -1 for a generator that was set by hand, whose seed is unknown.
        return secrets.randbits(128) if seed < 0 else seed


def _check_law(law: Any, parameters: dict[str, Any]) -> Law:
    if isinstance(law, str):
        law = find("law", law).builder(**parameters)
    elif parameters:
        raise InputError(
            f"AddRewardNoise: law is not a name, so it takes no {', '.join(parameters)}; give either"
            " a law or its name and parameters"
        )
    if not isinstance(law, Law):
        raise InputError(
            f"AddRewardNoise: law is {short_repr(law)}; it must be a law, such as"
            " heavytail.laws.alpha_stable(alpha=1.1), or the name of one"
        )
    if any(map(math.isnan, law.row())):
        raise InputError(f"AddRewardNoise: law is {law}; its parameters must be numbers")
    return law


def _constructor_arguments(law: Law, given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that make the law again: its name and parameters, or else those given."""
    # Every law is a dataclass.
    names = [field.name for field in dataclasses.fields(law)]  # type: ignore[arg-type]
    fields = {name: getattr(law, name) for name in names}
    try:
        same = find("law", law.name).builder(**fields) == law
    except InputError:  # a plugin's builder may have other parameters than the law has fields
        same = False
    return {"law": law.name, **fields} if same else given


def _count_layers(env: Any) -> int:
    """Count the wrappers of this kind around an environment."""
    layers = 0
    while isinstance(env, gymnasium.Wrapper):
        layers += isinstance(env, AddRewardNoise)
        env = env.env
    return layers
