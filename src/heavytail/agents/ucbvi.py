r"""UCBVI: optimistic value iteration before each episode, with any mean estimator.

Azar, Osband and Munos, "Minimax regret bounds for reinforcement learning", ICML 2017, algorithm 1 with its
Chernoff-Hoeffding bonus.

Before each episode, from the observed frequencies p^ and for h = H - 1 down to 0, over all cells that were
visited,

    Q_h(s, a) <- min{ Q_h(s, a),
                      cap_h,
                      r~(s, a) + sum_s' p^(s' | s, a) V_{h+1}(s') + b_h / sqrt(N(s, a)) },
    V_h(s) = min{ cap_h, max_a Q_h(s, a) }.

As published, rewards are known. Here they are not: r~ is the estimate plus its radius at log-confidence
iota = log(2 S A T / delta). With a robust estimator that is Heavy-UCBVI, which the paper's conclusion
announces and leaves to the reader.

The published b is 7 H L with L = log(5 S A T / delta), for rewards in [0, 1]. What optimism needs is that b_h
bounds the noise of one fixed function, V*_{h+1}, which lies in an interval of length (H - 1 - h) r_max:
Hoeffding's inequality gives b_h = (H - 1 - h) r_max sqrt(log(2 H S A T / delta) / 2). That is
``constants="tight"``, with cap_h = (H - h) r_max; ``"paper"`` takes the published b, times r_max, and
cap_h = H r_max. Where r_max is not known, it is the largest estimate so far, and 1 while all rewards were 0.
"""

import math
from typing import NamedTuple

import numpy as np

from heavytail.agents._scales import Constants, Scales, choose_scales
from heavytail.agents._transition_counts import TransitionCounts, expected, new_transition_counts, observe
from heavytail.arrays import Floats, Record, Stream, U
from heavytail.checks import Count, NonNegative, OpenProbability
from heavytail.estimators.sample_mean import sample_mean
from heavytail.estimators.sketch import sketch
from heavytail.kernels.array_ops import argmax_row
from heavytail.kernels.compiling import kernel
from heavytail.kernels.verbs import (
    act,
    begin,
    counter_names,
    mean,
    push,
    radius,
    reset,
    update,
    write_counters,
)
from heavytail.mdp.problem import Problem, known_r_max, require_horizon
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.1, rewards=1.0)
PRACTICAL_OF_SKETCH = Scales(transitions=0.03, rewards=0.001)


class UCBVI(NamedTuple):
    """The memory of UCBVI. A cell is s * A + a."""

    estimator: Record
    model: TransitionCounts
    q: Floats  # [H, S, A]
    values: Floats  # [2, S + 1] scratch
    rewards: Floats  # [S*A] optimistic
    widths: Floats  # [S*A] scratch: one over the square root of the visits
    cap: Floats  # [H]
    bonus: Floats  # [H] b_h
    unit: Floats  # [2] of both; and the largest mean so far, which it follows if it is learnt
    level: float  # the log-confidence of rewards
    reward_scale: float
    clipped: bool
    learnt: bool

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: those of the estimator."""
        return counter_names(self.estimator)

    def constant_fields(self) -> tuple[str, ...]:
        """Name what never changes: the caps and the bonuses."""
        return ("cap", "bonus")


@register("agent", "ucbvi")
def ucbvi(
    problem: Problem,
    *,
    r_max: float | None = None,
    delta: OpenProbability = 0.05,
    planned_steps: Count = 10_000_000,
    transition_scale: NonNegative | None = None,
    reward_scale: NonNegative | None = None,
    bonus_scale: NonNegative = 1.0,
    clip_optimism: bool = True,
    constants: Constants = "practical",
) -> UCBVI:
    """UCBVI (Azar et al. 2017) with the sample mean, for episodes and light-tailed rewards.

    Args:
        problem: the environment's sizes.
        r_max: the largest expected reward; known for an MDP. Also the range of rewards, as in the published
            analysis. Where it is not known it is learnt, and rewards are estimated by the sketch.
        delta: one minus the confidence; 0.05 throughout heavytail.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the bonus for transitions.
        reward_scale: multiplies the radius of rewards, which are known as published.
        bonus_scale: multiplies both.
        clip_optimism: never let Q grow, nor pass its cap, as published. Without it only V is cut at the cap,
            so that actions above it can still be told apart.
        constants: "practical" for scales that work; "tight" for scales of 1 and what optimism needs, "paper"
            for the published bonus.
    """
    cells, largest = problem.n_states * problem.n_actions, known_r_max(problem, r_max)
    estimator: Record = sketch(cells)
    if largest is not None:
        estimator = sample_mean(cells, scale=max(abs(largest), 1e-300))
    practical = PRACTICAL_OF_SKETCH if largest is None else PRACTICAL
    scales = choose_scales(constants, practical, transition_scale, reward_scale, bonus_scale)
    return new_ucbvi(problem, estimator, largest, delta, planned_steps, scales, clip_optimism, constants)


def new_ucbvi(
    problem: Problem,
    estimator: Record,
    r_max: float | None,
    delta: float,
    planned_steps: int,
    scales: Scales,
    clip_optimism: bool,
    constants: Constants,
) -> UCBVI:
    """Make UCBVI with an estimator of S A cells; without an `r_max` it is learnt."""
    S, A, H = problem.n_states, problem.n_actions, require_horizon("ucbvi", problem)
    left = H - np.arange(H, dtype=np.float64)
    if constants == "paper":
        cap, bonus = np.full(H, float(H)), np.full(H, 7.0 * H * math.log(5 * S * A * planned_steps / delta))
    else:
        cap, bonus = left, (left - 1.0) * math.sqrt(0.5 * math.log(2 * H * S * A * planned_steps / delta))
    largest = 1.0 if r_max is None else r_max
    cap *= max(largest, 0.0)
    return UCBVI(
        estimator=estimator,
        model=new_transition_counts(S, A),
        q=np.array(np.broadcast_to(cap[:, None, None] if clip_optimism else np.inf, (H, S, A))),
        values=np.zeros((2, S + 1)),
        rewards=np.zeros(S * A),
        widths=np.zeros(S * A),
        cap=cap,
        bonus=scales.transitions * abs(largest) * bonus,
        unit=np.array([1.0, 0.0]),
        level=reward_log_confidence(problem, planned_steps, delta),
        reward_scale=scales.rewards,
        clipped=clip_optimism,
        learnt=r_max is None,
    )


def reward_log_confidence(problem: Problem, planned_steps: int, delta: float) -> float:
    """Return the log-confidence at which UCBVI estimates mean rewards, log(2 S A T / delta)."""
    return math.log(2 * problem.n_states * problem.n_actions * planned_steps / delta)


@kernel
def _plan(agent: UCBVI) -> None:
    H, S, A = agent.q.shape
    if agent.learnt and 0.0 < agent.unit[1] != agent.unit[0]:  # what was cut at smaller caps may be larger
        agent.unit[0] = agent.unit[1]
        for h in range(H):
            agent.q[h] = agent.cap[h] * agent.unit[0] if agent.clipped else math.inf
    row, unit = 0, agent.unit[0]
    agent.values[0, :] = 0.0
    agent.values[1, :] = 0.0
    for cell in range(agent.rewards.size):
        agent.widths[cell] = 1.0 / math.sqrt(max(agent.model.visits[cell], 1))
    for h in range(H - 1, -1, -1):
        for s in range(S):
            best = -math.inf
            for a in range(A):
                cell = s * A + a
                n = agent.model.visits[U(cell)]
                if n > 0:
                    new = (
                        agent.rewards[U(cell)]
                        + expected(agent.model, cell, agent.values, row)
                        + agent.bonus[U(h)] * unit * agent.widths[U(cell)]
                    )
                    if new < agent.q[U(h), U(s), U(a)] or not agent.clipped:
                        agent.q[U(h), U(s), U(a)] = new
                best = max(best, agent.q[U(h), U(s), U(a)])
            agent.values[U(1 - row), U(s)] = min(best, agent.cap[U(h)] * unit)
        row = 1 - row


@begin.method(UCBVI)
def _begin(agent: UCBVI, s: int, rng: Stream) -> None:
    _plan(agent)


@act.method(UCBVI)
def _act(agent: UCBVI, s: int, h: int, rng: Stream) -> int:
    return argmax_row(agent.q, h, s)


@update.method(UCBVI)
def _update(
    agent: UCBVI, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = s * agent.q.shape[2] + a
    push(agent.estimator, cell, r)
    observe(agent.model, cell, s_next, terminated)
    centre = mean(agent.estimator, cell, agent.level)
    if agent.learnt and agent.unit[1] < abs(centre) < math.inf:
        agent.unit[1] = abs(centre)
    optimistic = centre + agent.reward_scale * radius(agent.estimator, cell, agent.level)
    # An estimate that is infinite or NaN says nothing, so it must rule nothing out.
    agent.rewards[U(cell)] = optimistic if abs(optimistic) < math.inf else math.inf


@write_counters.method(UCBVI)
def _write_counters(agent: UCBVI, out: Floats) -> None:
    write_counters(agent.estimator, out)


@reset.method(UCBVI)
def _reset(record: UCBVI) -> None:
    reset(record.estimator)
    reset(record.model)
    record.values[:] = 0.0
    record.rewards[:] = 0.0
    record.widths[:] = 0.0
    record.unit[0], record.unit[1] = 1.0, 0.0
    for h in range(record.q.shape[0]):
        record.q[h] = record.cap[h] if record.clipped else math.inf
