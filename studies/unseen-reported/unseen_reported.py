"""The families set aside: no agent ran on them before its rules were settled, and none is changed after."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail import laws
from heavytail.checks import Count, OpenProbability, Positive
from heavytail.laws.law import Law
from heavytail.mdp import MDP
from heavytail.registry import register
from unseen_build import MIXES, Mix, Move, Noise, Seed, Shape, build, outcomes, pareto_samples, shaped

# Queues


@register("env", "dispatch")
def dispatch(
    *,
    load: OpenProbability = 0.6,
    shape: Shape = "pareto_down",
    spread: Positive = 1.0,
    horizon: Count | None = None,
) -> MDP:
    """Send each job to one of three servers of speeds 1, 0.7 and 0.5, whose queues have four levels.

    The reward is minus the latency: the job's size, Pareto(1.5) of mean 0.3, times its place in the queue,
    over the speed; or, of another shape, that mean with noise.

    Args:
        load: the probability that a job raises the level of its queue.
        shape: of the latency.
        spread: of the noise, where the shape is another.
        horizon: steps in an episode, or None for a continuing problem.
    """
    shape_of, speeds, noise = (4, 4, 4), (1.0, 0.7, 0.5), Noise(shape, spread)

    def latency(mean: float) -> Law:
        return shaped(shape, -mean, mean, 0.0) if shape == "pareto_down" else noise.law(-mean)

    def moves() -> Iterator[Move]:
        for levels in itertools.product(range(4), repeat=3):
            for a in range(3):
                law = latency(round(0.3 * (1 + levels[a]) / speeds[a], 2))
                for (raised, *done), p in outcomes(load, *(0.4 * speed for speed in speeds)):
                    after = [
                        min(max(level + (raised and k == a) - done[k], 0), 3)
                        for k, level in enumerate(levels)
                    ]
                    s, s_next = (int(np.ravel_multi_index(at, shape_of)) for at in (levels, after))
                    yield Move(s, a, s_next, p, law)

    return build(math.prod(shape_of), 3, moves(), horizon=horizon)


@register("env", "admission")
def admission(
    *, shape: Shape = "none", spread: Positive = 1.0, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """A queue of up to eight and customers of three classes, who pay 0.5, 1.5 and 4: admit or refuse.

    Everyone in the queue costs 0.15 a step, one is served with probability 0.5; a full queue admits nobody.

    Args:
        shape: of the noise of payments.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, cap, pays, classes = Noise(shape, spread, shift), 8, (0.5, 1.5, 4.0), (0.5, 0.35, 0.15)

    def moves() -> Iterator[Move]:
        for queue in range(cap + 1):
            for kind, a in itertools.product(range(3), range(2)):
                admitted = a == 1 and queue < cap
                pay = pays[kind] * admitted - 0.15 * queue
                law = noise.law(pay) if admitted else noise.sure(pay)
                for done, p in ((1, 0.5), (0, 0.5)):
                    after = max(queue + admitted - done, 0)
                    for other, q in enumerate(classes):
                        yield Move(queue * 3 + kind, a, after * 3 + other, p * q, law)

    return build((cap + 1) * 3, 2, moves(), horizon=horizon)


# Shops and stocks


@register("env", "inventory")
def inventory(
    *,
    claim: Annotated[float, Ge(0)] = 0.0,
    shape: Shape = "none",
    spread: Positive = 1.0,
    shift: float = 0.0,
    horizon: Count | None = None,
) -> MDP:
    """A shop that orders 0 to 4 pieces at a time, up to eight, and loses what it cannot sell at once.

    Three customers come with probability 0.5 each and pay 2; an order costs 1 and 0.8 apiece, stock 0.1
    apiece. States are numbered up to 15, and those above 8 are never met.

    Args:
        claim: what each customer who leaves with nothing claims.
        shape: of the noise of sales.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, cap, n_states = Noise(shape, spread, shift), 8, 16

    def moves() -> Iterator[Move]:
        for stock, order in itertools.product(range(n_states), range(5)):
            filled = max(min(stock + order, cap), 0)
            cost = (1.0 + 0.8 * order if order else 0.0) + 0.1 * filled
            for came, p in outcomes(0.5, 0.5, 0.5):
                sold, lost = min(sum(came), filled), max(sum(came) - filled, 0)
                pay = 2.0 * sold - claim * lost - cost
                law = noise.law(pay) if sold or lost else noise.sure(pay)
                yield Move(stock, order, filled - sold, p, law)

    return build(n_states, 5, moves(), horizon=horizon)


@register("env", "bidding")
def bidding(
    *, shape: Shape = "pareto_up", spread: Positive = 1.0, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """A budget of up to ten and bids of 0 to 5: a bid wins with probability 1 - exp(-bid / 3).

    What is won is worth 2.5 on average, less half the bid, and the budget falls by the bid; it grows by one
    with probability 0.5.

    Args:
        shape: of the noise of what is won.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, cap = Noise(shape, spread, shift), 10

    def moves() -> Iterator[Move]:
        for budget, a in itertools.product(range(cap + 1), range(6)):
            bid = min(a, budget)
            for (won, grows), p in outcomes(1.0 - math.exp(-bid / 3.0), 0.5):
                after = min(budget - bid * won + grows, cap)
                yield Move(budget, a, after, p, noise.law(2.5 - 0.5 * bid) if won else noise.sure(0.0))

    return build(cap + 1, 6, moves(), horizon=horizon, start=cap // 2)


@register("env", "search")
def search(
    *, shape: Shape = "student", spread: Positive = 0.5, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """Look for work: nine wages from 0.2 to 3, the larger the rarer; accept one, or wait, which pays 0.4.

    Work lasts until it is lost, with probability 0.05, or left; then offers come again.

    Args:
        shape: of the noise of wages.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread, shift), 9
    wages, rates = np.linspace(0.2, 3.0, n), 0.7 ** np.arange(n)
    offers = rates / rates.sum()

    def moves() -> Iterator[Move]:
        for s, wage in enumerate(wages):
            law = noise.law(float(wage))
            for at in (s, n + s):  # an offer, or work
                yield Move(at, 0, n + s, 0.95, law)
                for other, p in enumerate(offers):
                    yield Move(at, 0, other, 0.05 * float(p), law)
                    yield Move(at, 1, other, float(p), noise.sure(0.4))

    return build(2 * n, 2, moves(), horizon=horizon, start=[*offers, *np.zeros(n)])


# Nature


@register("env", "harvest")
def harvest(
    *, shape: Shape = "multiplied", spread: Positive = 1.0, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """A stock of fish in ten levels, which grows by itself, fastest in the middle; four efforts.

    Effort e lowers the stock by up to e levels and yields e times the root of the stock, at a cost of
    0.4 e; a stock of 0 recovers with probability 0.05.

    Args:
        shape: of the noise of yields.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread, shift), 10

    def moves() -> Iterator[Move]:
        for stock, effort in itertools.product(range(n), range(4)):
            grows = 0.05 if stock == 0 else 0.2 + 2.4 * stock * (n - 1 - stock) / (n - 1) ** 2
            law = noise.law(effort * (math.sqrt(stock) - 0.4))
            for (more, *caught), p in outcomes(grows, *[0.6] * effort):
                after = min(max(stock - sum(caught), 0) + more, n - 1)
                yield Move(stock, effort, after, p, law if effort and stock else noise.sure(-0.4 * effort))

    return build(n, 4, moves(), horizon=horizon, start=n // 2)


@register("env", "forest")
def forest(
    *,
    fire: OpenProbability = 0.05,
    shape: Shape = "none",
    spread: Positive = 1.0,
    shift: float = 0.0,
    horizon: Count | None = None,
) -> MDP:
    """A forest of ages 0 to 9: wait, thin it (0.3 of its age, and a year less), or cut it all (its worth).

    Its worth is 0.1 age^2 up to age 7 and then no more; fire brings it back to age 0.

    Args:
        fire: how often it burns.
        shape: of the noise of what is sold.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread, shift), 10

    def moves() -> Iterator[Move]:
        for age in range(n):
            older, worth = min(age + 1, n - 1), 0.1 * min(age, 7) ** 2
            for a, (to, law) in enumerate(
                (
                    (older, noise.sure(0.0)),
                    (max(age - 1, 0), noise.law(0.15 * age)),
                    (0, noise.law(worth)),
                )
            ):
                yield Move(age, a, to, 1.0 - fire, law)
                yield Move(age, a, 0, fire, noise.sure(0.0))

    return build(n, 3, moves(), horizon=horizon)


# Risks


@register("env", "insurance")
def insurance(
    *,
    chance: OpenProbability = 0.1,
    size: Positive = 3.0,
    one_size: bool = False,
    spread: Positive = 0.1,
    horizon: Count | None = None,
) -> MDP:
    """Five classes of bonus and three covers: none, half of a claim, or all of it.

    Without a claim the class falls by one, with one it rises by two. A full cover costs 0.2 plus 0.1 for each
    class, half a cover half of that; what is not covered is lost. Claims are Pareto(1.5), or of one size.

    Args:
        chance: of a claim.
        size: of claims, on average.
        one_size: whether all claims are of that size.
        spread: of the noise of costs, which are normal.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise("normal", spread), 5

    def retained(share: float, price: float) -> Law:
        lost = share * size
        if lost == 0.0 or one_size:
            return noise.law(-lost - price)
        return laws.empirical(pareto_samples(), scale=-lost / 3.0).with_mean(-lost - price)

    def moves() -> Iterator[Move]:
        for bonus, a in itertools.product(range(n), range(3)):
            cover = a / 2.0
            price = cover * (0.2 + 0.1 * bonus)
            yield Move(bonus, a, max(bonus - 1, 0), 1.0 - chance, noise.law(-price))
            yield Move(bonus, a, min(bonus + 2, n - 1), chance, retained(1.0 - cover, price))

    return build(n, 3, moves(), horizon=horizon, start=n // 2)


@register("env", "roads")
def roads(*, seed: Seed = 23, shape: Shape = "multiplied", spread: Positive = 1.0, horizon: Count = 8) -> MDP:
    """Roads through six places across at each of five distances: three roads go on, and one turns back.

    The reward is minus the travel time, of mean 0.3 to 3; the destination ends the episode, and its number
    and those of places off the roads are never met.

    Args:
        seed: of everything that is random here.
        shape: of the travel time.
        spread: of the noise.
        horizon: steps in an episode.
    """
    rng, noise, width, depth = np.random.default_rng(seed), Noise(shape, spread), 6, 5
    goal, n_states = depth * width, depth * width + 1

    def moves() -> Iterator[Move]:
        for s in range(goal):
            column = s // width
            for a in range(4):
                to = (column + 1) * width + int(rng.integers(width - 2))  # the last two are off the roads
                back = max(column - 1, 0) * width
                to = goal if column == depth - 1 else to
                law = noise.law(-round(float(rng.uniform(0.3, 3.0)), 2))
                yield Move(s, a, back if a == 3 else to, 0.9, law, to == goal and a != 3)
                yield Move(s, a, s, 0.1, law)
        yield from (Move(goal, a, goal, 1.0, noise.sure(0.0)) for a in range(4))

    return build(n_states, 4, moves(), horizon=horizon)


# Random


@register("env", "sparse")
def sparse(
    *,
    n_states: Count = 15,
    seed: Seed = 31,
    mix: Mix = "all",
    shift: float = 0.0,
    horizon: Count | None = None,
) -> MDP:
    """A random MDP, each action to two or three states; each cell has a law of its own.

    Means are 0 or, for one cell in three, between 0 and 2; scales of noise lie over three decades, from 0.002
    to 2.

    Args:
        n_states: how many states there are.
        seed: of everything that is random here.
        mix: the shapes.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    rng = np.random.default_rng(seed)

    def moves() -> Iterator[Move]:
        for s, a in itertools.product(range(n_states), range(4)):
            shape = MIXES[mix][rng.integers(len(MIXES[mix]))]
            mean = round(float(rng.uniform(0.0, 2.0)), 2) * (rng.uniform() < 1 / 3)
            law = shaped(shape, mean, float(10.0 ** rng.uniform(-2.7, 0.3)), shift)
            successors = rng.choice(n_states, int(rng.integers(2, 4)), replace=False)
            for to, p in zip(successors, rng.dirichlet(np.ones(len(successors))), strict=True):
                yield Move(s, a, int(to), float(p), law)

    return build(n_states, 4, moves(), horizon=horizon)
