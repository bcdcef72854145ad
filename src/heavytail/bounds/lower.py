r"""Lower bounds: what no agent can avoid (theorem 6).

(Zhuang and Sui 2021, after Bubeck, Cesa-Bianchi and Lugosi 2013.)

Theorem 6 of the paper: for any T and any agent there is a communicating MDP on which the expected regret is
of the order (S A)^b T^a at least, and in episodes H (S A)^b T^a. That is ``constants="paper"``, with the
constant 1. It lacks u^a; it needs the gap of its construction, (S A / T)^b, to be at most 1/2, that is
T >= S A 2^((1+epsilon)/epsilon); and the H of episodes is heuristic.

``"tight"`` is a number with a proof, for rewards with E|r|^(1+epsilon) <= u. The next state is drawn
uniformly, whatever the action, so that each state is a separate bandit, with A arms and n = T/S visits on
average; all transitions are known. One arm, drawn at random, pays u^a q^-a with probability q, the others
with probability q/2; then u bounds their moments and the gap is u^a q^b / 2. By Pinsker's inequality the good
arm gets at most n/A + n sqrt(n kl / (2A)) of n visits on average, kl = KL(q/2 | q). So the expected regret of
any agent is for some of these MDPs at least

    u^a (S A)^b T^a  kappa^b / 2  (1 - 1/A - sqrt((1 + 1/n) n kl / (2A))),       q = kappa A / n,

for any kappa; the one that is best for large T is taken. (E n^(3/2) <= (T/S)^(3/2) sqrt(1 + S/T) for the
binomial number of visits.) The factor is 0.45 for epsilon = 1 and many actions, 0.41 for epsilon = 0.05. The
diameter is S. In episodes rewards may depend on the step, so that there are H S bandits with T/(H S) visits,
and (H S A)^b takes the place of (S A)^b.
"""

import numpy as np

from heavytail.arrays import Floats
from heavytail.bounds.bound import Bound, Steps, log, make_bound
from heavytail.bounds.catalogue import EPISODES, LONG_RUN, theorem
from heavytail.bounds.heavy_ucrl2 import exponents
from heavytail.bounds.quantities import Case

KL_AT_ZERO = (1.0 - np.log(2.0)) / 2.0  # KL(q/2 | q) / q for small q
NEEDS = ("S", "A", "raw_moment", "epsilon")
LABEL = "no agent is below on all MDPs of this size"


@theorem("theorem 6: its instances exist", ("S", "A", "epsilon"), rank=240)
def hard_instance_steps(case: Case) -> Steps:
    """Theorem 6, its condition: the least T for which the paper's construction exists."""
    epsilon = case.epsilon
    return Steps(np.asarray(log(case.S * case.A) + (1.0 + epsilon) / epsilon * np.log(2.0))[()])


@theorem("theorem 6", NEEDS, rank=60, panel=LONG_RUN, label=LABEL, colour="#00875F")
def lower_bound(case: Case) -> Bound:
    """Theorem 6: the least regret of any agent, on some MDP of this size.

    `holds` says whether the construction exists.
    """
    return _with_horizon(case, np.asarray(1.0))


@theorem("theorem 6, episodes", (*NEEDS, "H"), rank=150, panel=EPISODES, label=LABEL, colour="#00875F")
def episodic_lower_bound(case: Case) -> Bound:
    """Theorem 6, episodes: the least regret of any agent, on some MDP with episodes of H steps."""
    return _with_horizon(case, case.H)


def _with_horizon(case: Case, H: Floats) -> Bound:
    a, b = exponents(case.epsilon)
    S, A, x, zero = case.S, case.A, log(case.T), np.array(-np.inf)
    if not case.tight:
        holds = x - log(H) >= hard_instance_steps(case).log
        order = log(H) + b * log(S * A) + a * x
        return make_bound([zero, order, zero, zero], np.inf, 0.0, holds=holds, kind="order")
    factor = bandit_factor(case.T / (H * S), A, b)
    rewards = a * log(case.raw_moment) + b * log(H * S * A) + a * x + log(factor)
    return make_bound([zero, rewards, zero, zero], np.inf, 0.0, holds=factor > 0)


def bandit_factor(n: Floats, A: Floats, b: Floats) -> Floats:
    """The factor of A^b n^a for a bandit of A arms with n visits on average; 0 if they are too few."""
    most = 1.0 - 1.0 / A
    best = (b * most / ((b + 0.5) * np.sqrt(KL_AT_ZERO / 2.0))) ** 2
    kappa = np.minimum(best, n / (2.0 * A))
    q = kappa * A / n
    kl = (1.0 - q / 2.0) * np.log1p(q / 2.0 / (1.0 - q)) - q / 2.0 * np.log(2.0)
    return np.maximum(0.5 * kappa**b * (most - np.sqrt((n + 1.0) * kl / (2.0 * A))), 0.0)
