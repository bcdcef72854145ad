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

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from heavytail.agents.heavy_q_learning import weighted_bernstein_constant
from heavytail.arrays import Floats
from heavytail.bounds._arguments import Arguments, Bonus, Constants, check_arguments
from heavytail.bounds.bound import Bound, bound_at
from heavytail.bounds.catalogue import CatalogueEntry
from heavytail.bounds.heavy_ucrl2 import exponents
from heavytail.bounds.terms import Statement, Term, log
from heavytail.registry import register


def learning_rate_constant(H: npt.ArrayLike, power: npt.ArrayLike) -> Floats:
    """M in t^-b <= sum over i of alpha_t^i i^-b <= M t^-b, for the learning rates (H+1)/(H+t).

    It is (H+1)/(H+1-b), the limit of the sum as t grows.

    >>> float(learning_rate_constant(1, 0.5).round(4))
    1.3333
    """
    H = check_arguments("learning_rate_constant", {"H": H}).H
    return np.asarray((H + 1.0) / (H + 1.0 - np.asarray(power, np.float64)))[()]


def q_learning_statement(p: Arguments) -> Statement:
    """All terms of the proof but the rewards': transitions, and those of lower order."""
    S, A, H, r_max = p.S, p.A, p.H, p.r_max
    growth, squared = _growth(H)
    transitions = log(2.0 * (1.0 + learning_rate_constant(H, 0.5)) * growth * r_max * H) + 0.5 * log(S * A)
    lower = (
        Term(log(growth * S * A * H * r_max)),
        Term(log(r_max) + 0.5 * log(H * squared * -log(p.delta) / 2.0), 0.5),
    )
    return Statement(transitions=(Term(transitions, 0.5, 0.5, _iota(p)),), lower_order=lower)


def _iota(p: Arguments) -> Floats:
    """log(2 S A T / delta) less log T."""
    return log(2.0 * p.S * p.A / p.delta)


def _growth(H: Floats) -> tuple[Floats, Floats]:
    """G and Q: errors that grow by (1 + 1/H) a step, summed over steps, and their squares."""
    rate = np.log1p(1.0 / H)
    return H * np.expm1(H * rate), np.expm1(2.0 * H * rate) / np.expm1(2.0 * rate)


def _heavy_tail(p: Arguments) -> Term:
    """The heavy-tail term of theorem 4."""
    H, (a, b) = p.H, exponents(p.epsilon)
    if not p.tight:
        return Term(2.0 * log(H) + b * log(p.S * p.A), a, b, _iota(p))
    K = np.vectorize(weighted_bernstein_constant, otypes=[np.float64])(H.astype(np.int64), p.epsilon)
    factor = (1.0 + p.epsilon) * (1.0 + learning_rate_constant(H, b)) * K * _growth(H)[0]
    return Term(log(factor) + a * (log(p.moment) - log(H)) + b * log(p.S * p.A), a, b, _iota(p))


def _hoeffding(p: Arguments) -> Statement:
    """Theorem 4."""
    if p.tight:
        return q_learning_statement(p)._replace(heavy_tail=(_heavy_tail(p),))
    return Statement((Term(log(p.r_max * p.H**2) + 0.5 * log(p.S * p.A), 0.5),), (_heavy_tail(p),))


def _bernstein(p: Arguments) -> Statement:
    """Theorem 5."""
    epsilon, a, iota = p.epsilon, exponents(p.epsilon)[0], _iota(p)
    log_H, log_r, log_SA = log(p.H), log(p.r_max), log(p.S * p.A)
    if p.tight:
        transitions = log_r + 1.5 * log_H + 0.5 * log_SA
        lower: tuple[Term, ...] = (Term(log_r + 4.5 * log_H + 1.5 * log_SA, 0.0, 2.0, iota),)
    else:
        transitions = 1.5 * log(p.H * p.r_max) + 0.5 * log_SA
        lower = (
            Term(4.5 * log_H + log_r + 0.5 * a * log(p.moment) + 1.5 * log_SA, 0.0, 1.5, iota),
            Term(0.5 * ((1.0 + 4.0 * epsilon) / epsilon * log_H + log_r) + log_SA, 0.0, 1.0, iota),
            Term((1.0 + 3.0 * epsilon) / epsilon * log_H + 1.5 * log_SA + 0.5 * log(epsilon), 0.0, 2.0, iota),
        )
    return Statement((Term(transitions, 0.5, 0.5, iota),), (_heavy_tail(p),), lower)


STATEMENTS: dict[str, Callable[[Arguments], Statement]] = {"hoeffding": _hoeffding, "bernstein": _bernstein}


def heavy_q_learning_regret(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    H: npt.ArrayLike,
    r_max: npt.ArrayLike,
    reward_range: npt.ArrayLike | None = None,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    bonus: Bonus = "hoeffding",
    constants: Constants = "tight",
) -> Bound:
    """The regret of Heavy-Q-Learning after T steps, that is T / H episodes (theorems 4 and 5).

    The module says what was corrected.

    With ``bonus="bernstein"`` there are only orders. The paper's theorem 5 has five terms, which its two
    statements permute and its proof does not quite give; their powers of r_max do not agree with each other
    (twice the rewards would not give twice the regret). "paper" is all five with the constant 1, one of them
    H^((1+3 epsilon)/epsilon), 25^23 in its experiments. "tight" is what follows from a bonus that is scaled
    right and has the heavy part outside (`heavytail.agents._bonuses`): r_max sqrt(H^3 S A iota T) and
    r_max sqrt(H^9 S^3 A^3) iota^2 of Jin et al. (2018), theorem 2, with the constant 1, and the heavy-tail
    term of theorem 4 with its own constant.

    Args:
        T: steps.
        S: states.
        A: actions.
        H: steps of an episode.
        r_max: the largest mean reward.
        reward_range: the largest mean reward less the smallest, for `vacuous`; `r_max` if left out.
        moment: u, a bound on E|r|**(1 + epsilon).
        epsilon: rewards have a moment of order 1 + epsilon.
        delta: one minus the confidence, a third of it in the tight bound.
        bonus: "hoeffding" or "bernstein".
        constants: "tight" or "paper".
    """
    p = check_arguments("heavy_q_learning_regret", locals())
    kind: Literal["bound", "order"] = "bound" if p.tight and p.bonus == "hoeffding" else "order"
    return bound_at(STATEMENTS[p.bonus](p), log(p.T), p.reward_range, kind=kind)


@register("bound", "heavy_q_hoeffding")
def heavy_q_hoeffding() -> CatalogueEntry:
    """Theorem 4."""
    label = "Heavy-Q-Learning, Hoeffding"
    return CatalogueEntry(heavy_q_learning_regret, "theorem 4", 110, "in episodes", label, "#C22F00")


@register("bound", "heavy_q_bernstein")
def heavy_q_bernstein() -> CatalogueEntry:
    """Theorem 5."""
    function, label = partial(heavy_q_learning_regret, bonus="bernstein"), "Heavy-Q-Learning, Bernstein"
    return CatalogueEntry(function, "theorem 5", 120, "in episodes", label, "#B0528A")
