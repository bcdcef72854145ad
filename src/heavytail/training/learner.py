"""`Learner`: an agent, its environment and its random streams."""

import os
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal

from heavytail.arrays import Ints, Record
from heavytail.checks import Count, cast_value
from heavytail.errors import InputError
from heavytail.guards import one_thread
from heavytail.kernels.compiling import interpret
from heavytail.kernels.rng import Seed, Streams
from heavytail.kernels.verbs import act, counter_names
from heavytail.mdp import MDP
from heavytail.mdp.labels import Labels
from heavytail.mdp.problem import Problem
from heavytail.serving.snapshots import BAD_ACTION, FrozenPolicy, freeze_policy, tabulate_beliefs
from heavytail.training import fused
from heavytail.training.advice import note_policy_per_step, question_moment
from heavytail.training.curve import Curve, Spacing, make_curve, place_checkpoints
from heavytail.training.evaluation import Evaluation, evaluate_in_gym, evaluate_in_mdp, value_in_mdp
from heavytail.training.learner_file import read_learner, write_learner
from heavytail.training.progress import Place, progress_bar
from heavytail.training.runners import GymRunner, MDPRunner

if TYPE_CHECKING:
    import pandas as pd


class Learner:
    """An agent learning in an environment. Made by `make_agent`.

    Attributes:
        name: the agent's id.
        parameters: the parameters the agent was built with.
        agent: the agent's record of arrays.
        runner: its environment, and the loop that runs it there.
        streams: its random streams.
        run_state: its progress.
        curve: the curve of the last `learn`, even after an interruption.
        in_use: whether it is learning now.
    """

    def __init__(
        self,
        name: str,
        parameters: dict[str, Any],
        agent: Record,
        runner: MDPRunner | GymRunner,
        streams: Streams,
        run_state: fused.RunState,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.agent = agent
        self.runner = runner
        self.streams = streams
        self.run_state = run_state
        self.curve: Curve | None = None
        self.in_use = False
        self._warned = False
        self._warned_of_moment = False

    def __repr__(self) -> str:
        return (
            f"Learner({self.name!r}, {self.unit}={int(self.run_state.episodes_or_steps[0]):,},"
            f" steps={int(self.run_state.steps[0]):,})"
        )

    @property
    def problem(self) -> Problem:
        """Return the sizes of its environment."""
        return self.runner.problem

    @property
    def mdp(self) -> MDP:
        """Return the MDP it is learning in; an error in a Gymnasium environment, which has none."""
        if isinstance(self.runner, GymRunner):
            raise InputError("this learner is in a Gymnasium environment; see learner.runner.env")
        changing = self.runner.changing_mdp
        return changing.mdps[changing.which(int(self.run_state.episodes_or_steps[0]))]

    @property
    def unit(self) -> Literal["episodes", "steps"]:
        """Return the unit this learner counts: episodes, or steps in a continuing problem."""
        return "episodes" if self.problem.horizon else "steps"

    def learn(
        self,
        episodes: int | None = None,
        *,
        steps: int | None = None,
        checkpoints: int | Sequence[int] = 100,
        spacing: Spacing = "even",
        progress: bool = False,
    ) -> Curve:
        """Learn for this many more episodes, or steps in a continuing problem.

        ``learn(a)`` and then ``learn(b)`` leave the same learner as ``learn(a + b)``, bit for bit. Ctrl-C
        stops it between two steps: nothing is lost, `curve` holds the checkpoints recorded so far, and the
        next ``learn`` continues from there.

        Args:
            episodes: how many more episodes, in an episodic problem.
            steps: how many more steps, in a continuing problem.
            checkpoints: how many points of the curve to record, or a list of where to record them.
            spacing: "even", or "log" for points ever further apart.
            progress: show a progress bar.

        >>> import heavytail as ht
        >>> learner = ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=0, transition_scale=0.01)
        >>> curve = learner.learn(episodes=1000, checkpoints=2)
        >>> curve.episodes
        array([ 500, 1000])
        """
        with one_thread(self):
            return self._learn(
                self._amount("learn", episodes, steps), checkpoints, spacing, progress=progress
            )

    def _learn(
        self, units: int, checkpoints: int | Sequence[int], spacing: Spacing, *, progress: bool
    ) -> Curve:
        first = int(self.run_state.episodes_or_steps[0])
        until = first + units
        self._warn_if_past_plan(until)
        if isinstance(self.runner, GymRunner) and self.runner.own_horizon:
            note_policy_per_step(self.name, self.agent, self.problem)
        recorded = fused.new_checkpoints(place_checkpoints(first, until, checkpoints, spacing), self.agent)
        bar = (
            progress_bar(self.name, self.unit, self._place, until) if progress else nullcontext(lambda: None)
        )
        with bar as redraw:

            def on_chunk(agent: Record) -> None:
                self.agent = agent
                redraw()

            try:
                self.runner.run(self.agent, self.streams, self.run_state, recorded, until, on_chunk)
            finally:
                self.curve = make_curve(
                    recorded, self.unit, counter_names(self.agent), self.runner.changing_mdp
                )
        self._warn_if_most_are_truncated(self.curve)
        return self.curve

    def predict(self, observation: int, step: int = 0) -> int:
        """Return the action that the agent would take in a state, at a step of the episode.

        Like `policy`, it uses the agent's current plan. Learning is not affected.
        """
        s = Labels(range(self.problem.n_states)).code(self.runner.to_state(observation), "state")
        h = Labels(range(max(self.problem.horizon, 1))).code(step, "step")
        a = int(interpret(act, self.agent, s, h, self.streams.predictions))
        if not 0 <= a < self.problem.n_actions:
            raise InputError(BAD_ACTION)
        return self.runner.to_action(a)

    def policy(self) -> Ints:
        """Return the action that the agent would take in each state: [H, S], or [S] in a continuing problem.

        This is the current policy: the answers of `predict` for all states at once. For an agent that
        explores by drawing policies, such as "heavy_psrl", it is the policy drawn last; for one that draws
        actions, it is one draw. Learning is not affected.

        >>> import heavytail as ht
        >>> ht.make_agent(ht.make_mdp("six_arms"), "optimal").policy().shape
        (25, 7)
        """
        actions = self._freeze().actions + self.runner.to_action(0)
        return actions if self.problem.horizon else actions[0]

    def evaluate(
        self,
        episodes: int | None = None,
        *,
        steps: int | None = None,
        seed: Seed = 0,
        confidence: float = 0.95,
        env: Any = None,
    ) -> Evaluation:
        """Play episodes, or steps in a continuing problem, with the current policy.

        Learning is not affected, bit for bit. The interval contains the mean return with probability
        `confidence`, even if returns have no variance; in an MDP the policy's `value` is computed exactly.

        Args:
            episodes: how many, in an episodic problem.
            steps: how many, in a continuing problem.
            seed: of the evaluation's own random streams.
            confidence: of the interval.
            env: a Gymnasium environment to play in; by default a copy of the learner's own.

        >>> import heavytail as ht
        >>> learner = ht.make_agent(ht.make_mdp("six_arms", law="normal"), "optimal", seed=0)
        >>> found = learner.evaluate(episodes=1000)
        >>> round(found.value, 2), bool(found.low < found.value < found.high), len(found.returns)
        (40.06, True, 1000)
        """
        units, policy = self._amount("evaluate", episodes, steps), self._freeze()
        if isinstance(self.runner, GymRunner):
            runner = self.runner.twin(env, seed)
            return evaluate_in_gym(self.agent, policy, runner, units, seed, confidence)
        if env is not None:
            raise InputError("evaluate: env= is for Gymnasium environments; this learner is in an MDP")
        return evaluate_in_mdp(self.agent, policy, self.mdp, units, seed, confidence)

    def policy_value(self) -> float | None:
        """Compute the exact mean return of the current policy; None if actions are drawn.

        It is known in an MDP. A return is the reward of an episode, or of a step in a continuing problem.

        >>> import heavytail as ht
        >>> round(ht.make_agent(ht.make_mdp("six_arms", law="normal"), "optimal").policy_value(), 2)
        40.06
        """
        return value_in_mdp(self._freeze(), self.mdp)

    def _freeze(self) -> FrozenPolicy:
        return freeze_policy(self.agent, self.problem, self.streams.predictions)

    def beliefs(self) -> "pd.DataFrame":
        """Return the agent's beliefs about the rewards of each state and action, one row each.

        For agents that keep such beliefs, such as "heavy_psrl": the number n of samples, the robust mean with
        a 90% interval, the probability that the law is skewed, and the tail index of each side with a 90%
        interval, infinite for a light tail. Values not known yet are NaN.

        >>> import heavytail as ht
        >>> learner = ht.make_agent(ht.make_mdp("six_arms"), seed=0)
        >>> _ = learner.learn(episodes=100)
        >>> learner.beliefs().columns[:5].tolist()
        ['state', 'action', 'n', 'mean', 'mean_low']
        """
        states, actions = (Labels(range(n)) for n in (self.problem.n_states, self.problem.n_actions))
        return tabulate_beliefs(self.name, self.agent, states, actions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file.

        That is the agent, its random streams, its progress and, if it is an MDP, the environment.
        """
        parts = self.name, self.parameters, self.agent, self.runner, self.streams, self.run_state
        write_learner(path, *parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None) -> "Learner":
        """Read a file written by `save`; learning continues as if it had never stopped.

        Args:
            path: the file.
            env: its Gymnasium environment, if it had one; the file does not hold it. It is needed to learn
                on, from a reset, but not to predict.
        """
        return cls(*read_learner(path, env))

    def _amount(self, method: str, episodes: Any, steps: Any) -> int:
        given, other = (episodes, steps) if self.problem.horizon else (steps, episodes)
        if other is not None or given is None:
            kind = "in episodes" if self.problem.horizon else "a continuing problem"
            raise InputError(
                f"{method}: this is {kind}, so say {self.unit}=; got episodes={episodes}, steps={steps}"
            )
        units: int = cast_value(given, Count, f"{method}: {self.unit}")
        return units

    def _warn_if_past_plan(self, until: int) -> None:
        planned = self.parameters.get("planned_steps")
        steps = until * max(self.problem.horizon, 1)
        if planned is not None and steps > planned and not self._warned:
            self._warned = True
            message = (
                f"{self.name} was built for planned_steps={planned:,} and is about to make up to"
                f" {steps:,}: its bonuses grow no further than planned"
            )
            warnings.warn(message, stacklevel=4)

    def _warn_if_most_are_truncated(self, curve: Curve) -> None:
        truncated, steps = curve.counters.get("truncated"), int(self.run_state.steps[0])
        if truncated is None or self._warned_of_moment:
            return
        if message := question_moment(self.name, self.parameters, self.runner, float(truncated[-1]), steps):
            self._warned_of_moment = True
            warnings.warn(message, stacklevel=4)

    def _place(self) -> Place:
        return Place(int(self.run_state.episodes_or_steps[0]), int(self.run_state.steps[0]))
