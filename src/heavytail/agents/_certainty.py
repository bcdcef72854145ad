r"""The probability that cells are certain: always lead to one state, or always pay the same.

A cell that did the same n times may always do so, or be *random*. With q the share of random cells, it is
random with probability

    (q / n) / (q / n + 1 - q),

since a random cell, of which nothing else is known, does the same n times with probability 1 / n. So where
nothing varies one visit is enough, and where most cells do several are needed.

Shares are drawn once for all cells, from

    Beta(a + k, a + c),    k cells that varied, and of those that did not c = sum of 1 - 1 / n,

and those of a group around that of others, Beta(w q + k, w (1 - q) + c), w as of so many cells.

- *Successors* are grouped by whether the first visit led elsewhere or *stayed*. To stay is what an action
  does that mostly fails, as swimming against the current does, so one cell of each kind more is supposed
  there. And no cell speaks for itself, else an action that mostly fails would be taken for certain by its
  failures: where y is the second shape of that beta, the odds of a cell are those of the share times
  y / (y - its own part of c).
- *Rewards* are grouped by whether the first one was *usual*: what more than a third of all cells paid at
  their first visit (at most two rewards are; Misra and Gries 1982, "Finding repeated elements"). Where most
  cells pay nothing, and few pay at random, one that pays nothing is not like those few; and one that pays
  what no other does is not like the many.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.agents._index_list import IndexList, item
from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Bools, Floats, Stream, U
from heavytail.estimators.sketch import Sketch, is_constant
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.rng import gamma, uniform
from heavytail.kernels.verbs import reset
from heavytail.ranges import COUNT, FINITE, FLAG, Fact, Range

SHARE_PRIOR = 0.1  # a
GROUP_PRIOR = 1.0  # w, of successors around those of all,
USUAL_PRIOR = 0.01  # and of usual rewards around those of others
STAYED_PRIOR = 1.0  # cells of each kind more
CANDIDATES = 2  # for a usual reward, each of more than one in three cells
VALUE, LEAD, IS_USUAL = range(3)  # columns of `usual`
MOVED, STAYED, OTHER, USUAL = range(4)  # groups: of successors by the first visit, and of rewards
MIN_SHAPE, MIN_SUM = 1e-12, 1e-300  # what is smaller counts as this, so that nothing is divided by 0


class Certainty(NamedTuple):
    """The evidence about which cells are certain. A cell is s * A + a."""

    stayed: Bools  # [S*A] whether the first visit led back to the own state
    usual: Floats  # [CANDIDATES, 3] rewards of many first visits, their leads in the vote, whether they are
    shares: Floats  # [4] drawn shares of random cells, by group
    shapes: Floats  # [2] y, of the groups of successors

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold flags, shares and rewards."""
        return {"stayed": FLAG, "shares": Range(0.0, 1.0), "shapes": Range(0.0, FINITE.high), "usual": FINITE}

    def facts(self) -> Iterator[Fact]:
        """Check what the votes count."""
        yield "the lead of a usual reward is not a count", COUNT.holds(self.usual[:, LEAD]).all()


def new_certainty(cells: int) -> Certainty:
    """Make the evidence of an environment not yet seen."""
    return Certainty(
        stayed=np.zeros(cells, np.bool_),
        usual=np.zeros((CANDIDATES, 3)),
        shares=np.zeros(4),
        shapes=np.zeros(2),
    )


@reset.method(Certainty)
def _reset(record: Certainty) -> None:
    record.stayed[:] = False
    record.usual[:] = 0.0
    record.shares[:] = 0.0
    record.shapes[:] = 0.0


@subroutine
def draw_beta(rng: Stream, x: float, y: float) -> float:
    """Draw a beta variate; shapes may be 0."""
    x = gamma(rng, max(x, MIN_SHAPE))
    return x / max(x + gamma(rng, max(y, MIN_SHAPE)), MIN_SUM)


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


@kernel
def find_usual_rewards(certainty: Certainty, sketch: Sketch, tried: IndexList) -> None:
    """Decide which candidates are usual."""
    for k in range(CANDIDATES):
        alike = 0
        for j in range(tried.size[0]):
            alike += 1 if sketch.histogram.first[U(item(tried, j))] == certainty.usual[k, VALUE] else 0
        certainty.usual[k, IS_USUAL] = 1.0 if (CANDIDATES + 1) * alike > tried.size[0] else 0.0


@kernel
def group_of_rewards(certainty: Certainty, sketch: Sketch, cell: int) -> int:
    """Return the group of a cell by which its rewards are judged."""
    first, group = sketch.histogram.first[U(cell)], OTHER
    for k in range(CANDIDATES):
        if certainty.usual[k, IS_USUAL] == 1.0 and certainty.usual[k, VALUE] == first:
            group = USUAL
    return group


@subroutine
def count_cells(
    certainty: Certainty, model: TransitionCounts, sketch: Sketch, tried: IndexList, group: int
) -> tuple[float, float]:
    """Count the random and the certain cells of a group."""
    random, certain = 0.0, 0.0
    for k in range(tried.size[0]):
        cell = item(tried, k)
        n, own, same = model.visits[U(cell)], as_int(certainty.stayed[U(cell)]), model.size[U(cell)] == 1
        if group >= OTHER:
            own, same = group_of_rewards(certainty, sketch, cell), is_constant(sketch, cell)
        if n >= 2 and own == group:
            random += 0.0 if same else 1.0
            certain += 1.0 - 1.0 / n if same else 0.0
    return random, certain


@subroutine
def draw_shares(
    certainty: Certainty, model: TransitionCounts, sketch: Sketch, tried: IndexList, rng: Stream
) -> None:
    """Draw the share of random cells of each group."""
    shares, shapes = certainty.shares, certainty.shapes
    find_usual_rewards(certainty, sketch, tried)
    moved_random, moved_certain = count_cells(certainty, model, sketch, tried, MOVED)
    stayed_random, stayed_certain = count_cells(certainty, model, sketch, tried, STAYED)
    random, certain = moved_random + stayed_random, moved_certain + stayed_certain
    q = draw_beta(rng, SHARE_PRIOR + random, SHARE_PRIOR + certain)
    shapes[MOVED] = GROUP_PRIOR * (1.0 - q) + moved_certain
    shares[MOVED] = draw_beta(rng, GROUP_PRIOR * q + moved_random, shapes[MOVED])
    shapes[STAYED] = GROUP_PRIOR * (1.0 - q) + STAYED_PRIOR + stayed_certain
    shares[STAYED] = draw_beta(rng, GROUP_PRIOR * q + STAYED_PRIOR + stayed_random, shapes[STAYED])
    random, certain = count_cells(certainty, model, sketch, tried, OTHER)
    q = draw_beta(rng, SHARE_PRIOR + random, SHARE_PRIOR + certain)
    random, certain = count_cells(certainty, model, sketch, tried, USUAL)
    shares[OTHER] = q
    shares[USUAL] = draw_beta(rng, USUAL_PRIOR * q + random, USUAL_PRIOR * (1.0 - q) + certain)


@kernel
def doubt(share: float, same: float) -> float:
    """Return the probability that a cell is random that did what a random one does with probability same."""
    return share * same / max(share * same + (1.0 - share), MIN_SUM)


@subroutine
def draw_change(certainty: Certainty, cell: int, n: int, rng: Stream) -> float:
    """Draw how often a cell leads elsewhere that led to one state n times; 0 where it is certain."""
    group = U(as_int(certainty.stayed[U(cell)]))
    shape, own = certainty.shapes[group], 1.0 - 1.0 / n
    by_others = max(shape, MIN_SHAPE) / max(shape - own, MIN_SHAPE)
    if uniform(rng) >= doubt(certainty.shares[group], by_others / n):
        return 0.0
    return draw_beta(rng, 1.0, float(n))


@kernel
def draw_pays_otherwise(certainty: Certainty, sketch: Sketch, cell: int, n: int, rng: Stream) -> bool:
    """Draw whether a cell may yet pay otherwise that paid the same n times."""
    share = certainty.shares[U(group_of_rewards(certainty, sketch, cell))]
    return uniform(rng) < doubt(share, 1.0 / n)
