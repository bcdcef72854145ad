"""The same agents, one transition at a time.

For environments that are not an `MDP` record, and for looking closely.

`Stepwise` is for a loop of your own; `run` is the fused loop of `heavytail.training.fused` spelled out in
Python, step for step the same.
"""

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, Protocol

from heavytail.arrays import Floats, Record, Stream
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.rng import Streams
from heavytail.kernels.verbs import act, begin, update, write_counters
from heavytail.mdp import MDP, first_state, step
from heavytail.mdp.problem import Problem
from heavytail.training.fused import MEAN, OWN, REALISED, Checkpoints, RunState
from heavytail.training.interrupts import deferred_interrupts


class Stepwise:
    """An agent that is asked for one action at a time and shown one transition at a time, for a loop of your own.

    `heavytail.make_stepwise` makes one by name. What it is told is checked; compiled code trusts it.

    Attributes:
        agent: the agent's record; another one after its pools grew.
        updates: how many transitions it was shown.

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
        """The action to take in state `s` at step `h` of the episode.

        In a continuing problem leave `h` out.
        """
        return self.unchecked_act(self._state(s), self._step(h))

    def update(self, s: int, a: int, r: float, s_next: int, h: int = 0, terminated: bool = False) -> None:
        """Learn from one transition; `terminated` in a terminal state, after which no value follows.

        The end of the horizon goes without saying.
        """
        action = _within(a, self.problem.n_actions, "action")
        self.unchecked_update(
            self._state(s), action, _reward(r), self._state(s_next), self._step(h), bool(terminated)
        )

    def unchecked_begin(self, s: int) -> None:
        """`begin`, for what is known to be right."""
        self._begin(self.agent, s, self.stream)

    def unchecked_act(self, s: int, h: int) -> int:
        """`act`, for what is known to be right."""
        return self._act(self.agent, s, h, self.stream)

    def unchecked_update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        """`update`, for what is known to be right; only NaN is looked for."""
        if math.isnan(r):
            raise InputError(
                f"the reward of step {self.updates} (in state {s}) is nan; rewards may be infinite,"
                " but must be numbers"
            )
        if self._update(self.agent, s, a, r, s_next, h, terminated, self.stream):
            self.agent = with_larger_pools(self.agent)
        self.updates += 1

    def counters(self, out: Floats) -> None:
        """Write what the agent counts into `out`."""
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
        raise InputError(f"there is no {what} {value!r:.60}; {what}s are whole numbers from 0 to {n - 1}")
    return number


def _reward(r: Any) -> float:
    if not isinstance(r, numbers.Real):
        raise InputError(f"a reward must be a number, got {r!r:.60}")
    return float(r)


class StepEnv(Protocol):
    """An environment as the stepwise loop sees it."""

    truncated: bool  # whether the last step ended the episode although values would follow

    def reset(self) -> int:
        """Start an episode; the first state."""

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """One transition: the next state, the reward, whether it is terminal, the expected reward (NaN if unknown)."""


class MDPStepper:
    """An `MDP` record, one transition at a time."""

    def __init__(self, mdp: MDP, streams: Streams) -> None:
        self.mdp = mdp
        self.streams = streams
        self.truncated = False  # an MDP ends its episodes by its horizon, or not at all
        self._first_state = entry(_first_state, mdp)
        self._step = entry(_step, mdp)

    def reset(self) -> int:
        """Draw the first state."""
        return self._first_state(self.mdp, self.streams.transitions)

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """Draw a transition."""
        if not (
            0 <= a < self.mdp.n_actions and 0 <= s < self.mdp.n_states and 0 <= h < max(self.mdp.horizon, 1)
        ):
            sizes = (
                f"{self.mdp.n_states} states, {self.mdp.n_actions} actions and"
                f" {max(self.mdp.horizon, 1)} steps"
            )
            raise InputError(
                f"there is no state {s}, action {a}, step {h}; this MDP has {sizes}, each counted from 0"
            )
        return self._step(self.mdp, s, a, h, self.streams.transitions, self.streams.rewards)


def run(
    stepwise: Stepwise,
    world: StepEnv,
    horizon: int,
    clock: RunState,
    checkpoints: Checkpoints,
    until: int,
    on_chunk: Callable[[Record], None] = lambda agent: None,
) -> None:
    """Learn until the clock shows `until` units (episodes, or steps where the horizon is 0), calling `on_chunk` after each."""
    with deferred_interrupts() as let_interrupt_through:
        while clock.units[0] < until:
            _one_step(stepwise, world, horizon, clock)
            if clock.started[0] == 0 or horizon == 0:
                clock.units[0] += 1
                _record(stepwise, clock, checkpoints)
                on_chunk(stepwise.agent)
            let_interrupt_through()


def _one_step(stepwise: Stepwise, world: StepEnv, horizon: int, clock: RunState) -> None:
    if clock.started[0] == 0:
        clock.state[0], clock.h[0], clock.started[0] = world.reset(), 0, 1
        stepwise.unchecked_begin(int(clock.state[0]))
    s, h = int(clock.state[0]), int(clock.h[0])
    a = stepwise.unchecked_act(s, h)
    s_next, r, terminated, mean = world.step(s, a, h)
    stepwise.unchecked_update(s, a, r, s_next, h, terminated)
    clock.steps[0] += 1
    ended = terminated or world.truncated or h + 1 == horizon
    # As Python floats: infinite rewards of both signs make the total NaN, which is no reason to warn.
    clock.totals[MEAN] = float(clock.totals[MEAN]) + mean
    clock.totals[REALISED] = float(clock.totals[REALISED]) + r
    clock.state[0], clock.h[0], clock.started[0] = s_next, h + 1 if horizon else 0, not ended


def _record(stepwise: Stepwise, clock: RunState, checkpoints: Checkpoints) -> None:
    i = int(checkpoints.reached[0])
    if i < len(checkpoints.at) and clock.units[0] == checkpoints.at[i]:
        checkpoints.values[i, :OWN] = clock.totals
        stepwise.counters(checkpoints.values[i, OWN:])
        checkpoints.reached[0] += 1


# What is compiled. (A verb cannot be an entry itself: it is chosen while compiling.)


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
