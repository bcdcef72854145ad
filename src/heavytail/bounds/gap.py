r"""Heavy-UCRL2 where policies have a gap: a regret that grows with log T (theorem 2; appendix C).

Theorem 2 of Zhuang and Sui (2021): for every lambda > 0 and T as in `heavy_tail_condition`, with probability
at least 1 - 3 delta the regret is at most

    7 c iota (4 C + 2)^(1/b) (S A / lambda)^(1/epsilon) + lambda T;

and with delta = 1/(3T) and g the gap between the best and the next best policy, its expectation is at most

    7 c iota (4 C + 2)^(1/b) (2 S A / g)^(1/epsilon)
  + sum over (s, a) of ceil(1 + log2 max T_pi) max T_pi,

the maxima over all pi with pi(s) = a.

That is ``constants="paper"``. It lacks v^(1/epsilon) in both lines, the factor R in the sum, and R for the
case that confidence fails; g is printed with the sign reversed.

``"tight"`` does the last step of the proof differently. In phases whose average regret is above lambda, L
steps in all, the regret is at least lambda L, and at most

    (sqrt(2)+1) R D sqrt(14 S log(2 A T/delta)) sqrt(S A L)
  + 2 C' K m^a (7 iota)^b (S A)^b L^a
  + 2 R D sqrt(L log(T/delta)) + R D S A log2(8T/(S A)) + 2 (sqrt(2)+1) sqrt(S A L)

(theorem 1 for these phases; see `heavytail.bounds.heavy_ucrl2`). So L is at most the one solution of
lambda L = this sum, and at most T; with that L the terms are as returned. No condition on T is needed,
transitions are counted too, and where the heavy tail dominates the constant is (2 C' K)^(1/b) instead of
(4 C + 2)^(1/b) c, 2^21 times less at epsilon = 0.05 from the 2 alone. It is linear in S A. The remainder is
lambda T in the first part, and R times the sum in the second.

As in Jaksch et al. (2010), theorem 4, phases that play an optimal policy count as free; each may cost up to
the span of its bias.
"""

from dataclasses import replace

import numpy as np

from heavytail.arrays import Bools, Floats
from heavytail.bounds.bound import (
    Bound,
    Statement,
    Steps,
    Term,
    Terms,
    bound_at,
    log,
    log_crossing,
    log_steps,
    log_sum,
    make_bound,
)
from heavytail.bounds.catalogue import LONG_RUN, theorem
from heavytail.bounds.heavy_ucrl2 import (
    NEEDS,
    SILVER,
    estimator_constant,
    exponents,
    heavy_ucrl2_statement,
    phases_term,
    reward_term,
    sequence_constant,
)
from heavytail.bounds.quantities import Case


@theorem("lemma 3: the heavy tail rules", NEEDS, rank=220)
def heavy_tail_condition(case: Case) -> Steps:
    """Lemma 3: the T from which on the heavy-tail term of theorem 1 is above that of the transitions.

    Infinite if it never is, as may be at epsilon = 1. The paper:

        20 R D^((2+2 epsilon)/(1-epsilon)) S^(2 epsilon/(1-epsilon)) / (B A),   B = (2 C + 1) v^a (7 c)^b.

    Its terms give, up to logarithms,

        (20 R D / B)^((2+2 epsilon)/(1-epsilon)) S^(2 epsilon/(1-epsilon)) / A:

    the exponent belongs to 20 R D / B. ``constants="tight"`` is where the tight terms cross, logarithms
    included. In the proof it is L, the number of steps in bad phases, that must satisfy this, and not T.
    """
    if not case.tight:
        return Steps(_paper_condition(case)[()])
    statement = heavy_ucrl2_statement(case)
    return Steps(log_crossing(statement.heavy_tail, statement.transitions)[()])


def _paper_condition(case: Case) -> Floats:
    """The logarithm of the paper's T; infinite at epsilon = 1, as the statement is for epsilon < 1."""
    epsilon, (a, b) = case.epsilon, exponents(case.epsilon)
    C, K = sequence_constant(epsilon, "paper"), estimator_constant(case)
    B = log((2.0 * C + 1.0) * K) + a * log(case.moment)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = (2.0 + 2.0 * epsilon) / (1.0 - epsilon) * log(case.diameter)
        inside = inside + 2.0 * epsilon / (1.0 - epsilon) * log(case.S)
        steps = log(20.0 * case.reward_range) + inside - B - b * np.log(7.0) - log(case.A)
    return np.where(epsilon < 1, steps, np.inf)


@theorem(
    "theorem 2, any lambda", NEEDS, rank=20, panel=LONG_RUN, label="Heavy-UCRL2, any λ", colour="#B0528A"
)
def heavy_ucrl2_gap(case: Case) -> Bound:
    """Theorem 2, first part: the regret of Heavy-UCRL2, for any lambda = `accuracy` > 0.

    It holds with probability at least 1 - 3 delta. The remainder is lambda T.
    """
    x, rest = log(case.T), (Term(log(case.accuracy), 1.0),)
    if case.tight:
        logs = _in_bad_phases(case, x, case.accuracy, log(1.0 / case.delta))
        return make_bound([*logs, log_sum(rest, x)], log(case.reward_range * case.T), np.nan)
    rewards = _paper_rewards(case, case.accuracy, log(2.0 * case.S * case.A / case.delta), 0.0)
    return _paper_bound(case, Statement(heavy_tail=(rewards,), remainder=rest))


@theorem(
    "theorem 2, by the gap",
    (*NEEDS, "gap", "settling"),
    rank=30,
    panel=LONG_RUN,
    label="Heavy-UCRL2, expected, by the gap",
    colour="#7A5CC8",
)
def heavy_ucrl2_expected(case: Case) -> Bound:
    """Theorem 2, second part: the expected regret of Heavy-UCRL2 with delta = 1/(3T), by the gap.

    `gap` and `settling`, the sum over (s, a) of ceil(1 + log2 T_pi) T_pi, are those of
    `heavytail.planning.policy_enumeration`. The remainder is what policies cost before they have settled.
    """
    T, R = case.T, case.reward_range
    if case.tight:
        with_delta = replace(case, delta=1.0 / (3.0 * T))
        transitions, heavy_tail, lower = _in_bad_phases(with_delta, log(T), case.gap / 2.0, log(3.0 * T))
        logs = [transitions, heavy_tail, np.logaddexp(lower, log(R)), log(R * case.settling)]
        return make_bound(logs, log(R * T), np.nan)
    offset = log(6.0 * case.S * case.A) / 2.0  # iota is 2 (log T + log(6 S A) / 2)
    rewards = _paper_rewards(case, case.gap / 2.0, offset, np.log(2.0))
    return _paper_bound(case, Statement(heavy_tail=(rewards,), remainder=(Term(log(case.settling)),)))


def _paper_rewards(case: Case, accuracy: Floats, offset: Floats, more: float) -> Term:
    """7 c iota (4 C + 2)^(1/b) (S A / accuracy)^(1/epsilon), which has no moment."""
    C, K = sequence_constant(case.epsilon, "paper"), estimator_constant(case)
    scale = np.log(7.0) + (1.0 + case.epsilon) / case.epsilon * log(K * (4.0 * C + 2.0))
    return Term(scale + log(case.S * case.A / accuracy) / case.epsilon + more, 0.0, 1.0, offset)


def _paper_bound(case: Case, statement: Statement) -> Bound:
    """The paper's statement at T, where its condition on T holds."""
    holds: Bools = log(case.T) >= _paper_condition(case)
    return bound_at(statement, case, holds=holds)


def _in_bad_phases(case: Case, x: Floats, accuracy: Floats, confidence: Floats) -> list[Floats]:
    """The logarithms of the three parts of the regret in phases whose average regret is above `accuracy`.

    `x` is log T and `confidence` log(1/delta).
    """
    S, A, D, R, rewards = case.S, case.A, case.diameter, case.reward_range, reward_term(case)
    transitions: Terms = (
        Term(log(SILVER * R * D * S) + 0.5 * log(14.0 * A * (x + log(2.0 * A) + confidence)), 0.5),
    )
    heavy_tail: Terms = (Term(rewards.scale + rewards.log_power * log(x + rewards.offset), rewards.power),)
    lower: Terms = (
        Term(log(2.0 * R * D) + 0.5 * log(x + confidence), 0.5),
        Term(phases_term(log(R * D), S, A).log(x)),
        Term(log(2.0 * SILVER) + 0.5 * log(S * A), 0.5),
    )
    y = np.minimum(log_steps(Statement(transitions, heavy_tail, lower), log(accuracy), 0.0 * x), x)
    return [log_sum(terms, y) for terms in (transitions, heavy_tail, lower)]
