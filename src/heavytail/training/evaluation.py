"""Evaluate a fixed policy: its mean return, with a confidence interval.

Returns may have no variance, so their mean is estimated as rewards are: by the sketch
(`heavytail.estimators.sketch`), which needs no prior knowledge of them.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints, Record
from heavytail.checks import OpenProbability, cast_value
from heavytail.errors import InputError
from heavytail.estimators.estimator import Estimator
from heavytail.estimators.sketch import sketch
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import entry, interpret
from heavytail.kernels.rng import Seed, Streams, streams
from heavytail.kernels.verbs import act
from heavytail.mdp import MDP, first_state, step
from heavytail.planning.average_reward import policy_gain
from heavytail.planning.episodic import policy_value
from heavytail.serving.snapshots import BAD_ACTION, FrozenPolicy
from heavytail.training.runners import GymRunner

BLOCKS = 50  # into which the steps of a continuing problem are divided
STEPS_AT_ONCE = 2_000_000  # between checks for Ctrl-C: about a tenth of a second


class Evaluation(NamedTuple):
    """The returns of a policy. A return is the reward of an episode, or of a step if continuing."""

    mean: float  # robust
    low: float
    high: float
    confidence: float  # that the mean return is between `low` and `high`
    value: float | None  # the exact mean return, if the MDP is known and actions are not drawn
    returns: Floats  # of the episodes; in a continuing problem the averages of blocks of steps

    def __repr__(self) -> str:
        exact = "" if self.value is None else f", value={self.value:.6g}"
        interval = f"[{self.low:.6g}, {self.high:.6g}] at {100 * self.confidence:.4g}%"
        return f"Evaluation(mean={self.mean:.6g} {interval}{exact}, returns=<{len(self.returns):,}>)"


def evaluate_in_mdp(
    agent: Record, policy: FrozenPolicy, mdp: MDP, units: int, seed: Seed, confidence: float
) -> Evaluation:
    """Play this many episodes, or steps in a continuing problem, and compute the exact value."""
    returns = _play_in_mdp(policy.to_record(agent), mdp, units, streams(seed))
    return summarise_returns(returns, confidence, value_in_mdp(policy, mdp))


def value_in_mdp(policy: FrozenPolicy, mdp: MDP) -> float | None:
    """Compute the exact mean return of a policy; None if it draws its actions."""
    if policy.is_random:
        return None
    return policy_value(mdp, policy.actions) if mdp.horizon else policy_gain(mdp, policy.actions[0])


def evaluate_in_gym(
    agent: Record, policy: FrozenPolicy, runner: GymRunner, episodes: int, seed: Seed, confidence: float
) -> Evaluation:
    """Play this many episodes in a Gymnasium environment, from its next reset on."""
    rng, returns = streams(seed).predictions, np.zeros(episodes)
    for i in range(episodes):
        s, total = runner.reset(), 0.0
        for h in range(runner.problem.horizon):
            a = interpret(act, agent, s, h, rng) if policy.is_random else policy.actions[h, s]
            s, reward, terminated, _ = runner.step(s, int(a), h)
            total += reward
            if terminated or runner.truncated:
                break
        returns[i] = total
    return summarise_returns(returns, confidence, None)


def summarise_returns(returns: Floats, confidence: float, value: float | None) -> Evaluation:
    """Estimate the mean return, with an interval that holds it with this probability."""
    if np.isnan(returns).any():
        raise InputError("evaluate: a return is nan; rewards must be numbers, and not infinite of both signs")
    share: float = cast_value(confidence, OpenProbability, "evaluate: confidence")
    estimator, log_confidence = Estimator(sketch()), math.log(2.0 / (1.0 - share))
    estimator.push(returns)
    mean, radius = estimator.mean(log_confidence), estimator.radius(log_confidence)
    return Evaluation(mean, mean - radius, mean + radius, share, value, returns)


def _play_in_mdp(policy: Record, mdp: MDP, units: int, run_streams: Streams) -> Floats:
    """Return the rewards of episodes, or the average rewards of blocks of steps."""
    blocks = units if mdp.horizon else min(units, BLOCKS)
    length, state = mdp.horizon or units // blocks, np.full(1, -1)
    play: Any = entry(_play, policy, mdp, run_streams)
    totals, few = np.zeros(blocks), max(1, STEPS_AT_ONCE // length)
    for first in range(0, blocks, few):
        if not play(policy, mdp, run_streams, state, length, totals[first : first + few]):
            raise InputError(BAD_ACTION)
    return totals if mdp.horizon else totals / length


# A compiled entry point


def _play(policy: Record, mdp: MDP, run_streams: Streams, state: Ints, length: int, totals: Floats) -> bool:
    """Play an episode, or `length` steps if continuing, for each total; False after a bad action."""
    s = as_int(state[0])
    for i in range(totals.size):
        if mdp.horizon > 0 or s < 0:
            s = first_state(mdp, run_streams.transitions)
        for k in range(length):
            h = k if mdp.horizon > 0 else 0
            a = act(policy, s, h, run_streams.agent)
            if not 0 <= a < mdp.n_actions:
                return False
            s, r, ended, _ = step(mdp, s, a, h, run_streams.transitions, run_streams.rewards)
            totals[i] += r
            if ended and mdp.horizon > 0:
                break
    state[0] = s
    return True
