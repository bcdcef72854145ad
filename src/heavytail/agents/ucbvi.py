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
``constants="tight"``, the default, with cap_h = (H - h) r_max; ``"paper"`` takes the published b, times
r_max, and cap_h = H r_max.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from heavytail.agents._transition_counts import TransitionCounts, expected, new_transition_counts, observe
from heavytail.arrays import Floats, Record, Stream, U
from heavytail.checks import Count, NonNegative, OpenProbability
from heavytail.estimators.sample_mean import sample_mean
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
from heavytail.mdp.problem import Problem, require_horizon, require_r_max
from heavytail.registry import register


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
    level: float  # the log-confidence of rewards
    reward_scale: float
    clipped: bool

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
    transition_scale: NonNegative = 1.0,
    reward_scale: NonNegative = 1.0,
    bonus_scale: NonNegative = 1.0,
    clip_optimism: bool = True,
    constants: Literal["tight", "paper"] = "tight",
) -> UCBVI:
    """UCBVI (Azar et al. 2017) with the sample mean, for episodes and light-tailed rewards.

    Args:
        problem: the environment's sizes.
        r_max: the largest expected reward; known for an MDP. Also the range of rewards, as in the published
            analysis.
        delta: one minus the confidence; 0.05 throughout heavytail.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the bonus for transitions; 1 as published.
        reward_scale: multiplies the radius of rewards; 1, the rewards being known as published.
        bonus_scale: multiplies both.
        clip_optimism: never let Q grow, nor pass its cap, as published. Without it only V is cut at the cap,
            so that actions above it can still be told apart.
        constants: "tight" for what optimism needs, "paper" for the published bonus.
    """
    largest = require_r_max("ucbvi", problem, r_max)
    estimator = sample_mean(problem.n_states * problem.n_actions, scale=max(abs(largest), 1e-300))
    scales = bonus_scale * transition_scale, bonus_scale * reward_scale
    return new_ucbvi(problem, estimator, largest, delta, planned_steps, scales, clip_optimism, constants)


def new_ucbvi(
    problem: Problem,
    estimator: Record,
    r_max: float,
    delta: float,
    planned_steps: int,
    scales: tuple[float, float],
    clip_optimism: bool,
    constants: Literal["tight", "paper"],
) -> UCBVI:
    """Make UCBVI with an estimator of S A cells; `scales` of transitions and of rewards."""
    transition_scale, reward_scale = scales
    S, A, H = problem.n_states, problem.n_actions, require_horizon("ucbvi", problem)
    left = H - np.arange(H, dtype=np.float64)
    if constants == "tight":
        cap, bonus = left, (left - 1.0) * math.sqrt(0.5 * math.log(2 * H * S * A * planned_steps / delta))
    else:
        cap, bonus = np.full(H, float(H)), np.full(H, 7.0 * H * math.log(5 * S * A * planned_steps / delta))
    cap *= max(r_max, 0.0)
    return UCBVI(
        estimator=estimator,
        model=new_transition_counts(S, A),
        q=np.array(np.broadcast_to(cap[:, None, None] if clip_optimism else np.inf, (H, S, A))),
        values=np.zeros((2, S + 1)),
        rewards=np.zeros(S * A),
        widths=np.zeros(S * A),
        cap=cap,
        bonus=transition_scale * abs(r_max) * bonus,
        level=reward_log_confidence(problem, planned_steps, delta),
        reward_scale=reward_scale,
        clipped=clip_optimism,
    )


def reward_log_confidence(problem: Problem, planned_steps: int, delta: float) -> float:
    """Return the log-confidence at which UCBVI estimates mean rewards, log(2 S A T / delta)."""
    return math.log(2 * problem.n_states * problem.n_actions * planned_steps / delta)


@kernel
def _plan(agent: UCBVI) -> None:
    H, S, A = agent.q.shape
    row = 0
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
                        + agent.bonus[U(h)] * agent.widths[U(cell)]
                    )
                    if new < agent.q[U(h), U(s), U(a)] or not agent.clipped:
                        agent.q[U(h), U(s), U(a)] = new
                best = max(best, agent.q[U(h), U(s), U(a)])
            agent.values[U(1 - row), U(s)] = min(best, agent.cap[U(h)])
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
    for h in range(record.q.shape[0]):
        record.q[h] = record.cap[h] if record.clipped else math.inf
