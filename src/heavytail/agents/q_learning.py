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
entry and the largest of the others are kept. So a step reads two numbers of the next row and not all of them.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from heavytail.agents._bonuses import new_bonus, next_bonus
from heavytail.agents._learnt_unit import LearntUnit, change_unit, with_learnt_unit
from heavytail.agents._scales import Constants, Scales, choose_scales
from heavytail.arrays import Floats, Indices, Ints, Record, Stream, U
from heavytail.checks import Count, NonNegative, OpenProbability
from heavytail.kernels.array_ops import as_int, find_greedy, prefetch_cell
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.verbs import act, prefetch, reset, update, write_counters
from heavytail.mdp.problem import Problem, known_r_max, require_horizon
from heavytail.ranges import COUNT, Fact, Range, below
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.001, rewards=1.0)
MAX_VISITS = 2.0**32 - 1.0


class QLearning(NamedTuple):
    """The memory of Q-learning."""

    q: Floats  # [H, S, A]
    greedy: Indices  # [H, S] the first action whose q is largest
    best: Floats  # [H, S] the largest q
    runner_up: Floats  # [H, S] the largest q of the other actions
    visits: Indices  # [H, S, A]; 32 bits, since a lane on a GPU waits for them
    cells_visited: Ints  # [1]
    cap: Floats  # [H] upper bound on the value at each step
    bonus: Record  # of heavytail.agents._bonuses
    horizon: float

    def counter_names(self) -> tuple[str, ...]:
        """Name its counter: how many (step, state, action) were ever tried."""
        return ("cells_visited",)

    def constant_fields(self) -> tuple[str, ...]:
        """Name what never changes: the caps."""
        return ("cap",)

    def ranges(self) -> dict[str, Range]:
        """Say what is a count."""
        return {"visits": COUNT, "cells_visited": COUNT, "greedy": below(self.q.shape[2])}

    def facts(self) -> Iterator[Fact]:
        """Say that greedy actions are those of q."""
        greedy, others = self.greedy[..., None].astype(np.int64), self.q.copy()
        np.put_along_axis(others, greedy, -np.inf, axis=-1)
        right = (self.q.argmax(axis=-1) == self.greedy) & (self.q.max(axis=-1) == self.best)
        right &= others.max(axis=-1) == self.runner_up
        yield "greedy actions are not those of q", (right | np.isnan(self.q).any(axis=-1)).all()


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
        q=np.array(np.broadcast_to(cap[:, None, None], (H, S, A))),
        greedy=np.zeros((H, S), np.uint32),
        best=np.array(np.broadcast_to(cap[:, None], (H, S))),
        runner_up=np.array(np.broadcast_to(cap[:, None] if A > 1 else -np.inf, (H, S))),
        visits=np.zeros((H, S, A), np.uint32),
        cells_visited=np.zeros(1, np.int64),
        cap=cap,
        bonus=new_bonus(bonus, (H, S, A), abs(r_max), iota, scale),
        horizon=float(H),
    )


@act.method(QLearning)
def _act(agent: QLearning, s: int, h: int, rng: Stream) -> int:
    return as_int(agent.greedy[U(h), U(s)])


@prefetch.method(QLearning)
def _prefetch(agent: QLearning, s: int, a: int, s_next: int, h: int) -> None:
    prefetch_cell(agent.visits, (h, s, a))
    prefetch_cell(agent.q, (h, s, a))
    prefetch_cell(agent.runner_up, (h, s))
    h_next = min(h + 1, agent.q.shape[0] - 1)
    prefetch_cell(agent.best, (h_next, s_next))
    prefetch_cell(agent.greedy, (h_next, s_next))


@update.method(QLearning)
def _update(
    agent: QLearning, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = U(h), U(s), U(a)
    if agent.visits[cell] == 0:
        agent.cells_visited[0] += 1
    t = count_visits(agent, s, a, h) + 1.0
    agent.visits[cell] = int(t)
    rate = (agent.horizon + 1.0) / (agent.horizon + t)
    value = 0.0
    if not terminated and h + 1 < agent.q.shape[0]:
        value = min(agent.cap[U(h + 1)], agent.best[U(h + 1), U(s_next)])
    flat = (h * agent.q.shape[1] + s) * agent.q.shape[2] + a
    target = r + next_bonus(agent.bonus, flat, t, rate, value) + value
    new = (1.0 - rate) * agent.q[cell] + rate * target
    agent.q[cell] = new
    if a != agent.greedy[U(h), U(s)] or not new > agent.runner_up[U(h), U(s)]:
        _search_row(agent, h, s)
    else:
        agent.best[U(h), U(s)] = new


@kernel
def count_visits(agent: QLearning, s: int, a: int, h: int) -> float:
    """Return how often a cell was visited before; the count stops just below 2**32."""
    return min(float(agent.visits[U(h), U(s), U(a)]), MAX_VISITS - 1.0)


@subroutine
def _search_row(agent: QLearning, h: int, s: int) -> None:
    row = U(h), U(s)
    agent.greedy[row], agent.best[row], agent.runner_up[row] = find_greedy(agent.q, h, s)


@write_counters.method(QLearning)
def _write_counters(agent: QLearning, out: Floats) -> None:
    out[0] = agent.cells_visited[0]


@reset.method(QLearning)
def _reset(record: QLearning) -> None:
    reset(record.bonus)
    record.cells_visited[0] = 0
    for h in range(record.q.shape[0]):
        for s in range(record.q.shape[1]):
            for a in range(record.q.shape[2]):
                record.q[h, s, a] = record.cap[h]
                record.visits[h, s, a] = 0
            _search_row(record, h, s)


@change_unit.method(QLearning)
def _change_unit(record: QLearning, ratio: float) -> None:
    change_unit(record.bonus, ratio)
    for h in range(record.q.shape[0]):
        for s in range(record.q.shape[1]):
            for a in range(record.q.shape[2]):
                if record.visits[h, s, a] > 0:
                    record.q[h, s, a] *= ratio
            _search_row(record, h, s)
