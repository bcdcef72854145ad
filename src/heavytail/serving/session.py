"""The session of an `OnlineAgent`: its record, streams and clock, and compiled entry points."""

import copy
import math
import numbers
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Ints, Record, Stream
from heavytail.errors import InputError, short_repr
from heavytail.kernels.packed import as_index, as_real, unpack
from heavytail.kernels.pools import any_pool_full
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import act, begin, update
from heavytail.mdp.problem import Problem
from heavytail.ranges import COUNT, FLAG, Range, below

NEVER = 2**62
OWN_STEP = -1  # for h: the step after the last update
BEGIN, ACT, PREDICT = 0, 1, 2
BAD_ARGUMENT, BAD_ACTION, BUSY = -1, -2, -3  # what `session_act` returns instead of an action
LEARNT, DUE, REFUSED, FULL, FROZEN = (
    0,
    1,
    2,
    3,
    4,
)  # results of an update; from REFUSED on, nothing was learnt
NAN_REWARD = (
    "the reward of step {step} (in state {state}) is nan; rewards may be infinite, but must be numbers"
)


class Session(NamedTuple):
    """A live agent: its record, its random streams, and its place in the episode."""

    agent: Record
    rng: Stream  # [4]
    predictions: Stream  # [4]; for predictions
    updates: Ints  # [1]
    in_episode: Ints  # [1] whether an episode is under way
    h: Ints  # [1] the next step
    due: Ints  # [1] the update at which to save next
    frozen: Ints  # [1] whether it must stay as it is, while another thread copies it
    n_states: int
    n_actions: int
    n_steps: int  # 1 in a continuing problem
    episodic: bool

    def ranges(self) -> dict[str, Range]:
        """Return the ranges of counts and of the place in the episode."""
        bits = Range(0, 2**64 - 1)
        return {
            "rng": bits,
            "predictions": bits,
            "updates": COUNT,
            "in_episode": FLAG,
            "h": below(self.n_steps),
            "due": Range(0, NEVER),
            "frozen": FLAG,
        }


def new_session(agent: Record, rng: Stream, predictions: Stream, problem: Problem) -> Session:
    """Make a session in which the agent has learnt nothing yet."""
    return Session(
        agent=agent,
        rng=rng,
        predictions=predictions,
        updates=np.zeros(1, np.int64),
        in_episode=np.zeros(1, np.int64),
        h=np.zeros(1, np.int64),
        due=np.full(1, NEVER, np.int64),
        frozen=np.zeros(1, np.int64),
        n_states=problem.n_states,
        n_actions=problem.n_actions,
        n_steps=max(problem.horizon, 1),
        episodic=problem.horizon > 0,
    )


def session_aside(session: Session, problem: Problem) -> Session:
    """Return a session that can begin an episode as this one would, for predicting, not learning.

    An agent with a `begin` is copied; any other is shared.
    """
    agent = copy.deepcopy(session.agent) if type(session.agent) in begin.methods else session.agent
    # A new stream after each update: a posterior drawn with the same numbers again explores little.
    rng = stream(np.random.SeedSequence([*map(int, session.rng), int(session.updates[0])]))
    aside = new_session(agent, rng, session.predictions, problem)
    aside.updates[0] = session.updates[0]
    return aside


def check_reward(r: Any, s: Any, step: int) -> float:
    """Return a reward as a float; raise InputError if it is not a number.

    >>> check_reward(10**400, "idle", step=3)
    Traceback (most recent call last):
    heavytail.errors.InputError: the reward 100... is too large; for infinity use inf
    """
    if isinstance(r, np.timedelta64) or not isinstance(r, numbers.Real):  # a time span counts as Real
        raise InputError(f"a reward must be a number, got {short_repr(r)}")
    try:
        reward = float(r)
    except OverflowError:
        raise InputError(f"the reward {short_repr(r)} is too large; for infinity use inf") from None
    if math.isnan(reward):
        raise InputError(NAN_REWARD.format(step=step, state=short_repr(s)))
    return reward


# Compiled entry points. (A verb cannot be one: its method is chosen during compilation.)


def session_act(packed: Any, s: Any, h: Any, mode: Any) -> int:
    """Begin, act or predict, depending on `mode`; return a negative number if something is wrong."""
    session, state, step, what = unpack(packed), as_index(s), as_index(h), as_index(mode)
    if step == OWN_STEP:
        step = session.h[0]
    if not (0 <= state < session.n_states and 0 <= step < session.n_steps):
        return BAD_ARGUMENT
    if session.frozen[0] == 1:
        return BUSY
    if what == BEGIN or (what == ACT and session.in_episode[0] == 0):
        begin(session.agent, state, session.rng)
        session.in_episode[0] = 1
        if what == BEGIN:
            session.h[0] = 0
            return 0
    rng = session.predictions if what == PREDICT else session.rng
    a = int(act(session.agent, state, step, rng))
    return a if 0 <= a < session.n_actions else BAD_ACTION


def session_update(
    packed: Any, s: Any, a: Any, r: Any, s_next: Any, h: Any, terminated: bool, truncated: bool
) -> int:
    """Learn from a transition, and return a status."""
    session, state, action, reward = unpack(packed), as_index(s), as_index(a), as_real(r)
    next_state, step = as_index(s_next), as_index(h)
    if step == OWN_STEP:
        step = session.h[0]
    valid = 0 <= state < session.n_states and 0 <= next_state < session.n_states
    if not (valid and 0 <= action < session.n_actions and 0 <= step < session.n_steps) or math.isnan(reward):
        return REFUSED
    if session.frozen[0] == 1:
        return FROZEN
    if any_pool_full(session.agent):
        return FULL
    update(session.agent, state, action, reward, next_state, step, terminated, session.rng)
    session.updates[0] += 1
    last = session.episodic and step + 1 == session.n_steps
    if terminated or truncated or last:
        session.in_episode[0] = 0
        session.h[0] = 0
    elif session.episodic:
        session.h[0] = step + 1
    return DUE if session.updates[0] >= session.due[0] else LEARNT
