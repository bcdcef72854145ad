r"""The probability that cells are certain: always lead to one state, or always pay the same.

A cell that did the same n times may always do so, or be *random*. It is judged by the cells whose first
visit was like its own. With q the share of random cells among them, it is random with probability

    q L(n) / (q L(n) + 1 - q),

where L(n) is the probability that a random cell does the same n times: of successors as
`heavytail.agents._change_rates` has learnt it, of rewards 1 / n. So where nothing varies one visit is enough,
and where most cells do several are needed.

Shares are drawn once for all cells, from

    Beta(a + k, a + c),    k cells that varied, and of those that did not c = sum of 1 - L(n),

and those of a group around that of all: Beta(w q + k, w (1 - q) + c), w as of so many cells. Of
successors, no cell speaks for itself: where y is the second shape of that beta, the odds of a cell are those
of the share times y / (y - its own part of c). Else an action of one state that mostly fails would be taken
for certain by its failures.

- *Successors* are grouped by action, and those of an action by whether the first visit led elsewhere or
  *stayed*. To stay is what an action does that mostly fails, as swimming against the current does, so one
  cell of each kind more is supposed there.
- *Rewards* are grouped by whether the first one was *usual*: what more than a third of all cells paid at
  their first visit (at most two rewards are; Misra and Gries 1982, "Finding repeated elements"). Where most
  cells pay nothing, and few pay at random, one that pays nothing is not like those few; and one that pays
  what no other does is not like the many.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.agents._change_rates import ChangeRates, draw_rate, learn_rates, new_change_rates, same_again
from heavytail.agents._index_list import IndexList, item
from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Bools, Floats, Stream, U
from heavytail.estimators.sketch import Sketch, is_constant
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import log
from heavytail.kernels.rng import gamma, uniform
from heavytail.kernels.verbs import reset
from heavytail.ranges import COUNT, FINITE, FLAG, Fact, Range

REWARDS = 2  # groups of rewards: others, and those that paid a usual one first
CERTAIN, RANDOM = range(2)  # rows of `cells`
SHARE_PRIOR = 0.1  # a, of successors, and of rewards that are not usual
GROUP_PRIOR = 1.0  # w, of successors,
USUAL_PRIOR = 0.01  # and of usual rewards, around those of others
STAYED_PRIOR = 1.0  # cells of each kind more
RATE_PRIOR = 1.0  # new successors, and as many that would have been at rate 1
CANDIDATES = 2  # for a usual reward, each of more than one in three cells
VALUE, LEAD, IS_USUAL = range(3)  # columns of `usual`
MIN_SHAPE, MIN_SUM = 1e-12, 1e-300  # what is smaller counts as this, so that nothing is divided by 0
EULER = 0.5772156649015329


class Certainty(NamedTuple):
    """The evidence about which cells are certain. A cell is s * A + a."""

    stayed: Bools  # [S*A] whether the first visit led back to the own state
    usual: Floats  # [CANDIDATES, 3] rewards of many first visits, their leads in the vote, whether they are
    shares: Floats  # [2A + 2] drawn shares of random cells: of each action and first visit; of rewards
    shapes: Floats  # [2A] y, of each group of successors
    cells: Floats  # [2, 2A + 2] scratch: how many are certain and random
    rates: ChangeRates

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold flags, shares and rewards."""
        return {"stayed": FLAG, "shares": Range(0.0, 1.0), "shapes": Range(0.0, FINITE.high), "usual": FINITE}

    def facts(self) -> Iterator[Fact]:
        """Check what the votes count."""
        yield "the lead of a usual reward is not a count", COUNT.holds(self.usual[:, LEAD]).all()


def new_certainty(n_states: int, n_actions: int) -> Certainty:
    """Make the evidence of an environment not yet seen."""
    groups = 2 * n_actions + REWARDS
    return Certainty(
        stayed=np.zeros(n_states * n_actions, np.bool_),
        usual=np.zeros((CANDIDATES, 3)),
        shares=np.zeros(groups),
        shapes=np.zeros(2 * n_actions),
        cells=np.zeros((2, groups)),
        rates=new_change_rates(),
    )


@reset.method(Certainty)
def _reset(record: Certainty) -> None:
    record.stayed[:] = False
    record.usual[:] = 0.0
    record.shares[:] = 0.0
    record.shapes[:] = 0.0
    record.cells[:] = 0.0
    reset(record.rates)


@kernel
def see_first_visit(certainty: Certainty, cell: int, stayed: bool, r: float) -> None:
    """Remember how a cell's first visit was."""
    certainty.stayed[U(cell)] = stayed
    usual, place = certainty.usual, -1
    for k in range(CANDIDATES):
        if usual[k, LEAD] > 0.0 and usual[k, VALUE] == r:
            place = k
    for k in range(CANDIDATES):
        if place < 0 and usual[k, LEAD] == 0.0:
            place = k
            usual[k, VALUE] = r
    if place >= 0:
        usual[U(place), LEAD] += 1.0
    else:
        for k in range(CANDIDATES):
            usual[k, LEAD] -= 1.0


# Groups


@kernel
def group_of_successors(certainty: Certainty, cell: int) -> int:
    """Return the group of a cell by which its successors are judged."""
    A = (certainty.shares.size - REWARDS) // 2
    return as_int(certainty.stayed[U(cell)]) * A + cell % A


@kernel
def group_of_rewards(certainty: Certainty, sketch: Sketch, cell: int) -> int:
    """Return the group of a cell by which its rewards are judged."""
    first, is_usual = sketch.histogram.first[U(cell)], 0
    for k in range(CANDIDATES):
        if certainty.usual[k, IS_USUAL] == 1.0 and certainty.usual[k, VALUE] == first:
            is_usual = 1
    return certainty.shares.size - REWARDS + is_usual


@kernel
def find_usual_rewards(certainty: Certainty, sketch: Sketch, tried: IndexList) -> None:
    """Decide which candidates are usual."""
    for k in range(CANDIDATES):
        alike = 0
        for j in range(tried.size[0]):
            alike += 1 if sketch.histogram.first[U(item(tried, j))] == certainty.usual[k, VALUE] else 0
        certainty.usual[k, IS_USUAL] = 1.0 if (CANDIDATES + 1) * alike > tried.size[0] else 0.0


# Shares


@kernel
def count_cells(certainty: Certainty, model: TransitionCounts, sketch: Sketch, tried: IndexList) -> None:
    """Count the certain and the random cells of each group."""
    cells = certainty.cells
    for group in range(certainty.shares.size):
        cells[CERTAIN, group] = 0.0
        cells[RANDOM, group] = 0.0
    for k in range(tried.size[0]):
        cell = item(tried, k)
        n = model.visits[U(cell)]
        if n >= 2:
            group = group_of_successors(certainty, cell)
            if model.size[U(cell)] == 1:
                cells[CERTAIN, U(group)] += 1.0 - same_again(certainty.rates, n)
            else:
                cells[RANDOM, U(group)] += 1.0
            group = group_of_rewards(certainty, sketch, cell)
            if is_constant(sketch, cell):
                cells[CERTAIN, U(group)] += 1.0 - 1.0 / n
            else:
                cells[RANDOM, U(group)] += 1.0


@subroutine
def draw_beta(rng: Stream, x: float, y: float) -> float:
    """Draw a beta variate; shapes may be 0."""
    x = gamma(rng, max(x, MIN_SHAPE))
    return x / max(x + gamma(rng, max(y, MIN_SHAPE)), MIN_SUM)


@subroutine
def draw_shares(
    certainty: Certainty, model: TransitionCounts, sketch: Sketch, tried: IndexList, rng: Stream
) -> None:
    """Learn how often random cells change, and draw the share of random cells of each group."""
    learn_rates(certainty.rates, model, tried)
    find_usual_rewards(certainty, sketch, tried)
    count_cells(certainty, model, sketch, tried)
    shares, cells, A = certainty.shares, certainty.cells, (certainty.shares.size - REWARDS) // 2
    random, certain = SHARE_PRIOR, SHARE_PRIOR
    for group in range(2 * A):
        random += cells[RANDOM, group]
        certain += cells[CERTAIN, group]
    of_all = draw_beta(rng, random, certain)
    for a in range(A):
        random = GROUP_PRIOR * of_all + cells[RANDOM, a] + cells[RANDOM, A + a]
        certain = GROUP_PRIOR * (1.0 - of_all) + cells[CERTAIN, a] + cells[CERTAIN, A + a]
        of_action = draw_beta(rng, random, certain)
        for stayed in range(2):
            group = stayed * A + a
            random = GROUP_PRIOR * of_action + STAYED_PRIOR * stayed + cells[RANDOM, group]
            certain = GROUP_PRIOR * (1.0 - of_action) + STAYED_PRIOR * stayed + cells[CERTAIN, group]
            shares[group], certainty.shapes[group] = draw_beta(rng, random, certain), certain
    other, usual = 2 * A, 2 * A + 1
    of_others = draw_beta(rng, SHARE_PRIOR + cells[RANDOM, other], SHARE_PRIOR + cells[CERTAIN, other])
    random = USUAL_PRIOR * of_others + cells[RANDOM, usual]
    certain = USUAL_PRIOR * (1.0 - of_others) + cells[CERTAIN, usual]
    shares[other], shares[usual] = of_others, draw_beta(rng, random, certain)


# Doubts


@kernel
def doubt(share: float, same: float) -> float:
    """Return the probability that a cell is random that did what a random one does with probability same."""
    return share * same / max(share * same + (1.0 - share), MIN_SUM)


@subroutine
def draw_change(certainty: Certainty, cell: int, n: int, rng: Stream) -> float:
    """Draw how often a cell leads elsewhere that led to one state n times; 0 where it is certain."""
    group, same = U(group_of_successors(certainty, cell)), same_again(certainty.rates, n)
    shape, own = certainty.shapes[group], 1.0 - same
    by_others = max(shape, MIN_SHAPE) / max(shape - own, MIN_SHAPE)
    if uniform(rng) >= doubt(certainty.shares[group], same * by_others):
        return 0.0
    return draw_rate(certainty.rates, n, rng)


@kernel
def draw_pays_otherwise(certainty: Certainty, sketch: Sketch, cell: int, n: int, rng: Stream) -> bool:
    """Draw whether a cell may yet pay otherwise that paid the same n times."""
    return uniform(rng) < doubt(certainty.shares[U(group_of_rewards(certainty, sketch, cell))], 1.0 / n)


@kernel
def count_new_successors(model: TransitionCounts, tried: IndexList) -> tuple[float, float]:
    """Return how many successors of random cells were new, and would have been at rate 1; with the prior.

    A cell's first successor is new in any case. At rate 1 the sum of 1 / i for i below n would be.
    """
    new, expected = RATE_PRIOR, RATE_PRIOR
    for k in range(tried.size[0]):
        i = U(item(tried, k))
        if model.size[i] > 1:
            n = model.visits[i] - 1.0
            new += model.size[i] - 1.0
            expected += log(n) + EULER + 0.5 / n
    return new, expected
