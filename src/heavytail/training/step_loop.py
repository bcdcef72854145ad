"""The loop of `heavytail.training.fused` written in Python: the same result, one transition at a time.

For environments that are not an `MDP` record, and for debugging.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from heavytail.arrays import Record, Stream
from heavytail.errors import InputError
from heavytail.guards import deferred_interrupts
from heavytail.kernels.packed import INDEX, Packed, as_index, unpack
from heavytail.kernels.rng import Streams
from heavytail.mdp import MDP, first_state, step
from heavytail.serving.online_agent import OnlineAgent
from heavytail.training.fused import FIRST_COUNTER, MEAN, REALISED, Checkpoints, RunState


class StepEnv(Protocol):
    """The interface that the stepwise loop needs from an environment."""

    truncated: bool  # whether the last step ended the episode although the state is not terminal

    def reset(self) -> int:
        """Start an episode and return its first state."""

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """Make one transition.

        Returns the next state, the reward, whether the next state is terminal, and the expected reward (NaN
        if unknown).
        """


class _Dynamics(NamedTuple):
    mdp: MDP
    transitions: Stream
    rewards: Stream


class MDPStepper:
    """An `MDP` record, one transition at a time."""

    def __init__(self, mdp: MDP, streams: Streams) -> None:
        self.mdp = mdp
        self.streams = streams
        self.truncated = False  # an MDP's episodes end at its horizon, or never
        self._packed = Packed(_Dynamics(mdp, streams.transitions, streams.rewards))
        self._first_state = self._packed.entry(_first_state)
        self._step = self._packed.entry(_step, INDEX, INDEX, INDEX)

    def reset(self) -> int:
        """Draw and return the first state."""
        return int(self._first_state(self._packed.address))

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """Draw a transition and its reward."""
        S, A, H = self.mdp.n_states, self.mdp.n_actions, max(self.mdp.horizon, 1)
        if not (0 <= a < A and 0 <= s < S and 0 <= h < H):
            raise InputError(
                f"there is no state {s}, action {a}, step {h}; this MDP has {S} states, {A} actions and"
                f" {H} steps, each counted from 0"
            )
        drawn: tuple[int, float, bool, float] = self._step(self._packed.address, s, a, h)
        return drawn


def _first_state(packed: Any) -> int:
    dynamics = unpack(packed)
    return first_state(dynamics.mdp, dynamics.transitions)


def _step(packed: Any, s: Any, a: Any, h: Any) -> tuple[int, float, bool, float]:
    dynamics = unpack(packed)
    return step(dynamics.mdp, as_index(s), as_index(a), as_index(h), dynamics.transitions, dynamics.rewards)


def run(
    stepwise: OnlineAgent[int],
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
    stepwise.session.in_episode[0] = run_state.in_episode[0]
    with deferred_interrupts() as raise_deferred_interrupt:
        while run_state.episodes_or_steps[0] < until:
            _one_step(stepwise, env, horizon, run_state)
            if run_state.in_episode[0] == 0 or horizon == 0:
                run_state.episodes_or_steps[0] += 1
                _record(stepwise, run_state, checkpoints)
                on_chunk(stepwise.agent)
            raise_deferred_interrupt()


def _one_step(stepwise: OnlineAgent[int], env: StepEnv, horizon: int, run_state: RunState) -> None:
    if run_state.in_episode[0] == 0:
        run_state.state[0], run_state.h[0], run_state.in_episode[0] = env.reset(), 0, 1
        stepwise.begin(int(run_state.state[0]))
    s, h = int(run_state.state[0]), int(run_state.h[0])
    a = stepwise.act(s, h)
    s_next, r, terminated, mean = env.step(s, a, h)
    stepwise.update(s, a, r, s_next, h, terminated)
    run_state.steps[0] += 1
    ended = terminated or env.truncated or h + 1 == horizon
    # As Python floats: infinite rewards of both signs make the total NaN, which NumPy would warn about.
    run_state.totals[MEAN] = float(run_state.totals[MEAN]) + mean
    run_state.totals[REALISED] = float(run_state.totals[REALISED]) + r
    run_state.state[0], run_state.h[0], run_state.in_episode[0] = s_next, h + 1 if horizon else 0, not ended


def _record(stepwise: OnlineAgent[int], run_state: RunState, checkpoints: Checkpoints) -> None:
    i = int(checkpoints.reached[0])
    if i < len(checkpoints.at) and run_state.episodes_or_steps[0] == checkpoints.at[i]:
        checkpoints.values[i, :FIRST_COUNTER] = run_state.totals
        checkpoints.values[i, FIRST_COUNTER:] = list(stepwise.counters.values())
        checkpoints.reached[0] += 1
