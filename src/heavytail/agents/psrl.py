r"""Posterior sampling for reinforcement learning (PSRL), with normal rewards.

Strens (2000); Osband, Russo and Van Roy, "(More) efficient reinforcement learning via posterior sampling",
NIPS 2013.

Before each episode an MDP is drawn from the posterior and solved, and its policy is played. Transitions have
a Dirichlet prior of weight `prior_count` on every state; mean rewards have a normal prior
N(prior_mean, 1 / prior_precision) and noise of known precision. These are the conventions of Osband's
TabulaRL, with which the paper's "Gaussian PSRL" most likely ran. It assumes normal noise, so under heavy
tails it is a baseline.

Ending the episode in a terminal state counts as one more successor, without prior weight: it is expected only
where it was seen.

The posterior over all S successors is drawn for every cell, so memory and time per episode grow with S^2 A.
"""

import math
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Stream, U
from heavytail.checks import NonNegative, Positive
from heavytail.errors import InputError
from heavytail.kernels.array_ops import argmax_slice, max_slice
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import log
from heavytail.kernels.rng import fill_open_uniforms, gamma, integer, to_normal
from heavytail.kernels.verbs import act, begin, reset, update
from heavytail.mdp.problem import Problem, require_horizon
from heavytail.ranges import Range
from heavytail.registry import register

MAX_NUMBERS = 10**9  # limit for a record
TINY = 1e-300  # below it, gamma variates have lost their digits


class PSRL(NamedTuple):
    """The state of posterior sampling. A cell is s * A + a."""

    weights: Floats  # [S + 1, S*A] of the Dirichlet posterior, by successor; the last row is the end
    drawn: Floats  # [S + 1, S*A] a transition matrix drawn from it
    visits: Floats  # [S*A]
    sums: Floats  # [S*A] of rewards
    rewards: Floats  # [S*A] drawn mean rewards
    scratch: Floats  # [S*A]
    q: Floats  # [H, S*A] of the drawn MDP
    n_actions: int
    prior_count: float
    prior_mean: float
    prior_precision: float
    noise_precision: float
    scale: float

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold weights and counts."""
        return {"weights": Range(0.0, math.inf), "visits": Range(0.0, math.inf)}


@register("agent", "psrl")
def psrl(
    problem: Problem,
    *,
    prior_count: Positive = 1.0,
    prior_mean: float = 0.0,
    prior_precision: Positive = 1.0,
    noise_precision: Positive = 1.0,
    reward_scale: NonNegative = 1.0,
) -> PSRL:
    """Posterior sampling with normal rewards (Osband et al. 2013), one draw per episode; for light tails.

    Args:
        problem: the environment's sizes.
        prior_count: the weight of each state in the Dirichlet prior of transitions; 1, uniform.
        prior_mean: of mean rewards; 0 as in TabulaRL.
        prior_precision: one over the variance of the prior of mean rewards; 1 as in TabulaRL.
        noise_precision: one over the variance of rewards around their mean, assumed known; 1 as in TabulaRL.
        reward_scale: multiplies the standard deviation with which mean rewards are drawn; 1 for the
            posterior's own.
    """
    S, A, H = problem.n_states, problem.n_actions, require_horizon("psrl", problem)
    if 2 * S * S * A > MAX_NUMBERS:
        raise InputError(
            f"psrl keeps 2 S^2 A numbers, {2 * S * S * A:,} for {S:,} states and {A:,} actions; it"
            " is for smaller problems"
        )
    weights = np.full((S + 1, S * A), prior_count)
    weights[S] = 0.0
    return PSRL(
        weights=weights,
        drawn=np.zeros((S + 1, S * A)),
        visits=np.zeros(S * A),
        sums=np.zeros(S * A),
        rewards=np.zeros(S * A),
        scratch=np.zeros(S * A),
        q=np.zeros((H, S * A)),
        n_actions=A,
        prior_count=prior_count,
        prior_mean=prior_mean,
        prior_precision=prior_precision,
        noise_precision=noise_precision,
        scale=reward_scale,
    )


@kernel
def draw_gammas(agent: PSRL, rng: Stream) -> None:
    """Draw a gamma variate for every weight.

    For weight 1, that of the usual prior, it is an exponential; these are drawn together in vector code.
    """
    successors, cells = agent.weights.shape
    for k in range(successors):
        fill_open_uniforms(rng, agent.drawn[k])
    for k in range(successors):
        for cell in range(cells):
            agent.drawn[k, cell] = -log(agent.drawn[k, cell])
    for k in range(successors):
        for cell in range(cells):
            weight = agent.weights[k, cell]
            if weight != 1.0:
                agent.drawn[k, cell] = gamma(rng, weight) if weight > 0.0 else 0.0


@kernel
def draw_transitions(agent: PSRL, rng: Stream) -> None:
    """Draw from the Dirichlet posterior of every cell: gamma variates over their sum."""
    draw_gammas(agent, rng)
    successors, cells = agent.weights.shape
    totals = agent.scratch
    for cell in range(cells):
        totals[cell] = 0.0
    for k in range(successors):
        for cell in range(cells):
            totals[cell] += agent.drawn[k, cell]
    for cell in range(cells):
        if totals[cell] < TINY:  # with weights so small the draw is a single state, up to rounding
            chosen = integer(rng, successors - 1)
            for k in range(successors):
                agent.drawn[U(k), U(cell)] = 1.0 if k == chosen else 0.0
            totals[cell] = 1.0
    for cell in range(cells):
        totals[cell] = 1.0 / totals[cell]
    for k in range(successors):
        for cell in range(cells):
            agent.drawn[k, cell] *= totals[cell]


@kernel
def draw_rewards(agent: PSRL, rng: Stream) -> None:
    """Draw a mean reward for every cell."""
    fill_open_uniforms(rng, agent.rewards)
    fill_open_uniforms(rng, agent.scratch)
    for cell in range(agent.rewards.size):
        precision = agent.prior_precision + agent.noise_precision * agent.visits[cell]
        weighted = agent.prior_precision * agent.prior_mean + agent.noise_precision * agent.sums[cell]
        centre = weighted / precision
        noise = to_normal(agent.rewards[cell], -log(agent.scratch[cell]))
        agent.rewards[cell] = centre + agent.scale * noise / math.sqrt(precision)


@kernel
def solve(agent: PSRL) -> None:
    """Solve the drawn MDP by backward induction.

    The outer loop runs over successors, two at a time, so that the inner one runs over contiguous cells.
    """
    q, A = agent.q, agent.n_actions
    H, cells = q.shape
    S = cells // A
    for h in range(H - 1, -1, -1):
        for cell in range(cells):
            q[h, cell] = agent.rewards[cell]
        if h + 1 < H:
            for k in range(0, S - 1, 2):
                one, two = max_slice(q, h + 1, k * A, A), max_slice(q, h + 1, (k + 1) * A, A)
                for cell in range(cells):
                    q[h, cell] += agent.drawn[k, cell] * one + agent.drawn[k + 1, cell] * two
            if S % 2 == 1:
                one = max_slice(q, h + 1, (S - 1) * A, A)
                for cell in range(cells):
                    q[h, cell] += agent.drawn[S - 1, cell] * one


@begin.method(PSRL)
def _begin(agent: PSRL, s: int, rng: Stream) -> None:
    draw_transitions(agent, rng)
    draw_rewards(agent, rng)
    solve(agent)


@act.method(PSRL)
def _act(agent: PSRL, s: int, h: int, rng: Stream) -> int:
    return argmax_slice(agent.q, h, s * agent.n_actions, agent.n_actions)


@update.method(PSRL)
def _update(
    agent: PSRL, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = U(s * agent.n_actions + a)
    agent.visits[cell] += 1.0
    agent.sums[cell] += r
    agent.weights[U(agent.weights.shape[0] - 1 if terminated else s_next), cell] += 1.0


@reset.method(PSRL)
def _reset(record: PSRL) -> None:
    S = record.weights.shape[0] - 1
    record.weights[:S] = record.prior_count
    record.weights[S] = 0.0
    record.drawn[:] = 0.0
    record.visits[:] = 0.0
    record.sums[:] = 0.0
    record.rewards[:] = 0.0
    record.scratch[:] = 0.0
    record.q[:] = 0.0
