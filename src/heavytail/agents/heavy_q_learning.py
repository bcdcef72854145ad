r"""Heavy-Q-Learning: Q-learning of truncated rewards.

Zhuang and Sui (2021), algorithm 2, with UCB-Hoeffding bonuses or those of its appendix, UCB-Bernstein; on top
of `heavytail.agents.q_learning`.

At the t-th visit of (s, a) at step h, with learning rate alpha_t = (H + 1) / (H + t),

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r 1{|r| <= B_t} + b'_t + V_{h+1}(s')),
    B_t = (u t / iota)^a,
    b'_t = b_t + K u^a (iota / t)^b,
    a = 1/(1+epsilon), b = epsilon/(1+epsilon),

with u a bound on the raw moments E|r|^(1+epsilon), iota = log(2 S A T / delta) and b_t the bonus of
Q-learning, c r_max sqrt(H^3 iota / t) for Hoeffding's: a reward beyond the threshold B_t counts as 0, and the
second part of the bonus is for what truncation and noise may cost. The threshold is fixed when the sample
arrives, so no samples are stored.

The paper's K is 8 H, by an argument that is not valid (it bounds a sum of terms of both signs term by term);
Bernstein's inequality for the sum weighted by the learning rates alpha_t^i gives

    K(t) = t^b [ sum_i alpha_t^i i^-b
                 + sqrt(2 sum_i (alpha_t^i)^2 i^((1-epsilon)/(1+epsilon)))
                 + max_i alpha_t^i i^a / 3 ],

which grows towards

    (H + 1)/(H + 1 - b) + (H + 1) sqrt(2 / (2 H + 1 + (1-epsilon) a)) + (H + 1)/3,

10 to 13 times less than 8 H: ``constants="paper"`` uses 8 H, else the supremum is used.

With ``bonus="bernstein"`` b_t is the Bernstein bonus of `heavytail.agents._bonuses`. The paper puts its
8 H u^a (iota/t)^b into beta_t, so that Q gets only half of it, less than optimism needs; here it stays
outside. ``constants="paper"`` follows the paper literally.
"""

import math
from functools import cache, partial
from typing import Literal, NamedTuple

import numpy as np

from heavytail.agents._bonuses import new_bonus
from heavytail.agents._defaults import Constants, Scales, choose_scales, require_moment
from heavytail.agents._learnt_unit import LEARNT_EPSILON, LearntUnit, change_unit, with_learnt_unit
from heavytail.agents.q_learning import QLearning, new_q_learning
from heavytail.arrays import Floats, Ints, Stream, U
from heavytail.checks import Count, MomentOrder, NonNegative, OpenProbability, Positive
from heavytail.errors import InputError
from heavytail.kernels.compiling import kernel
from heavytail.kernels.count_powers import CountPowers, count_power, make_count_powers
from heavytail.kernels.verbs import act, reset, update, write_counters
from heavytail.mdp.problem import Problem, require_horizon, require_r_max
from heavytail.ranges import COUNT, Range
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.003, rewards=0.1)
STEPS_PER_HORIZON = 20  # steps, in units of H + 1, for which K(t) is compared with its limit


class HeavyQLearning(NamedTuple):
    """The state of Heavy-Q-Learning: the table of Q-learning, and the truncation."""

    table: QLearning
    truncated: Ints  # [1] number of truncated rewards
    threshold: float  # B_t / t**a, that is (u / iota)**a
    reward_bonus: float  # K u**a iota**b, the second part of the bonus times t**b
    decay: CountPowers  # t**-b
    inside: bool  # whether the reward's part is inside beta_t, as in the paper

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: those of Q-learning, and the number of truncated rewards."""
        return (*self.table.counter_names(), "truncated")

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold counts."""
        return {"truncated": COUNT}


@register("agent", "heavy_q_learning", example={"epsilon": 0.05, "moment": 1.0})
def heavy_q_learning(
    problem: Problem,
    *,
    epsilon: MomentOrder | None = None,
    moment: Positive | None = None,
    r_max: float | None = None,
    delta: OpenProbability = 0.05,
    planned_steps: Count = 10_000_000,
    transition_scale: NonNegative | None = None,
    reward_scale: NonNegative | None = None,
    bonus_scale: NonNegative = 1.0,
    bonus: Literal["hoeffding", "bernstein"] = "hoeffding",
    constants: Constants = "practical",
) -> HeavyQLearning | LearntUnit:
    """Heavy-Q-Learning with UCB bonuses (Zhuang and Sui 2021), for episodes and heavy-tailed rewards.

    Args:
        problem: the environment's sizes.
        epsilon: rewards have a finite moment of order 1 + epsilon; by default from the MDP's laws, or 0.05
            without an MDP.
        moment: u, a bound on the raw moments E|r|**(1 + epsilon); ``law.moment(1 + epsilon)`` of the heaviest
            law. By default from the MDP, or learnt without one. A smaller one truncates harder than the
            theory allows, and may learn where the true one does not.
        r_max: the largest expected reward; known for an MDP, otherwise learnt with the moment. A small
            `moment` does not change it.
        delta: one minus the confidence; 0.05 throughout heavytail, as the paper gives none.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the first part of the bonus; the c of the analysis. The paper searched
            "within [1e-2, 1]" without saying what it found.
        reward_scale: multiplies the second part; likewise.
        bonus_scale: multiplies both.
        bonus: "hoeffding", which the paper's experiments use, or "bernstein".
        constants: "practical" for scales that work; "tight" for scales of 1 and the exact constants, "paper"
            for the paper's.
    """
    scales = choose_scales(constants, PRACTICAL, transition_scale, reward_scale, bonus_scale)
    build = partial(
        _build,
        problem,
        delta=delta,
        planned_steps=planned_steps,
        scales=scales,
        bonus=bonus,
        constants=constants,
    )
    if problem.mdp is None and moment is None:
        if r_max is not None:
            raise InputError("heavy_q_learning: give both moment= and r_max=, or neither to learn both")
        order = 1.0 + (LEARNT_EPSILON if epsilon is None else epsilon)
        return with_learnt_unit(problem, build(epsilon=order - 1.0, moment=1.0, r_max=1.0), order)
    epsilon, moment = require_moment("heavy_q_learning", problem, epsilon, moment)
    largest = require_r_max("heavy_q_learning", problem, r_max)
    return build(epsilon=epsilon, moment=moment, r_max=largest)


def _build(
    problem: Problem,
    *,
    epsilon: float,
    moment: float,
    r_max: float,
    delta: float,
    planned_steps: int,
    scales: Scales,
    bonus: Literal["hoeffding", "bernstein"],
    constants: Constants,
) -> HeavyQLearning:
    H = require_horizon("heavy_q_learning", problem)
    table = new_q_learning(problem, r_max, delta, planned_steps, scales.transitions, bonus, constants)
    a, b = 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)
    sizes = H, problem.n_states, problem.n_actions
    iota = math.log(2 * problem.n_states * problem.n_actions * planned_steps / delta)
    constant = 8.0 * H if constants == "paper" else weighted_bernstein_constant(H, epsilon)
    literal = bonus == "bernstein" and constants == "paper"
    if literal:
        beta = new_bonus(bonus, sizes, abs(r_max), iota, scales.transitions, literal_epsilon=epsilon)
        table = table._replace(bonus=beta)
    return HeavyQLearning(
        table=table,
        truncated=np.zeros(1, np.int64),
        threshold=(moment / iota) ** a,
        reward_bonus=scales.rewards * constant * moment**a * iota**b,
        decay=make_count_powers(-b),
        inside=literal,
    )


@cache
def weighted_bernstein_constant(horizon: int, epsilon: float) -> float:
    """Return the supremum of K(t) over t: its limit, or a larger value on the way.

    Each of its sums at t follows from the one at t - 1.

    >>> [round(weighted_bernstein_constant(H, 0.05), 1) for H in (2, 10, 25)]
    [3.8, 8.0, 14.8]
    """
    a, b = 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)
    limit_of_root = math.sqrt(2 / (2 * horizon + 1 + (1 - epsilon) * a))
    best = (horizon + 1) * (1 / (horizon + 1 - b) + limit_of_root + 1 / 3)
    bias = variance = largest = 0.0
    for t in range(1, STEPS_PER_HORIZON * (horizon + 1)):
        rate = (horizon + 1) / (horizon + t)
        bias = (1 - rate) * bias + rate * t**-b
        variance = (1 - rate) ** 2 * variance + rate**2 * t ** ((1 - epsilon) * a)
        largest = max((1 - rate) * largest, rate * t**a)
        best = max(best, t**b * (bias + math.sqrt(2 * variance) + largest / 3))
    return best


@act.method(HeavyQLearning)
def _act(agent: HeavyQLearning, s: int, h: int, rng: Stream) -> int:
    return act(agent.table, s, h, rng)


@update.method(HeavyQLearning)
def _update(
    agent: HeavyQLearning, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    t = float(agent.table.visits[U(h), U(s), U(a)]) + 1.0
    decay = count_power(agent.decay, t)  # t**-b, and t**a is t times that, since a + b = 1
    truncated = abs(r) > agent.threshold * (t * decay)  # |r| > B_t
    kept = 0.0 if truncated else r
    bonus = agent.reward_bonus * decay  # K u^a (iota / t)^b
    if agent.inside:
        bonus = _part_inside_beta(agent, t, bonus)
    update(agent.table, s, a, kept + bonus, s_next, h, terminated, rng)  # which adds b_t
    if truncated:
        agent.truncated[0] += 1


@kernel
def _part_inside_beta(agent: HeavyQLearning, t: float, bonus: float) -> float:
    """Return how much the reward's part of beta_t, `bonus`, adds to b_t (`heavytail.agents._bonuses`)."""
    alpha = (agent.table.horizon + 1.0) / (agent.table.horizon + t)
    before = agent.reward_bonus * count_power(agent.decay, t - 1.0) if t > 1.0 else 0.0
    return (bonus - (1.0 - alpha) * before) / (2.0 * alpha)


@write_counters.method(HeavyQLearning)
def _write_counters(agent: HeavyQLearning, out: Floats) -> None:
    write_counters(agent.table, out)
    out[1] = agent.truncated[0]


@reset.method(HeavyQLearning)
def _reset(record: HeavyQLearning) -> None:
    reset(record.table)
    record.truncated[0] = 0


@change_unit.method(HeavyQLearning)
def _change_unit(record: HeavyQLearning, ratio: float) -> None:
    change_unit(record.table, ratio)
