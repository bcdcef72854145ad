r"""UCBVI: optimistic value iteration before each episode, with any mean estimator.

Azar, Osband and Munos, "Minimax regret bounds for reinforcement learning", ICML 2017, algorithm 1 with its
Chernoff-Hoeffding bonus.

Before each episode, from the observed frequencies p^ and for h = H - 1 down to 0, over all cells that were
visited,

    Q_h(s, a) <- min{ Q_h(s, a),
                      cap_h,
                      r~(s, a) + sum_s' p^(s' | s, a) V_{h+1}(s') + b_h / sqrt(N(s, a)) },
    V_h(s) = min{ cap_h, max_a Q_h(s, a) }.

Only the backups whose inputs may have changed are made (`heavytail.agents._due_backups`).

As published, rewards are known. Here they are not: r~ is the estimate plus its radius at log-confidence
iota = log(2 S A T / delta). With a robust estimator this is Heavy-UCBVI, which the paper's conclusion
announces and leaves to the reader.

The published b is 7 H L with L = log(5 S A T / delta), for rewards in [0, 1]. Optimism only needs b_h to
bound the noise of one fixed function, V*_{h+1}, which lies in an interval of length (H - 1 - h) r_max:
Hoeffding's inequality gives b_h = (H - 1 - h) r_max sqrt(log(2 H S A T / delta) / 2). That is
``constants="tight"``, with cap_h = (H - h) r_max; ``"paper"`` uses the published b, times r_max, and
cap_h = H r_max. If r_max is not known, it is the largest estimate so far, and 1 while all rewards are 0.
"""

import math
from typing import NamedTuple

import numpy as np

from heavytail.agents._defaults import Constants, Scales, choose_scales
from heavytail.agents._due_backups import (
    CELLS,
    STATES,
    VISITED,
    DueBackups,
    add_change,
    add_predecessor,
    add_visit,
    begin_plan,
    end_plan,
    list_due_cells,
    new_due_backups,
)
from heavytail.agents._transition_counts import (
    TransitionCounts,
    expected,
    new_transition_counts,
    observe,
    total_value,
)
from heavytail.arrays import Floats, Record, Stream, U
from heavytail.checks import Count, NonNegative, OpenProbability
from heavytail.estimators.sample_mean import sample_mean
from heavytail.estimators.sketch import sketch
from heavytail.kernels.array_ops import argmax_slice, as_int, max_slice
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
    """The state of UCBVI. A cell is s * A + a."""

    estimator: Record
    model: TransitionCounts
    due: DueBackups
    q: Floats  # [H, S*A]
    values: Floats  # [H + 1, S + 1] of the last plan; 0 after the last step, and at the end
    rewards: Floats  # [S*A] optimistic
    widths: Floats  # [S*A] one over the square root of the visits
    totals: Floats  # [S*A] scratch
    n_actions: int
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
        """Name the fields that never change: the caps and the bonuses."""
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
            analysis. If it is not known, it is learnt, and rewards are estimated by the sketch.
        delta: one minus the confidence; 0.05 throughout heavytail.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the bonus for transitions.
        reward_scale: multiplies the radius of rewards, which are known as published.
        bonus_scale: multiplies both.
        clip_optimism: never let Q grow or exceed its cap, as published. Without it only V is cut at the cap,
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
    """Make UCBVI with an estimator of S A cells; `r_max` is learnt if it is not given."""
    S, A, H = problem.n_states, problem.n_actions, require_horizon("ucbvi", problem)
    left = H - np.arange(H, dtype=np.float64)
    if constants == "paper":
        cap, bonus = np.full(H, float(H)), np.full(H, 7.0 * H * math.log(5 * S * A * planned_steps / delta))
    else:
        cap, bonus = left, (left - 1.0) * math.sqrt(0.5 * math.log(2 * H * S * A * planned_steps / delta))
    largest = 1.0 if r_max is None else r_max
    cap *= max(largest, 0.0)
    values = np.zeros((H + 1, S + 1))
    values[:H, :S] = cap[:, None]
    return UCBVI(
        estimator=estimator,
        model=new_transition_counts(S, A),
        due=new_due_backups(S, A),
        q=np.array(np.broadcast_to(cap[:, None] if clip_optimism else np.inf, (H, S * A))),
        values=values,
        rewards=np.zeros(S * A),
        widths=np.zeros(S * A),
        totals=np.zeros(S * A),
        n_actions=A,
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


# Planning


@kernel
def follow_unit(agent: UCBVI) -> bool:
    """Restart the plan if the largest mean has grown; return whether it has."""
    if not (agent.learnt and 0.0 < agent.unit[1] != agent.unit[0]):
        return False
    agent.unit[0] = agent.unit[1]
    forget_plan(agent)  # values cut at smaller caps may be larger
    return True


@kernel
def forget_plan(agent: UCBVI) -> None:
    """Reset the plan, so that it rules out nothing."""
    S = agent.values.shape[1] - 1
    for h in range(agent.q.shape[0]):
        agent.q[h] = agent.cap[h] * agent.unit[0] if agent.clipped else math.inf
        agent.values[h, :S] = agent.cap[h] * agent.unit[0]


@kernel
def back_up(agent: UCBVI, h: int, cell: int) -> bool:
    """Compute Q of a visited cell at step h; return whether it has changed."""
    old = agent.q[U(h), U(cell)]
    new = (
        agent.rewards[U(cell)]
        + expected(agent.model, cell, agent.values, h + 1)
        + agent.bonus[U(h)] * agent.unit[0] * agent.widths[U(cell)]
    )
    if new < old or not agent.clipped:
        agent.q[U(h), U(cell)] = new
        return new != old
    return False


@kernel
def best_value(agent: UCBVI, h: int, s: int) -> float:
    """Return the value of a state at step h."""
    best = max_slice(agent.q, h, s * agent.n_actions, agent.n_actions)
    return min(best, agent.cap[U(h)] * agent.unit[0])


@kernel
def back_up_all(agent: UCBVI, h: int) -> None:
    """Compute step h of the plan in all cells."""
    model, totals = agent.model, agent.totals
    cells, bonus = totals.size, agent.bonus[U(h)] * agent.unit[0]
    for cell in range(cells):
        totals[U(cell)] = total_value(model, cell, agent.values, h + 1)
    for cell in range(cells):  # in vector code
        n, old = model.visits[cell], agent.q[h, cell]
        new = agent.rewards[cell] + totals[cell] / max(n, 1) + bonus * agent.widths[cell]
        agent.q[h, cell] = new if n > 0 and (new < old or not agent.clipped) else old
    for s in range(cells // agent.n_actions):
        agent.values[U(h), U(s)] = best_value(agent, h, s)


@kernel
def back_up_due(agent: UCBVI, h: int) -> None:
    """Compute step h of the plan where it changes, and record which values do."""
    due, A, changed = agent.due, agent.n_actions, 0
    for i in range(due.sizes[CELLS]):
        cell = as_int(due.cells[U(i)])
        if back_up(agent, h, cell):
            add_change(due, cell // A)
    for i in range(due.sizes[STATES]):
        s = as_int(due.states[U(i)])
        value = best_value(agent, h, s)
        if value != agent.values[U(h), U(s)]:
            agent.values[U(h), U(s)] = value
            due.states[U(changed)] = s
            changed += 1
    due.sizes[STATES] = changed


@kernel
def plan(agent: UCBVI) -> None:
    """Plan an episode: only the changes, up to the step from which nearly everything changes."""
    due, h = agent.due, agent.q.shape[0] - 1
    for i in range(due.sizes[VISITED]):
        cell = U(due.cells[U(i)])
        agent.widths[cell] = 1.0 / math.sqrt(agent.model.visits[cell])
    begin_plan(due)
    if not follow_unit(agent):
        while h >= 0 and list_due_cells(due):
            back_up_due(agent, h)
            h -= 1
    while h >= 0:
        back_up_all(agent, h)
        h -= 1
    end_plan(due)


# The verbs


@begin.method(UCBVI)
def _begin(agent: UCBVI, s: int, rng: Stream) -> None:
    plan(agent)


@act.method(UCBVI)
def _act(agent: UCBVI, s: int, h: int, rng: Stream) -> int:
    return argmax_slice(agent.q, h, s * agent.n_actions, agent.n_actions)


@update.method(UCBVI)
def _update(
    agent: UCBVI, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = s * agent.n_actions + a
    push(agent.estimator, cell, r)
    successors = agent.model.size[U(cell)]
    observe(agent.model, cell, s_next, terminated)
    add_visit(agent.due, cell)
    if agent.model.size[U(cell)] > successors and not terminated:
        add_predecessor(agent.due, s_next, cell)
    centre = mean(agent.estimator, cell, agent.level)
    if agent.learnt and agent.unit[1] < abs(centre) < math.inf:
        agent.unit[1] = abs(centre)
    optimistic = centre + agent.reward_scale * radius(agent.estimator, cell, agent.level)
    # An infinite or NaN estimate carries no information, so it must rule nothing out.
    agent.rewards[U(cell)] = optimistic if abs(optimistic) < math.inf else math.inf


@write_counters.method(UCBVI)
def _write_counters(agent: UCBVI, out: Floats) -> None:
    write_counters(agent.estimator, out)


@reset.method(UCBVI)
def _reset(record: UCBVI) -> None:
    reset(record.estimator)
    reset(record.model)
    reset(record.due)
    record.rewards[:] = 0.0
    record.widths[:] = 0.0
    record.totals[:] = 0.0
    record.unit[0], record.unit[1] = 1.0, 0.0
    forget_plan(record)
