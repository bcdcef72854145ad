r"""Heavy-Q-Learning: regret with both bonuses (Zhuang and Sui 2021, theorems 4 and 5; appendix E).

In the paper theorem 4 is an order, Theta(r_max H^2 sqrt(S A T) + H^2 (S A iota)^b T^a), which
``constants="paper"`` takes with the constant 1. (It should be O; sqrt(iota) and u^a are missing; and H^2
comes from a line that is reversed, though a valid weakening.) ``"tight"`` has the constants of the proof, for
the algorithm with bonus r_max sqrt(H^3 iota / t) + K u^a (iota / t)^b:

    2 (1 + M_1/2) G r_max H sqrt(S A iota T)                                                 transitions
  + (1 + epsilon) (1 + M_b) K G u^a H^-a (S A iota)^b T^a                                    heavy tail
  + G S A H r_max + r_max sqrt(H Q log(1/delta) / 2) sqrt(T)                                 lower order

with probability at least 1 - 3 delta, where G = H ((1 + 1/H)^H - 1) and Q = sum of (1 + 1/H)^(2h) over h < H
say how an error at step h grows, K is `weighted_bernstein_constant` (the paper's 8 H rests on an argument
that bounds terms of both signs one by one), and M_b = (H+1)/(H+1-b) is the constant of the learning rates.
Since K is of order H, the heavy-tail term is of order H^((1+2 epsilon)/(1+epsilon)). In short:

* sum over i of alpha_t^i i^-b lies between t^-b and M_b t^-b (lemma 5 has 2 for M_b; by induction,
  (k-1)^(1-b) k^b <= k - 1 + b). Twice, for b and for 1/2.
* Hoeffding's inequality: the noise of V*, which lies in [0, H r_max], is at most r_max sqrt(H^3 iota / t) at
  all visits of all cells, on both sides, with probability 1 - delta, as sum of (alpha_t^i)^2 <= 2H/t and
  2 S A T e^-iota = delta; so the open constant of the bonus can be 1. The truncated rewards likewise, by
  Bernstein's inequality, with K.
* So 0 <= Q - Q* <= alpha_t^0 H r_max + sum of alpha_t^i (V - V*) + beta_t, with
  beta_t = (1 + M_1/2) r_max sqrt(H^3 iota / t) + (1 + M_b) K u^a (iota / t)^b. (The paper's beta_t has
  inconsistent constants.)
* As in Jin et al. (2018): the regret is at most
  sum over h of (1 + 1/H)^h (S A H r_max + sum of beta + sum of xi),
  sum of n^-b up to N is at most (1+epsilon) N^a, and by Jensen's inequality the sum over cells is largest if
  all K/(S A) visits are equal. The xi are a martingale with differences in intervals of length H r_max.

Mean rewards lie in [0, r_max]; where some are negative, r_max stands for their range, 0 included.
"""

import numpy as np

from heavytail.agents.heavy_q_learning import weighted_bernstein_constant
from heavytail.arrays import Floats
from heavytail.bounds.bound import Bound, Statement, Steps, Term, bound_at, log, steps_until
from heavytail.bounds.catalogue import EPISODES, theorem
from heavytail.bounds.heavy_ucrl2 import exponents
from heavytail.bounds.quantities import Case

NEEDS = ("S", "A", "H", "r_max", "raw_moment", "epsilon")


def learning_rate_constant(H: Floats | float, power: Floats | float) -> Floats:
    """M in t^-b <= sum over i of alpha_t^i i^-b <= M t^-b, for the learning rates (H+1)/(H+t).

    It is (H+1)/(H+1-b), the limit of the sum as t grows.

    >>> float(learning_rate_constant(1, 0.5).round(4))
    1.3333
    """
    return np.asarray((H + 1.0) / (H + 1.0 - np.asarray(power, np.float64)))[()]


def q_learning_statement(case: Case) -> Statement:
    """All terms of the proof but the rewards': transitions, and those of lower order."""
    S, A, H, r_max = case.S, case.A, case.H, case.value_range
    growth, squared = _growth(H)
    transitions = log(2.0 * (1.0 + learning_rate_constant(H, 0.5)) * growth * r_max * H) + 0.5 * log(S * A)
    lower = (
        Term(log(growth * S * A * H * r_max)),
        Term(log(r_max) + 0.5 * log(H * squared * -log(case.delta) / 2.0), 0.5),
    )
    return Statement(transitions=(Term(transitions, 0.5, 0.5, _iota(case)),), lower_order=lower)


def _iota(case: Case) -> Floats:
    """log(2 S A T / delta) less log T."""
    return log(2.0 * case.S * case.A / case.delta)


def _growth(H: Floats) -> tuple[Floats, Floats]:
    """G and Q: errors that grow by (1 + 1/H) a step, summed over steps, and their squares."""
    rate = np.log1p(1.0 / H)
    return H * np.expm1(H * rate), np.expm1(2.0 * H * rate) / np.expm1(2.0 * rate)


def _heavy_tail(case: Case) -> Term:
    """The heavy-tail term of theorem 4."""
    H, (a, b) = case.H, exponents(case.epsilon)
    if not case.tight:
        return Term(2.0 * log(H) + b * log(case.S * case.A), a, b, _iota(case))
    K = np.vectorize(weighted_bernstein_constant, otypes=[np.float64])(H.astype(np.int64), case.epsilon)
    factor = (1.0 + case.epsilon) * (1.0 + learning_rate_constant(H, b)) * K * _growth(H)[0]
    return Term(
        log(factor) + a * (log(case.raw_moment) - log(H)) + b * log(case.S * case.A), a, b, _iota(case)
    )


def _hoeffding(case: Case) -> Statement:
    """Theorem 4."""
    if case.tight:
        return q_learning_statement(case)._replace(heavy_tail=(_heavy_tail(case),))
    return Statement(
        (Term(log(case.value_range * case.H**2) + 0.5 * log(case.S * case.A), 0.5),), (_heavy_tail(case),)
    )


def _bernstein(case: Case) -> Statement:
    """Theorem 5."""
    epsilon, a, iota = case.epsilon, exponents(case.epsilon)[0], _iota(case)
    log_H, log_r, log_SA = log(case.H), log(case.value_range), log(case.S * case.A)
    if case.tight:
        transitions = log_r + 1.5 * log_H + 0.5 * log_SA
        lower: tuple[Term, ...] = (Term(log_r + 4.5 * log_H + 1.5 * log_SA, 0.0, 2.0, iota),)
    else:
        transitions = 1.5 * log(case.H * case.value_range) + 0.5 * log_SA
        lower = (
            Term(4.5 * log_H + log_r + 0.5 * a * log(case.raw_moment) + 1.5 * log_SA, 0.0, 1.5, iota),
            Term(0.5 * ((1.0 + 4.0 * epsilon) / epsilon * log_H + log_r) + log_SA, 0.0, 1.0, iota),
            Term((1.0 + 3.0 * epsilon) / epsilon * log_H + 1.5 * log_SA + 0.5 * log(epsilon), 0.0, 2.0, iota),
        )
    return Statement((Term(transitions, 0.5, 0.5, iota),), (_heavy_tail(case),), lower)


@theorem("theorem 4", NEEDS, rank=110, panel=EPISODES, label="Heavy-Q-Learning, Hoeffding", colour="#C22F00")
def heavy_q_hoeffding(case: Case) -> Bound:
    """Theorem 4: the regret of Heavy-Q-Learning after T steps, that is T / H episodes.

    It holds with probability at least 1 - delta, as printed, or 1 - 3 delta.
    """
    return bound_at(_hoeffding(case), case, kind="bound" if case.tight else "order")


@theorem("theorem 5", NEEDS, rank=120, panel=EPISODES, label="Heavy-Q-Learning, Bernstein", colour="#B0528A")
def heavy_q_bernstein(case: Case) -> Bound:
    """Theorem 5, the regret with the Bernstein bonus: only orders.

    The paper has five terms, which its two statements permute and its proof does not quite give; their powers
    of r_max do not agree with each other (twice the rewards would not give twice the regret). "paper" is all
    five with the constant 1, one of them H^((1+3 epsilon)/epsilon), 25^23 in its experiments. "tight" is what
    follows from a bonus that is scaled right and has the heavy part outside (`heavytail.agents._bonuses`):
    r_max sqrt(H^3 S A iota T) and r_max sqrt(H^9 S^3 A^3) iota^2 of Jin et al. (2018), theorem 2, with the
    constant 1, and the heavy-tail term of theorem 4 with its own constant.
    """
    return bound_at(_bernstein(case), case, kind="order")


@theorem("after theorem 4: average regret at most lambda", NEEDS, rank=230)
def heavy_q_learning_sample_size(case: Case) -> Steps:
    """The T from which on the average regret per step is at most `accuracy`.

    That of an episode is then at most H times that. The paper says that its regret bound "naturally
    translates into a PAC bound" and does not write it down. This solves the regret bound for T.
    """
    return steps_until(_hoeffding(case), case.accuracy, np.log(np.maximum(case.H, np.e**2 * case.delta)))
