"""Textbook Q-learning with UCB-Hoeffding bonuses on SixArms, in pure Python and in NumPy.

The algorithm is that of `heavytail.agents.q_learning`, with its default constants; the draws are each
library's own.
"""

import math
from random import Random

import numpy as np
import numpy.typing as npt

S, A, H = 7, 6, 25
R_MAX = 2.0
REACH = (1.0, 0.2, 0.2, 0.2, 0.2, 0.2)
MEANS = (1.2, 1.2, 1.4, 1.6, 1.8, 2.0)
ALPHA = 1.1
DELTA, PLANNED_STEPS, SCALE = 0.05, 10_000_000, 0.01
BONUS = SCALE * R_MAX * math.sqrt(H**3 * math.log(2 * S * A * PLANNED_STEPS / DELTA))

# Pure Python


def python_noise(arm: int, rng: Random) -> float:
    """Draw the noise of an arm: normal for the first, alpha-stable for the others.

    The method is that of Chambers, Mallows and Stuck.
    """
    if arm == 0:
        return rng.gauss(0.0, 0.1)
    angle, e = math.pi * (rng.random() - 0.5), rng.expovariate(1.0)
    spread = (math.cos(angle - ALPHA * angle) / e) ** (1.0 / ALPHA - 1.0)
    return math.sin(ALPHA * angle) / math.cos(angle) ** (1.0 / ALPHA) * spread


def python_step(s: int, a: int, noise: bool, rng: Random) -> tuple[int, float, float]:
    """Make one transition of SixArms; return the next state, the reward and the expected reward."""
    if s == 0:
        return (a + 1 if rng.random() < REACH[a] else 0), 0.0, 0.0
    if a != s - 1:
        return 0, 0.0, 0.0
    mean = MEANS[a]
    return s, mean + python_noise(a, rng) if noise else mean, mean


def python_q_learning(episodes: int, noise: bool, seed: int = 0) -> float:
    """Learn, in lists; return the sum of expected rewards."""
    rng = Random(seed)  # noqa: S311 - no secrets here
    q = [[[(H - h) * R_MAX] * A for _ in range(S)] for h in range(H)]
    visits = [[[0] * A for _ in range(S)] for _ in range(H)]
    total = 0.0
    for _ in range(episodes):
        s = 0
        for h in range(H):
            row = q[h][s]
            a = row.index(max(row))
            s_next, r, mean = python_step(s, a, noise, rng)
            visits[h][s][a] += 1
            t = visits[h][s][a]
            rate = (H + 1) / (H + t)
            value = min((H - h - 1) * R_MAX, max(q[h + 1][s_next])) if h + 1 < H else 0.0
            row[a] = (1 - rate) * row[a] + rate * (r + value + BONUS / math.sqrt(t))
            total += mean
            s = s_next
    return total


# NumPy


def numpy_tables() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return SixArms as cumulative transition probabilities [S, A, S] and expected rewards [S, A]."""
    transitions, means = np.zeros((S, A, S)), np.zeros((S, A))
    transitions[1:, :, 0] = 1.0
    for arm in range(A):
        transitions[0, arm, [0, arm + 1]] = 1.0 - REACH[arm], REACH[arm]
        transitions[arm + 1, arm] = np.eye(S)[arm + 1]
        means[arm + 1, arm] = MEANS[arm]
    return transitions.cumsum(axis=-1), means


def numpy_noise(arm: int, rng: np.random.Generator) -> float:
    """Draw the noise of an arm."""
    if arm == 0:
        return rng.normal(0.0, 0.1)
    angle, e = np.pi * (rng.random() - 0.5), rng.exponential()
    spread = (np.cos(angle - ALPHA * angle) / e) ** (1.0 / ALPHA - 1.0)
    return float(np.sin(ALPHA * angle) / np.cos(angle) ** (1.0 / ALPHA) * spread)


def numpy_q_learning(episodes: int, noise: bool, seed: int = 0) -> float:
    """Learn, in arrays; return the sum of expected rewards."""
    rng = np.random.default_rng(seed)
    cumulative, means = numpy_tables()
    cap = R_MAX * np.arange(H, -1, -1)
    q = np.broadcast_to(cap[:, None, None], (H + 1, S, A)).copy()  # a last step worth nothing
    visits = np.zeros((H, S, A), np.int64)
    total = 0.0
    for _ in range(episodes):
        s = 0
        for h in range(H):
            a = int(np.argmax(q[h, s]))
            s_next = int(np.searchsorted(cumulative[s, a], rng.random(), side="right"))
            r = means[s, a]
            if noise and r > 0:
                r += numpy_noise(a, rng)
            visits[h, s, a] += 1
            t = visits[h, s, a]
            rate = (H + 1) / (H + t)
            target = r + min(cap[h + 1], q[h + 1, s_next].max()) + BONUS / np.sqrt(t)
            q[h, s, a] = (1 - rate) * q[h, s, a] + rate * target
            total += float(means[s, a])
            s = s_next
    return total
