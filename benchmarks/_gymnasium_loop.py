"""Learning in a loop over ``env.step``, as most libraries do, with a table in NumPy."""

from typing import Protocol

import gymnasium
import numpy as np

from _peers import BONUS, R_MAX, A, H, S


class OneByOne(Protocol):
    """An agent for one transition at a time, as `heavytail.serving.online_agent.OnlineAgent` is."""

    def begin(self, s: int) -> None:
        """Start an episode."""

    def act(self, s: int, h: int) -> int:
        """Return the action to take."""

    def update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        """Learn from a transition."""


def learn(env: gymnasium.Env[int, int], agent: OneByOne, episodes: int) -> None:
    """Run the loop for so many episodes."""
    for _ in range(episodes):
        s, _ = env.reset()
        agent.begin(s)
        h, ended = 0, False
        while not ended:
            a = agent.act(s, h)
            s_next, r, terminated, truncated, _ = env.step(a)
            agent.update(s, a, float(r), s_next, h, terminated)
            s, h, ended = s_next, h + 1, terminated or truncated


class TableAgent:
    """The agent of `_peers.numpy_q_learning`, one transition at a time."""

    def __init__(self) -> None:
        self.cap = R_MAX * np.arange(H, -1, -1)
        self.q = np.broadcast_to(self.cap[:, None, None], (H + 1, S, A)).copy()  # a last step worth nothing
        self.visits = np.zeros((H, S, A), np.int64)

    def begin(self, s: int) -> None:
        """Start an episode; nothing is kept of the last one."""

    def act(self, s: int, h: int) -> int:
        """Return the best action."""
        return int(np.argmax(self.q[h, s]))

    def update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        """Learn from a transition; on SixArms none is terminal."""
        self.visits[h, s, a] += 1
        t = self.visits[h, s, a]
        rate = (H + 1) / (H + t)
        target = r + min(self.cap[h + 1], self.q[h + 1, s_next].max()) + BONUS / np.sqrt(t)
        self.q[h, s, a] = (1 - rate) * self.q[h, s, a] + rate * target
