r"""The two exploration bonuses of Q-learning, Hoeffding's and Bernstein's.

Jin, Allen-Zhu, Bubeck and Jordan, "Is Q-learning provably efficient?", NeurIPS 2018.

At the t-th visit of a cell, with iota = log(2 S A T / delta) and a constant c that the analysis leaves open:

*Hoeffding*: b_t = c r_max sqrt(H^3 iota / t).

*Bernstein*: the bonus depends on how much the value of the next state varies. With W_t the variance of the t
values met so far,

    beta_t = min{ c1 (sqrt(H (W_t + H r_max^2) iota / t) + r_max sqrt(H^7 S A) iota / t),
                  c2 r_max sqrt(H^3 iota / t) },
    b_1 = beta_1 / 2,
    b_t = (beta_t - (1 - alpha_t) beta_{t-1}) / (2 alpha_t),

so that the bonuses, weighted as Q weighs them, add up to beta_t / 2. (None is negative: W_t is at least
W_{t-1} (t-1)/t.) Jin et al. have rewards in [0, 1]; the powers of r_max make it equivariant under scaling.
c1 = c2 = 2 c: then the largest possible W_t gives the sum that Hoeffding's bonus at least has. Note how large
sqrt(H^7 S A) is: at the paper's sizes the first branch matters only after hundreds of millions of visits.

``literal_epsilon`` gives the first branch of the paper's appendix (its equation for beta'), whose powers of
r_max do not agree with each other and whose last term has H^((1+2 epsilon)/epsilon), 25^22 in its
experiments: the first branch is then never the smaller one.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from heavytail.agents._learnt_unit import change_unit
from heavytail.arrays import Floats, Record, U
from heavytail.kernels.dispatch import generic
from heavytail.kernels.verbs import reset


@generic()
def next_bonus(  # type: ignore[empty-body]
    record: Record, cell: int, t: float, rate: float, value: float
) -> float:
    """Return the bonus of the t-th visit of a cell, and record the value of the next state.

    It is not called `bonus`, which is a parameter of the agents. `rate` is the learning rate alpha_t.
    """


class Hoeffding(NamedTuple):
    """Hoeffding's bonus, which has no state."""

    factor: float  # c r_max sqrt(H^3 iota)


class Bernstein(NamedTuple):
    """Bernstein's bonus, which tracks how much the values of next states vary."""

    mean: Floats  # [H * S * A] of the values met
    spread: Floats  # [H * S * A] sum of their squared deviations
    previous: Floats  # [H * S * A] beta_{t-1}
    variance_factor: float  # (2 c)^2 H iota, or with r_max in the literal version
    offset: float  # added to W_t
    decay: float  # over t
    largest: float  # over sqrt(t): the second branch


def new_bonus(
    kind: Literal["hoeffding", "bernstein"],
    sizes: tuple[int, int, int],
    r_max: float,
    iota: float,
    scale: float,
    literal_epsilon: float | None = None,
) -> Hoeffding | Bernstein:
    """Make the record of a bonus, for a problem of `sizes` (H, S, A) and the constant c = `scale`.

    `literal_epsilon`: use the Bernstein bonus of the paper's appendix, at this epsilon.
    """
    H, S, A = sizes
    hoeffding = scale * r_max * math.sqrt(H**3 * iota)
    if kind == "hoeffding":
        return Hoeffding(hoeffding)
    c = 2.0 * scale
    factor, offset, decay = c * c * H * iota, H * r_max * r_max, c * r_max * math.sqrt(H**7 * S * A) * iota
    if literal_epsilon is not None:
        factor, offset = factor * r_max, float(H)
        powers = math.sqrt(H**7 * r_max * S * A) + H**2 * r_max**1.5
        decay = c * iota * (powers + _literal_last_term(sizes, literal_epsilon)) if scale > 0 else 0.0
    mean, spread, previous = (np.zeros(H * S * A) for _ in range(3))
    return Bernstein(mean, spread, previous, factor, offset, decay, 2.0 * hoeffding)


def _literal_last_term(sizes: tuple[int, int, int], epsilon: float) -> float:
    """Return H^((1+2 epsilon)/epsilon) sqrt(S A epsilon), infinite where it would overflow."""
    H, S, A = sizes
    log_term = (1 + 2 * epsilon) / epsilon * math.log(H) + 0.5 * math.log(S * A * epsilon)
    return math.exp(log_term) if log_term < 600.0 else math.inf


@next_bonus.method(Hoeffding)
def _hoeffding(record: Hoeffding, cell: int, t: float, rate: float, value: float) -> float:
    return record.factor / math.sqrt(t)


@next_bonus.method(Bernstein)
def _bernstein(record: Bernstein, cell: int, t: float, rate: float, value: float) -> float:
    i = U(cell)
    shift = value - record.mean[i]
    record.mean[i] += shift / t
    record.spread[i] += shift * (value - record.mean[i])
    beta = record.largest / math.sqrt(t)
    narrow = math.sqrt(record.variance_factor * (record.spread[i] / t + record.offset) / t) + record.decay / t
    if narrow < beta:  # noqa: PLR1730 - `min` of a NaN differs between Python and compiled code
        beta = narrow
    previous, record.previous[i] = record.previous[i], beta
    return (beta - (1.0 - rate) * previous) / (2.0 * rate)


@reset.method(Hoeffding)
def _reset_hoeffding(record: Hoeffding) -> None:
    pass


@reset.method(Bernstein)
def _reset_bernstein(record: Bernstein) -> None:
    record.mean[:] = 0.0
    record.spread[:] = 0.0
    record.previous[:] = 0.0


@change_unit.method(Hoeffding)
def _change_unit_of_hoeffding(record: Hoeffding, ratio: float) -> None:
    pass


@change_unit.method(Bernstein)
def _change_unit_of_bernstein(record: Bernstein, ratio: float) -> None:
    for i in range(record.mean.size):
        record.mean[i] *= ratio
        record.spread[i] *= ratio * ratio
        record.previous[i] *= ratio
