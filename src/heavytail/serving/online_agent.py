"""`OnlineAgent`: an agent for your own loop, around a simulator, a service or a log.

You ask it for an action and show it the result, one transition at a time. Both calls together take less than
a microsecond: its record is packed (`heavytail.kernels.packed`), and arguments are checked in compiled code.
"""

import copy
import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Record, Stream
from heavytail.checks import as_bool
from heavytail.errors import InputError, short_repr
from heavytail.kernels.compiling import interpret
from heavytail.kernels.packed import Packed
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import counter_names, write_counters
from heavytail.mdp.labels import Labels
from heavytail.mdp.problem import Problem
from heavytail.serving.live_session import LiveSession
from heavytail.serving.session import (
    ACT,
    BAD_ACTION,
    BAD_ARGUMENT,
    BEGIN,
    BUSY,
    DUE,
    FULL,
    NEVER,
    OWN_STEP,
    PREDICT,
    REFUSED,
    Session,
    check_reward,
    new_session,
    session_aside,
)
from heavytail.serving.session_file import Autosave, read_session, write_session
from heavytail.serving.snapshots import freeze_policy, tabulate_beliefs

if TYPE_CHECKING:
    import pandas as pd

Action = TypeVar("Action", bound=Hashable)


class OnlineAgent(LiveSession, Generic[Action]):
    """An agent for your own loop: ask for one action, show one transition at a time.

    `heavytail.make_online` makes one by name. Episodes begin and end automatically: an update that is
    `terminated`, `truncated` or the last of the horizon ends one, and the next `act` begins another. Threads
    may share an agent: calls wait for each other.

    Attributes:
        name: the agent's id.
        parameters: the parameters the agent was built with.
        problem: how many states, actions and steps there are.
        states: the labels of the states, in the order of `policy`.
        actions: the labels of the actions.

    >>> import heavytail as ht
    >>> agent = ht.make_online(states=["idle", "busy"], actions=["wait", "send"])
    >>> a = agent.act("idle")
    >>> agent.update("idle", a, r=1.0, s_next="busy")
    >>> agent
    OnlineAgent('heavy_psrl', states=2, actions=2, updates=1)
    """

    def __init__(
        self,
        agent: Record,
        rng: Stream,
        problem: Problem,
        *,
        predictions: Stream | None = None,
        name: str = "",
        parameters: dict[str, Any] | None = None,
        states: Labels | None = None,
        actions: Labels | None = None,
    ) -> None:
        self.name = name or type(agent).__name__
        self.parameters = parameters or {}
        self.problem = problem
        self.states = Labels(range(problem.n_states)) if states is None else states
        self.actions = Labels(range(problem.n_actions)) if actions is None else actions
        # None if they are the labels themselves: checking for None is quicker.
        self._codes = None if self.states.are_codes else self.states.codes
        self._action_codes = None if self.actions.are_codes else self.actions.codes
        self._steps = Labels(range(max(problem.horizon, 1)))
        self._autosave: Autosave | None = None
        self._aside: Packed | None = None  # a copy in which the next episode has begun
        spare = stream(0) if predictions is None else predictions
        self._attach(Packed(new_session(with_larger_pools(agent), rng, spare, problem)))

    def __repr__(self) -> str:
        return (
            f"OnlineAgent({self.name!r}, states={self.problem.n_states}, actions={self.problem.n_actions},"
            f" updates={self.updates})"
        )

    @property
    def session(self) -> Session:
        """Return its record, streams and place in the episode."""
        session: Session = self._packed.record
        return session

    @property
    def agent(self) -> Record:
        """Return the agent's record; a new one after its pools grew."""
        return self._packed.record.agent

    @property
    def updates(self) -> int:
        """Return how many transitions it has seen."""
        return int(self._packed.record.updates[0])

    @property
    def counters(self) -> dict[str, float]:
        """Return the agent's counters, by name."""
        names = counter_names(self.agent)
        out = np.zeros(len(names))
        interpret(write_counters, self.agent, out)
        return dict(zip(names, out.tolist(), strict=True))

    def warm_up(self) -> Self:
        """Compile the code of `act` and `update`, wait until that is done, and return self.

        Without it, calls are slower for the first seconds, while a thread compiles. Later processes load the
        machine code from disk at once.
        """
        self._switch()
        return self

    def begin(self, s: Any) -> None:
        """Start an episode in state `s`, even if the previous one has not ended."""
        self._ask(s, None, BEGIN, self._packed)

    def act(self, s: Any, h: int | None = None) -> Action:
        """Return the action to take in state `s`, and begin an episode if none is under way.

        Args:
            s: the state, as given to `make_online`.
            h: the step of the episode; if omitted, the one after the last update.
        """
        try:
            code = s if self._codes is None else self._codes[s]
            step = OWN_STEP if h is None else self._steps.code(h, "step")
            a: Any = self._act(self._address, code, step, ACT)
        except TypeError:
            a = BAD_ARGUMENT
        if a < 0:
            return self._ask(s, h, ACT, self._packed)
        return a if self._action_codes is None else self.actions[a]

    def predict(self, s: Any, h: int | None = None) -> Action:
        """Return the action that the agent would take; later actions and learning are not affected.

        Within an episode it follows the agent's current plan. Between episodes, or if the agent has only been
        shown the actions of others, a copy of an agent that plans does so as `act` would; an agent that draws
        its plan draws another.
        """
        return self._ask(s, h, PREDICT, self._planned())

    def policy(self) -> npt.NDArray[Any]:
        """Return `predict` for each state: actions [S], or [H, S] if episodes have H > 1 steps.

        >>> import heavytail as ht
        >>> agent = ht.make_online(states=["idle", "busy"], actions=["wait", "send"], seed=0)
        >>> dict(zip(agent.states, agent.policy()))
        {'idle': 'wait', 'busy': 'wait'}
        """
        planned = self._planned()
        with self._frozen():
            codes = freeze_policy(planned.record.agent, self.problem, self.session.predictions).actions
        named = self.actions.name_codes(codes)
        return named if self.problem.horizon > 1 else named[0]

    def _planned(self) -> Packed:
        """Return the session whose plan it predicts with: its own or, between episodes, the next one's."""
        if self.session.in_episode[0]:
            return self._packed
        aside = self._aside
        if aside is None or aside.record.updates[0] != self.updates:
            with self._frozen():
                aside = self._aside = None  # first, because two copies of a large agent may not fit
                aside = Packed(session_aside(self.session, self.problem))
            self._act(self._where(aside), 0, OWN_STEP, BEGIN)
            self._aside = aside
        return aside

    def beliefs(self) -> "pd.DataFrame":
        """Return the agent's beliefs about the rewards of each state and action, like `Learner.beliefs`.

        >>> import heavytail as ht
        >>> agent = ht.make_online(states=["idle", "busy"], actions=["wait", "send"], horizon=1)
        >>> for i in range(1000):
        ...     agent.update("idle", "send", r=i % 3)
        >>> agent.beliefs()[["state", "action", "n", "mean", "mean_low", "mean_high"]].round(2)
          state action     n  mean  mean_low  mean_high
        0  idle   wait     0   NaN       NaN        NaN
        1  idle   send  1000   1.0      0.96       1.04
        2  busy   wait     0   NaN       NaN        NaN
        3  busy   send     0   NaN       NaN        NaN
        """
        with self._frozen():
            return tabulate_beliefs(self.name, self.agent, self.states, self.actions)

    def _ask(self, s: Any, h: int | None, mode: int, session: Packed) -> Any:
        step = OWN_STEP if h is None else self._steps.code(h, "step")
        code = self.states.code(s, "state")
        while (a := self._act(self._where(session), code, step, mode)) == BUSY:
            self._wait()
        if a == BAD_ACTION:
            raise InputError(f"{self.name} chose an action that does not exist in state {short_repr(s)}")
        return self.actions[a]

    def update(
        self,
        s: Any,
        a: Hashable,
        r: float,
        s_next: Any = None,
        h: int | None = None,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition.

        Args:
            s: the state.
            a: the action taken in it, by the agent or anyone else.
            r: the reward; it may be infinite, but not NaN.
            s_next: the next state; not needed if it does not matter: after the only step of an episode (a
                bandit) or if `terminated`.
            h: the step of the episode; if omitted, the one after the last update.
            terminated: whether `s_next` is terminal, so that no value follows it. The last step of the
                horizon need not be marked.
            truncated: whether the episode ends here although `s_next` is not terminal.
        """
        if terminated is not False or truncated is not False:
            terminated, truncated = as_bool("terminated", terminated), as_bool("truncated", truncated)
        if s_next is None:
            if not (terminated or self.problem.horizon == 1):
                raise InputError(
                    "update: s_next is missing; only a terminated or one-step episode may omit it"
                )
            s_next, terminated = s, True
        step = OWN_STEP if h is None else self._steps.code(h, "step")
        codes, action_codes = self._codes, self._action_codes
        try:
            outcome = self._update(
                self._address,
                s if codes is None else codes[s],
                a if action_codes is None else action_codes[a],
                r,
                s_next if codes is None else codes[s_next],
                step,
                terminated,
                truncated,
            )
        except (TypeError, ValueError, OverflowError):  # an array, which is not hashable, or a mistake
            outcome = REFUSED
        if outcome >= REFUSED:
            outcome = self._update_slowly(s, a, r, s_next, step, terminated, truncated)
        if outcome == DUE and self._autosave is not None:
            self.session.due[0] = self._autosave.next_due(self.updates, self.save)

    def _update_slowly(self, s: Any, a: Any, r: Any, s_next: Any, *rest: Any) -> int:
        """Check everything, raise a clear error if something is wrong, and learn once possible."""
        codes = self.states.code(s, "state"), self.actions.code(a, "action")
        reward, next_state = check_reward(r, s, self.updates), self.states.code(s_next, "state")
        while (outcome := self._update(self._address, *codes, reward, next_state, *rest)) >= REFUSED:
            if outcome == FULL:
                self._grow()
            else:
                self._wait()
        return outcome

    def _grow(self) -> None:
        with self._frozen():
            self._packed.replace(self.session._replace(agent=with_larger_pools(self.agent)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file: the agent, its random streams, its position, and all labels.

        `load` reads it, and learning goes on bit for bit as if it had never stopped. A crash while writing
        leaves the old file intact.
        """
        problem, labels = self.problem, (self.states, self.actions)
        with self._frozen():
            write_session(path, self.name, self.parameters, problem, labels, self.session)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "OnlineAgent[Any]":
        """Read a file written by `save`."""
        session, about = read_session(path)
        loaded = cls(session.agent, session.rng, **about)
        loaded._packed.replace(session._replace(agent=loaded.agent))
        return loaded

    def autosave(
        self, path: str | os.PathLike[str], *, updates: int | None = None, seconds: float | None = None
    ) -> None:
        """Save to `path` periodically from now on, and when Python exits.

        Saving happens inside `update`, which then takes milliseconds; an agent that is not updated is not
        saved. A crash loses what was learnt since the last save, never the file.

        Args:
            path: the file.
            updates: the number of updates between saves.
            seconds: the time between saves.
        """
        if self._autosave is not None:
            self._autosave.stop()
        self._autosave = Autosave(path, updates, seconds, self.updates)
        self.session.due[0] = self.updates + 1
        self._autosave.save_at_exit(self)

    def __getstate__(self) -> dict[str, Any]:
        # Without compiled functions and addresses: another process has its own.
        own = ("_act", "_update", "_address", "_turn", "_compiler", "_autosave", "_aside")
        with self._frozen():
            session = copy.deepcopy(self.session)
        session.frozen[0] = 0
        kept = {name: value for name, value in vars(self).items() if name not in own}
        return {**kept, "_packed": Packed(session)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _autosave=None, _aside=None)
        self._attach(state["_packed"])
        self.session.due[0] = NEVER
