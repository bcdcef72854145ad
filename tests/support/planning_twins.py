"""Random MDPs and rivers, and what is true of them by plain loops, enumeration and linear programming.

The twins share no code with `heavytail.planning`.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

import heavytail as ht
from heavytail.arrays import Bools, Floats
from heavytail.mdp import MDP
from support.examples import examples

KINDS = ["dense", "sparse", "deterministic", "periodic", "multichain"]
# Without a deadline, since the first example imports scipy.
FEW_EXAMPLES = examples(40)
MANY_EXAMPLES = examples(100)


# Random models


class Model(NamedTuple):
    p: Floats  # [S, A, S] or [H, S, A, S]
    r: Floats  # [S, A] or [H, S, A]
    start: Floats
    terminal: Bools
    horizon: int

    def mdp(self) -> MDP:
        rewards = self.r[..., None] if self.r.ndim == 3 else self.r
        terminal = self.terminal if self.terminal.any() else None
        return ht.mdp_from_arrays(
            self.p, rewards, start=self.start, terminal=terminal, horizon=self.horizon or None
        )

    def continued(self) -> Floats:
        """Transitions of the continuing reading: what ends leads back to the start."""
        ended = (self.p * self.terminal).sum(axis=-1, keepdims=True)
        return np.where(self.terminal, 0.0, self.p) + ended * self.start


def mild(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Random probabilities, none so small that the twins, which take powers, lose accuracy."""
    return 0.8 * rng.dirichlet(np.ones(shape[-1]), shape[:-1]) + 0.2 / shape[-1]


def transitions(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Probabilities [..., S, A, S]."""
    n = shape[-1]
    if kind == "dense":
        return mild(rng, shape)
    if kind == "deterministic":
        return np.eye(n)[rng.integers(n, size=shape[:-1])]
    allowed = rng.random(shape) < 0.4
    if kind == "periodic":  # a step leads from one half of the states to the other
        allowed = np.broadcast_to((np.arange(n)[:, None, None] + np.arange(n)) % 2 == 1, shape).copy()
    if (
        kind == "multichain"
    ):  # nothing leads out of the even states, nor out of the odd ones but from the last
        allowed &= (np.arange(n)[:, None, None] + np.arange(n)) % 2 == 0
        allowed[..., -1, :, :] = True
    states = np.broadcast_to(np.arange(n)[:, None], shape[:-1])
    allowed |= (allowed.sum(axis=-1) == 0)[..., None] * np.eye(n, dtype=bool)[states]
    weights = allowed * rng.integers(1, 4, size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


@st.composite
def models(
    draw: st.DrawFn,
    *,
    most_states: int = 4,
    episodic: bool = False,
    staged: bool = False,
    kinds: list[str] = KINDS,
    ties: bool = True,
) -> Model:
    """Small MDPs; rewards are often whole numbers, so that policies tie."""
    S, A, H = draw(st.integers(1, most_states)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lead = (H,) if staged and draw(st.booleans()) else ()
    p = transitions(draw(st.sampled_from(kinds)), (*lead, S, A, S), rng)
    r = (
        rng.integers(-1, 3, size=(*lead, S, A)).astype(np.float64)
        if ties and draw(st.booleans())
        else rng.normal(size=(*lead, S, A))
    )
    start = np.eye(S)[rng.integers(S)] if draw(st.booleans()) else mild(rng, (S,))
    ends = episodic or draw(st.booleans())
    return Model(p, r, start, (rng.random(S) < 0.3) & ends & draw(st.booleans()), H if ends else 0)


def stochastic(model: Model, seed: int, steps: int = 0) -> Floats:
    """A random policy [S, A] or [H, S, A], in which some actions are never taken."""
    rng = np.random.default_rng(seed)
    weights = rng.random((*((steps,) if steps else ()), *model.r.shape[-2:])) * (
        rng.random(model.r.shape[-2:]) < 0.7
    )
    weights[..., 0] += weights.sum(axis=-1) == 0
    policy: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return policy


# Twins


def naive_values(model: Model, choose: Callable[[int, int, list[float]], float]) -> list[list[float]]:
    """Backward induction in loops; `choose` makes a value of those of the actions."""
    S, A = model.r.shape[-2:]
    values = [[0.0] * S]
    for h in reversed(range(model.horizon)):
        p, r = (model.p[h] if model.p.ndim == 4 else model.p), (model.r[h] if model.r.ndim == 3 else model.r)
        now = []
        for s in range(S):
            q = []
            for a in range(A):
                total = float(r[s, a])
                for s_next in range(S):
                    if not model.terminal[s_next]:
                        total += float(p[s, a, s_next]) * values[0][s_next]
                q.append(total)
            now.append(choose(h, s, q))
        values.insert(0, now)
    return values


def cesaro(chain: Floats) -> Floats:
    """The average of the powers of a chain, over 2**50 of them.

    The first 2n are the first n, and the same again n steps later.
    """
    average, power = np.eye(len(chain)), chain
    for _ in range(50):
        average = 0.5 * (average + power @ average)
        power = power @ power
        power = power / power.sum(axis=1, keepdims=True)
    return average / average.sum(axis=1, keepdims=True)


def naive_gain_and_bias(chain: Floats, rewards: Floats) -> tuple[Floats, Floats]:
    """By the fundamental matrix (Puterman 1994, appendix A)."""
    limit = cesaro(chain)
    gain = limit @ rewards
    bias = np.asarray(np.linalg.solve(np.eye(len(chain)) - chain + limit, rewards - gain), np.float64)
    return gain, bias - limit @ bias


def policies(model: Model) -> Iterator[tuple[int, ...]]:
    S, A = model.r.shape
    return itertools.product(range(A), repeat=S)


def every_gain_and_bias(model: Model) -> tuple[Floats, Floats]:
    """[policies, S] of all deterministic policies."""
    p, states = model.continued(), np.arange(len(model.r))
    each = [
        naive_gain_and_bias(p[states, list(policy)], model.r[states, list(policy)])
        for policy in policies(model)
    ]
    return np.array([gain for gain, _ in each]), np.array([bias for _, bias in each])


def lp_gains(model: Model) -> Floats:
    """The least superharmonic gain (Puterman 1994, section 9.3), for any MDP.

    Min sum g, g >= P g, g + h >= r + P h.
    """
    S, A = model.r.shape
    p = model.continued().reshape(S * A, S)
    own = np.repeat(np.eye(S), A, axis=0)
    gain_rows, bias_rows = np.hstack([p - own, np.zeros_like(p)]), np.hstack([-own, p - own])
    costs, limits = (
        np.concatenate([np.ones(S), np.zeros(S)]),
        np.concatenate([np.zeros(S * A), -model.r.ravel()]),
    )
    solution = linprog(costs, A_ub=np.vstack([gain_rows, bias_rows]), b_ub=limits, bounds=(None, None))
    assert solution.status == 0
    return np.asarray(solution.x[:S])


def lp_gain_by_frequencies(model: Model) -> float:
    """Max sum x r over how often x(s, a) is visited (Puterman 1994, section 8.8), for communicating MDPs."""
    S, A = model.r.shape
    balance = np.repeat(np.eye(S), A, axis=0).T - model.continued().reshape(S * A, S).T
    found = linprog(
        -model.r.ravel(), A_eq=np.vstack([balance, np.ones(S * A)]), b_eq=np.concatenate([np.zeros(S), [1.0]])
    )
    assert found.status == 0
    return -float(found.fun)


def naive_times(model: Model, target: int) -> Floats:
    """The least hitting times over all deterministic policies.

    Infinite under a policy that may miss the target.
    """
    p, S = model.continued(), len(model.r)
    best = np.where(np.arange(S) == target, 0.0, np.inf)
    for policy in policies(model):
        chain = p[np.arange(S), list(policy)].copy()
        chain[target] = np.eye(S)[target]
        reaches = np.linalg.matrix_power((np.eye(S) + chain > 0).astype(np.float64), S) > 0
        sure = np.array(
            [reaches[reaches[s], target].all() and s != target for s in range(S)]
        )  # whatever comes next, it can still be reached
        (on_the_way,) = np.nonzero(sure)
        times = np.linalg.solve(
            np.eye(len(on_the_way)) - chain[np.ix_(on_the_way, on_the_way)], np.ones(len(on_the_way))
        )
        best[on_the_way] = np.minimum(best[on_the_way], times)
    return best


# Rivers: a chain in which the way right is slow and the way left is sure


def river(n: int, *, left_reward: float = 0.005, horizon: int | None = None) -> MDP:
    """RiverSwim with 0.6 to set off, written out here so that its closed forms stay with it."""
    s = np.arange(n)
    back, forth = np.maximum(s - 1, 0), np.minimum(s + 1, n - 1)
    successors = np.stack([back, back, s, forth], axis=1)
    p = np.tile([1.0, 0.05, 0.6, 0.35], (n, 1))
    p[0, 1:], p[-1, 1:] = [0.0, 0.4, 0.6], [0.4, 0.6, 0.0]
    rewards = np.zeros((n, 4))
    rewards[0, 0], rewards[-1, 1:] = left_reward, 1.0
    rows = np.stack([2 * s, 2 * s + 1, 2 * s + 1, 2 * s + 1], axis=1)
    return ht.mdp_from_slots(
        rows.ravel(), successors.ravel(), p.ravel(), rewards.ravel(), n_states=n, n_actions=2, horizon=horizon
    )


def river_times(n: int) -> Floats:
    """Expected steps from each state to the right end.

    With e_0 = 1 / 0.6 and e_s = 1 / 0.35 + e_{s-1} / 7 for one state further, added up.
    """
    further = [1.0 / 0.6]
    for _ in range(n - 2):
        further.append(1.0 / 0.35 + further[-1] / 7.0)
    return np.concatenate([np.cumsum(further[::-1])[::-1], [0.0]])


def river_gain(n: int) -> float:
    """How often the right end is visited.

    Going left from it the visits are 1, 8/7, 8/49, ..., and at the left end 0.05 / 0.6 of their neighbour's.
    """
    visits = [1.0] + [8.0 / 7.0 / 7.0**k for k in range(min(n - 2, 300))]
    return 1.0 / (sum(visits) + visits[-1] * 0.05 / 0.6)
