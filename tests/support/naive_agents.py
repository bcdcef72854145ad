"""Slow, obvious twins of the model-based agents and of the bonuses.

Lists of everything that was seen, dense arrays, written from the papers.

A twin has the three methods of an agent. `play` runs one in an MDP with the random numbers of a seed,
so that a fused run with that seed meets the same noise.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import linprog

from heavytail.arrays import Floats
from heavytail.kernels.rng import streams
from heavytail.mdp import MDP
from heavytail.training.step_loop import MDPStepper


class Step(NamedTuple):
    episode: int
    h: int
    s: int
    a: int
    r: float
    s_next: int
    terminated: bool


class Twin(Protocol):
    def begin(self, s: int) -> None: ...

    def act(self, s: int, h: int) -> int: ...

    def update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None: ...


def play(twin: Twin, mdp: MDP, seed: int, units: int) -> list[Step]:
    """Everything that a twin meets in so many episodes, or steps in a continuing problem."""
    env, path, done = MDPStepper(mdp, streams(seed)), [], 0
    s, h = -1, -1
    while done < units:
        if s < 0:
            s, h = env.reset(), 0
            twin.begin(s)
        a = twin.act(s, h)
        s_next, r, terminated, _ = env.step(s, a, h)
        twin.update(s, a, r, s_next, h, terminated)
        path.append(Step(done, h, s, a, r, s_next, terminated))
        if mdp.horizon == 0:
            done, s = done + 1, s_next
        elif terminated or h + 1 == mdp.horizon:
            done, s = done + 1, -1
        else:
            s, h = s_next, h + 1
    return path


def visits(path: list[Step], S: int, A: int) -> list[int]:
    """How often each cell s * A + a was visited."""
    count = [0] * (S * A)
    for step in path:
        count[step.s * A + step.a] += 1
    return count


class Observed:
    """Every reward and every successor of each cell.

    The end of an episode in a terminal state is the successor S.
    """

    def __init__(self, S: int, A: int) -> None:
        self.S, self.A = S, A
        self.rewards: dict[tuple[int, int], list[float]] = defaultdict(list)
        self.successors: dict[tuple[int, int], list[int]] = defaultdict(list)

    def add(self, s: int, a: int, r: float, s_next: int, terminated: bool) -> None:
        self.rewards[s, a].append(r)
        self.successors[s, a].append(self.S if terminated else s_next)

    def n(self, s: int, a: int) -> int:
        return len(self.rewards[s, a])

    def frequencies(self, s: int, a: int) -> Floats:
        """Of the S states and the end."""
        return np.bincount(self.successors[s, a], minlength=self.S + 1) / self.n(s, a)

    def ended(self) -> bool:
        return any(self.S in cell for cell in self.successors.values())


# Optimism


def best_expectation_by_sorting(p: Floats, distance: float, values: Floats) -> float:
    """The inner maximum of extended value iteration: figure 2 of Jaksch et al. (2010)."""
    order = np.argsort(-values, kind="stable")
    q = p.copy()
    q[order[0]] = min(1.0, p[order[0]] + distance / 2)
    for worst in order[::-1]:
        if q.sum() <= 1.0:
            break
        q[worst] = max(0.0, 1.0 - (q.sum() - q[worst]))
    return float(q @ values)


def best_expectation_by_linear_program(p: Floats, distance: float, values: Floats) -> float:
    """The same as its definition has it.

    Maximise q @ values over distributions q with sum |q - p| <= distance. Variables are q and |q - p|.
    """
    n = len(p)
    one, nothing = np.eye(n), np.zeros((n, n))
    upper = np.vstack([np.hstack([one, -one]), np.hstack([-one, -one]), np.hstack([np.zeros(n), np.ones(n)])])
    solution = linprog(
        np.concatenate([-values, np.zeros(n)]),
        A_ub=upper,
        b_ub=np.concatenate([p, -p, [distance]]),
        A_eq=np.hstack([np.ones((1, n)), nothing[:1]]),
        b_eq=[1.0],
        bounds=(0.0, None),
    )
    assert solution.success
    return -float(solution.fun)


Estimate = Callable[[list[float], float], float]  # of samples at a log-confidence
Radius = Callable[[int, float], float]  # of n samples at a log-confidence


def sample_mean(x: list[float], log_confidence: float) -> float:
    return sum(x) / len(x)


def hoeffding_radius(length: float) -> Radius:
    return lambda n, log_confidence: length * math.sqrt(log_confidence / (2 * n))


def truncated_radius(epsilon: float, moment: float) -> Radius:
    constant = 1 + epsilon + math.sqrt(2) + 1 / 3
    return lambda n, log_confidence: (
        constant * moment ** (1 / (1 + epsilon)) * (log_confidence / n) ** (epsilon / (1 + epsilon))
    )


class UCRL2:
    """Algorithm 1 of the paper: phases, intervals, extended value iteration.

    Plans when an action is asked for and the rule says so.
    """

    def __init__(
        self,
        S: int,
        A: int,
        H: int,
        estimate: Estimate,
        radius: Radius,
        *,
        delta: float,
        transition_scale: float,
        reward_scale: float,
        largest_reward: float = math.inf,
    ) -> None:
        self.S, self.A, self.H = S, A, H
        self.estimate, self.radius = estimate, radius
        self.delta, self.transition_scale, self.reward_scale, self.largest_reward = (
            delta,
            transition_scale,
            reward_scale,
            largest_reward,
        )
        self.seen, self.t = Observed(S, A), 1
        self.before: dict[tuple[int, int], int] = {}  # N_k
        self.in_phase: dict[tuple[int, int], int] = {}  # v_k
        self.policy = np.zeros((max(H, 1), S), int)
        self.starts: list[int] = []  # t_k
        self.values = np.zeros(S)  # where planning for the average reward goes on from

    def begin(self, s: int) -> None:
        pass

    def act(self, s: int, h: int) -> int:
        cell = s, int(self.policy[h, s])
        if not self.starts or not self.in_phase[cell] < max(1, self.before[cell]):
            self.new_phase()
        return int(self.policy[h, s])

    def update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        self.seen.add(s, a, r, s_next, terminated)
        self.in_phase[s, a] += 1
        self.t += 1

    def log_confidence(self) -> float:
        return 7 * math.log(2 * self.S * self.A * self.t / self.delta)

    def new_phase(self) -> None:
        self.starts.append(self.t)
        cells = [(s, a) for s in range(self.S) for a in range(self.A)]
        self.before = {cell: self.seen.n(*cell) for cell in cells}
        self.in_phase = dict.fromkeys(cells, 0)
        level, spread = self.log_confidence(), 14 * self.S * math.log(2 * self.A * self.t / self.delta)
        self.rewards, self.distances = np.zeros((self.S, self.A)), np.zeros((self.S, self.A))
        for cell in cells:
            n = self.before[cell]
            centre = self.estimate(self.seen.rewards[cell], level) if n else 0.0
            self.rewards[cell] = min(
                centre + self.reward_scale * self.radius(max(1, n), level), self.largest_reward
            )
            self.distances[cell] = self.transition_scale * math.sqrt(spread / max(1, n))
        if self.H:
            self.plan_episode()
        else:
            self.plan_average()

    def backup(self, values: Floats) -> Floats:
        """Optimistic action values [S, A]; the end, worth 0, is plausible once it was seen."""
        after = np.append(values, 0.0)[: self.S + self.seen.ended()]
        q = np.zeros((self.S, self.A))
        for s in range(self.S):
            for a in range(self.A):
                if self.before[s, a] == 0:  # anything may follow
                    q[s, a] = self.rewards[s, a] + after.max()
                else:
                    p = self.seen.frequencies(s, a)[: len(after)]
                    q[s, a] = self.rewards[s, a] + best_expectation_by_sorting(p, self.distances[s, a], after)
        return q

    def plan_episode(self) -> None:
        values = np.zeros(self.S)
        for h in reversed(range(self.H)):
            q = self.backup(values)
            self.policy[h], values = q.argmax(axis=1), q.max(axis=1)

    def plan_average(self) -> None:
        """Move values nine tenths of the way, until a backup raises all by the same, up to 1 / sqrt(t_k)."""
        while True:
            q = self.backup(self.values)
            new = q.max(axis=1)
            rise = new - self.values
            self.policy[0] = q.argmax(axis=1)
            self.values = 0.9 * new + 0.1 * self.values
            self.values -= self.values[0]
            if rise.max() - rise.min() < 1 / math.sqrt(self.t):
                return


class UCBVI:
    """Algorithm 1 of Azar et al. (2017), rewards being estimated."""

    def __init__(
        self,
        S: int,
        A: int,
        H: int,
        estimate: Estimate,
        radius: Radius,
        *,
        level: float,
        reward_scale: float,
        bonus: list[float],
        cap: list[float],
        clipped: bool,
    ) -> None:
        self.S, self.A, self.H = S, A, H
        self.estimate, self.radius, self.level, self.reward_scale = estimate, radius, level, reward_scale
        self.bonus, self.cap, self.clipped = bonus, cap, clipped
        self.seen = Observed(S, A)
        self.q = np.array([np.full((S, A), cap[h] if clipped else math.inf) for h in range(H)])

    def begin(self, first: int) -> None:
        values = np.zeros(self.S + 1)
        for h in reversed(range(self.H)):
            for s in range(self.S):
                for a in range(self.A):
                    n = self.seen.n(s, a)
                    if n:
                        r = self.estimate(
                            self.seen.rewards[s, a], self.level
                        ) + self.reward_scale * self.radius(n, self.level)
                        new = r + self.seen.frequencies(s, a) @ values + self.bonus[h] / math.sqrt(n)
                        self.q[h, s, a] = min(self.q[h, s, a], self.cap[h], new) if self.clipped else new
            values = np.append(np.minimum(self.q[h].max(axis=1), self.cap[h]), 0.0)

    def act(self, s: int, h: int) -> int:
        return int(self.q[h, s].argmax())

    def update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        self.seen.add(s, a, r, s_next, terminated)


# Bonuses


def bernstein_beta(t: int, W: float, H: int, S: int, A: int, *, r_max: float, iota: float, c: float) -> float:
    """beta_t of Jin et al. (2018), made equivariant under scaling, with c1 = c2 = 2 c."""
    first = (
        2 * c * (math.sqrt(H / t * (W + H * r_max**2) * iota) + r_max * math.sqrt(H**7 * S * A) * iota / t)
    )
    return min(first, 2 * c * r_max * math.sqrt(H**3 * iota / t))


def paper_beta(
    t: int,
    W: float,
    H: int,
    S: int,
    A: int,
    *,
    r_max: float,
    iota: float,
    c: float,
    epsilon: float,
    moment: float,
    c_reward: float = 1.0,
) -> float:
    """beta'_t of the paper's appendix, letter by letter, with c1 = c2 = 2 c.

    `c_reward` multiplies its last term.
    """
    first = (2 * c) * (
        math.sqrt(H * r_max / t * (W + H) * iota)
        + math.sqrt(H**7 * r_max * S * A) * iota / t
        + H**2 * iota * math.sqrt(r_max**3) / t
        + H ** ((1 + 2 * epsilon) / epsilon) * iota * math.sqrt(S * A * epsilon) / t
    )
    second = (2 * c) * r_max * math.sqrt(H**3 * iota / t)
    return min(first, second) + c_reward * 8 * H * moment ** (1 / (1 + epsilon)) * (iota / t) ** (
        epsilon / (1 + epsilon)
    )


class Met(NamedTuple):
    """The values of the next states that a cell has met."""

    t: int = 0
    total: float = 0.0
    squares: float = 0.0

    def variance(self) -> float:
        return max(self.squares / self.t - (self.total / self.t) ** 2, 0.0)


class QLearning:
    """Q-learning whose bonus at visit t is b_t = (beta_t - (1 - alpha_t) beta_{t-1}) / (2 alpha_t).

    beta_t is a function of t and of the variance W_t.
    """

    def __init__(
        self,
        S: int,
        A: int,
        cap: list[float],
        beta: Callable[[int, float], float],
        kept: Callable[[int, float], float] = lambda t, r: r,
    ) -> None:
        self.H, self.cap, self.beta, self.kept = len(cap), cap, beta, kept
        self.q = np.array([np.full((S, A), bound) for bound in cap])
        self.met: dict[tuple[int, int, int], Met] = defaultdict(Met)

    def begin(self, s: int) -> None:
        pass

    def act(self, s: int, h: int) -> int:
        return int(self.q[h, s].argmax())

    def update(self, s: int, a: int, r: float, s_next: int, h: int, terminated: bool) -> None:
        value = (
            0.0 if terminated or h + 1 == self.H else min(self.cap[h + 1], float(self.q[h + 1, s_next].max()))
        )
        old = self.met[h, s, a]
        new = self.met[h, s, a] = Met(old.t + 1, old.total + value, old.squares + value**2)
        rate = (self.H + 1) / (self.H + new.t)
        before = self.beta(old.t, old.variance()) if old.t else 0.0
        bonus = (self.beta(new.t, new.variance()) - (1 - rate) * before) / (2 * rate)
        self.q[h, s, a] = (1 - rate) * self.q[h, s, a] + rate * (self.kept(new.t, r) + value + bonus)
