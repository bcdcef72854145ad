r"""UCRL2: optimism over all plausible MDPs, in phases; with any mean estimator.

Jaksch, Ortner and Auer, "Near-optimal regret bounds for reinforcement learning", JMLR 2010. With a robust
estimator it is Heavy-UCRL2 (`heavytail.agents.heavy_ucrl2`).

Learning goes in *phases*. At the start of phase k, step t_k, every cell (s, a) has a confidence interval for
its mean reward and for its transitions, from its N visits so far:

    |r - r^(s, a)|   <= radius of the estimator at log-confidence 7 log(2 S A t_k / delta),
    |p - p^(s, a)|_1 <= sqrt(14 S log(2 A t_k / delta) / max{1, N}),

and extended value iteration (`heavytail.agents._extended_value_iteration`) finds the policy that is best in
the best MDP of all these. It is played until the policy would visit a cell that has been visited in this
phase as often as in all phases before. (The paper writes the transition radius as above and the reward
radius, by a swapped label, with the constant of another equation.)

In continuing problems the plan maximises the average reward, up to 1/sqrt(t_k). In episodes, which the paper
plays without saying how, it is for the H steps of an episode, with one model for all steps; a phase may end
in the middle of an episode.

A cell that was never visited has mean 0 with the radius of one sample, and any transition is plausible.
Planning cannot handle infinity: an infinite radius counts as `MAX_RADIUS`, and an infinite estimate, from few
samples including an infinite one, as 0.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from heavytail.agents._defaults import Scales, choose_scales
from heavytail.agents._extended_value_iteration import plan_average, plan_episode
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe, uniformity
from heavytail.arrays import Floats, Indices, Ints, Record, Stream, U
from heavytail.checks import MomentOrder, NonNegative, OpenProbability, Positive
from heavytail.estimators.sample_mean import sample_mean
from heavytail.estimators.sketch import sketch
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import log
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
from heavytail.mdp.problem import Problem, known_r_max, require_r_max
from heavytail.ranges import COUNT, Range, below
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.03, rewards=0.3)
PRACTICAL_OF_SKETCH = Scales(transitions=0.001, rewards=0.0001)
MAX_STEPS = 1e12  # estimators are prepared for the log-confidence of this many steps
MAX_RADIUS = 1e100


class UCRL2(NamedTuple):
    """The state of UCRL2. A cell is s * A + a.

    The estimator has one more cell, which holds one sample of 0: its radius is that of unvisited cells.
    """

    estimator: Record
    model: TransitionCounts
    policy: Indices  # [H or 1, S]
    in_phase: Ints  # [S*A] visits in this phase
    steps: Ints  # [1]
    phases: Ints  # [1]
    rewards: Floats  # [S*A] optimistic
    half_widths: Floats  # [S*A] half the L1 distance of plausible transitions
    values: Floats  # [2, S + 1] scratch, and the start of the next plan
    keys: Floats  # [S + 1] scratch
    weights: Floats  # [S + 1] scratch
    delta: float
    reward_scale: float
    transition_scale: float
    largest_reward: float  # optimistic rewards are cut here; infinite for no cut
    episodic: bool

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: phases, how evenly actions were played, and those of the estimator."""
        return ("phases", "uniformity", *counter_names(self.estimator))

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold actions and counts."""
        actions = self.rewards.size // self.model.n_states
        return {"policy": below(actions), "in_phase": COUNT, "steps": COUNT, "phases": COUNT}


@register("agent", "ucrl2")
def ucrl2(
    problem: Problem,
    *,
    interval: Literal["sub_gaussian", "heavy"] = "sub_gaussian",
    r_max: float | None = None,
    epsilon: MomentOrder = 1.0,
    moment: Positive = 1.0,
    delta: OpenProbability = 0.05,
    transition_scale: NonNegative | None = None,
    reward_scale: NonNegative | None = None,
    bonus_scale: NonNegative = 1.0,
    clip_optimism: bool = False,
    constants: Literal["practical", "tight"] = "practical",
) -> UCRL2:
    """UCRL2 (Jaksch et al. 2010) with the sample mean, for episodes or continuing.

    It is for light tails; its interval for heavy tails is so wide that it acts at random.

    Args:
        problem: the environment's sizes.
        interval: of rewards: "sub_gaussian", r_max sqrt(7 log(2 S A t / delta) / (2 N)), the algorithm as
            published for rewards in [0, 1]; or "heavy", valid for the sample mean of heavy-tailed rewards
            (Bubeck et al. 2013), so wide that nothing is learnt: the baseline that the paper mentions and
            omits.
        r_max: the largest expected reward; known for an MDP. For "sub_gaussian", the range of rewards; if it
            is not known, rewards are estimated by the sketch, with the sketch's own interval.
        epsilon: for "heavy": rewards have a moment of order 1 + epsilon. 1: a variance.
        moment: for "heavy": a bound on the central moments E|r - mean|**(1 + epsilon).
        delta: one minus the confidence; 0.05 throughout heavytail, as the paper gives none.
        transition_scale: multiplies the distance of plausible transitions.
        reward_scale: multiplies the radius of rewards.
        bonus_scale: multiplies both.
        clip_optimism: cut optimistic rewards at r_max.
        constants: "practical" for scales that work, "tight" for scales of 1, as published.
    """
    cells = problem.n_states * problem.n_actions + 1
    learnt = interval == "sub_gaussian" and known_r_max(problem, r_max) is None
    estimator: Record = sketch(cells)
    if not learnt:
        scale = abs(require_r_max("ucrl2", problem, r_max)) if interval == "sub_gaussian" else 1.0
        estimator = sample_mean(
            cells, interval=interval, scale=max(scale, 1e-300), epsilon=epsilon, moment=moment
        )
    largest = require_r_max("ucrl2", problem, r_max) if clip_optimism else math.inf
    practical = PRACTICAL_OF_SKETCH if learnt else PRACTICAL
    scales = choose_scales(constants, practical, transition_scale, reward_scale, bonus_scale)
    return new_ucrl2(problem, estimator, delta, scales, largest)


def new_ucrl2(
    problem: Problem, estimator: Record, delta: float, scales: Scales, largest_reward: float
) -> UCRL2:
    """Make UCRL2 with an estimator of S A + 1 cells."""
    S, cells = problem.n_states, problem.n_states * problem.n_actions
    return UCRL2(
        estimator=estimator,
        model=new_transition_counts(S, problem.n_actions),
        policy=np.zeros((max(problem.horizon, 1), S), np.uint32),
        in_phase=np.zeros(cells, np.int64),
        steps=np.zeros(1, np.int64),
        phases=np.zeros(1, np.int64),
        rewards=np.zeros(cells),
        half_widths=np.zeros(cells),
        values=np.zeros((2, S + 1)),
        keys=np.zeros(S + 1),
        weights=np.zeros(S + 1),
        delta=delta,
        reward_scale=scales.rewards,
        transition_scale=scales.transitions,
        largest_reward=largest_reward,
        episodic=problem.horizon > 0,
    )


def reward_log_confidence(problem: Problem, steps: float, delta: float) -> float:
    """Return the log-confidence at which UCRL2 estimates mean rewards, 7 log(2 S A t / delta)."""
    return 7.0 * log(2.0 * problem.n_states * problem.n_actions * steps / delta)


@kernel
def new_phase(agent: UCRL2) -> None:
    """Start a phase: recompute all intervals and plan."""
    cells, S = agent.rewards.size, agent.model.n_states
    A = cells // S
    agent.phases[0] += 1
    t = float(agent.steps[0] + 1)
    level = 7.0 * log(2.0 * S * A * t / agent.delta)
    spread = 14.0 * S * log(2.0 * A * t / agent.delta)
    if agent.phases[0] == 1:
        push(agent.estimator, cells, 0.0)
    for cell in range(cells):
        n = agent.model.visits[cell]
        width = agent.reward_scale * radius(agent.estimator, cell if n > 0 else cells, level)
        centre = mean(agent.estimator, cell, level)
        if not abs(centre) < MAX_RADIUS:  # few samples, one infinite: no information
            centre = 0.0
        agent.rewards[cell] = min(centre + min(width, MAX_RADIUS), agent.largest_reward)
        agent.half_widths[cell] = 0.5 * agent.transition_scale * math.sqrt(spread / max(n, 1))
        agent.in_phase[cell] = 0
    plan(agent, 1.0 / math.sqrt(t))


@kernel
def plan(agent: UCRL2, tolerance: float) -> None:
    """Find the optimistic policy, in a continuing problem up to a tolerance."""
    model, rewards, half_widths, values = agent.model, agent.rewards, agent.half_widths, agent.values
    policy, keys, weights = agent.policy, agent.keys, agent.weights
    if agent.episodic:
        plan_episode(model, rewards, half_widths, values, policy, keys, weights)
    else:
        plan_average(model, rewards, half_widths, values, policy, keys, weights, tolerance)


@kernel
def phase_is_over(agent: UCRL2, s: int, h: int) -> bool:
    """Return whether the next step visits a cell already visited as often in this phase as before it."""
    A = agent.rewards.size // agent.model.n_states
    cell = U(s * A + as_int(agent.policy[U(h), U(s)]))
    now = agent.in_phase[cell]
    return now >= max(1, agent.model.visits[cell] - now)


@begin.method(UCRL2)
def _begin(agent: UCRL2, s: int, rng: Stream) -> None:
    if agent.phases[0] == 0 or phase_is_over(agent, s, 0):
        new_phase(agent)


@act.method(UCRL2)
def _act(agent: UCRL2, s: int, h: int, rng: Stream) -> int:
    return as_int(agent.policy[U(h), U(s)])


@update.method(UCRL2)
def _update(
    agent: UCRL2, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = s * (agent.rewards.size // agent.model.n_states) + a
    agent.steps[0] += 1
    agent.in_phase[U(cell)] += 1
    push(agent.estimator, cell, r)
    observe(agent.model, cell, s_next, terminated)
    h_next = h + 1 if agent.episodic else 0
    if not terminated and h_next < agent.policy.shape[0] and phase_is_over(agent, s_next, h_next):
        new_phase(agent)


@write_counters.method(UCRL2)
def _write_counters(agent: UCRL2, out: Floats) -> None:
    out[0] = agent.phases[0]
    out[1] = uniformity(agent.model)
    write_counters(agent.estimator, out[2:])


@reset.method(UCRL2)
def _reset(record: UCRL2) -> None:
    reset(record.estimator)
    reset(record.model)
    record.policy[:] = 0
    record.in_phase[:] = 0
    record.steps[0] = 0
    record.phases[0] = 0
    record.rewards[:] = 0.0
    record.half_widths[:] = 0.0
    record.values[:] = 0.0
    record.keys[:] = 0.0
    record.weights[:] = 0.0
