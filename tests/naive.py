"""Slow, obvious twins of the fast code: plain Python on dictionaries and dense arrays, written from the papers."""

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
            s_next = successor(transitions[h, s, a] if transitions.ndim == 4 else transitions[s, a], uniform())
            r = reward(h, s, a, s_next)
            n[h, s, a] += 1
            t = n[h, s, a]
            bonus = scale * r_max * math.sqrt(H**3 * iota / t)
            value = min(cap[h + 1], max(q[h + 1, s_next, b] for b in range(A))) if h + 1 < H else 0.0
            rate = (H + 1) / (H + t)
            q[h, s, a] = (1 - rate) * q[h, s, a] + rate * (r + value + bonus)
            s = s_next
    return q
