r"""Q-learning with UCB bonuses.

Jin, Allen-Zhu, Bubeck and Jordan, "Is Q-learning provably efficient?", NeurIPS 2018, algorithms 1 and 2.

At the t-th visit of (s, a) at step h, with learning rate alpha_t = (H + 1) / (H + t),

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r + b_t + V_{h+1}(s')),
    V_h(s) = min(cap_h, max_a Q_h(s, a)),

where V is 0 after the end of an episode and Q starts at its cap. The bonus b_t is one of
`heavytail.agents._bonuses`, Hoeffding's b_t = c r_max sqrt(H^3 iota / t) or Bernstein's, with
iota = log(2 S A T / delta). T is `planned_steps`, c is `transition_scale * bonus_scale` (an unspecified
absolute constant in the analysis). Rewards are assumed to have light tails: this is the baseline that heavy
tails defeat.

As stated, the cap is H r_max; ``constants="tight"`` uses the value left at step h, (H - h) r_max, which is
valid and smaller. With r_max below 0 the cap is 0, since an episode may end early. (The paper writes iota
with SAT in one place and 2SAT in others; 2SAT is used throughout.)
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from heavytail.agents._bonuses import new_bonus, next_bonus
from heavytail.agents._defaults import Constants, Scales, choose_scales
from heavytail.agents._learnt_unit import LearntUnit, change_unit, with_learnt_unit
from heavytail.arrays import Floats, Ints, Record, Stream, U
from heavytail.checks import Count, NonNegative, OpenProbability
from heavytail.kernels.array_ops import argmax_row, max_row
from heavytail.kernels.verbs import act, reset, update, write_counters
from heavytail.mdp.problem import Problem, known_r_max, require_horizon
from heavytail.ranges import COUNT, Range
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.001, rewards=1.0)


class QLearning(NamedTuple):
    """The state of Q-learning: Q, the counts N, and the bonus."""

    q: Floats  # [H, S, A]
    visits: Ints  # [H, S, A]
    cap: Floats  # [H] upper bound on the value at each step
    bonus: Record  # of heavytail.agents._bonuses
    horizon: float  # H

    def counter_names(self) -> tuple[str, ...]:
        """Name its counter: the number of (step, state, action) triples ever tried."""
        return ("cells_visited",)

    def constant_fields(self) -> tuple[str, ...]:
        """Name the fields that never change: the caps."""
        return ("cap",)

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold counts."""
        return {"visits": COUNT}


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
        r_max: the largest expected reward; known for an MDP, learnt otherwise.
        delta: one minus the confidence; 0.05 throughout heavytail, as the paper gives none.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the bonus; the c of the analysis, which does not specify it.
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
    """Make the record, for a largest expected reward of `r_max` and the constant c = `scale`."""
    H, S, A = require_horizon("q_learning", problem), problem.n_states, problem.n_actions
    left = np.full(H, H) if constants == "paper" else H - np.arange(H)
    cap = max(r_max, 0.0) * left.astype(np.float64)
    iota = math.log(2 * S * A * planned_steps / delta)
    return QLearning(
        q=np.array(np.broadcast_to(cap[:, None, None], (H, S, A))),
        visits=np.zeros((H, S, A), np.int64),
        cap=cap,
        bonus=new_bonus(bonus, (H, S, A), abs(r_max), iota, scale),
        horizon=float(H),
    )


@act.method(QLearning)
def _act(agent: QLearning, s: int, h: int, rng: Stream) -> int:
    return argmax_row(agent.q, h, s)


@update.method(QLearning)
def _update(
    agent: QLearning, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    H, S, A = agent.q.shape
    cell = U(h), U(s), U(a)
    agent.visits[cell] += 1
    t = float(agent.visits[cell])
    alpha = (agent.horizon + 1.0) / (agent.horizon + t)
    value = 0.0  # V_{h+1}(s')
    if not terminated and h + 1 < H:
        value = min(agent.cap[U(h + 1)], max_row(agent.q, h + 1, s_next))
    target = r + next_bonus(agent.bonus, (h * S + s) * A + a, t, alpha, value) + value
    agent.q[cell] = (1.0 - alpha) * agent.q[cell] + alpha * target


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
    record.visits[:] = 0
    for h in range(record.q.shape[0]):
        record.q[h] = record.cap[h]


@change_unit.method(QLearning)
def _change_unit(record: QLearning, ratio: float) -> None:
    change_unit(record.bonus, ratio)
    H, S, A = record.q.shape
    for h in range(H):
        for s in range(S):
            for a in range(A):
                if record.visits[h, s, a] > 0:
                    record.q[h, s, a] *= ratio
