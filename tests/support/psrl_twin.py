"""A slow, obvious twin of Heavy-PSRL: dictionaries, lists and NumPy's random numbers.

The posteriors of the sketch have a twin of their own (`support.sketch_twin`) and are taken as they are. It is
told neither how many states there are nor their numbers: states are whatever it is given.
"""

import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.estimators.sketch import (
    ERROR,
    FREEDOM,
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    SPREAD,
    SPREAD_ERROR,
    Sketch,
    draw_skewed,
    lightness,
    renew,
    sketch,
    skewness,
)
from heavytail.kernels.compiling import entry, interpret
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import push

END, NEW = "end", "new"


class Posterior(NamedTuple):
    """What the sketch says of a cell whose rewards differ."""

    n: int
    row: Floats  # its summary
    light: float
    skewed: float
    record: Sketch

    @property
    def judged(self) -> bool:
        return self.n >= 8 or self.skewed == 1.0

    def symmetric(self, rng: np.random.Generator) -> float:
        return float(self.row[MIDDLE] + self.row[ERROR] * rng.standard_t(self.row[FREEDOM]))

    def lopsided(self, rng: np.random.Generator) -> float:
        return float(interpret(draw_skewed, self.record, 0, stream(int(rng.integers(2**62)))))


def _push(record: Sketch, x: float) -> None:
    push(record, 0, x)


def _renew(record: Sketch, out: Floats) -> None:
    block = renew(record, 0)
    out[0], out[1] = lightness(record, block), skewness(record, block)


class HeavyPSRL:
    def __init__(self, n_actions: int, horizon: int, seed: int) -> None:
        self.A, self.H, self.rng = n_actions, horizon, np.random.default_rng(seed)
        self.rewards: dict[Any, list[float]] = {}
        self.sketches: dict[Any, Sketch] = {}
        self.successors: dict[Any, Counter[Any]] = {}  # of a cell (s, a), in which order cells were tried
        self.stayed: dict[Any, bool] = {}
        self.seen: list[Any] = []
        self.number, self.steps, self.least = 0, 0, 0
        self.news, self.in_phase = False, Counter[Any]()
        self.mean: dict[Any, float] = {}
        self.goes: dict[
            Any, tuple[dict[Any, float], float, Any]
        ] = {}  # successors, and the lump and its state
        self.values: dict[Any, float] = {}
        self.policy: list[dict[Any, int]] = [{} for _ in range(max(horizon, 1))]
        self.high, self.range, self.length, self.bonus, self.has_unit = 0.0, 0.0, 0.0, 0.0, False
        self.usual: set[float] = set()
        self.candidates: dict[float, int] = {}  # and their leads

    # What is drawn

    def beta(self, x: float, y: float) -> float:
        return float(self.rng.beta(max(x, 1e-12), max(y, 1e-12)))

    def draw(self) -> None:
        self.length = float(self.H or len(self.seen) + self.steps)
        self.draw_shares()
        self.draw_transitions()
        self.draw_means()
        self.draw_unknown()

    def draw_shares(self) -> None:
        firsts = [x[0] for x in self.rewards.values()]
        self.usual = {r for r in self.candidates if 3 * firsts.count(r) > len(firsts)}
        k, c = defaultdict[Any, float](float), defaultdict[Any, float](float)
        for cell, x in self.rewards.items():
            if len(x) >= 2:
                for group, same in (
                    (self.stayed[cell], len(self.successors[cell]) == 1),
                    (self.group(cell), len({*x}) == 1),
                ):
                    k[group] += 0.0 if same else 1.0
                    c[group] += 1.0 - 1.0 / len(x) if same else 0.0
        q = self.beta(0.1 + k[True] + k[False], 0.1 + c[True] + c[False])
        self.shapes = {group: 1.0 - q + group + c[group] for group in (False, True)}
        self.shares: dict[Any, float] = {
            group: self.beta(q + group + k[group], self.shapes[group]) for group in (False, True)
        }
        q = self.shares["other"] = self.beta(0.1 + k["other"], 0.1 + c["other"])
        self.shares["usual"] = self.beta(0.01 * q + k["usual"], 0.01 * (1.0 - q) + c["usual"])

    def group(self, cell: Any) -> str:
        return "usual" if self.rewards[cell][0] in self.usual else "other"

    def is_random(self, q: float, same: float) -> bool:
        return bool(self.rng.uniform() < q * same / max(q * same + 1.0 - q, 1e-300))

    def pays_otherwise(self, cell: Any) -> bool:
        return self.is_random(self.shares[self.group(cell)], 1.0 / len(self.rewards[cell]))

    def draw_change(self, cell: Any) -> float:
        n, y = len(self.rewards[cell]), self.shapes[self.stayed[cell]]
        by_others = max(y, 1e-12) / max(y - (1.0 - 1.0 / n), 1e-12)
        return self.beta(1.0, n) if self.is_random(self.shares[self.stayed[cell]], by_others / n) else 0.0

    def draw_transitions(self) -> None:
        pairs = sum(len(to) for to in self.successors.values())
        ways = Counter(s for cell, to in self.successors.items() for s in to if s not in (END, cell[0]))
        single = sum(count == 1 for count in ways.values())
        new = self.rng.uniform() < self.beta(single + 1.0, pairs - single)
        random = [to for to in self.successors.values() if len(to) > 1]
        found = 1.0 + sum(len(to) - 1 for to in random)
        expected = 1.0 + sum(sum(1.0 / k for k in range(1, to.total())) for to in random)
        theta = self.rng.gamma(found) / expected
        for s in self.seen:
            for a in range(self.A):
                to = self.successors.get((s, a), Counter())
                lump, weights = 1.0, {}
                if len(to) == 1:
                    lump = self.draw_change((s, a))
                    weights = {next(iter(to)): 1.0 - lump}
                elif to:
                    lump = self.rng.gamma(theta)
                    weights = {k: self.rng.gamma(n) for k, n in to.items()}
                total = lump + sum(weights.values())
                elsewhere = NEW if new else self.seen[self.rng.integers(len(self.seen))]
                self.goes[s, a] = {k: w / total for k, w in weights.items()}, lump / total, elsewhere

    def posteriors(self) -> dict[Any, Posterior]:
        found = {}
        for cell, record in self.sketches.items():
            if record.histogram.block[0] >= 0:
                kind = np.zeros(2)
                entry(_renew, record)(record, kind)
                found[cell] = Posterior(len(self.rewards[cell]), record.summary[0], kind[0], kind[1], record)
        return found

    def draw_means(self) -> None:
        noisy = self.posteriors()
        tested = [each for each in noisy.values() if each.n >= 1000 and each.light <= 0.5]
        odds = (0.3 + sum(x.skewed for x in tested)) / (0.3 + sum(1.0 - x.skewed for x in tested))
        u, pool = self.rng.uniform(), {}
        self.mean = {cell: x[0] for cell, x in self.rewards.items()}
        for cell, each in noisy.items():
            light, p = (each.light, each.skewed) if each.judged else (0.0, 0.5)
            skewed = u < light + (1.0 - light) * odds * p / (odds * p + 1.0 - p)
            self.mean[cell] = (each.lopsided if skewed and each.judged else each.symmetric)(self.rng)
            if skewed and light <= 0.5:
                pool[cell] = each
        if len(pool) >= 2:
            self.mean |= self.draw_pooled(pool)

    def draw_pooled(self, pool: dict[Any, Posterior]) -> dict[Any, float]:
        n, rows = np.array([each.n for each in pool.values()]), np.array([x.row for x in pool.values()])
        alone = rows[:, OFFSET_ERROR] ** 2
        o_noise = np.maximum(alone, n.sum() / (1.0 / alone).sum() / n)
        s_noise = max(n * n @ rows[:, SPREAD_ERROR] ** 2 / n.sum(), 1e-12) / n
        _, tau2 = effect(rows[:, OFFSET], o_noise)
        log_sigma, omega2 = effect(np.log(rows[:, SPREAD]), s_noise)
        apart = (np.array([x.lopsided(self.rng) for x in pool.values()]) - rows[:, MIDDLE]) / rows[:, SPREAD]
        weights = 1.0 / (o_noise + tau2)
        offset = weights @ (apart + math.sqrt(tau2) * self.rng.standard_normal(len(n))) / weights.sum()
        means = {}
        for k, (cell, each) in enumerate(pool.items()):
            known = omega2 / (omega2 + s_noise[k])
            centre = known * math.log(each.row[SPREAD]) + (1.0 - known) * log_sigma
            sigma = math.exp(self.rng.normal(centre, math.sqrt(known * s_noise[k])))
            common = each.symmetric(self.rng) + sigma * self.rng.normal(offset, math.sqrt(tau2))
            own = tau2 / (tau2 + o_noise[k]) if each.judged else 0.0
            means[cell] = own * each.lopsided(self.rng) + (1.0 - own) * common
        return means

    def draw_unknown(self) -> None:
        noisy = self.posteriors()
        middles = {c: noisy[c].row[MIDDLE] if c in noisy else x[0] for c, x in self.rewards.items()}
        found = [m for cell, m in middles.items() if len(self.rewards[cell]) >= 2]
        if len({*found}) < 2:
            found = [*middles.values()] or [0.0]
        self.high, self.has_unit = max(found), len({*found}) > 1
        self.range = (max(found) - min(found)) or abs(self.high) or 1.0
        self.bonus = 2.0 * self.length * self.range / (1.0 - self.rng.uniform())
        for cell, (_, lump, _) in self.goes.items():
            n, otherwise = len(self.rewards.get(cell, [])), False
            if n > 0 and cell not in noisy:
                otherwise = self.pays_otherwise(cell)
            if n == 0 or (n == 1 and (otherwise or lump > 0.0)):
                self.mean[cell] = self.unknown()
            elif otherwise:
                much = self.range / (n * (1.0 - self.rng.uniform()) ** 0.75)
                self.mean[cell] += self.rng.exponential() * much

    def unknown(self) -> float:
        return self.high + (self.length + self.rng.exponential()) * self.range

    # Plans

    def back_up(self, values: dict[Any, float], h: int) -> dict[Any, float]:
        found = {}
        for s in self.seen:
            q = []
            for a in range(self.A):
                to, lump, elsewhere = self.goes[s, a]
                q.append(
                    self.mean[s, a] + lump * values[elsewhere] + sum(p * values[k] for k, p in to.items())
                )
            found[s], self.policy[h][s] = max(q), int(np.argmax(q))
        return found

    def plan(self) -> None:
        if self.H:
            values = dict.fromkeys([*self.seen, END, NEW], 0.0)
            for h in reversed(range(self.H)):
                worth = self.bonus + (self.H - h) * (self.high + self.range / self.H)
                values = {**self.back_up(values, h), END: 0.0, NEW: worth}
            return
        values = {**self.values, END: 0.0, NEW: self.bonus}
        spread = max(self.mean[cell] for cell in self.goes) - min(self.mean[cell] for cell in self.goes)
        steps = sum(map(len, self.rewards.values()))
        for _ in range(10_000):
            changes = {s: v - values[s] for s, v in self.back_up(values, 0).items()}
            values |= {s: values[s] + 0.9 * change for s, change in changes.items()}
            values |= {s: values[s] - values[self.seen[0]] for s in reversed(self.seen)}
            if not max(changes.values()) - min(changes.values()) >= spread * min(0.01, (steps + 1) ** -0.5):
                break
        self.values = {s: values[s] for s in self.seen}

    # The verbs

    def see(self, s: Any) -> bool:
        if s in self.seen:
            return False
        self.seen.append(s)
        self.news, self.values[s] = True, self.bonus
        for a in range(self.A):
            self.goes[s, a] = {}, 1.0, NEW
            self.mean[s, a] = self.unknown()
        return True

    def redraw_if_due(self) -> None:
        late = 4 * self.steps >= self.number * (self.H or 1)
        lasted = self.steps >= self.least and 500 * self.steps > len(self.seen) * self.A
        if self.number == 0 or ((self.news or late) and lasted):
            self.draw()
            self.plan()
            self.least = 0 if self.H else int((3 * len(self.seen)) ** self.rng.uniform())
            self.number, self.steps, self.news, self.in_phase = self.number + 1, 0, False, Counter()

    def begin(self, s: Any) -> None:
        self.see(s)
        self.redraw_if_due()

    def act(self, s: Any, h: int) -> int:
        return self.policy[h if self.H else 0][s]

    def update(self, s: Any, a: int, r: float, s_next: Any, h: int, terminated: bool) -> None:
        cell = s, a
        x = self.rewards.setdefault(cell, [])
        to = self.successors.setdefault(cell, Counter())
        record = self.sketches.setdefault(cell, sketch(1))
        entry(_push, record)(record, r)
        new_pair = (END if terminated else s_next) not in to
        to[END if terminated else s_next] += 1
        self.stayed.setdefault(cell, s_next == s and not terminated)
        if not x:
            self.vote(r)
        self.in_phase[cell] += 1
        self.news |= 10 * self.in_phase[cell] > len(x)
        x.append(r)
        self.steps += 1
        changed = not terminated and self.see(s_next)
        as_seen = {k: n / len(x) for k, n in to.items()}, 0.0, NEW
        if new_pair:
            self.goes[cell] = as_seen
        if self.H and len(self.seen) * self.A * self.H <= 30_000:
            settled = self.settles(cell)
            if settled:
                self.goes[cell], self.mean[cell] = as_seen, x[0] if self.has_unit else self.high
            if settled or changed:
                self.plan()
        elif changed:
            chosen = int(self.rng.integers(self.A))
            for policy in self.policy:
                policy[s_next] = chosen
        if not self.H:
            self.redraw_if_due()

    def settles(self, cell: Any) -> bool:
        x = self.rewards[cell]
        if len(self.successors[cell]) > 1 or len({*x}) > 1:
            return False
        if len(x) == 1:
            return self.draw_change(cell) == 0.0 and not self.pays_otherwise(cell)
        reward = x[0] if self.has_unit else self.high
        return not self.stayed[cell] and (self.goes[cell][1] > 0.0 or self.mean[cell] != reward)

    def vote(self, r: float) -> None:
        if r in self.candidates or len(self.candidates) < 2:
            self.candidates[r] = self.candidates.get(r, 0) + 1
        else:
            self.candidates = {x: lead - 1 for x, lead in self.candidates.items() if lead > 1}


def effect(y: Floats, variance: Floats) -> tuple[float, float]:
    """The centre of what is measured of cells, and its variance between them."""
    w = 1.0 / variance
    apart = w @ (y - w @ y / w.sum()) ** 2 - (len(y) - 1)
    between = max(apart, 0.0) / (w.sum() - w @ w / w.sum())
    w = 1.0 / (variance + between)
    return float(w @ y / w.sum()), float(between)
