r"""Heavy-UCRL2 where policies have a gap.

A regret that grows with log T (Zhuang and Sui 2021, theorem 2; appendix C).

Theorem 2 of the paper: for every lambda > 0 and T as in `heavy_tail_condition`, with probability at least 1 -
3 delta the regret is at most

    7 c iota (4 C + 2)^(1/b) (S A / lambda)^(1/epsilon) + lambda T;

and with delta = 1/(3T) and g the gap between the best and the next best policy, its expectation is at most

    7 c iota (4 C + 2)^(1/b) (2 S A / g)^(1/epsilon) + sum over (s, a) of ceil(1 + log2 max T_pi) max T_pi,
    the maxima over all pi with pi(s) = a.

That is ``constants="paper"``. It lacks v^(1/epsilon) in both lines, the factor R in the sum, and R for the
case that confidence fails; g is printed with the sign reversed.

``"tight"`` does the last step of the proof differently. In phases whose average regret is above lambda, L
steps in all, the regret is at least lambda L, and at most

    (sqrt(2)+1) R D sqrt(14 S log(2 A T/delta)) sqrt(S A L) + 2 C' K m^a (7 iota)^b (S A)^b L^a + 2 R D sqrt(L
    log(T/delta)) + R D S A log2(8T/(S A)) + 2 (sqrt(2)+1) sqrt(S A L)

(theorem 1 for these phases; see `heavytail.bounds.heavy_ucrl2`). So L is at most the one solution of lambda L
= all this, and at most T; with that L the terms are as returned. No condition on T is needed, transitions are
counted too, and where the heavy tail rules the constant is (2 C' K)^(1/b) instead of (4 C + 2)^(1/b) c, 2^21
times less at epsilon = 0.05 from the 2 alone. It is linear in S A. The remainder is lambda T in the first
part, and R times the sum in the second.

As in Jaksch et al. (2010), theorem 4, phases that play an optimal policy count as free; each may cost up to
the span of its bias.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.bounds._arguments import chosen_constants, given
from heavytail.bounds.bound import Bound, Constants, Steps, bound_at, make_bound
from heavytail.bounds.heavy_ucrl2 import (
    SILVER,
    EstimatorName,
    estimator_constant,
    heavy_ucrl2_statement,
    orders,
    phases_term,
    reward_term,
    sequence_constant,
)
from heavytail.bounds.terms import Statement, Term, Terms, log, log_crossing, log_steps, log_sum


def heavy_tail_condition(
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
) -> Steps:
    """The T from which on the heavy-tail term of theorem 1 is above that of the transitions (lemma 3); infinite if that never comes, as may be at epsilon = 1.

    The paper: 20 R D^((2+2 epsilon)/(1-epsilon)) S^(2 epsilon/(1-epsilon)) / (B A) with B = (2 C + 1) v^a (7
    c)^b. Its terms give ((20 R D / B)^((2+2 epsilon)/(1-epsilon))) S^(2 epsilon/(1-epsilon)) / A up to
    logarithms: the exponent belongs to 20 R D / B. ``constants="tight"`` is where the tight terms cross,
    logarithms and all. In the proof it is L, the number of steps in bad phases, that must satisfy this, and
    not T.
    """
    where = "heavy_tail_condition"
    tight = chosen_constants(where, constants)
    S, A, D, R, moment, epsilon, delta = given(
        where,
        S=S,
        A=A,
        diameter=diameter,
        reward_range=reward_range,
        moment=moment,
        epsilon=epsilon,
        delta=delta,
    )
    if tight:
        statement = heavy_ucrl2_statement(S, A, D, R, moment, epsilon, delta, estimator, constants)
        return Steps(log_crossing(statement.heavy_tail, statement.transitions)[()])
    a, b = orders(epsilon)
    B = log(
        (2.0 * sequence_constant(epsilon, constants) + 1.0)
        * estimator_constant(epsilon, estimator, constants)
    ) + a * log(moment)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # epsilon = 1: never, as the statement is for epsilon < 1
        inside = (2.0 + 2.0 * epsilon) / (1.0 - epsilon) * log(D) + 2.0 * epsilon / (1.0 - epsilon) * log(S)
        return Steps(np.where(epsilon < 1, log(20.0 * R) + inside - B - b * np.log(7.0) - log(A), np.inf)[()])


def heavy_ucrl2_gap_regret(
    T: npt.ArrayLike,
    *,
    accuracy: npt.ArrayLike,
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
    """The regret of Heavy-UCRL2, for any lambda = `accuracy` > 0, with probability at least 1 - 3 delta (theorem 2, first part). The remainder is lambda T."""
    where = "heavy_ucrl2_gap_regret"
    tight = chosen_constants(where, constants)
    T, accuracy, S, A, D, R, moment, epsilon, delta = given(
        where,
        T=T,
        accuracy=accuracy,
        S=S,
        A=A,
        diameter=diameter,
        reward_range=reward_range,
        moment=moment,
        epsilon=epsilon,
        delta=delta,
    )
    rest = (Term(log(accuracy), 1.0),)
    if tight:
        logs = _in_bad_phases(
            log(T),
            accuracy,
            S,
            A,
            D,
            R,
            log(1.0 / delta),
            reward_term(S, A, moment, epsilon, delta, estimator, constants),
        )
        return make_bound([*logs, log_sum(rest, log(T))], log(R * T), np.nan)
    rewards = _paper_rewards(S, A, epsilon, accuracy, log(2.0 * S * A / delta), 0.0, estimator)
    condition = heavy_tail_condition(
        S=S,
        A=A,
        diameter=D,
        reward_range=R,
        moment=moment,
        epsilon=epsilon,
        estimator=estimator,
        constants=constants,
    )
    return bound_at(
        Statement(heavy_tail=(rewards,), remainder=rest), log(T), R, holds=log(T) >= condition.log
    )


def heavy_ucrl2_expected_regret(
    T: npt.ArrayLike,
    *,
    gap: npt.ArrayLike,
    settling: npt.ArrayLike,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    diameter: npt.ArrayLike,
    reward_range: npt.ArrayLike,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    estimator: EstimatorName = "truncated_mean",
    constants: Constants = "tight",
) -> Bound:
    """The expected regret of Heavy-UCRL2 with delta = 1/(3T), by the gap between policies (theorem 2, second part).

    `gap` and `settling`, the sum over (s, a) of ceil(1 + log2 T_pi) T_pi, are those of `policy_facts`. The
    remainder is what policies cost before they have settled.
    """
    where = "heavy_ucrl2_expected_regret"
    tight = chosen_constants(where, constants)
    T, gap, settling, S, A, D, R, moment, epsilon = given(
        where,
        T=T,
        gap=gap,
        settling=settling,
        S=S,
        A=A,
        diameter=diameter,
        reward_range=reward_range,
        moment=moment,
        epsilon=epsilon,
    )
    if tight:
        rewards = reward_term(S, A, moment, epsilon, 1.0 / (3.0 * T), estimator, constants)
        transitions, heavy_tail, lower = _in_bad_phases(log(T), gap / 2.0, S, A, D, R, log(3.0 * T), rewards)
        return make_bound(
            [transitions, heavy_tail, np.logaddexp(lower, log(R)), log(R * settling)], log(R * T), np.nan
        )
    rewards = _paper_rewards(
        S, A, epsilon, gap / 2.0, log(6.0 * S * A) / 2.0, np.log(2.0), estimator
    )  # iota is 2 (log T + log(6 S A) / 2)
    condition = heavy_tail_condition(
        S=S,
        A=A,
        diameter=D,
        reward_range=R,
        moment=moment,
        epsilon=epsilon,
        estimator=estimator,
        constants=constants,
    )
    return bound_at(
        Statement(heavy_tail=(rewards,), remainder=(Term(log(settling)),)),
        log(T),
        R,
        holds=log(T) >= condition.log,
    )


def _paper_rewards(
    S: Floats,
    A: Floats,
    epsilon: Floats,
    accuracy: Floats,
    offset: Floats,
    more: float,
    estimator: EstimatorName,
) -> Term:
    """7 c iota (4 C + 2)^(1/b) (S A / accuracy)^(1/epsilon), which has no moment."""
    constant = estimator_constant(epsilon, estimator, "paper") * (
        4.0 * sequence_constant(epsilon, "paper") + 2.0
    )
    scale = np.log(7.0) + (1.0 + epsilon) / epsilon * log(constant) + log(S * A / accuracy) / epsilon
    return Term(scale + more, 0.0, 1.0, offset)


def _in_bad_phases(
    x: Floats, accuracy: Floats, S: Floats, A: Floats, D: Floats, R: Floats, confidence: Floats, rewards: Term
) -> list[Floats]:
    """The logarithms of the three parts of the regret in phases whose average regret is above `accuracy`, log(1/delta) being `confidence`."""
    iota = x + rewards.offset
    transitions: Terms = (
        Term(log(SILVER * R * D * S) + 0.5 * log(14.0 * A * (x + log(2.0 * A) + confidence)), 0.5),
    )
    heavy_tail: Terms = (Term(rewards.scale + rewards.log_power * log(iota), rewards.power),)
    lower: Terms = (
        Term(log(2.0 * R * D) + 0.5 * log(x + confidence), 0.5),
        Term(phases_term(log(R * D), S, A).log(x)),
        Term(log(2.0 * SILVER) + 0.5 * log(S * A), 0.5),
    )
    y = np.minimum(log_steps(Statement(transitions, heavy_tail, lower), log(accuracy), 0.0 * x), x)
    return [log_sum(each, y) for each in (transitions, heavy_tail, lower)]
