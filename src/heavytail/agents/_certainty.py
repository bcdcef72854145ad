r"""Which cells are certain: always lead to one state, or always pay the same.

A cell that did the same n times may do so for ever, or not. The share q of cells that are *random* is drawn
once for all of them from its posterior

    q ~ Beta(k + a, c + a),    k cells that varied, and of those that did not c = sum of 1 - 1 / n,

and a cell that has not varied yet is random with probability

    (q / n) / (q / n + 1 - q) = q / (q + n (1 - q)),

since one whose rate of news is 1 does the same n times with probability 1 / n. So where nothing varies one
visit is enough, and where most cells do several are needed.

Cells are of three kinds with a share each: the successors of those that have *moved* only, the successors of
those that have ever *stayed* in their state, and rewards. To stay is what an action does that mostly fails,
as swimming against the current does; what always moves says nothing of it.
"""

from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Floats, Stream, U
from heavytail.estimators.sketch import Sketch, is_constant
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import log
from heavytail.kernels.rng import gamma

MOVES, STAYS, REWARDS = range(3)  # kinds
KINDS = 3
SHARE_PRIOR = 0.1  # a: random cells, and as many certain ones
STAYS_PRIOR = 1.0  # the same of cells that have stayed
RATE_PRIOR = 1.0  # new successors, and as many that would have been at rate 1
EULER = 0.5772156649015329


@kernel
def has_stayed(model: TransitionCounts, cell: int) -> bool:
    """Tell whether a cell has ever led back to its own state."""
    i, s, stayed = U(cell), cell // (model.visits.size // model.n_states), False
    for k in range(model.start[i], model.start[i] + model.size[i]):
        stayed = stayed or model.successor[U(k)] == s
    return stayed


@kernel
def draw_shares(shares: Floats, model: TransitionCounts, sketch: Sketch, rng: Stream) -> None:
    """Draw the share of random cells of each kind."""
    for kind in range(KINDS):
        random = STAYS_PRIOR if kind == STAYS else SHARE_PRIOR
        certain = random
        for cell in range(model.visits.size):
            n = model.visits[U(cell)]
            if n < 2 or (kind != REWARDS and has_stayed(model, cell) != (kind == STAYS)):
                continue
            if is_constant(sketch, cell) if kind == REWARDS else model.size[U(cell)] == 1:
                certain += 1.0 - 1.0 / n
            else:
                random += 1.0
        x = gamma(rng, random)
        shares[U(kind)] = x / max(x + gamma(rng, certain), 1e-300)


@kernel
def doubt(share: float, n: float) -> float:
    """Return the probability that a cell is random that did the same n times."""
    return share / (share + n * (1.0 - share))


@kernel
def count_new_successors(model: TransitionCounts) -> tuple[float, float]:
    """Return how many successors of random cells were new, and would have been at rate 1; with the prior.

    A cell's first successor is new in any case. At rate 1 the sum of 1 / i for i below n would be.
    """
    new, expected = RATE_PRIOR, RATE_PRIOR
    for cell in range(model.visits.size):
        if model.size[U(cell)] > 1:
            n = model.visits[U(cell)] - 1.0
            new += model.size[U(cell)] - 1.0
            expected += log(n) + EULER + 0.5 / n
    return new, expected
