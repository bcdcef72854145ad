"""Slow, obvious twins of the fast code.

Plain Python on dictionaries and dense arrays, written from the papers.
"""

import math
from collections.abc import Callable

import numpy as np

from heavytail.arrays import Floats
from heavytail.mdp import MDP


def successor(probabilities: Floats, u: float) -> int:
    """Inversion: the first state whose cumulative probability is above u."""
    total = 0.0
    for state, p in enumerate(probabilities):
        total += p
        if p > 0 and u < total:
            return state
    return int(np.flatnonzero(probabilities)[-1])


def q_learning(
    mdp: MDP,
    episodes: int,
    uniform: Callable[[], float],
    reward: Callable[[int, int, int, int], float],
    *,
    delta: float,
    planned_steps: int,
    scale: float,
    paper: bool = False,
) -> dict[tuple[int, int, int], float]:
    """Algorithm 1 of Jin et al. (2018), on an MDP without terminal states."""
    transitions, start, H = mdp.transitions, mdp.start, mdp.horizon
    S, A = mdp.n_states, mdp.n_actions
    r_max = float(mdp.mean_rewards.max())
    iota = math.log(2 * S * A * planned_steps / delta)
    cap = {h: (H if paper else H - h) * r_max for h in range(H)}
    q = {(h, s, a): cap[h] for h in range(H) for s in range(S) for a in range(A)}
    n = dict.fromkeys(q, 0)
    for _ in range(episodes):
        s = successor(start, uniform())
        for h in range(H):
            a = max(range(A), key=lambda a: q[h, s, a])
            s_next = successor(
                transitions[h, s, a] if transitions.ndim == 4 else transitions[s, a], uniform()
            )
            r = reward(h, s, a, s_next)
            n[h, s, a] += 1
            t = n[h, s, a]
            bonus = scale * r_max * math.sqrt(H**3 * iota / t)
            value = min(cap[h + 1], max(q[h + 1, s_next, b] for b in range(A))) if h + 1 < H else 0.0
            rate = (H + 1) / (H + t)
            q[h, s, a] = (1 - rate) * q[h, s, a] + rate * (r + value + bonus)
            s = s_next
    return q


def truncated(r: float, t: int, *, epsilon: float, moment: float, iota: float) -> float:
    """A reward as Heavy-Q-Learning counts it: 0 beyond (u t / iota)**(1 / (1 + epsilon))."""
    return r if abs(r) <= (moment * t / iota) ** (1 / (1 + epsilon)) else 0.0


def learning_rates(horizon: int, t: int) -> list[float]:
    """alpha_t^i for i = 1 to t: how much the i-th sample weighs after t."""
    rates = [(horizon + 1) / (horizon + j) for j in range(1, t + 1)]
    return [rates[i] * math.prod(1 - rate for rate in rates[i + 1 :]) for i in range(t)]


def bernstein_constant(horizon: int, t: int, epsilon: float) -> float:
    """K(t) of Heavy-Q-Learning, summed as it is written."""
    a, b = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    weights = learning_rates(horizon, t)
    bias = sum(w * i**-b for i, w in enumerate(weights, 1))
    variance = sum(w * w * i ** ((1 - epsilon) * a) for i, w in enumerate(weights, 1))
    largest = max(w * i**a for i, w in enumerate(weights, 1))
    return float(t**b * (bias + math.sqrt(2 * variance) + largest / 3))


def truncated_mean(x: Floats, log_confidence: float, *, epsilon: float, moment: float) -> float:
    """The truncated mean of a whole array."""
    total = 0.0
    for j, value in enumerate(x, 1):
        if abs(value) <= (moment * j / log_confidence) ** (1 / (1 + epsilon)):
            total += float(value)
    return total / len(x)


def median_of_means(x: Floats, log_confidence: float, max_log_confidence: float) -> float:
    """The median of means over the blocks that a stream of this length leaves.

    The smallest power of two of which there are fewer than 2 k_max.
    """
    most = math.floor(8 * max_log_confidence + 1)
    size = 1
    while len(x) // size >= 2 * most:
        size *= 2
    blocks = [float(np.sum(x[i * size : (i + 1) * size])) for i in range(len(x) // size)]
    k = max(1, min(math.floor(8 * log_confidence + 1), len(x) // 2, most))
    group = len(blocks) // k
    return float(np.median([sum(blocks[i * group : (i + 1) * group]) / (group * size) for i in range(k)]))
