"""The families on which rules of agents are chosen; most were looked at before, so they report nothing."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
from annotated_types import Ge

from heavytail import laws
from heavytail.checks import Count, OpenProbability, Positive
from heavytail.laws.law import Law
from heavytail.mdp import MDP
from heavytail.registry import register
from unseen_build import MIXES, Mix, Move, Noise, Seed, Shape, build, build_contexts, outcomes, shaped

# Queues and machines


@register("env", "polling")
def polling(
    *, shape: Shape = "none", spread: Positive = 0.5, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """One server and two queues of up to four: stay or switch, which takes a step and 0.2.

    A customer waiting costs 0.3 in the first queue and 0.6 in the second, in every step.

    Args:
        shape: of the noise.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, cap, arrive, serve = Noise(shape, spread, shift), 4, (0.3, 0.2), (0.7, 0.5)
    shape_of = (cap + 1, cap + 1, 2)

    def moves() -> Iterator[Move]:
        for s in range(math.prod(shape_of)):
            *queues, at = np.unravel_index(s, shape_of)
            for a in range(2):
                served = serve[at] if a == 0 and queues[at] > 0 else 0.0
                law = noise.law(-0.3 * queues[0] - 0.6 * queues[1] - 0.2 * a)
                for (one, two, done), p in outcomes(*arrive, served):
                    after = [
                        min(max(int(queue) + came - (done and at == k), 0), cap)
                        for k, (queue, came) in enumerate(zip(queues, (one, two), strict=True))
                    ]
                    s_next = int(np.ravel_multi_index((*after, at ^ a), shape_of))
                    yield Move(s, a, s_next, p, law)

    return build(math.prod(shape_of), 2, moves(), horizon=horizon)


@register("env", "elevator")
def elevator(
    *, shape: Shape = "none", spread: Positive = 0.5, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """A cab on one of four floors, each of which may have called: up, down, or open the door.

    Opening where somebody waits pays 2, every call that waits costs 0.5 in every step.

    Args:
        shape: of the noise.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, floors, rates = Noise(shape, spread, shift), 4, (0.15, 0.05, 0.05, 0.1)

    def moves() -> Iterator[Move]:
        for floor in range(floors):
            for calls in range(1 << floors):
                for a, at in enumerate((min(floor + 1, floors - 1), max(floor - 1, 0), floor)):
                    answered = calls & (1 << floor) if a == 2 else 0
                    law = noise.law(2.0 * bool(answered) - 0.5 * calls.bit_count())
                    left = calls & ~answered
                    new = {left | 1 << k: rates[k] for k in range(floors) if not left >> k & 1}
                    new[left] = 1.0 - sum(new.values())
                    for after, p in new.items():
                        yield Move((floor << floors) + calls, a, (at << floors) + after, p, law)

    return build(floors << floors, 3, moves(), horizon=horizon)


@register("env", "mill")
def mill(
    *,
    loss: Positive = 500.0,
    shape: Shape = "none",
    spread: Positive = 0.5,
    shift: float = 0.0,
    horizon: Count | None = None,
) -> MDP:
    """A machine of wear 0 to 5: run it fast (4), run it slowly (2), or repair it (-3).

    It breaks with probability 0.0007 wear^2 when fast, a fifth of that when slow; then it is worn out.

    Args:
        loss: what a breakdown costs.
        shape: of the noise.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread, shift), 6

    def moves() -> Iterator[Move]:
        for wear in range(n):
            for a, (pay, wears, risk) in enumerate(((4.0, 0.5, 7e-4), (2.0, 0.2, 1.4e-4))):
                breaks, law = risk * wear * wear, noise.law(pay)
                yield Move(wear, a, n - 1, breaks, noise.sure(-loss))
                yield Move(wear, a, min(wear + 1, n - 1), (1.0 - breaks) * wears, law)
                yield Move(wear, a, wear, (1.0 - breaks) * (1.0 - wears), law)
            yield Move(wear, 2, 0, 1.0, noise.sure(-3.0))

    return build(n, 3, moves(), horizon=horizon)


@register("env", "pricing")
def pricing(
    *, shape: Shape = "none", spread: Positive = 1.0, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """A stock of eight and five prices: at most two are sold in a step, at rates that fall with the price.

    What is in stock costs 0.05; an empty stock is filled again after four steps on average, for 1.

    Args:
        shape: of the noise of sales.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, cap = Noise(shape, spread, shift), 8

    def moves() -> Iterator[Move]:
        for a, price in enumerate((1, 2, 3, 4, 5)):
            yield Move(0, a, cap, 0.25, noise.sure(-1.0))
            yield Move(0, a, 0, 0.75, noise.sure(0.0))
            sold = math.exp(-0.35 * price)
            for stock in range(1, cap + 1):
                for both, p in outcomes(sold, sold):
                    n = min(sum(both), stock)
                    law = (noise.law if n else noise.sure)(n * price - 0.05 * stock)
                    yield Move(stock, a, stock - n, p, law)

    return build(cap + 1, 5, moves(), horizon=horizon, start=cap)


# Grids


@register("env", "windy")
def windy(*, shape: Shape = "none", spread: Positive = 0.5, horizon: Count = 30) -> MDP:
    """A grid of 5 by 7 with wind upwards in two columns, traps (-8) and a goal (10), which end an episode.

    Three cells are walls, whose numbers are never met; a step costs 0.3.

    Args:
        shape: of the noise.
        spread: of the noise.
        horizon: steps in an episode.
    """
    noise, (height, width) = Noise(shape, spread), (5, 7)
    traps, goal, walls = {(1, 3), (3, 5), (0, 4)}, (2, 6), {(4, 5), (4, 6), (3, 1)}

    def moves() -> Iterator[Move]:
        for x in range(height):
            for y in range(width):
                for a, (dx, dy) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1))):
                    for wind, p in ((0, 0.5), (1, 0.5)) if y in {2, 4} else ((0, 1.0),):
                        to = (min(max(x + dx - wind, 0), height - 1), min(max(y + dy, 0), width - 1))
                        to = (x, y) if to in walls else to
                        pay = -8.0 if to in traps else 10.0 if to == goal else -0.3
                        ends = to in traps or to == goal
                        yield Move(x * width + y, a, to[0] * width + to[1], p, noise.law(pay), ends)

    return build(height * width, 4, moves(), horizon=horizon)


PLAN = (
    "#########",
    "#...#...#",
    "#.......#",
    "#...#...#",
    "##.###.##",
    "#...#...#",
    "#.......#",
    "#...#..G#",
)
FREE = [(x, y) for x, row in enumerate(PLAN) for y, cell in enumerate(row) if cell != "#"]


@register("env", "rooms")
def rooms(*, shape: Shape = "none", spread: Positive = 0.5, horizon: Count = 40) -> MDP:
    """Four rooms with doors, numbered with their walls, which are never met: 72 numbers, 40 cells.

    A move goes astray with probability 0.1; the goal in the last room pays 10 and ends the episode, a step
    costs 0.1.

    Args:
        shape: of the noise.
        spread: of the noise.
        horizon: steps in an episode.
    """
    noise, width, ways = Noise(shape, spread), len(PLAN[0]), ((-1, 0), (0, 1), (1, 0), (0, -1))

    def moves() -> Iterator[Move]:
        for x, y in FREE:
            for a in range(4):
                for way, (dx, dy) in enumerate(ways):
                    to = (x + dx, y + dy) if (x + dx, y + dy) in FREE else (x, y)
                    goal = PLAN[to[0]][to[1]] == "G"
                    p = 0.025 + 0.9 * (way == a)
                    law = noise.law(10.0 if goal else -0.1)
                    yield Move(x * width + y, a, to[0] * width + to[1], p, law, goal)
        for s in {*range(len(PLAN) * width)} - {x * width + y for x, y in FREE}:
            yield from (Move(s, a, s, 1.0, noise.sure(0.0)) for a in range(4))

    return build(len(PLAN) * width, 4, moves(), horizon=horizon, start=width + 1)


@register("env", "toy_text")
def toy_text(
    *,
    id: Literal["FrozenLake-v1", "CliffWalking-v1"] = "FrozenLake-v1",  # noqa: A002  # Gymnasium's word
    shape: Shape = "none",
    spread: Positive = 0.3,
    horizon: Count = 50,
) -> MDP:
    """A toy text of Gymnasium, with noise; numbers of terminal and unreachable states are kept.

    Args:
        id: its name there.
        shape: of the noise.
        spread: of the noise.
        horizon: steps in an episode.
    """
    env: Any = gymnasium.make(id).unwrapped
    noise, n_states, n_actions = Noise(shape, spread), len(env.P), len(env.P[0])
    moves = (
        Move(s, a, int(s_next), float(p), noise.law(float(pay)), bool(ends))
        for s in range(n_states)
        for a in range(n_actions)
        for p, s_next, pay, ends in env.P[s][a]
    )
    return build(n_states, n_actions, moves, horizon=horizon, start=env.initial_state_distrib)


# Chains


@register("env", "gambler")
def gambler(
    *,
    win: OpenProbability = 0.4,
    shape: Shape = "none",
    spread: Positive = 4.0,
    shift: float = 0.0,
    horizon: Count | None = None,
) -> MDP:
    """A capital of 1 to 14 and stakes of 1, 2, 4 or 8, which are won or lost; a capital of 15 pays 10.

    An episode ends at 0 and 15, which lead back to 5 where it lasts. A stake costs 0.05.

    Args:
        win: the probability of winning.
        shape: of the noise of the prize.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, goal, first = Noise(shape, spread, shift), 15, 5

    def moves() -> Iterator[Move]:
        for a, most in enumerate((1, 2, 4, 8)):
            yield from (Move(s, a, first, 1.0, noise.sure(0.0)) for s in (0, goal))
            for s in range(1, goal):
                stake = min(most, s, goal - s)
                for to, p in ((s + stake, win), (s - stake, 1.0 - win)):
                    law = noise.law(10.0) if to == goal else noise.sure(-0.05)
                    yield Move(s, a, to, p, law, horizon is not None and to in {0, goal})

    return build(goal + 1, 4, moves(), horizon=horizon, start=first)


@register("env", "ladder")
def ladder(
    *, shape: Shape = "none", spread: Positive = 0.5, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """Nine rungs: climb, which falls to the ground once in ten times, step down, or rest.

    Climbing on from the top pays 4, resting on the ground 0.1.

    Args:
        shape: of the noise.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread, shift), 9

    def moves() -> Iterator[Move]:
        for s in range(n):
            law = noise.law(4.0 if s == n - 1 else 0.0)
            for to, p in ((min(s + 1, n - 1), 0.4), (s, 0.5), (0, 0.1)):
                yield Move(s, 0, to, p, law)
            yield Move(s, 1, max(s - 1, 0), 1.0, noise.law(0.0))
            yield Move(s, 2, s, 1.0, noise.law(0.1 if s == 0 else 0.0))

    return build(n, 3, moves(), horizon=horizon)


@register("env", "lock")
def lock(
    *, shape: Shape = "none", spread: Positive = 0.3, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """Ten locks in a row and four keys, one of them right; the last lock pays 3.

    A wrong key pays 0.05 and leads back to the first lock.

    Args:
        shape: of the noise of the prize.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n, keys = Noise(shape, spread, shift), 10, np.random.default_rng(41).integers(4, size=10)

    def moves() -> Iterator[Move]:
        for s in range(n):
            for a in range(4):
                if a != keys[s]:
                    yield Move(s, a, 0, 1.0, noise.sure(0.05))
                else:
                    yield Move(s, a, (s + 1) % n, 1.0, noise.law(3.0) if s == n - 1 else noise.sure(0.0))

    return build(n, 4, moves(), horizon=horizon)


@register("env", "swamp")
def swamp(
    *, shape: Shape = "none", spread: Positive = 0.1, shift: float = 0.0, horizon: Count | None = None
) -> MDP:
    """Eight states to wade through: on with probability 0.2, back with 0.2; or give up, which leads back.

    The far shore pays 2, the near one 0.02.

    Args:
        shape: of the noise.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread, shift), 8

    def moves() -> Iterator[Move]:
        for s in range(n):
            law, back = noise.law(2.0 if s == n - 1 else 0.0), max(s - 1, 0)
            for to, p in ((min(s + 1, n - 1), 0.2), (s, 0.6), (back, 0.2)):
                yield Move(s, 0, to, p, law)
            yield Move(s, 1, back, 1.0, noise.law(0.02) if s == 0 else noise.sure(0.0))

    return build(n, 2, moves(), horizon=horizon)


# Random MDPs and bandits


@register("env", "ring")
def ring(
    *,
    seed: Seed = 7,
    shape: Shape = "none",
    spread: Positive = 1.0,
    shift: float = 0.0,
    horizon: Count | None = None,
) -> MDP:
    """Eight states, three actions, each to two random states; means between 0 and 1.

    Args:
        seed: of everything that is random here.
        shape: of the noise.
        spread: of the noise.
        shift: is added to all rewards.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n, rng = Noise(shape, spread, shift), 8, np.random.default_rng(seed)

    def moves() -> Iterator[Move]:
        for s in range(n):
            for a in range(3):
                law = noise.law(rng.uniform())
                for to, p in zip(rng.choice(n, 2, replace=False), (0.6, 0.4), strict=True):
                    yield Move(s, a, int(to), p, law)

    return build(n, 3, moves(), horizon=horizon)


@register("env", "layered")
def layered(*, seed: Seed = 301, mix: Mix = "all", spread: Positive = 1.0, horizon: Count = 6) -> MDP:
    """As many layers as steps, five states in each, three actions to two states of the next layer.

    Two rewards in five are 0, the others have means between 0 and 2 and shapes of their own.

    Args:
        seed: of everything that is random here.
        mix: the shapes.
        spread: of the noise.
        horizon: steps in an episode.
    """
    rng, width = np.random.default_rng(seed), 5

    def moves() -> Iterator[Move]:
        for s in range(horizon * width):
            for a in range(3):
                law, p = random_law(rng, mix, (0.0, 2.0), spread), rng.uniform(0.2, 0.8)
                law = laws.constant(0.0) if rng.uniform() < 0.4 else law
                below = (s // width + 1) % horizon * width
                for to, chance in zip(rng.choice(width, 2, replace=False), (p, 1.0 - p), strict=True):
                    yield Move(s, a, below + int(to), chance, law)

    return build(horizon * width, 3, moves(), horizon=horizon)


@register("env", "contexts")
def contexts(
    *,
    n_contexts: Count = 6,
    n_actions: Count = 12,
    seed: Seed = 901,
    mix: Mix = "all",
    low: float = -1.0,
    high: float = 1.0,
    spread: Positive = 1.0,
) -> MDP:
    """A bandit for each context, which comes up at random; arms have means and shapes of their own.

    Args:
        n_contexts: how many contexts there are.
        n_actions: how many arms there are.
        seed: of everything that is random here.
        mix: the shapes.
        low: no mean is less.
        high: no mean is more.
        spread: of the noise.
    """
    rng = np.random.default_rng(seed)
    return build_contexts(
        [[random_law(rng, mix, (low, high), spread) for _ in range(n_actions)] for _ in range(n_contexts)]
    )


@register("env", "router")
def router(
    *, shape: Shape = "multiplied", spread: Positive = 1.0, n_contexts: Count = 10, seed: Seed = 17
) -> MDP:
    """Requests of several kinds and five servers: the reward is minus the latency, a mean of 0.2 to 2.

    Args:
        shape: of the latency.
        spread: of the noise.
        n_contexts: how many kinds of requests there are.
        seed: of the means.
    """
    means, noise = np.random.default_rng(seed).uniform(0.2, 2.0, (n_contexts, 5)), Noise(shape, spread)
    return build_contexts([[noise.law(-float(mean)) for mean in row] for row in means])


@register("env", "arms")
def arms(
    *, n_arms: Count = 10, seed: Seed = 8, mix: Mix = "all", spread: Positive = 1.0, shift: float = 0.0
) -> MDP:
    """A bandit whose arms have means between 0 and 1 and shapes of their own; the last is half better.

    Args:
        n_arms: how many arms there are.
        seed: of everything that is random here.
        mix: the shapes.
        spread: of the noise.
        shift: is added to all rewards.
    """
    rng = np.random.default_rng(seed)
    shapes, means = rng.choice(len(MIXES[mix]), n_arms), rng.uniform(0.0, 1.0, n_arms)
    means[-1] = 1.5
    pay = [
        shaped(MIXES[mix][shape], round(float(mean), 2), spread, shift)
        for shape, mean in zip(shapes, means, strict=True)
    ]
    return build(1, n_arms, (Move(0, a, 0, 1.0, law) for a, law in enumerate(pay)), horizon=1)


def random_law(rng: np.random.Generator, mix: Mix, bounds: tuple[float, float], spread: float) -> Law:
    """Draw a law: its shape, and its mean between these bounds."""
    shape = MIXES[mix][rng.integers(len(MIXES[mix]))]
    return shaped(shape, round(float(rng.uniform(*bounds)), 2), spread, 0.0)


# Catastrophes and jackpots


@register("env", "rare")
def rare(
    *,
    size: float = -300.0,
    chance: Annotated[float, Ge(0)] = 0.003,
    usual: float = 0.1,
    shape: Shape = "normal",
    spread: Positive = 0.5,
    horizon: Count | None = None,
) -> MDP:
    """Three states in turn: play safe, for nothing, or take a risk, which pays something else rarely.

    Args:
        size: what it rarely pays.
        chance: how rarely.
        usual: the mean of what the risk pays else.
        shape: of the noise.
        spread: of the noise.
        horizon: steps in an episode, or None for a continuing problem.
    """
    noise, n = Noise(shape, spread), 3

    def moves() -> Iterator[Move]:
        for s in range(n):
            for to, p in (((s + 1) % n, 0.8), (s, 0.2)):
                yield Move(s, 0, to, p, noise.law(0.0))
                yield Move(s, 1, to, p * (1.0 - chance), noise.law(usual))
                yield Move(s, 1, to, p * chance, noise.sure(size))

    return build(n, 2, moves(), horizon=horizon)
