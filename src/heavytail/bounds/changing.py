r"""Heavy-UCRL2 in an MDP that changes: restarts, and the regret with them (theorem 3; appendix D).

Theorem 3 of Zhuang and Sui (2021): if the MDP changes up to l - 1 times, epsilon < 1, and Heavy-UCRL2 with
delta / l^2 restarts at ceil(i^((1+2 epsilon)/epsilon) / l^((1+epsilon)/epsilon)), i = 1, 2, 3, ..., the
regret is with probability at least 1 - delta at most

    R l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)) (S A)^a,

for T of the order D^((2+2 epsilon)/(1-epsilon)) S^(2 epsilon/(1-epsilon)) / A at least (printed as O instead
of Omega).

That is ``constants="paper"``, an order: the proof has 2 B (3 iota)^b and (1+2 epsilon)/epsilon besides, and
counts l twice. ``"tight"`` follows the proof. There are at most

    n = l^((1+epsilon)/(1+2 epsilon)) T^(epsilon/(1+2 epsilon))

stages. In the l of them in which the MDP changes any regret is possible; they have at most

    ((1+2 epsilon)/epsilon) l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon))

steps, the last stage being cut off at T (the mean value theorem; the paper drops all but the first term of a
series). In the others theorem 1 holds, and by Jensen's inequality

    sum of T_i^a       <= n^b T^a = l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)),
    sum of sqrt(T_i)   <= sqrt(n T).

All terms of theorem 1 are summed so, with log(2 l^2 S A T / delta) in them, and no condition on T is needed;
epsilon = 1 is included and gives the l^(1/3) T^(2/3) of Jaksch et al. (2010), theorem 6. The remainder is
what the changes cost.
"""

from dataclasses import replace

import numpy as np

from heavytail.bounds.bound import Bound, Statement, Term, bound_at, log
from heavytail.bounds.catalogue import LONG_RUN, theorem
from heavytail.bounds.heavy_ucrl2 import NEEDS, exponents, heavy_ucrl2_statement
from heavytail.bounds.quantities import Case


@theorem(
    "theorem 3",
    (*NEEDS, "changes"),
    rank=40,
    panel=LONG_RUN,
    label="Heavy-UCRL2, changing MDP",
    colour="#B35900",
)
def changing(case: Case) -> Bound:
    """Theorem 3: the regret of restarted Heavy-UCRL2, with probability at least 1 - delta.

    The diameter, the range of mean rewards and the moment are the largest of all the MDPs.
    """
    l, epsilon = case.changes, case.epsilon
    u, v = epsilon / (1.0 + 2.0 * epsilon), (1.0 + epsilon) / (1.0 + 2.0 * epsilon)
    cost = log(case.reward_range) + u * log(l)
    if case.tight:
        one = heavy_ucrl2_statement(replace(case, delta=case.delta / l**2))
        stages = Term(v * log(l), u)
        summed = Statement(*(tuple(_over_stages(term, stages) for term in terms) for terms in one))
        return bound_at(summed._replace(remainder=(Term(cost - log(u), v),)), case)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (2.0 + 2.0 * epsilon) * log(case.diameter) + 2.0 * epsilon * log(case.S)
        least = np.where(epsilon < 1, steps / (1.0 - epsilon) - log(case.A), np.inf)
    order = Term(cost + exponents(epsilon)[0] * log(case.S * case.A), v)
    return bound_at(Statement(heavy_tail=(order,)), case, holds=log(case.T) >= least, kind="order")


def _over_stages(term: Term, stages: Term) -> Term:
    """Sum a term over n stages: the sum of c T_i^power is at most n^(1 - power) c T^power."""
    rest = 1.0 - np.asarray(term.power)
    return term._replace(scale=term.scale + rest * stages.scale, power=term.power + rest * stages.power)
