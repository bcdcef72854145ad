"""`DeepLearner`: a batch of DQN runs that can learn, predict, be saved and be loaded.

A batch is one program: seeds and hyperparameters side by side, each run as it would be on its own. Its file
holds everything: networks, optimisers, replay memories, counts, the curve so far. No pickle.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from heavytail.agent_file import AgentFile, read_agent_file, write_agent_file
from heavytail.arrays import Floats
from heavytail.checks import cast_value
from heavytail.deep.batch import compiled_periods, init_batch
from heavytail.deep.curve import DeepCurve, make_deep_curve
from heavytail.deep.dqn import DQN, RunParameters, action_values, first_learning_period
from heavytail.deep.envs import GENERATOR, Environment, scale_observation
from heavytail.deep.gym_driver import GymDriver
from heavytail.deep.learner_file import (
    describe_spaces,
    load_absent,
    load_curve,
    load_environment,
    name_arrays,
    restore_states,
)
from heavytail.deep.reward_model import beliefs
from heavytail.deep.rewards import TRANSFORMS
from heavytail.deep.settings import (
    RunSettings,
    Settings,
    complete_arguments,
    make_run,
    make_settings,
    own_parameters,
)
from heavytail.errors import InputError, one_line, short_repr
from heavytail.files import Arrays
from heavytail.guards import deferred_interrupts, one_thread
from heavytail.training.progress import Place, progress_bar

SECONDS_PER_CALL = 1.0  # approximately, of compiled code; Ctrl-C takes effect between two calls


class Advance(Protocol):
    """A function that advances runs from one period to another."""

    def __call__(self, states: DQN, first: int, until: int) -> DQN:
        """Advance through the periods from `first` to the one before `until`."""


class DeepLearner:
    """A batch of runs of DQN, made by `robust_dqn`, `heavy_dqn` or `qr_dqn`.

    Attributes:
        steps: the number of training steps so far.
        made_with: the version of JAX and the kind of device with which the runs began.
        note: any text, such as the purpose of the runs; it is kept in the file.
        curve: results of the runs at the checkpoints so far, over all calls of `learn`.
        in_use: True while it is learning.
    """

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        runs: Sequence[RunSettings],
        gym_env: "gymnasium.Env[Any, Any] | None" = None,
        states: DQN | None = None,
    ) -> None:
        self.env = env
        self.settings = settings
        self.parameters = [own_parameters(run, settings.agent) for run in runs]
        self.runs = stack_runs(runs)
        self.states = init_batch(env, settings, self.runs) if states is None else states
        self.steps = 0
        self.made_with = made_with()
        self.note = ""
        self.totals: Floats = np.zeros((3, len(runs)))  # in 64 bits, where integers add up exactly
        self.curve = make_deep_curve([], [], len(runs))
        self.in_use = False
        self._rows: list[Floats] = []  # totals at the checkpoints, and beliefs
        self._periods_per_call = 1
        self._advance: Advance = self._advance_compiled
        if gym_env is not None:
            self._advance = GymDriver(gym_env, env, settings, self.runs, runs[0].seed)

    def __repr__(self) -> str:
        return (
            f"DeepLearner({self.env.name!r}, runs={len(self.parameters)}, steps={self.steps:,} of"
            f" {self.settings.total_steps:,})"
        )

    def complete_parameters(self) -> list[dict[str, Any]]:
        """Return all parameters of each run, as `heavytail.deep.complete_parameters` does."""
        shared = own_parameters(self.settings, self.settings.agent)
        return [{**shared, **own} for own in self.parameters]

    def learn(
        self,
        steps: int | None = None,
        *,
        checkpoints: int = 100,
        at: Sequence[int] | None = None,
        on_chunk: Callable[[int], None] = lambda steps: None,
        progress: bool = False,
    ) -> DeepCurve:
        """Train for `steps` more steps, by default to the end.

        Ctrl-C stops between two calls of compiled code and loses nothing.

        Args:
            steps: a multiple of `target_every`.
            checkpoints: how many points to add to the curve.
            at: the steps at which to record instead, counted from the start of training, multiples of
                `target_every`; those not reached in this call are ignored.
            on_chunk: a function called with the steps made, after every call of compiled code, about once a
                second.
            progress: show a progress bar.
        """
        until = self.settings.total_steps if steps is None else self.steps + self._check_steps(steps)
        marks = self._place_marks(until, checkpoints) if at is None else self._check_marks(until, at)
        with one_thread(self), self._shown(progress, until) as redraw, deferred_interrupts() as let_through:
            for stop in sorted({*marks, until}):
                while self.steps < stop:
                    self._advance_towards(stop)
                    if self.steps in marks:
                        self._record()
                    on_chunk(self.steps)
                    redraw()
                    let_through()
        return self.curve

    def _shown(self, progress: bool, until: int) -> AbstractContextManager[Callable[[], None]]:
        if not progress:
            return nullcontext(lambda: None)
        name = f"{self.settings.agent} on {self.env.name}"
        return progress_bar(name, "steps", lambda: Place(self.steps, self.steps), until)

    def predict(self, observation: npt.ArrayLike, run: int = 0) -> int:
        """Return the greedy action of one of the runs."""
        x = np.asarray(observation, np.float32).reshape(-1)
        if x.shape != (len(self.env.low),):
            raise InputError(
                f"predict: an observation of {self.env.name} has {len(self.env.low)} numbers, got {x.shape}"
            )
        if not 0 <= run < len(self.parameters):
            raise InputError(f"predict: there is no run {run}; runs go from 0 to {len(self.parameters) - 1}")
        network = jax.tree.map(lambda leaf: leaf[run], self.states.network)
        scaled = scale_observation(self.env, jnp.asarray(x))
        action = int(jnp.argmax(action_values(self.settings, network, scaled)))
        return action + self._advance.first_action if isinstance(self._advance, GymDriver) else action

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything except a Gymnasium environment into one file."""
        metadata: dict[str, Any] = {
            "deep": self.env.name,
            "agent": self.settings.agent,
            "low": self.env.low,
            "high": self.env.high,
            "settings": own_parameters(self.settings, self.settings.agent),
            "parameters": self.parameters,
            "steps": self.steps,
            "made_with": self.made_with,
            "note": self.note,
        }
        if isinstance(self._advance, GymDriver):
            metadata["spaces"] = describe_spaces(self._advance.gym_env)
        curve = {
            "totals": self.totals,
            "curve/steps": self.curve.steps,
            "curve/totals": np.array([*self._rows]).reshape(-1, *self._row_shape),
        }
        write_agent_file(path, AgentFile(metadata, {**curve, **name_arrays(self.states)}))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], env: "gymnasium.Env[Any, Any] | None" = None
    ) -> "DeepLearner":
        """Read what `save` wrote.

        Training continues as if it had never stopped: bit for bit on a CPU, up to rounding on another kind of
        device.

        Args:
            path: the path of the file.
            env: the Gymnasium environment, if the runs learnt in one, which is not part of the file: training
                continues in it with a new episode. `predict` does not need it.
        """
        metadata, arrays = read_agent_file(path)
        try:
            return cls._restored(metadata, arrays, env)
        except Exception as error:  # JAX or any check may reject numbers from a file
            raise InputError(f"{os.fspath(Path(path))} cannot be used: {one_line(error)}") from error

    @classmethod
    def _restored(
        cls, metadata: Mapping[str, Any], arrays: Arrays, gym_env: "gymnasium.Env[Any, Any] | None"
    ) -> "DeepLearner":
        gym_env = load_absent(metadata) if gym_env is None else gym_env
        environment = load_environment(metadata, gym_env)
        agent = metadata.get("agent", "heavy_dqn")
        settings = make_settings(agent, complete_arguments(agent, metadata["settings"]))
        parameters = metadata["parameters"]
        if (
            not isinstance(parameters, list)
            or not parameters
            or (gym_env is not None and len(parameters) > 1)
        ):
            raise InputError("its parameters must be a list of runs, one in a Gymnasium environment")
        runs = [make_run(agent, complete_arguments(agent, run)) for run in parameters]
        if len(settings.hidden) > len(arrays):
            raise InputError(f"it claims to have {len(settings.hidden):,} layers, and does not hold them")
        # Only the shapes: the arrays themselves may be far larger than those stored.
        shapes = jax.eval_shape(partial(init_batch, environment, settings), stack_runs(runs))
        learner = cls(environment, settings, runs, gym_env, restore_states(shapes, arrays))
        learner.made_with = {str(key): str(value) for key, value in metadata["made_with"].items()}
        learner.note = str(metadata.get("note", ""))
        learner.steps = cast_value(
            metadata["steps"], Annotated[int, Ge(0), Le(settings.total_steps)], "its steps"
        )
        if learner.steps % settings.target_every:
            raise InputError(
                f"its steps are {learner.steps}, not a multiple of target_every, {settings.target_every}"
            )
        learner.totals, marks, learner._rows = load_curve(arrays, learner.steps, learner._row_shape)
        learner.curve = make_deep_curve(marks, learner._rows, len(runs))
        return learner

    def _advance_compiled(self, states: DQN, first: int, until: int) -> DQN:
        learning = first >= first_learning_period(self.settings)
        return compiled_periods()(
            self.env, self.settings, learning, self.runs, states, jnp.int32(first), jnp.int32(until)
        )

    def _advance_towards(self, stop: int) -> None:
        """Advance by as many periods as take about a second.

        It stops at the period where updates begin, since those are another program.
        """
        first, learning_from = self.steps // self.settings.target_every, first_learning_period(self.settings)
        until = min(first + self._periods_per_call, stop // self.settings.target_every)
        until = min(until, learning_from) if first < learning_from else until
        started = time.perf_counter()
        states = self._advance(self.states, first, until)
        self.totals = self.totals + np.array([np.asarray(total, np.float64) for total in states.totals])
        self.states = states._replace(totals=jax.tree.map(jnp.zeros_like, states.totals))
        self.steps = until * self.settings.target_every
        periods_per_second = (until - first) / (time.perf_counter() - started)
        self._periods_per_call = (
            1 if until == learning_from else max(1, int(periods_per_second * SECONDS_PER_CALL))
        )

    @property
    def _row_shape(self) -> tuple[int, int]:
        """The shape of a row of the curve, for `make_deep_curve`."""
        return 6 if self.settings.models_rewards else 3, len(self.parameters)

    def _record(self) -> None:
        model = self.states.model
        believed = [] if model is None else [np.asarray(part, np.float64) for part in beliefs(model)]
        self._rows.append(np.array([*self.totals, *believed]))
        steps = [*self.curve.steps.tolist(), self.steps]
        self.curve = make_deep_curve(steps, self._rows, len(self.parameters))

    def _check_steps(self, steps: Any) -> int:
        period, left = self.settings.target_every, self.settings.total_steps - self.steps
        if not left:
            raise InputError(
                f"learn: all {self.steps:,} steps are done; for more, start with a larger total_steps"
            )
        if not isinstance(steps, (int, np.integer)) or not period <= steps <= left or steps % period:
            raise InputError(
                f"learn: steps is {short_repr(steps)}; it must be a multiple of target_every, {period}, up"
                f" to the {left:,} that are left"
            )
        return int(steps)

    def _place_marks(self, until: int, checkpoints: int) -> set[int]:
        period = self.settings.target_every
        marks = np.linspace(self.steps, until, checkpoints + 1)[1:].astype(np.int64) // period * period
        return {mark for mark in marks.tolist() if mark > self.steps}

    def _check_marks(self, until: int, at: Sequence[int]) -> set[int]:
        for mark in at:
            if not isinstance(mark, (int, np.integer)) or mark < 1 or mark % self.settings.target_every:
                raise InputError(
                    f"learn: at has {short_repr(mark)}; checkpoints must be multiples of target_every,"
                    f" {self.settings.target_every}"
                )
        return {int(mark) for mark in at if self.steps < mark <= until}


def made_with() -> dict[str, str]:
    """Return the version of JAX and the kind of device, on which results depend up to rounding."""
    return {"jax": jax.__version__, "device": jax.devices()[0].device_kind}


def stack_runs(runs: Sequence[RunSettings]) -> RunParameters:
    """Stack the settings of runs into arrays."""

    def column(name: str) -> jax.Array:
        return jnp.array([getattr(run, name) for run in runs], jnp.float32)

    transforms = [TRANSFORMS[run.transform](run) for run in runs]
    transform = jax.tree.map(lambda *numbers: jnp.array(numbers, jnp.float32), *transforms)
    seeds = jnp.array([run.seed for run in runs], jnp.uint32)
    return RunParameters(
        jax.vmap(partial(jax.random.key, impl=GENERATOR))(seeds),
        column("learning_rate"),
        column("last_learning_rate"),
        transform,
        column("noise_alpha"),
        column("noise_scale"),
    )
