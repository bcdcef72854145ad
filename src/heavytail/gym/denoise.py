"""Rewards without their noise, for any environment and any framework."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from heavytail.agent_file import find_array, flatten
from heavytail.arrays import Ints
from heavytail.errors import InputError, short_repr
from heavytail.estimators.sketch import Sketch, sketch
from heavytail.files import Arrays
from heavytail.gym import _shrinkage
from heavytail.gym.adapters import Filtered, FilterReward, RewardFilter, Visit
from heavytail.gym.observation_codes import (
    BITS,
    Code,
    SimHash,
    codes_from_array,
    codes_to_array,
    hashes_to_arrays,
    make_code,
    read_projections,
)
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.validity import restore_valid
from heavytail.ranges import MAX_COUNT

PREFIXES = (8, 16, BITS)  # bits of a hash: two neighbourhoods, the wider first, and the cell itself
MAX_CELLS = 2**15  # of 2.5 kB each
INITIAL_CELLS = 64

Nested: TypeAlias = Ints  # the numbers of cells, from the widest to the narrowest


class Cell(NamedTuple):
    """The features that rewards of a cell share; 0 for a feature in which they may differ."""

    level: int
    end: bool = False
    action: Hashable = 0
    observation: Hashable = 0


RESIDUALS = Cell(0)  # see `heavytail.gym._shrinkage`
ALL = Cell(1)
BY_END, BY_ACTION, BY_STATE = 2, 3, 4


class Denoiser(RewardFilter):
    """Replaces each reward by a robust estimate of its mean, given observation, action and end.

    A cell is an observation (or its hash), an action, and whether a terminal state follows. Around it are
    wider ones: the first 16 and the first 8 bits of the hash, all observations, all actions, all rewards.
    There are at most `MAX_CELLS`; after that, new observations get the estimates of the wider ones.
    """

    missing: ClassVar[Mapping[str, Any]] = {"reward_samples": 0}

    def __init__(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        self.steps = 0
        self.options: dict[str, Any] = {}
        self._observation_code = _make_code(observation_space)
        self._action_code = _make_code(action_space)
        self._cells: dict[Cell, int] = {RESIDUALS: _shrinkage.RESIDUALS, ALL: _shrinkage.RESIDUALS + 1}
        self._paths: dict[tuple[Hashable, Hashable, bool], Nested] = {}  # to the narrowest cells
        self._sketch: Sketch = sketch(INITIAL_CELLS)
        # How often a cell saw a second reward, and one that was equal to the first.
        self._second_rewards = [0, 0]

    @property
    def cells(self) -> int:
        """The number of cells, wide ones included."""
        return len(self._cells) - 1

    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation, to remember until its action is known."""
        return self._observation_code(observation)

    def apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        """Replace these rewards, one after the other."""
        return [self._learn(code, self._action_code(action), r, end) for code, action, r, end in visits]

    def estimate(self, observation: Any, action: Any, *, end: bool) -> float:
        """Estimate the mean reward of an action, without learning anything."""
        code, action = self.code(observation), self._action_code(action)
        known = [self._cells[cell] for cell in self._nested(code, action, end) if cell in self._cells]
        return self._estimate(np.array(known))

    def state_dict(self) -> Arrays:
        """Return cells, their samples and the hashes as arrays."""
        levels, ends, actions, observations = zip(*self._cells, strict=True)
        return {
            "steps": np.array([self.steps, *self._second_rewards], np.int64),
            "levels": np.array(levels, np.int64),
            "ends": np.array(ends, np.bool_),
            "actions": codes_to_array(actions),
            "observations": codes_to_array(observations),
            **hashes_to_arrays((self._observation_code, self._action_code)),
            **{path: array.copy() for path, array in flatten("sketch", self._sketch).items()},
        }

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what was saved."""
        steps = find_array("steps", arrays, np.zeros(3, np.int64))
        if not 0 <= steps[2] <= steps[1] <= steps[0] <= MAX_COUNT:
            raise InputError(f"steps is {steps.tolist()}; it must be counts, each at most the one before")
        cells = _read_cells(arrays)
        samples = find_array("sketch/histogram/n", arrays, np.zeros(1, np.int64), same_shape=False)
        if not len(cells) <= len(samples) <= MAX_CELLS:
            raise InputError(f"there are {len(cells)} cells, and samples of {len(samples)}")
        if not ((samples[: len(cells)] > 0) | (steps[0] == 0)).all():
            raise InputError("there is a cell without samples")
        own = {path: np.array(array) for path, array in arrays.items()}
        loaded = restore_valid("sketch", sketch(len(samples)), own)
        # Everything is checked by now, so nothing is left half loaded.
        for hashed, projection in read_projections((self._observation_code, self._action_code), arrays):
            hashed.projection = projection
        self.steps, *self._second_rewards = steps.tolist()
        self._cells, self._paths, self._sketch = cells, {}, loaded

    def _learn(self, code: Hashable, action: Hashable, reward: float, end: bool) -> Filtered:
        path = self._path(code, action, end)
        cell = path[-1]
        self._push(path, reward)
        samples = int(self._sketch.n[cell])
        if samples == 2:
            self._second_rewards[0] += 1
            self._second_rewards[1] += int(self._sketch.histogram.block[cell] < 0)
        mean = self._estimate(path)
        self._push(np.array([_shrinkage.RESIDUALS]), reward - mean)
        self.steps += 1
        return mean, {"reward_samples": samples}

    def _push(self, path: Nested, x: float) -> None:
        done, push_all = 0, _compiled(_shrinkage.push_all)
        while (done := push_all(self._sketch, path, done, x)) < len(path):
            self._sketch = with_larger_pools(self._sketch)

    def _estimate(self, path: Nested) -> float:
        trust = self._second_rewards[1] / max(1, self._second_rewards[0])
        return float(_compiled(_shrinkage.estimate)(self._sketch, path, trust))

    def _path(self, code: Hashable, action: Hashable, end: bool) -> Nested:
        """Return the numbers of the cells around a visit, from the widest to its own; new ones are made."""
        key = code, action, end
        path = self._paths.get(key)
        if path is None:
            nested = self._nested(code, action, end)
            numbers = [i for i in map(self._number, nested) if i >= 0]
            path = np.array(numbers)
            if len(numbers) == len(nested):  # so that there are no more paths than cells
                self._paths[key] = path
        return path

    def _number(self, cell: Cell) -> int:
        """Return the number of a cell, -1 if it is new and there is no room for it."""
        number = self._cells.get(cell, -1)
        if number < 0 and len(self._cells) < MAX_CELLS:
            number = self._cells[cell] = len(self._cells)
            if number == len(self._sketch.n):
                self._sketch = _with_more_cells(self._sketch)
        return number

    def _nested(self, code: Hashable, action: Hashable, end: bool) -> list[Cell]:
        """List the cells around a visit, from the widest to its own."""
        observations, actions = _shorten(self._observation_code, code), _shorten(self._action_code, action)
        by_state = dict.fromkeys(zip(actions, observations, strict=True))
        return [
            ALL,
            Cell(BY_END, end),
            Cell(BY_ACTION, end, actions[0]),
            *(Cell(level, end, *both) for level, both in enumerate(by_state, BY_STATE)),
        ]


class DenoiseReward(FilterReward):
    """Replace each reward by a robust running estimate of its mean, given state and action.

    There is nothing to choose. The reward of an action in a state is a mean plus noise, and only the mean
    matters; so the learner gets the mean, as far as it is known. It is estimated in *cells*: the observation
    (or its `heavytail.gym.SimHash` if observations are not discrete), the action, and whether a terminal
    state follows, since goals pay differently. As long as a cell does not differ significantly from those
    around it (the first 16 bits of the hash, the first 8, all observations, all rewards), it uses their
    estimate. Each estimate comes from `heavytail.estimators.sketch`: any finite mean will do, whatever the
    tails, and skewed noise biases it little. Rewards may have any scale, and any constant added.

    A cell that pays the same twice has no noise, and gives exactly that reward. So discrete environments
    without noise hardly change: only some of the first rewards do. If the reward varies within a cell, as
    Pendulum's does, it is smoothed. *Without noise, use no wrapper*.

    Each step's ``info`` has ``raw_reward`` (the reward that came in, including any noise added beneath) and
    ``reward_samples``: the number of rewards in the narrowest cell, this one included. Observations, ends of
    episodes and seeds pass unchanged.

    **Estimates** persist for as long as the wrapper exists, even across ``reset(seed=...)``. To repeat a run
    you therefore need a new wrapper, not just the seed, and ``env.spec.nondeterministic`` says so. Evaluate
    on an environment without this wrapper, and put recorders of returns beneath it:
    ``DenoiseReward(Monitor(env))``.

    **Vectors**: around a vector of environments, Gymnasium's or Stable-Baselines3's, it is itself such a
    vector, and learns from all of its environments. In a Gymnasium vector, a step that only resets an
    environment (the default, ``NEXT_STEP``) has no reward, and nothing is learnt from it. ``infos`` has
    ``raw_reward`` and ``reward_samples`` as arrays and, as usual there, masks ``_raw_reward`` and
    ``_reward_samples``, true for the environments that took a step. They stay at the top level even if an
    episode ended and the next began in the same step (``SAME_STEP``).

    **Cost**: 40 microseconds a step, twice that of `TruncateReward`. A cell takes 3 kB. There are at most
    32,768, about 100 MB; after that, new observations get the estimate of the cells around them.

    Args:
        env: the environment, or a vector of them.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> law = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
    >>> env = ht.gym.DenoiseReward(ht.gym.AddRewardNoise(gymnasium.make("CartPole-v1"), law))
    >>> observation, _ = env.reset(seed=0)
    >>> for i in range(2000):
    ...     observation, reward, terminated, truncated, info = env.step(i % 2)
    ...     if terminated or truncated:
    ...         _ = env.reset()
    >>> round(info["raw_reward"], 1), round(reward, 1)
    (-11.5, 1.2)

    >>> envs = ht.gym.DenoiseReward(gymnasium.make_vec("FrozenLake-v1", num_envs=3))
    >>> _ = envs.reset(seed=0)
    >>> *_, infos = envs.step([0, 0, 1])
    >>> infos["reward_samples"].tolist()  # the second environment does what the first has done
    [1, 2, 1]

    ``env.estimate(observation, action)`` returns the current estimate. ``env.save(path)`` keeps all of them
    in an ``.npz`` file, without pickle. ``ht.load(path, env)`` makes the wrapper again, and
    ``env.load(path)`` loads the file into an existing one. ``state_dict()`` and ``load_state_dict(arrays)``
    do the same with arrays.

    **Stable-Baselines3**: a model needs the estimates it learnt with, so save them beside it, as with
    ``VecNormalize``. ``make_vec_env`` puts a ``Monitor`` on each environment, beneath this wrapper: logs and
    ``ep_rew_mean`` show the raw rewards. (So ``VecMonitor``, if you use it, belongs beneath too.) With
    ``wrapper_class=AddRewardNoise`` the noise is outside the ``Monitor``, and logs show returns without it.
    ::

        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        import heavytail as ht

        law = {"law": "alpha_stable", "alpha": 1.1}
        noise = {"wrapper_class": ht.gym.AddRewardNoise, "wrapper_kwargs": law}
        venv = ht.gym.DenoiseReward(make_vec_env("CartPole-v1", n_envs=8, seed=0, **noise))
        model = PPO("MlpPolicy", venv, n_steps=32, seed=0, device="cpu").learn(256)
        model.save("model.zip")
        venv.save("rewards.npz")
        venv = ht.load("rewards.npz", make_vec_env("CartPole-v1", n_envs=8, **noise))
        model = PPO.load("model.zip", env=venv).learn(256)
    """

    _filter: Denoiser

    def __init__(self, env: Any) -> None:
        self._begin(env, Denoiser, {})

    @property
    def cells(self) -> int:
        """The number of cells, wide ones included."""
        return self._filter.cells

    def estimate(self, observation: Any, action: Any, *, terminated: bool = False) -> float:
        """Return the present estimate of the mean reward of an action."""
        if self._filter.steps == 0:
            raise InputError("estimate: there was no reward yet; take a step first")
        return self._filter.estimate(observation, action, end=terminated)


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of sketches; a dispatch on each call would take as long as running it."""
    return entry(function, sketch())


def _make_code(space: Space[Any]) -> Code:
    try:
        return make_code("auto", space, BITS, 0)
    except InputError:
        raise InputError(
            f"{short_repr(space)} cannot be hashed by projection; make numbers of it first, such as with"
            " gymnasium.wrappers.TransformObservation or TransformAction"
        ) from None


def _shorten(coder: Code, code: Any) -> list[Hashable]:
    """Return the prefixes of a hash, or an exact code itself."""
    hashed = isinstance(coder, SimHash)
    return [code & ((1 << bits) - 1) if hashed else code for bits in PREFIXES]


def _with_more_cells(old: Sketch) -> Sketch:
    """Return a sketch with twice as many cells."""
    more = sketch(len(old.n)).histogram
    grown = {
        name: np.concatenate([getattr(old.histogram, name), getattr(more, name)])
        for name in ("n", "first", "block")
    }
    return old._replace(histogram=old.histogram._replace(**grown))


def _read_cells(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[Cell, int]:
    levels = find_array("levels", arrays, np.zeros(1, np.int64), same_shape=False)
    ends = find_array("ends", arrays, np.zeros(len(levels), np.bool_))
    actions, observations = (
        codes_from_array(name, arrays, len(levels)) for name in ("actions", "observations")
    )
    columns = levels.tolist(), ends.tolist(), actions, observations
    cells = {Cell(*row): i for i, row in enumerate(zip(*columns, strict=True))}
    if len(cells) != len(levels) or [*cells][:2] != [RESIDUALS, ALL]:
        raise InputError("a cell appears twice, or the first cells are not those of all rewards")
    return cells
