r"""Heavy-UCRL2: the regret bound (Zhuang and Sui 2021, theorem 1; appendix A).

Theorem 1 of the paper: with probability at least 1 - delta the regret is at most

    20 R D S sqrt(A T log(T/delta)) + (2 C + 1) v^a (7 c iota)^b (S A T)^a,

    a = 1/(1+epsilon),   b = epsilon/(1+epsilon),   iota = log(2 S A T / delta),

with R = r_max - r_min, D the diameter and C = 2/(2^a - 1). That is ``constants="paper"``. ``"tight"`` is the
sum from which the proof gets there, corrected:

    (sqrt(2)+1) R D sqrt(14 S log(2 A T/delta)) sqrt(S A T)                                transitions
  + 2 C' K m^a (7 iota)^b (S A)^b T^a                                                      heavy tail
  + R D sqrt(5/2 T log(8T/delta)) + R D S A log2(8T/(S A))                                 lower order
  + 2 (sqrt(2)+1) sqrt(S A T) + R sqrt(T)

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

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.bounds._arguments import Arguments, Constants, EstimatorName, check_arguments
from heavytail.bounds.bound import Bound, bound_at
from heavytail.bounds.catalogue import CatalogueEntry
from heavytail.bounds.terms import Statement, Term, log
from heavytail.registry import register

SILVER = 1.0 + np.sqrt(2.0)


def sequence_constant(epsilon: npt.ArrayLike, constants: Constants = "tight") -> Floats:
    """C of lemma 2: 1/(2^a - 1), twice that in the paper.

    sum_k z_k / Z_{k-1}^b <= C Z_n^a, for all 0 <= z_k <= Z_{k-1} = max{1, z_1 + ... + z_{k-1}}.

    >>> float(sequence_constant(1.0).round(6)), float(sequence_constant(1.0, "paper").round(6))
    (2.414214, 4.828427)
    """
    p = check_arguments("sequence_constant", locals())
    return np.asarray((1.0 if p.tight else 2.0) / np.expm1(np.log(2.0) / (1.0 + p.epsilon)))[()]


def estimator_constant(
    epsilon: npt.ArrayLike, estimator: EstimatorName = "truncated_mean", constants: Constants = "tight"
) -> Floats:
    """K in the radius K m^a (L/n)^b of an estimator: c^b of the paper's c, which overflows.

    Truncated mean: 4, or 1 + epsilon + sqrt(2) + 1/3, what the proof gives. Median of means:
    (32 * 12^(1/epsilon))^b, or 12^a 16^b with L + 1/8 for L.

    >>> float(estimator_constant(0.05).round(3)), float(estimator_constant(0.05, constants="paper"))
    (2.798, 4.0)
    """
    p = check_arguments("estimator_constant", locals())
    if p.estimator == "truncated_mean":
        return np.asarray(p.epsilon + 4.0 / 3.0 + np.sqrt(2.0) if p.tight else 4.0 + 0.0 * p.epsilon)[()]
    a, b = exponents(p.epsilon)
    return np.asarray(12.0**a * (16.0 if p.tight else 32.0) ** b)[()]


def exponents(epsilon: Floats) -> tuple[Floats, Floats]:
    """The exponents a = 1/(1+epsilon) and b = epsilon/(1+epsilon)."""
    return 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)


def reward_term(p: Arguments) -> Term:
    """The heavy-tail term of theorem 1."""
    a, b = exponents(p.epsilon)
    C, K = sequence_constant(p.epsilon, p.constants), estimator_constant(p.epsilon, p.estimator, p.constants)
    factor = 2.0 * C if p.tight else 2.0 * C + 1.0
    scale = log(factor * K) + a * log(p.moment) + b * np.log(7.0) + (b if p.tight else a) * log(p.S * p.A)
    # of the median of means 16 (7 iota + 1/8) is 16 * 7 (iota + 1/56)
    more = 1.0 / 56.0 if p.tight and p.estimator == "median_of_means" else 0.0
    return Term(scale, a, b, log(2.0 * p.S * p.A / p.delta) + more)


def phases_term(scale: Floats, S: Floats, A: Floats) -> Term:
    """exp(scale) times the largest number of phases, S A log2(8T/(S A)); below T = S A its value there."""
    return Term(scale + log(S * A / np.log(2.0)), 0.0, 1.0, log(8.0 / (S * A)), np.log(8.0))


def ucrl2_statement(p: Arguments) -> Statement:
    """All terms of UCRL2's proof but the rewards': transitions, and those of lower order."""
    S, A, D, R, delta = p.S, p.A, p.diameter, p.reward_range, p.delta
    lower = (
        Term(log(R * D) + 0.5 * np.log(2.5), 0.5, 0.5, log(8.0 / delta)),
        phases_term(log(R * D), S, A),
        Term(log(2.0 * SILVER) + 0.5 * log(S * A), 0.5),
        Term(log(R), 0.5),
    )
    transitions = Term(log(SILVER * R * D * S) + 0.5 * log(14.0 * A), 0.5, 0.5, log(2.0 * A / delta))
    return Statement(transitions=(transitions,), lower_order=lower)


def heavy_ucrl2_statement(p: Arguments) -> Statement:
    """Theorem 1 as a function of T."""
    if p.tight:
        return ucrl2_statement(p)._replace(heavy_tail=(reward_term(p),))
    scale = log(20.0 * p.reward_range * p.diameter * p.S) + 0.5 * log(p.A)
    return Statement((Term(scale, 0.5, 0.5, -log(p.delta)),), (reward_term(p),))


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
    """The regret of Heavy-UCRL2 after T steps, with probability at least 1 - delta (theorem 1).

    The module says what was corrected.

    Args:
        T: steps.
        S: states.
        A: actions.
        diameter: the largest expected time between two states, by the best policy.
        reward_range: R, the largest mean reward less the smallest.
        moment: a bound on E|r|**(1 + epsilon), raw for the truncated mean, central for the median of means.
        epsilon: rewards have a moment of order 1 + epsilon.
        delta: one minus the confidence.
        estimator: of mean rewards.
        constants: "tight" or "paper".

    >>> bound = heavy_ucrl2_regret([1e6, 1e12], S=2, A=2, diameter=2, reward_range=1, moment=1, epsilon=0.5)
    >>> bound.rules.tolist(), bound.vacuous.tolist(), f"{bound.crossing[0]:.0e}"
    (['heavy_tail', 'heavy_tail'], [True, False], '1e+02')
    """
    p = check_arguments("heavy_ucrl2_regret", locals())
    return bound_at(heavy_ucrl2_statement(p), log(p.T), p.reward_range)


@register("bound", "heavy_ucrl2")
def heavy_ucrl2() -> CatalogueEntry:
    """Theorem 1."""
    return CatalogueEntry(
        heavy_ucrl2_regret, "theorem 1", 10, "in the long run", label="Heavy-UCRL2", colour="#C22F00"
    )
