r"""Heavy-UCRL2: the regret bound (Zhuang and Sui 2021, theorem 1; appendix A).

Theorem 1 of the paper: with probability at least 1 - delta the regret is at most

    20 R D S sqrt(A T log(T/delta)) + (2 C + 1) v^a (7 c iota)^b (S A T)^a,     a = 1/(1+epsilon), b =
    epsilon/(1+epsilon), iota = log(2 S A T / delta),

with R = r_max - r_min, D the diameter and C = 2/(2^a - 1). That is ``constants="paper"``. ``"tight"`` is the
sum from which the proof gets there, corrected:

    (sqrt(2)+1) R D sqrt(14 S log(2 A T/delta)) sqrt(S A T)
    transitions
  + 2 C' K m^a (7 iota)^b (S A)^b T^a
  heavy tail + R D sqrt(5/2 T log(8T/delta)) + R D S A log2(8T/(S A)) + 2 (sqrt(2)+1) sqrt(S A T) + R sqrt(T)
  lower order

* C' = 1/(2^a - 1): the paper's lemma 2 is true with half its constant. (C ((1+x)^a - 1) >= x on [0, 1], by
  concavity; its own proof is not valid.) At epsilon = 1 that is the sqrt(2)+1 of Jaksch et al. (2010), and it
  is attained when phases double.
* (S A)^b T^a instead of (S A T)^a, by Jensen's inequality done fully; so Heavy-UCRL2 depends on S A as the
  lower bound does.
* 2 C' instead of 2 C + 1: the 1 stood for the noise of realised rewards, which no robust estimator bounds.
  Regret is of mean rewards here, and has no such term.
* K is the estimator's constant (`estimator_constant`), and m its moment: raw for the truncated mean. c^b is
  K, and c itself overflows.
* The regret where confidence fails is R sqrt(T), as in the proof; the R is lost in its last line.
* Planning up to 1/sqrt(t) costs 2 (sqrt(2)+1) sqrt(S A T) whatever R and D are; the paper multiplies it by R
  D, and its 20 with it, which is too little if R D is far below 1.

Both need optimistic rewards to be cut at r_max (``clip_optimism=True``), or the factor R D is not proved; the
paper's algorithm does not cut them. For the median of means the interval is valid only from 16 (7 iota + 1/8)
visits on, which no bound here counts.
"""

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.bounds._arguments import chosen, chosen_constants, given
from heavytail.bounds.bound import Bound, Constants, bound_at
from heavytail.bounds.terms import Statement, Term, log

EstimatorName: TypeAlias = Literal["truncated_mean", "median_of_means"]
SILVER = 1.0 + np.sqrt(2.0)


def sequence_constant(epsilon: npt.ArrayLike, constants: Constants = "tight") -> Floats:
    """C in sum_k z_k / Z_{k-1}^b <= C Z_n^a, for all 0 <= z_k <= Z_{k-1} = max{1, z_1 + ...

    + z_{k-1}} (lemma 2): 1/(2^a - 1), twice that in the paper.

    >>> float(sequence_constant(1.0).round(6)), float(sequence_constant(1.0, "paper").round(6))
    (2.414214, 4.828427)
    """
    (epsilon,) = given("sequence_constant", epsilon=epsilon)
    return np.asarray(
        (1.0 if chosen_constants("sequence_constant", constants) else 2.0)
        / np.expm1(np.log(2.0) / (1.0 + epsilon))
    )[()]


def estimator_constant(
    epsilon: npt.ArrayLike, estimator: EstimatorName = "truncated_mean", constants: Constants = "tight"
) -> Floats:
    """K in the radius K m^a (L/n)^b of an estimator: c^b of the paper's c, which overflows.

    Truncated mean: 4, or 1 + epsilon + sqrt(2) + 1/3, what the proof gives. Median of means: (32 *
    12^(1/epsilon))^b, or 12^a 16^b with L + 1/8 for L.

    >>> float(estimator_constant(0.05).round(3)), float(estimator_constant(0.05, constants="paper"))
    (2.798, 4.0)
    """
    (epsilon,) = given("estimator_constant", epsilon=epsilon)
    tight = chosen_constants("estimator_constant", constants)
    chosen("estimator_constant", "estimator", estimator, ("median_of_means", "truncated_mean"))
    if estimator == "truncated_mean":
        return np.asarray(epsilon + 4.0 / 3.0 + np.sqrt(2.0) if tight else 4.0 + 0.0 * epsilon)[()]
    a, b = orders(epsilon)
    return np.asarray(12.0**a * (16.0 if tight else 32.0) ** b)[()]


def orders(epsilon: Floats) -> tuple[Floats, Floats]:
    """1/(1+epsilon) and epsilon/(1+epsilon)."""
    return 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)


def reward_term(
    S: Floats,
    A: Floats,
    moment: Floats,
    epsilon: Floats,
    delta: Floats,
    estimator: EstimatorName,
    constants: Constants,
) -> Term:
    """The heavy-tail term of theorem 1."""
    a, b = orders(epsilon)
    tight, C = constants == "tight", sequence_constant(epsilon, constants)
    factor = 2.0 * C if tight else 2.0 * C + 1.0
    more = (
        1.0 / 56.0 if tight and estimator == "median_of_means" else 0.0
    )  # 16 (7 iota + 1/8) is 16 * 7 (iota + 1/56)
    scale = (
        log(factor * estimator_constant(epsilon, estimator, constants))
        + a * log(moment)
        + b * np.log(7.0)
        + (b if tight else a) * log(S * A)
    )
    return Term(scale, a, b, log(2.0 * S * A / delta) + more)


def phases_term(scale: Floats, S: Floats, A: Floats) -> Term:
    """As many times exp(scale) as there are phases at most, S A log2(8T/(S A)).

    For T below S A what it is at S A.
    """
    return Term(scale + log(S * A / np.log(2.0)), 0.0, 1.0, log(8.0 / (S * A)), np.log(8.0))


def ucrl2_statement(S: Floats, A: Floats, D: Floats, R: Floats, delta: Floats) -> Statement:
    """All that UCRL2's proof has but the rewards: transitions, and what is of lower order."""
    lower = (
        Term(log(R * D) + 0.5 * np.log(2.5), 0.5, 0.5, log(8.0 / delta)),
        phases_term(log(R * D), S, A),
        Term(log(2.0 * SILVER) + 0.5 * log(S * A), 0.5),
        Term(log(R), 0.5),
    )
    transitions = Term(log(SILVER * R * D * S) + 0.5 * log(14.0 * A), 0.5, 0.5, log(2.0 * A / delta))
    return Statement(transitions=(transitions,), lower_order=lower)


def heavy_ucrl2_statement(
    S: Floats,
    A: Floats,
    D: Floats,
    R: Floats,
    moment: Floats,
    epsilon: Floats,
    delta: Floats,
    estimator: EstimatorName,
    constants: Constants,
) -> Statement:
    """Theorem 1 as a function of T."""
    rewards = reward_term(S, A, moment, epsilon, delta, estimator, constants)
    if constants == "tight":
        return ucrl2_statement(S, A, D, R, delta)._replace(heavy_tail=(rewards,))
    return Statement((Term(log(20.0 * R * D * S) + 0.5 * log(A), 0.5, 0.5, -log(delta)),), (rewards,))


def heavy_ucrl2_regret(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    diameter: npt.ArrayLike,
    reward_range: npt.ArrayLike,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    estimator: EstimatorName = "truncated_mean",
    constants: Constants = "tight",
) -> Bound:
    """The regret of Heavy-UCRL2 after T steps, with probability at least 1 - delta (theorem 1; what was corrected: see the module).

    Args:
        T: steps.
        S: states.
        A: actions.
        diameter: the largest expected time between two states, by the best policy.
        reward_range: R_delta, the largest mean reward less the smallest.
        moment: a bound on E|r|**(1 + epsilon), raw for the truncated mean, central for the median of means.
        epsilon: rewards have a moment of order 1 + epsilon.
        delta: one minus the confidence.
        estimator: of mean rewards.
        constants: "tight" or "paper".

    >>> bound = heavy_ucrl2_regret([1e6, 1e12], S=2, A=2, diameter=2, reward_range=1, moment=1, epsilon=0.5)
    >>> bound.rules.tolist(), bound.vacuous.tolist(), f"{bound.crossing[0]:.0e}"
    (['heavy_tail', 'heavy_tail'], [True, False], '1e+02')
    """
    where = "heavy_ucrl2_regret"
    chosen_constants(where, constants)
    T, S, A, D, R, moment, epsilon, delta = given(
        where,
        T=T,
        S=S,
        A=A,
        diameter=diameter,
        reward_range=reward_range,
        moment=moment,
        epsilon=epsilon,
        delta=delta,
    )
    return bound_at(
        heavy_ucrl2_statement(S, A, D, R, moment, epsilon, delta, estimator, constants), log(T), R
    )
