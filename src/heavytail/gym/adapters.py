"""Wrappers whose rewards pass through a filter, around an environment or a vector of environments.

A filter replaces each reward, based on the rewards before it. The adapters give it the same input for a
single environment and for a vector.

A wrapper's class, such as `heavytail.gym.DenoiseReward`, chooses the filter; the wrapped object chooses the
adapter. ``DenoiseReward(env)`` is an instance of both, and so is itself a Gymnasium environment, a Gymnasium
vector or a Stable-Baselines3 ``VecEnv``.
"""

import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from inspect import signature
from types import new_class
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import Space
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space, iterate

from heavytail.agent_file import AgentFile, read_agent_file, write_agent_file
from heavytail.arrays import Bools, Floats
from heavytail.errors import InputError, one_line, short_repr
from heavytail.files import Arrays
from heavytail.gym_answers import check_step

STABLE_BASELINES3 = "stable_baselines3.common.vec_env"
Adapted: Any = object  # Any for type checkers, since a wrapper has the type of what it wraps
Filtered: TypeAlias = tuple[float, dict[str, Any]]  # a reward, and its entries in `info`


class Visit(NamedTuple):
    """The code of an observation, the action taken there, and its outcome."""

    code: Hashable
    action: Any
    reward: float
    end: bool  # whether a terminal state follows


class RewardFilter(ABC):
    """A filter for environments with certain spaces, made from the two spaces and options by name."""

    missing: ClassVar[Mapping[str, Any]]  # entries in `info` for environments without a reward
    steps: int  # so far
    options: dict[str, Any]  # to rebuild it from a file

    @property
    def remembers(self) -> bool:
        """True if the next reward depends on earlier ones."""
        return True

    @abstractmethod
    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation, to remember until its action is known."""

    @abstractmethod
    def apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        """Filter the rewards of these visits, one after the other."""

    @abstractmethod
    def state_dict(self) -> Arrays:
        """Return the state as arrays."""

    @abstractmethod
    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays; nothing changes if they are invalid."""


class FilterReward(Adapted):  # type: ignore[misc]
    """A wrapper of an environment or of a vector; a subclass supplies the filter."""

    _filter: RewardFilter
    _bases: ClassVar[tuple[type, ...]] = ()  # of a class with an adapter, the subclass first

    def __new__(cls, env: Any, *_args: Any, **_options: Any) -> Any:
        """Make a wrapper of the same kind as the environment."""
        if cls._bases:
            return object.__new__(cls)
        adapter = _find_adapter(env)
        if not adapter:
            raise InputError(
                f"{cls.__name__}: env is {short_repr(env)}; it must be a Gymnasium environment, a vector of"
                " them, as made by gymnasium.make_vec, or a Stable-Baselines3 VecEnv"
            )
        bases: tuple[type, ...] = (cls, *adapter)
        return object.__new__(_adapted(*bases))

    def __init_subclass__(cls) -> None:
        """Show the arguments of `__init__` in signatures, not those of `__new__`."""
        super().__init_subclass__()
        own = signature(cls.__init__)
        cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the named classes that this one is made from."""
        return _revive, (self._bases, vars(self))

    def _begin(self, env: Any, make_filter: Callable[..., RewardFilter], options: dict[str, Any]) -> None:
        """Wrap the environment, and make the filter for its spaces."""
        self._observations: list[Any] = []  # the present ones, none before the first reset
        self._codes: list[Hashable] = []
        self._filter = make_filter(*self._wrap(env, options), **options)

    def _wrap(self, env: Any, options: dict[str, Any]) -> tuple[Space[Any], Space[Any]]:
        """Wrap the environment, and return its spaces of single observations and actions."""
        raise NotImplementedError

    def _require_reset(self) -> None:
        if not self._codes:
            raise ResetNeeded("step: no episode has begun; call reset() first")

    def _remember(self, observations: Iterable[Any]) -> None:
        self._observations = list(observations)
        self._codes = [self._filter.code(observation) for observation in self._observations]

    def _apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        for i, visit in enumerate(visits, self._filter.steps + 1):
            if math.isnan(visit.reward):
                raise InputError(f"the reward of step {i} is nan; a reward must be a number")
        return self._filter.apply(visits)

    # Saving

    def state_dict(self) -> Arrays:
        """Return what was learnt from the rewards as arrays."""
        return self._filter.state_dict()

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays, forgetting what was learnt here."""
        self._filter.load_state_dict(arrays)
        self._remember(self._observations)  # the hash may have changed

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write options and state into an ``.npz`` file, without pickle.

        An interruption leaves the old file.
        """
        metadata = {"wrapper": type(self).__name__, "options": self._filter.options}
        write_agent_file(path, AgentFile(metadata, self.state_dict()))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file, with the options of this wrapper.

        Nothing changes if the file is invalid.
        """
        metadata, arrays = read_agent_file(path, "wrapper file", "env.save(path)")
        try:
            self.load_state_dict(arrays)
        except InputError as error:
            saved, own = metadata.get("wrapper"), type(self).__name__
            other = "" if saved in (None, own) else f"; it is the state of {short_repr(saved)}, not of {own}"
            raise InputError(f"{os.fspath(path)} does not fit: {error}{other}") from None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], env: Any) -> Self:
        """Make a saved wrapper again around an environment; `heavytail.load` finds its class."""
        metadata, arrays = read_agent_file(path, "wrapper file", "env.save(path)")
        try:
            wrapper = cls(env, **metadata["options"])
            wrapper.load_state_dict(arrays)
        except Exception as error:  # any check of a file may fail
            raise InputError(f"{os.fspath(path)} cannot be used: {one_line(error)}") from error
        return wrapper


class EnvAdapter(FilterReward, gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Passes the rewards of an environment through a filter."""

    def _wrap(self, env: Any, options: dict[str, Any]) -> tuple[Space[Any], Space[Any]]:
        # A shared counter is not copied.
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **options)
        gymnasium.Wrapper.__init__(self, env)
        return env.observation_space, env.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; what was learnt of rewards stays."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._remember([observation])
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make one step, with its reward filtered."""
        self._require_reset()
        observation, raw, terminated, truncated, info = check_step(self.env.step(action))
        ((reward, added),) = self._apply([Visit(self._codes[0], action, raw, terminated)])
        self._remember([observation])
        return observation, reward, terminated, truncated, {**info, "raw_reward": raw, **added}

    @property
    # Declared as an attribute, but a property in every wrapper.
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """The spec of this environment; a seed alone does not repeat a run if rewards are remembered."""
        spec: EnvSpec | None = super().spec  # a copy of our own
        if spec is not None and self._filter.remembers:
            spec.nondeterministic = True
        return spec


class VectorAdapter(FilterReward, VectorWrapper[Any, Any, Any, Any, Any]):
    """Passes the rewards of a Gymnasium vector through a filter."""

    def _wrap(self, env: Any, options: dict[str, Any]) -> tuple[Space[Any], Space[Any]]:
        VectorWrapper.__init__(self, env)
        mode = env.metadata.get("autoreset_mode", "NextStep")
        self._resets_next = getattr(mode, "value", mode) == "NextStep"
        self._resetting: Bools = np.zeros(env.num_envs, np.bool_)
        return env.single_observation_space, env.single_action_space

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start episodes; what was learnt of rewards stays."""
        chosen = (options or {}).get("reset_mask", slice(None))  # before Gymnasium removes it
        observations, infos = self.env.reset(seed=seed, options=options)
        self._resetting[chosen] = False
        self._remember(iterate(self.observation_space, observations))
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Floats, Any, Any, dict[str, Any]]:
        """Make one step of each environment, with its reward filtered."""
        self._require_reset()
        observations, raw, terminations, truncations, infos = self.env.step(actions)
        stepped = np.flatnonzero(~self._resetting)
        raw, rewards, ends = np.array(raw, np.float64), np.array(raw, np.float64), np.asarray(terminations)
        added = {key: np.full(self.num_envs, value) for key, value in self._filter.missing.items()}
        taken = list(iterate(self.action_space, actions))
        visits = [Visit(self._codes[i], taken[i], float(raw[i]), bool(ends[i])) for i in stepped]
        for i, (reward, described) in zip(stepped, self._apply(visits), strict=True):
            rewards[i] = reward
            for key, value in described.items():
                added[key][i] = value
        added = {"raw_reward": raw, **added}
        masks = {f"_{key}": ~self._resetting for key in added}
        self._resetting = (ends | np.asarray(truncations)) & self._resets_next
        self._remember(iterate(self.observation_space, observations))
        return observations, rewards, terminations, truncations, {**infos, **added, **masks}


class VecEnvAdapter(FilterReward):
    """Passes the rewards of a ``VecEnv`` through a filter; wrappers are also a ``VecEnvWrapper``."""

    def _wrap(self, env: Any, options: dict[str, Any]) -> tuple[Space[Any], Space[Any]]:
        sys.modules[STABLE_BASELINES3].VecEnvWrapper.__init__(self, env)
        self._batched_observations = batch_space(env.observation_space, env.num_envs)
        self._batched_actions = batch_space(env.action_space, env.num_envs)
        self._actions: Any = None
        return env.observation_space, env.action_space

    def reset(self) -> Any:
        """Start episodes; what was learnt of rewards stays."""
        observations = self.venv.reset()
        self._remember(iterate(self._batched_observations, observations))
        return observations

    def step_async(self, actions: Any) -> None:
        """Begin a step."""
        self._require_reset()
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """End the step, with rewards filtered."""
        observations, raw, dones, infos = self.venv.step_wait()
        actions = list(iterate(self._batched_actions, self._actions))
        ends = [
            bool(done) and not info.get("TimeLimit.truncated", False)
            for done, info in zip(dones, infos, strict=True)
        ]
        visits = [Visit(*each) for each in zip(self._codes, actions, raw.tolist(), ends, strict=True)]
        filtered = self._apply(visits)
        # If an episode has ended, this is the first of the next.
        self._remember(iterate(self._batched_observations, observations))
        new_infos = [
            {**info, "raw_reward": reward, **added}
            for info, reward, (_, added) in zip(infos, raw.tolist(), filtered, strict=True)
        ]
        return observations, np.array([reward for reward, _ in filtered], raw.dtype), dones, new_infos


def _find_adapter(env: Any) -> tuple[type, ...]:
    """Return the classes that make a wrapper of the same kind as the environment; none if it is not one.

    A Stable-Baselines3 vector only exists once its module is imported, so it is not imported here.
    """
    if isinstance(env, gymnasium.Env):
        return (EnvAdapter,)
    if isinstance(env, VectorEnv):
        return (VectorAdapter,)
    theirs = sys.modules.get(STABLE_BASELINES3)
    if theirs is not None and isinstance(env, theirs.VecEnv):
        return VecEnvAdapter, theirs.VecEnvWrapper
    return ()


@cache
def _adapted(*bases: type) -> type:
    """Return a subclass of these classes with the name of the first, by which specs find it."""
    own = {
        "__module__": bases[0].__module__,
        "__qualname__": bases[0].__qualname__,
        "__doc__": bases[0].__doc__,
        "_bases": bases,
    }
    return new_class(bases[0].__name__, bases, exec_body=lambda body: body.update(own))


def _revive(bases: tuple[type, ...], attributes: dict[str, Any]) -> Any:
    wrapper: Any = object.__new__(_adapted(*bases))
    vars(wrapper).update(attributes)
    return wrapper
