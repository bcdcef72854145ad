"""Agents one transition at a time, for environments that are not an `MDP` record and for debugging.

`Stepwise` is for a loop of your own; `run` is the loop of `heavytail.training.fused` written in Python, with
the same result step by step.
"""

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, Protocol

from heavytail.arrays import Floats, Record, Stream
from heavytail.errors import InputError, short_repr
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.rng import Streams
from heavytail.kernels.verbs import act, begin, update, write_counters
from heavytail.mdp import MDP, first_state, step
from heavytail.mdp.problem import Problem
from heavytail.training.fused import FIRST_COUNTER, MEAN, REALISED, Checkpoints, RunState
from heavytail.training.interrupts import deferred_interrupts


class Stepwise:
    """An agent for a loop of your own: ask for one action, show one transition at a time.

    `heavytail.make_stepwise` makes one by name. Arguments are checked, because compiled code trusts them.

    Attributes:
        agent: the agent's record; another one after its pools grew.
        updates: how many transitions it has seen.

    >>> import heavytail as ht
    >>> agent = ht.make_stepwise("q_learning", ht.Problem(n_states=3, n_actions=2, horizon=5, r_max=1.0))
    >>> agent.begin(0)
    >>> a = agent.act(0, h=0)
    >>> agent.update(0, a, r=1.0, s_next=1, h=0)
    """

    def __init__(self, agent: Record, stream: Stream, problem: Problem) -> None:
        self.agent = with_larger_pools(agent)
        self.stream = stream
        self.problem = problem
        self.updates = 0
        self._begin = entry(_begin, agent)
        self._act = entry(_act, agent)
        self._update = entry(_update, agent)

    def begin(self, s: int) -> None:
        """Start an episode in state `s`."""
        self.unchecked_begin(self._state(s))

    def act(self, s: int, h: int = 0) -> int:
        """Return the action to take in state `s` at step `h` of the episode.

        In a continuing problem leave `h` out.
        """
        return self.unchecked_act(self._state(s), self._step(h))

    def update(self, s: int, a: int, r: float, s_next: int, h: int = 0, terminated: bool = False) -> None:
        """Learn from one transition; `terminated` if `s_next` is terminal, after which no value follows.

        The last step of the horizon needs no such mark.
        """
        action = _within(a, self.problem.n_actions, "action")
        self.unchecked_update(
            self._state(s), action, _reward(r), self._state(s_next), self._step(h), bool(terminated)
        )

    def unchecked_begin(self, s: int) -> None:
        """Do as `begin` does, for arguments known to be valid."""
        self._begin(self.agent, s, self.stream)

    def unchecked_act(self, s: int, h: int) -> int:
        """Do as `act` does, for arguments known to be valid."""
        return self._act(self.agent, s, h, self.stream)

    def unchecked_update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        """Do as `update` does, for arguments known to be valid except that rewards may be NaN."""
        if math.isnan(r):
            raise InputError(
                f"the reward of step {self.updates} (in state {s}) is nan; rewards may be infinite,"
                " but must be numbers"
            )
        if self._update(self.agent, s, a, r, s_next, h, terminated, self.stream):
            self.agent = with_larger_pools(self.agent)
        self.updates += 1

    def counters(self, out: Floats) -> None:
        """Write the agent's counters into `out`."""
        entry(_write_counters, self.agent)(self.agent, out)

    def _state(self, s: Any) -> int:
        return _within(s, self.problem.n_states, "state")

    def _step(self, h: Any) -> int:
        return _within(h, max(self.problem.horizon, 1), "step")


def _within(value: Any, n: int, what: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < n:
        raise InputError(
            f"there is no {what} {short_repr(value)}; {what}s are whole numbers from 0 to {n - 1}"
        )
    return number


def _reward(r: Any) -> float:
    if not isinstance(r, numbers.Real):
        raise InputError(f"a reward must be a number, got {short_repr(r)}")
    return float(r)


class StepEnv(Protocol):
    """The interface of an environment that the stepwise loop needs."""

    truncated: bool  # whether the last step ended the episode although the state is not terminal

    def reset(self) -> int:
        """Start an episode and return its first state."""

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """Make one transition.

        Returns the next state, the reward, whether the next state is terminal, and the expected reward (NaN
        if unknown).
        """


class MDPStepper:
    """An `MDP` record, one transition at a time."""

    def __init__(self, mdp: MDP, streams: Streams) -> None:
        self.mdp = mdp
        self.streams = streams
        self.truncated = False  # an MDP ends its episodes by its horizon, or not at all
        self._first_state = entry(_first_state, mdp)
        self._step = entry(_step, mdp)

    def reset(self) -> int:
        """Draw and return the first state."""
        return self._first_state(self.mdp, self.streams.transitions)

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """Draw a transition and its reward."""
        S, A, H = self.mdp.n_states, self.mdp.n_actions, max(self.mdp.horizon, 1)
        if not (0 <= a < A and 0 <= s < S and 0 <= h < H):
            raise InputError(
                f"there is no state {s}, action {a}, step {h}; this MDP has {S} states, {A} actions and"
                f" {H} steps, each counted from 0"
            )
        return self._step(self.mdp, s, a, h, self.streams.transitions, self.streams.rewards)


def run(
    stepwise: Stepwise,
    env: StepEnv,
    horizon: int,
    run_state: RunState,
    checkpoints: Checkpoints,
    until: int,
    on_chunk: Callable[[Record], None] = lambda agent: None,
) -> None:
    """Learn until `until` units are done (episodes, or steps where the horizon is 0).

    `on_chunk` is called with the agent after each unit.
    """
    with deferred_interrupts() as raise_deferred_interrupt:
        while run_state.episodes_or_steps[0] < until:
            _one_step(stepwise, env, horizon, run_state)
            if run_state.in_episode[0] == 0 or horizon == 0:
                run_state.episodes_or_steps[0] += 1
                _record(stepwise, run_state, checkpoints)
                on_chunk(stepwise.agent)
            raise_deferred_interrupt()


def _one_step(stepwise: Stepwise, env: StepEnv, horizon: int, run_state: RunState) -> None:
    if run_state.in_episode[0] == 0:
        run_state.state[0], run_state.h[0], run_state.in_episode[0] = env.reset(), 0, 1
        stepwise.unchecked_begin(int(run_state.state[0]))
    s, h = int(run_state.state[0]), int(run_state.h[0])
    a = stepwise.unchecked_act(s, h)
    s_next, r, terminated, mean = env.step(s, a, h)
    stepwise.unchecked_update(s, a, r, s_next, h, terminated)
    run_state.steps[0] += 1
    ended = terminated or env.truncated or h + 1 == horizon
    # As Python floats: infinite rewards of both signs make the total NaN, which NumPy would warn about.
    run_state.totals[MEAN] = float(run_state.totals[MEAN]) + mean
    run_state.totals[REALISED] = float(run_state.totals[REALISED]) + r
    run_state.state[0], run_state.h[0], run_state.in_episode[0] = s_next, h + 1 if horizon else 0, not ended


def _record(stepwise: Stepwise, run_state: RunState, checkpoints: Checkpoints) -> None:
    i = int(checkpoints.reached[0])
    if i < len(checkpoints.at) and run_state.episodes_or_steps[0] == checkpoints.at[i]:
        checkpoints.values[i, :FIRST_COUNTER] = run_state.totals
        stepwise.counters(checkpoints.values[i, FIRST_COUNTER:])
        checkpoints.reached[0] += 1


# Compiled entry points. (A verb cannot be one itself: its method is chosen while compiling.)


def _begin(agent: Record, s: int, rng: Stream) -> None:
    begin(agent, s, rng)


def _act(agent: Record, s: int, h: int, rng: Stream) -> int:
    return int(act(agent, s, h, rng))


def _update(
    agent: Record, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> bool:
    update(agent, s, a, r, s_next, h, terminated, rng)
    return any_pool_full(agent)


def _write_counters(agent: Record, out: Floats) -> None:
    write_counters(agent, out)


def _first_state(mdp: MDP, transitions: Stream) -> int:
    return first_state(mdp, transitions)


def _step(
    mdp: MDP, s: int, a: int, h: int, transitions: Stream, rewards: Stream
) -> tuple[int, float, bool, float]:
    return step(mdp, s, a, h, transitions, rewards)
