"""`Learner`: an agent, its environment and its random streams, with the verbs of Stable-Baselines3: learn, predict, save, load."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from heavytail import loop
from heavytail.agent_file import AgentFile, flatten, read_agent_file, restore, write_agent_file
from heavytail.arrays import Record
from heavytail.curve import Curve, Spacing, curve_of, place_checkpoints
from heavytail.errors import InputError
from heavytail.mdp import MDP, check_mdp, mdp_from_slots
from heavytail.problem import problem_of
from heavytail.progress import progress_bar
from heavytail.registry import find
from heavytail.rng import Streams, streams
from heavytail.stepwise import Stepwise
from heavytail.verbs import grown


class Learner:
    """An agent at work in an environment. Made by `make_agent`.

    Attributes:
        name: the agent's id.
        parameters: what the agent was built with.
        agent: the agent's record of arrays.
        mdp: its environment.
        streams: its random streams.
        clock: where it stands.
        curve: the curve of the last `learn`, also after an interruption.
    """

    def __init__(self, name: str, parameters: dict[str, Any], agent: Record, mdp: MDP, streams: Streams, clock: loop.Clock) -> None:
        self.name = name
        self.parameters = parameters
        self.agent = agent
        self.mdp = mdp
        self.streams = streams
        self.clock = clock
        self.curve: Curve | None = None
        self._warned = False

    def __repr__(self) -> str:
        return f"Learner({self.name!r}, {self.unit}={int(self.clock.units[0]):,}, steps={int(self.clock.steps[0]):,})"

    @property
    def unit(self) -> Literal["episodes", "steps"]:
        """What this learner counts: episodes, or steps in a continuing problem."""
        return "episodes" if self.mdp.horizon else "steps"

    def learn(
        self,
        episodes: int | None = None,
        *,
        steps: int | None = None,
        checkpoints: int | Sequence[int] = 100,
        spacing: Spacing = "even",
        progress: bool = False,
    ) -> Curve:
        """Learn for so many more episodes, or steps in a continuing problem.

        ``learn(a)`` and then ``learn(b)`` leave the same learner as ``learn(a + b)``, bit for bit. Ctrl-C stops it at a whole step: nothing is lost,
        `curve` holds what was recorded, and the next ``learn`` goes on from there.

        Args:
            episodes: how many more episodes, in an episodic problem.
            steps: how many more steps, in a continuing problem.
            checkpoints: how many points of the curve to record, or at which.
            spacing: "even", or "log" for points ever further apart.
            progress: show a progress bar.

        >>> import heavytail as ht
        >>> learner = ht.make_agent("q_learning", ht.make_mdp("six_arms"), seed=0, transition_scale=0.01)
        >>> curve = learner.learn(episodes=1000, checkpoints=2)
        >>> curve.episodes
        array([ 500, 1000])
        """
        first = int(self.clock.units[0])
        until = first + self._amount(episodes, steps)
        self._warn_if_past_plan(until)
        recorded = loop.new_checkpoints(place_checkpoints(first, until, checkpoints, spacing), self.agent)
        with self._shown(progress, until) as redraw:

            def between(agent: Record) -> None:
                self.agent = agent
                redraw()

            try:
                loop.run(self.agent, self.mdp, self.streams, self.clock, recorded, until, between)
            finally:
                self.curve = curve_of(recorded, self.unit, loop.counter_names(self.agent))
        return self.curve

    def predict(self, observation: int, step: int = 0) -> int:
        """The action that the agent would take in a state, at a step of the episode; learning is not affected."""
        s, h = int(observation), int(step)
        if not 0 <= s < self.mdp.n_states:
            raise InputError(f"predict: there is no state {s}; states go from 0 to {self.mdp.n_states - 1}")
        if not 0 <= h < max(self.mdp.horizon, 1):
            raise InputError(f"predict: there is no step {h}; steps go from 0 to {max(self.mdp.horizon, 1) - 1}")
        return Stepwise(self.agent, self.streams.predictions).act(s, h)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file: agent, environment, streams, clock."""
        page = {"agent": self.name, "parameters": self.parameters}
        records = {"agent": self.agent, "mdp": self.mdp, "streams": self.streams, "clock": self.clock}
        arrays = {path: array for prefix, record in records.items() for path, array in flatten(prefix, record).items()}
        write_agent_file(path, AgentFile(page, arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Learner":
        """Read what `save` wrote; learning goes on as if it had never stopped."""
        page, arrays = read_agent_file(path)
        try:
            name, parameters = str(page["agent"]), dict(page["parameters"])
            smallest = mdp_from_slots([0], [0], [1.0], [0.0], n_states=1, n_actions=1)
            mdp = check_mdp(restore("mdp", smallest, arrays, same_shape=False))
            template = find("agent", name).builder(problem_of(mdp), **parameters)
            can_grow = grown.dispatch(type(template)) is not grown.dispatch(object)
            agent = restore("agent", template, arrays, same_shape=not can_grow)
            clock = restore("clock", loop.new_clock(), arrays, same_shape=True)
            run_streams = restore("streams", streams(0), arrays, same_shape=True)
            if clock.state[0] >= mdp.n_states or clock.h[0] > mdp.horizon:
                raise InputError("its clock does not fit its environment")
        except (InputError, KeyError, TypeError) as error:
            raise InputError(f"{os.fspath(path)} cannot be used: {error}") from error
        return cls(name, parameters, agent, mdp, run_streams, clock)

    def _amount(self, episodes: int | None, steps: int | None) -> int:
        given, other = (episodes, steps) if self.mdp.horizon else (steps, episodes)
        if other is not None or given is None:
            kind = "in episodes" if self.mdp.horizon else "a continuing problem"
            raise InputError(f"learn: this is {kind}, so say {self.unit}=; got episodes={episodes}, steps={steps}")
        if given != int(given) or given < 1:
            raise InputError(f"learn: {self.unit} is {given}; it must be a whole number, at least 1")
        return int(given)

    def _warn_if_past_plan(self, until: int) -> None:
        planned = self.parameters.get("planned_steps")
        steps = until * max(self.mdp.horizon, 1)
        if planned is not None and steps > planned and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name} was built for planned_steps={planned:,} and is about to make up to {steps:,}: its bonuses grow no further than planned",
                stacklevel=3,
            )

    @contextmanager
    def _shown(self, progress: bool, until: int) -> Iterator[Callable[[], None]]:
        if not progress:
            yield lambda: None
            return
        with progress_bar(self.name, self.unit, self.clock, until) as redraw:
            yield redraw


def make_agent(name: str, env: MDP, *, seed: int | np.random.SeedSequence = 0, **parameters: Any) -> Learner:
    """A learner by the agent's name.

    Args:
        name: the agent's id; ``heavytail.registry.registered("agent")`` lists them.
        env: its environment.
        seed: of its random streams; the same seed gives the same run, and two agents with one seed meet the same noise.
        **parameters: the agent's own.

    >>> import heavytail as ht
    >>> ht.make_agent("q_learning", ht.make_mdp("six_arms"), seed=1)
    Learner('q_learning', episodes=0, steps=0)
    """
    if not isinstance(env, MDP):
        raise InputError(f"make_agent: env is a {type(env).__name__}; it must be an MDP, such as make_mdp('six_arms')")
    found = find("agent", name)
    problem = problem_of(env)
    complete = found.arguments(problem, **parameters)
    del complete["problem"]
    return Learner(name, complete, found.builder(problem, **complete), env, streams(seed), loop.new_clock())


def load_agent(path: str | os.PathLike[str]) -> Learner:
    """Read a learner from the file that ``learner.save(path)`` wrote."""
    return Learner.load(path)
