"""`DeepLearner`: a batch of DQN runs with the verbs of the tabular learner: learn, predict, save, load.

A batch is one program: seeds and hyperparameters side by side, each run as it would be alone. Its file holds everything: networks, optimisers, replay memories, counts, keys. No pickle.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from heavytail.agent_file import AgentFile, read_agent_file, write_agent_file
from heavytail.arrays import Floats, Ints
from heavytail.deep.acrobot import ACROBOT
from heavytail.deep.cart_pole import CART_POLE
from heavytail.deep.dqn import DQN, Run, Settings, learn, new_batch, scaled
from heavytail.deep.environment import Environment
from heavytail.deep.mountain_car import MOUNTAIN_CAR
from heavytail.deep.network import q_values
from heavytail.deep.rewards import Treatment
from heavytail.errors import InputError, suggestion
from heavytail.interrupts import held_interrupts
from heavytail.reward_transforms import RewardTransform, clip, none, sign, truncate

ENVIRONMENTS: dict[str, Environment] = {env.name: env for env in (ACROBOT, CART_POLE, MOUNTAIN_CAR)}
DEFAULTS: dict[str, Any] = {
    "seed": 0,
    "transform": "zero",  # the paper's: a reward beyond its threshold counts as 0
    "coefficient": 0.015,  # the paper's best
    "epsilon": 0.05,
    "clip": 1.0,
    "noise_scale": 0.0,
    "noise_alpha": 1.1,
    "learning_rate": 1e-4,
    "last_learning_rate": 1e-5,
}
TRANSFORMS: dict[str, Callable[[Mapping[str, Any]], RewardTransform]] = {
    "none": lambda p: none(),
    "clip": lambda p: clip(p["clip"]),
    "sign": lambda p: sign(),
    "zero": lambda p: truncate(p["epsilon"], p["coefficient"]),
    "truncate_clip": lambda p: truncate(p["epsilon"], p["coefficient"], "clip"),
}
AT_ONCE = 5000  # steps in one call of compiled code, so that Ctrl-C is heard


@dataclass(frozen=True)
class DeepCurve:
    """What a batch came to at its checkpoints: clean returns (without noise) of the episodes that ended since the checkpoint before."""

    steps: Ints  # [checkpoint]
    clean_return: Floats  # [run, checkpoint]; NaN where no episode ended
    episodes: Ints  # [run, checkpoint] ended so far
    truncated: Floats  # [run, checkpoint] share of all rewards so far that the transform changed


class DeepLearner:
    """A batch of runs of DQN in a compiled environment. Made by `heavy_dqn`."""

    def __init__(self, env: Environment, settings: Settings, parameters: list[dict[str, Any]], runs: Run, states: DQN, steps: int) -> None:
        self.env = env
        self.settings = settings
        self.parameters = parameters
        self.runs = runs
        self.states = states
        self.steps = steps
        self.curve: DeepCurve | None = None

    def __repr__(self) -> str:
        return f"DeepLearner({self.env.name!r}, runs={len(self.parameters)}, steps={self.steps:,} of {self.settings.total_steps:,})"

    def learn(self, steps: int | None = None, *, checkpoints: int = 100, between: Callable[[int], None] = lambda steps: None) -> DeepCurve:
        """Train for so many more steps, by default to the end; Ctrl-C stops between two calls of compiled code and loses nothing.

        Args:
            steps: a multiple of `update_every`.
            checkpoints: how many points of the curve to record.
            between: is called with the steps made, after every call of compiled code.
        """
        until = self.settings.total_steps if steps is None else self.steps + self._whole(steps)
        rows: list[tuple[int, Any]] = [(self.steps, _host(self.states.totals))]
        marks = (
            np.unique(np.linspace(self.steps, until, checkpoints + 1)[1:].astype(np.int64) // self.settings.update_every)
            * self.settings.update_every
        )
        with held_interrupts() as let_interrupt_through:
            try:
                for mark in marks.tolist():
                    while self.steps < mark:
                        stop = min(mark, (self.steps // AT_ONCE + 1) * AT_ONCE)
                        self.states = learn(self.env, self.settings, self.runs, self.states, self.steps, stop)
                        self.states.totals.episodes.block_until_ready()
                        self.steps = stop
                        between(self.steps)
                        let_interrupt_through()
                    rows.append((self.steps, _host(self.states.totals)))
            finally:
                self.curve = _curve(rows)
        return self.curve

    def _whole(self, steps: Any) -> int:
        every = self.settings.update_every
        left = self.settings.total_steps - self.steps
        if not isinstance(steps, (int, np.integer)) or not every <= steps <= left or steps % every:
            raise InputError(f"learn: steps is {steps!r:.60}; it must be a multiple of {every}, from {every} to the {left:,} that are left")
        return int(steps)

    def predict(self, observation: Any, run: int = 0) -> int:
        """The greedy action of one of the runs."""
        x = np.asarray(observation, np.float32)
        if x.shape != (len(self.env.low),):
            raise InputError(f"predict: an observation of {self.env.name} has {len(self.env.low)} numbers, got {x.shape}")
        if not 0 <= run < len(self.parameters):
            raise InputError(f"predict: there is no run {run}; runs go from 0 to {len(self.parameters) - 1}")
        network = jax.tree.map(lambda leaf: leaf[run], self.states.network)
        return int(jnp.argmax(q_values(network, scaled(self.env, jnp.asarray(x)))))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Everything, in one file."""
        leaves = jax.tree.leaves(_without_keys(self.states))
        arrays = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        page = {"deep": self.env.name, "settings": self.settings._asdict(), "parameters": self.parameters, "steps": self.steps}
        write_agent_file(path, AgentFile(json.loads(json.dumps(page)), arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "DeepLearner":
        """Read what `save` wrote; training goes on as if it had never stopped."""
        page, arrays = read_agent_file(path)
        try:
            settings = Settings(**{**page["settings"], "hidden": tuple(page["settings"]["hidden"])})
            learner = _learner(_environment(page["deep"]), settings, list(page["parameters"]))
            learner.states = _restored(learner.states, arrays)
            learner.steps = int(page["steps"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{os.fspath(Path(path))} cannot be used: {error}") from error
        return learner


def heavy_dqn(
    env: str = "mountain_car",
    *,
    total_steps: int = 500_000,
    cap: int | None = None,
    runs: Sequence[Mapping[str, Any]] | None = None,
    hidden: Sequence[int] = (512, 512),
    discount: float = 0.99,
    batch: int = 64,
    replay: int = 500_000,
    start: int = 500,
    update_every: int = 2,
    target_every: int = 50,
    adam_epsilon: float = 0.0003125,
    last_exploration: float = 0.01,
    exploration_share: float = 0.1,
    loss: str = "huber",
    transform_at: str = "collection",
    bits: int = 16,
    **parameters: Any,
) -> DeepLearner:
    """DQN with a reward transform; by default Heavy-DQN with the table of the paper (Zhuang and Sui 2021, section 3.4 and appendix).

    Args:
        env: "mountain_car", "cart_pole" or "acrobot".
        total_steps: of training; schedules end there. 500,000, as in Dopamine; the paper does not say.
        cap: steps in an episode; Gymnasium's if left out. The paper does not say.
        runs: the runs of a batch, each with what it changes of `parameters`; one run if left out.
        hidden: widths of the hidden layers.
        discount: of rewards to come.
        batch: transitions in an update.
        replay: transitions remembered.
        start: steps before the first update.
        update_every: steps between updates.
        target_every: steps between copies of the network to the target.
        adam_epsilon: of the optimiser.
        last_exploration: the share of random actions in the end; the first is 1.
        exploration_share: of all steps, after which exploration is at its last value.
        loss: "huber" or "squared".
        transform_at: "collection", with the count at that time, or "replay", with the count of that time.
        bits: of the hash of observations; memory doubles with each.
        **parameters: of every run: seed, transform ("none", "clip", "sign", "zero", "truncate_clip"), coefficient, epsilon, clip, noise_scale, noise_alpha, learning_rate,
            last_learning_rate.

    >>> learner = heavy_dqn("cart_pole", total_steps=200, hidden=(16,), replay=100, seed=1)
    >>> learner.learn(checkpoints=2).steps
    array([100, 200])
    """
    found = _environment(env)
    for name, value, known in (("loss", loss, ("huber", "squared")), ("transform_at", transform_at, ("collection", "replay"))):
        if value not in known:
            raise InputError(f"heavy_dqn: {name} is {value!r}; {suggestion(str(value), known)}")
    if target_every % update_every or min(update_every, target_every, batch, replay, bits) < 1 or start < batch:
        raise InputError(
            f"heavy_dqn: update_every {update_every} must divide target_every {target_every}, sizes must be at least 1, and start {start} at least batch {batch}"
        )
    settings = Settings(
        total_steps=int(total_steps) // update_every * update_every,
        cap=int(cap or found.cap), hidden=tuple(hidden), discount=discount, batch=batch, replay=replay, start=start, update_every=update_every,
        target_every=target_every, adam_epsilon=adam_epsilon, last_exploration=last_exploration, exploration_share=exploration_share,
        loss=loss, transform_at=transform_at, bits=bits,  # type: ignore[arg-type]  # looked at above
    )  # fmt: skip
    return _learner(found, settings, [_complete({**parameters, **(run or {})}) for run in runs or [{}]])


def _environment(name: str) -> Environment:
    if name not in ENVIRONMENTS:
        raise InputError(f"there is no compiled environment {name!r}; {suggestion(str(name), ENVIRONMENTS)}")
    return ENVIRONMENTS[name]


def _complete(given: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in given.items():
        if name not in DEFAULTS:
            raise InputError(f"heavy_dqn has no parameter {name!r}; {suggestion(name, DEFAULTS)}")
        if name == "transform" and value not in TRANSFORMS:
            raise InputError(f"heavy_dqn: transform is {value!r}; {suggestion(str(value), TRANSFORMS)}")
        if name != "transform" and not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
            raise InputError(f"heavy_dqn: {name} is {value!r}; it must be a number, at least 0")
    return {**DEFAULTS, **given}


def _learner(env: Environment, settings: Settings, parameters: list[dict[str, Any]]) -> DeepLearner:
    def column(name: str) -> jax.Array:
        return jnp.array([p[name] for p in parameters], jnp.float32)

    transforms = [TRANSFORMS[p["transform"]](p) for p in parameters]
    stacked = jax.tree.map(lambda *numbers: jnp.array(numbers, jnp.float32), *transforms)
    treatment = Treatment(stacked, column("noise_scale"), column("noise_alpha"))
    keys = jax.vmap(jax.random.key)(jnp.array([int(p["seed"]) for p in parameters], jnp.uint32))
    runs = Run(keys, column("learning_rate"), column("last_learning_rate"), treatment)
    return DeepLearner(env, settings, parameters, runs, new_batch(env, settings, runs), 0)


def _host(totals: Any) -> Any:
    return jax.tree.map(np.asarray, totals)


def _curve(rows: list[tuple[int, Any]]) -> DeepCurve:
    steps = np.array([step for step, _ in rows[1:]], np.int64)
    episodes, returns, truncated = (
        np.array([getattr(totals, name) for _, totals in rows], np.float64).T for name in ("episodes", "clean_return", "truncated")
    )
    ended = np.diff(episodes, axis=1)
    mean = np.divide(np.diff(returns, axis=1), ended, out=np.full(ended.shape, np.nan), where=ended > 0)
    return DeepCurve(steps, mean, episodes[:, 1:].astype(np.int64), truncated[:, 1:] / np.maximum(steps, 1))


def _without_keys(states: DQN) -> DQN:
    return states._replace(key=jax.random.key_data(states.key))


def _restored(template: DQN, arrays: Mapping[str, Any]) -> DQN:
    leaves, structure = jax.tree.flatten(_without_keys(template))
    found = []
    for i, old in enumerate(leaves):
        new = arrays[f"leaf{i}"]
        if new.shape != old.shape or new.dtype != old.dtype:
            raise InputError(f"leaf{i} is {new.dtype}{list(new.shape)} where {old.dtype}{list(old.shape)} is expected")
        found.append(jnp.asarray(new))
    plain: DQN = jax.tree.unflatten(structure, found)
    return plain._replace(key=jax.random.wrap_key_data(plain.key))
