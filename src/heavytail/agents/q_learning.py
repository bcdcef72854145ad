r"""Q-learning with UCB bonuses.

Jin, Allen-Zhu, Bubeck and Jordan, "Is Q-learning provably efficient?", NeurIPS 2018, algorithms 1 and 2.

At the t-th visit of (s, a) at step h, with learning rate alpha_t = (H + 1) / (H + t),

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r + V_{h+1}(s') + b_t),
    V_h(s) = min(cap_h, max_a Q_h(s, a)),

V after the end of an episode being 0 and Q starting at its cap. The bonus b_t is one of
`heavytail.agents._bonuses`, Hoeffding's b_t = c r_max sqrt(H^3 iota / t) or Bernstein's, with
iota = log(2 S A T / delta). T is `planned_steps`, c is `transition_scale * bonus_scale` (the analysis leaves
it an absolute constant). Rewards are assumed to have light tails: this is the baseline that heavy tails
defeat.

As stated the cap is H r_max; ``constants="tight"`` uses the value that is left at step h, (H - h) r_max,
which is valid and smaller. With r_max below 0 the cap is 0, since an episode may end early. (The paper writes
iota with SAT in one place and 2SAT in others; 2SAT is used throughout.)

A row of Q is searched for its largest entry only where that may have changed: its greedy action, its largest
entry and the largest of the others are kept, the last rounded up to 32 bits. So a step reads two numbers of
the next row and not all of them, and writes into a row only what is largest: memory is what a GPU waits for.
"""

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from heavytail.agents._bonuses import new_bonus, next_bonus
from heavytail.agents._learnt_unit import LearntUnit, change_unit, with_learnt_unit
from heavytail.agents._scales import Constants, Scales, choose_scales
from heavytail.arrays import Floats, Floats32, Indices, Record, Stream, U
from heavytail.checks import Count, NonNegative, OpenProbability
from heavytail.kernels.array_ops import LOWEST, TINY, as_int, find_greedy, round_up
from heavytail.kernels.async_loads import loaded, start_load
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import quotient
from heavytail.kernels.verbs import (
    act,
    prefetch,
    reset,
    update,
    update_at_once,
    update_prefetched,
    write_counters,
)
from heavytail.mdp.problem import Problem, known_r_max, require_horizon
from heavytail.ranges import COUNT, Fact, Range, below
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.001, rewards=1.0)
MAX_VISITS = 2**32 - 1


class QLearning(NamedTuple):
    """The memory of Q-learning."""

    others: Floats  # [H, S, A] the q of actions that are not greedy; that of the greedy one is `best`
    greedy: Indices  # [H, S] the first action whose q is largest
    best: Floats  # [H, S] the largest q
    runner_up: Floats32  # [H, S] the largest q of the other actions, rounded up
    visits: Indices  # [H, S, A]; 32 bits, since a lane on a GPU waits for them
    cap: Floats  # [H] upper bound on the value at each step
    bonus: Record  # of heavytail.agents._bonuses
    horizon: float

    @property
    def q(self) -> Floats:
        """Return the q of all actions, [H, S, A]."""
        q = self.others.copy()
        np.put_along_axis(q, self.greedy[..., None].astype(np.int64), self.best[..., None], axis=-1)
        return q

    def counter_names(self) -> tuple[str, ...]:
        """Name its counter: how many (step, state, action) were ever tried."""
        return ("cells_visited",)

    def constant_fields(self) -> tuple[str, ...]:
        """Name what never changes: the caps."""
        return ("cap",)

    def ranges(self) -> dict[str, Range]:
        """Say what is a count."""
        return {"visits": COUNT, "greedy": below(self.others.shape[2])}

    def facts(self) -> Iterator[Fact]:
        """Say that greedy actions are those of q."""
        q, others = self.q, self.others.copy()
        np.put_along_axis(others, self.greedy[..., None].astype(np.int64), -np.inf, axis=-1)
        right = (q.argmax(axis=-1) == self.greedy) & (others.max(axis=-1) <= self.runner_up)
        yield "greedy actions are not those of q", (right | np.isnan(q).any(axis=-1)).all()


@register("agent", "q_learning")
def q_learning(
    problem: Problem,
    *,
    r_max: float | None = None,
    delta: OpenProbability = 0.05,
    planned_steps: Count = 10_000_000,
    transition_scale: NonNegative | None = None,
    bonus_scale: NonNegative = 1.0,
    bonus: Literal["hoeffding", "bernstein"] = "hoeffding",
    constants: Constants = "practical",
) -> QLearning | LearntUnit:
    """Q-learning with UCB bonuses (Jin et al. 2018), for episodes and light-tailed rewards.

    Args:
        problem: the environment's sizes.
        r_max: the largest expected reward; known for an MDP, and learnt elsewhere.
        delta: one minus the confidence; 0.05 throughout heavytail, as the paper gives none.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the bonus; the c of the analysis, which leaves it open.
        bonus_scale: multiplies it too.
        bonus: "hoeffding", which the paper's experiments use, or "bernstein", which needs three more numbers
            per cell.
        constants: "practical" for a scale that works; "tight" for 1. Both cap values at what the rest of an
            episode can give, "paper" at what all of it can.
    """
    known = known_r_max(problem, r_max)
    scale = choose_scales(constants, PRACTICAL, transition_scale, None, bonus_scale).transitions
    largest = 1.0 if known is None else known
    agent = new_q_learning(problem, largest, delta, planned_steps, scale, bonus, constants)
    return with_learnt_unit(problem, agent, order=0.0) if known is None else agent


def new_q_learning(
    problem: Problem,
    r_max: float,
    delta: float,
    planned_steps: int,
    scale: float,
    bonus: Literal["hoeffding", "bernstein"],
    constants: Constants,
) -> QLearning:
    """Make Q-learning for a largest expected reward of `r_max`, with the constant c = `scale`."""
    H, S, A = require_horizon("q_learning", problem), problem.n_states, problem.n_actions
    left = np.full(H, H) if constants == "paper" else H - np.arange(H)
    cap = max(r_max, 0.0) * left.astype(np.float64)
    iota = math.log(2 * S * A * planned_steps / delta)
    return QLearning(
        others=np.array(np.broadcast_to(cap[:, None, None], (H, S, A))),
        greedy=np.zeros((H, S), np.uint32),
        best=np.array(np.broadcast_to(cap[:, None], (H, S))),
        runner_up=np.array(np.broadcast_to(_round_up(cap if A > 1 else np.full(H, LOWEST))[:, None], (H, S))),
        visits=np.zeros((H, S, A), np.uint32),
        cap=cap,
        bonus=new_bonus(bonus, (H, S, A), abs(r_max), iota, scale),
        horizon=float(H),
    )


def _round_up(x: Floats) -> Floats32:
    """Do what `round_up` does, without compiling it."""
    with np.errstate(over="ignore"):
        return (x + np.abs(x) * 2.0**-24 + TINY).astype(np.float32)


@act.method(QLearning)
def _act(agent: QLearning, s: int, h: int, rng: Stream) -> int:
    return as_int(agent.greedy[U(h), U(s)])


@prefetch.method(QLearning)
def _prefetch(
    agent: QLearning, s: int, a: int, s_next: int, h: int
) -> tuple[int, int, float, float, float, int]:
    row, next_row = (U(h), U(s)), (U(min(h + 1, agent.others.shape[0] - 1)), U(s_next))
    return (
        start_load(agent.visits, (U(h), U(s), U(a)), 0),
        start_load(agent.greedy, row, 1),
        start_load(agent.best, row, 2),
        start_load(agent.runner_up, row, 3),
        start_load(agent.best, next_row, 4),
        start_load(agent.greedy, next_row, 5),  # of the next step, to have it near
    )


update.method(QLearning)(update_at_once)


@update_prefetched.method(QLearning)
def _update_prefetched(
    agent: QLearning,
    prefetched: Any,
    s: int,
    a: int,
    r: float,
    s_next: int,
    h: int,
    terminated: bool,
    rng: Stream,
) -> None:
    cell, row, n = (U(h), U(s), U(a)), (U(h), U(s)), count_visits(agent, prefetched)
    greedy, best = loaded(agent.greedy, prefetched[1], 1), loaded(agent.best, prefetched[2], 2)
    runner_up = loaded(agent.runner_up, prefetched[3], 3)
    value = 0.0
    if not terminated and h + 1 < agent.others.shape[0]:
        value = min(agent.cap[U(h + 1)], loaded(agent.best, prefetched[4], 4))
    old = best if a == greedy else agent.others[cell]
    t = n + 1.0
    rate = quotient(agent.horizon + 1.0, agent.horizon + t)
    flat = (h * agent.others.shape[1] + s) * agent.others.shape[2] + a
    target = r + next_bonus(agent.bonus, flat, t, rate, value) + value
    new = (1.0 - rate) * old + rate * target
    agent.visits[cell] = n + 1
    if a == greedy and new > runner_up:
        agent.best[row] = new
    else:
        agent.others[U(h), U(s), U(greedy)] = best
        agent.others[cell] = new
        _search_row(agent, h, s)


@kernel
def count_visits(agent: QLearning, prefetched: Any) -> int:
    """Return how often a cell was visited before; the count stops just below 2**32."""
    return min(as_int(loaded(agent.visits, prefetched[0], 0)), MAX_VISITS - 1)


@kernel
def q_value(agent: QLearning, h: int, s: int, a: int) -> float:
    """Return the q of an action."""
    return agent.best[U(h), U(s)] if a == agent.greedy[U(h), U(s)] else agent.others[U(h), U(s), U(a)]


@subroutine
def _search_row(agent: QLearning, h: int, s: int) -> None:
    """Find the greedy action; `others` must have the q of all."""
    row = U(h), U(s)
    agent.greedy[row], agent.best[row], other = find_greedy(agent.others, h, s)
    agent.runner_up[row] = round_up(other)


@write_counters.method(QLearning)
def _write_counters(agent: QLearning, out: Floats) -> None:
    tried, (H, S, A) = 0, agent.visits.shape
    for h in range(H):
        for s in range(S):
            for a in range(A):
                tried += 1 if agent.visits[h, s, a] > 0 else 0
    out[0] = tried


@reset.method(QLearning)
def _reset(record: QLearning) -> None:
    reset(record.bonus)
    for h in range(record.others.shape[0]):
        for s in range(record.others.shape[1]):
            for a in range(record.others.shape[2]):
                record.others[h, s, a] = record.cap[h]
                record.visits[h, s, a] = 0
            _search_row(record, h, s)


@change_unit.method(QLearning)
def _change_unit(record: QLearning, ratio: float) -> None:
    change_unit(record.bonus, ratio)
    for h in range(record.others.shape[0]):
        for s in range(record.others.shape[1]):
            record.others[h, s, record.greedy[h, s]] = record.best[h, s]
            for a in range(record.others.shape[2]):
                if record.visits[h, s, a] > 0:
                    record.others[h, s, a] *= ratio
            _search_row(record, h, s)
