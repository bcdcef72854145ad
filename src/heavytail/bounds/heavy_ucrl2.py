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

Corollary 1 (appendix B) is the number of steps until the average regret is at most lambda; ``"tight"`` solves
the regret bound for T instead.
"""

import numpy as np

from heavytail.arrays import Floats
from heavytail.bounds.bound import LOG_10, Bound, Statement, Steps, Term, bound_at, log, steps_until
from heavytail.bounds.catalogue import LONG_RUN, theorem
from heavytail.bounds.quantities import Case, Constants

SILVER = 1.0 + np.sqrt(2.0)
NEEDS = ("S", "A", "diameter", "r_max", "moment", "epsilon")


def sequence_constant(epsilon: Floats | float, constants: Constants = "tight") -> Floats:
    """C of lemma 2: 1/(2^a - 1), twice that in the paper.

    sum_k z_k / Z_{k-1}^b <= C Z_n^a, for all 0 <= z_k <= Z_{k-1} = max{1, z_1 + ... + z_{k-1}}.

    >>> float(sequence_constant(1.0).round(6)), float(sequence_constant(1.0, "paper").round(6))
    (2.414214, 4.828427)
    """
    return np.asarray((1.0 if constants == "tight" else 2.0) / np.expm1(np.log(2.0) / (1.0 + epsilon)))[()]


def estimator_constant(case: Case) -> Floats:
    """K in the radius K m^a (L/n)^b of the estimator: c^b of the paper's c, which overflows.

    Truncated mean: 4, or 1 + epsilon + sqrt(2) + 1/3, what the proof gives. Median of means:
    (32 * 12^(1/epsilon))^b, or 12^a 16^b with L + 1/8 for L.

    >>> float(estimator_constant(Case(epsilon=0.05)).round(3))
    2.798
    """
    epsilon = np.asarray(case.epsilon, np.float64)
    if case.estimator == "truncated_mean":
        return np.asarray(epsilon + 4.0 / 3.0 + np.sqrt(2.0) if case.tight else 4.0 + 0.0 * epsilon)[()]
    a, b = exponents(epsilon)
    return np.asarray(12.0**a * (16.0 if case.tight else 32.0) ** b)[()]


def exponents(epsilon: Floats) -> tuple[Floats, Floats]:
    """The exponents a = 1/(1+epsilon) and b = epsilon/(1+epsilon)."""
    return 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)


def reward_term(case: Case) -> Term:
    """The heavy-tail term of theorem 1."""
    a, b = exponents(case.epsilon)
    C, K = sequence_constant(case.epsilon, case.constants), estimator_constant(case)
    factor = 2.0 * C if case.tight else 2.0 * C + 1.0
    scale = (
        log(factor * K)
        + a * log(case.moment)
        + b * np.log(7.0)
        + (b if case.tight else a) * log(case.S * case.A)
    )
    # of the median of means 16 (7 iota + 1/8) is 16 * 7 (iota + 1/56)
    more = 1.0 / 56.0 if case.tight and case.estimator == "median_of_means" else 0.0
    return Term(scale, a, b, log(2.0 * case.S * case.A / case.delta) + more)


def phases_term(scale: Floats, S: Floats, A: Floats) -> Term:
    """exp(scale) times the largest number of phases, S A log2(8T/(S A)); below T = S A its value there."""
    return Term(scale + log(S * A / np.log(2.0)), 0.0, 1.0, log(8.0 / (S * A)), np.log(8.0))


def ucrl2_statement(case: Case) -> Statement:
    """All terms of UCRL2's proof but the rewards': transitions, and those of lower order."""
    S, A, D, R, delta = case.S, case.A, case.diameter, case.reward_range, case.delta
    lower = (
        Term(log(R * D) + 0.5 * np.log(2.5), 0.5, 0.5, log(8.0 / delta)),
        phases_term(log(R * D), S, A),
        Term(log(2.0 * SILVER) + 0.5 * log(S * A), 0.5),
        Term(log(R), 0.5),
    )
    transitions = Term(log(SILVER * R * D * S) + 0.5 * log(14.0 * A), 0.5, 0.5, log(2.0 * A / delta))
    return Statement(transitions=(transitions,), lower_order=lower)


def heavy_ucrl2_statement(case: Case) -> Statement:
    """Theorem 1 as a function of T."""
    if case.tight:
        return ucrl2_statement(case)._replace(heavy_tail=(reward_term(case),))
    scale = log(20.0 * case.reward_range * case.diameter * case.S) + 0.5 * log(case.A)
    return Statement((Term(scale, 0.5, 0.5, -log(case.delta)),), (reward_term(case),))


@theorem("theorem 1", NEEDS, rank=10, panel=LONG_RUN, label="Heavy-UCRL2", colour="#C22F00")
def heavy_ucrl2(case: Case) -> Bound:
    """Theorem 1: the regret of Heavy-UCRL2 after T steps, with probability at least 1 - delta."""
    return bound_at(heavy_ucrl2_statement(case), case)


@theorem("corollary 1: average regret at most lambda", NEEDS, rank=210)
def heavy_ucrl2_sample_size(case: Case) -> Steps:
    """Corollary 1: the T from which on the average regret is at most `accuracy`.

    It holds with probability at least 1 - delta. The paper, with alpha as in `log10_pac_constant`:

        T >= max{16 * 400 R^2 D^2 S^2 A / accuracy^2 log(40 R D S A / (delta accuracy)),
                 alpha log(2 S A / delta) + 2 alpha log(alpha / delta)}.

    Its derivation holds if alpha is not far below 1. ``constants="tight"`` solves theorem 1 for T directly.
    """
    S, A, delta = case.S, case.A, case.delta
    if case.tight:
        start = log(np.maximum(S * A, np.e * delta))
        return steps_until(heavy_ucrl2_statement(case), case.accuracy, start)
    ratio = log(40.0 * case.reward_range * case.diameter * S / case.accuracy)
    first = log(4.0) + 2.0 * ratio + log(A) + log(np.maximum(ratio + log(A / delta), 0.0))
    alpha = LOG_10 * log10_pac_constant(case)
    second = alpha + log(np.maximum(log(2.0 * S * A / delta) + 2.0 * (alpha - log(delta)), 0.0))
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    return Steps(np.maximum(first, second), transitions=Steps(first), heavy_tail=Steps(second))


def log10_pac_constant(case: Case) -> Floats:
    """The decimal logarithm of alpha in corollary 1.

    The heavy-tail term is at most accuracy T / 2 once T >= alpha log(2 S A T / delta).

    The paper's:           7 c (4 C + 2)^(1/b) v^(1/epsilon) (S A)^(1/epsilon) / accuracy^(1/b).
    From the tight term:   7 S A (4 C' K / accuracy)^(1/b) m^(1/epsilon), linear in S A.

    >>> case = Case(S=7, A=6, raw_moment=13.26, epsilon=0.05, accuracy=0.1, constants="paper")
    >>> float(log10_pac_constant(case).round(1))
    110.9
    """
    rewards = reward_term(case)  # in whose scale there is no delta
    return np.asarray((rewards.scale + np.log(2.0) - log(case.accuracy)) / (rewards.log_power * LOG_10))[()]
