"""A slow twin of the sketch (`heavytail.estimators.sketch`) in NumPy and SciPy, of samples that were binned.

It is written from the construction, with fine grids and exact quantiles; it is given the trimmed mean.
"""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from heavytail.arrays import Floats

MIN_INDEX = 1.05


def list_side(x: Floats, middle: float) -> Any:
    """Atoms from the right end inwards, as distances from the centre: bins with narrowed edges."""
    held = np.sort(x[:16])
    centre, unit = held[4:12].mean(), 0.5 * (held[11] - held[4])
    y = (x - centre) / unit
    grid = np.concatenate([[0.0], np.outer(2.0 ** np.arange(-6, 26), [1.0, 1.5]).ravel()[1:], [2.0**60]])
    grid = np.concatenate([-grid[:0:-1], grid])
    rows = []
    which = np.searchsorted(grid, y, side="right") - 1
    for i in np.unique(which)[::-1]:
        values, low, high = y[which == i], grid[i], grid[i + 1]
        mean, floor = values.mean(), low
        if len(values) == 1:
            low = high = mean
        elif 3.0 * (mean - low) < high - low:
            high = low + 3.0 * (mean - low)
        elif 3.0 * (high - mean) < high - low:
            low = high - 3.0 * (high - mean)
        rows.append((mean, len(values), low, high, floor))
    mean, c, low, high, floor = np.array(rows).T
    offset = (middle - centre) / unit
    side = SimpleNamespace(x=mean - offset, c=c, low=low - offset, high=high - offset, floor=floor - offset)
    side.unit, side.used, side.k, side.light = unit, 0, 0.0, 1.0
    return side


def count_beyond(side: Any, d: float) -> tuple[float, float]:
    """The samples beyond a distance, as of linear densities, and a doubt about them."""
    width = np.maximum(side.high - side.low, 1e-300)
    t = np.clip((d - side.low) / width, 0.0, 1.0)
    slope = np.clip(12.0 * ((side.x - side.low) / width - 0.5), -2.0, 2.0)
    share = np.where(side.low >= d, 1.0, np.where(side.high > d, 1.0 - t - 0.5 * slope * (t * t - t), 0.0))
    return float(side.c @ share), float(0.08 * side.c @ (share * (1.0 - share)))


def evidence(right: Any, left: Any, n: float) -> float:
    """The e-value against symmetry."""
    total, weights, last = 0.0, 0.0, 1.0
    for d in sorted([*right.low, *left.low], reverse=True):
        (up, doubt), (down, other) = count_beyond(right, d), count_beyond(left, d)
        if d <= 0.0 or up + down > n / 3.0:
            break
        if up + down >= 2.0 * last:
            last = k = up + down
            half = 0.5 * max(abs(up - down) - doubt - other, 0.0)
            log_b = special.betaln(0.5 * k + half + 0.5, 0.5 * k - half + 0.5) - math.log(math.pi)
            total += d * math.sqrt(k) * math.exp(log_b + k * math.log(2.0))
            weights += d * math.sqrt(k)
    t2 = (right.c @ right.x) ** 2 / (right.c @ right.x**2)
    return 0.75 * (total / weights if weights else 1.0) + 0.25 * math.sqrt(0.2) * math.exp(min(0.4 * t2, 300))


def fit_excesses(y: Floats, c: Floats, w: Floats) -> Any:
    """The posterior of log b and the index above the least, its mode, and moments of log E Y and eta."""
    k, mean = c.sum(), c @ y / c.sum()
    log_b = np.linspace(-math.log(mean) - 12.0, -math.log(mean) + 12.0, 2400)
    v = 1.0 + np.exp(log_b)[:, None] * y
    r, own = np.exp(log_b)[:, None] * w / v, c * np.log(v)
    sums = (own - np.where(r < 1.0, np.minimum((c - 1.0) * r * r / 24.0, 0.5 * own), 0.0)).sum(axis=1)
    a, scale = k + 10.0, 1.0 / (sums + 5.0)
    log_p = k * (log_b + math.log(k * mean)) - sums + a * np.log(scale)
    log_p += stats.gamma.logsf(MIN_INDEX, a, scale=scale)
    p = np.exp(log_p - log_p.max())
    heavy = log_p.max() + math.log(p.sum() * (log_b[1] - log_b[0])) + 10.0 * math.log(5.0)
    heavy += math.lgamma(k + 10.0) - math.lgamma(k) - math.lgamma(10.0)
    log_b, scale, p = log_b[p > 1e-9], scale[p > 1e-9], p[p > 1e-9]
    levels, above = (np.arange(200) + 0.5) / 200.0, stats.gamma.sf(MIN_INDEX, a, scale=scale)
    index = stats.gamma.isf(levels * above[:, None], a, scale=scale[:, None])
    p = np.broadcast_to(p[:, None] / p.sum() / 200.0, index.shape)
    eta, best = np.log(index - 1.0), int(p[:, 0].argmax())
    value = -log_b[:, None] - eta
    fit = SimpleNamespace(mean=mean, k=k, b=math.exp(log_b[best]), index=index[best].mean())
    fit.log_excess, fit.eta = (p * value).sum(), (p * eta).sum()
    fit.log_error = math.sqrt((p * (value - fit.log_excess) ** 2).sum())
    fit.skew = float(np.clip((p * (value - fit.log_excess) ** 3).sum() / fit.log_error**3, -2.0, 2.0))
    fit.eta_variance = (p * (eta - fit.eta) ** 2).sum()
    fit.covariance = (p * (eta - fit.eta) * (value - fit.log_excess)).sum()
    shape = min(0.01 + max(c @ y**2 / k / mean**2 - 1.0, 0.0) * k / max(k - 1.0, 1.0), 1.0)
    light = (k - 1.0) * (-0.5 * math.log(shape) - 0.42 * (1.0 - shape))
    fit.light, fit.error = special.expit(math.log(0.1) + light - heavy), mean * math.sqrt(shape / k)
    return fit


def misfit(floor: Floats, c: Floats, fit: Any) -> float:
    """The likelihood ratio of the counts of bins, in standard deviations from its mean."""
    ratio, groups, seen, before = 0.0, 0, 0.0, 0.0
    for count, beyond in zip(c, fit.k * (1.0 + fit.b * np.maximum(floor, 0.0)) ** -fit.index, strict=True):
        seen += count
        if beyond - before >= 3.0 or beyond == fit.k:
            ratio += 2.0 * (special.xlogy(seen, seen / (beyond - before)) - seen + beyond - before)
            groups, before, seen = groups + 1, beyond, 0.0
    freedom = max(groups - 3.0, 1.0)
    return float((ratio - freedom) / math.sqrt(2.0 * freedom))


def fit_tail(side: Any, n: float) -> bool:
    """Fit the tail of a side; return whether it begins at a gap."""
    limit, gap, counts = 0, False, np.cumsum(side.c)
    for i in range(len(side.x) - 1):
        if counts[i] > (0.3 if i == 0 else 0.2) * n + 1e-9 or gap:
            break
        limit = i + 1
        ratio = side.low[i] / max(side.high[limit], 1e-9 * abs(side.low[i]))
        gap = ratio > 1.5 and MIN_INDEX * counts[i] * math.log(ratio) > math.log(200.0)
    target, low, high = min(12.0, 0.2 * n), -math.inf, math.inf
    while target <= 0.2 * n and side.used < limit:
        used = 0
        while used < limit and (counts[used] <= target or 3.0 * (counts[used] - side.c[used]) < target):
            used += 1
        target *= 2.0
        if used == side.used:
            continue
        edge = side.floor[used - 1]
        if gap and used == limit:
            edge = max(side.high[used], side.x[used - 1] / math.sqrt(2.0))
        c = side.c[:used]
        fit = fit_excesses(side.x[:used] - edge, c, (side.high - side.low)[:used])
        apart = not low <= 1.0 / fit.index <= high
        if side.used and (apart or (fit.k >= 24.0 and misfit(side.floor[:used] - edge, c, fit) > 3.0)):
            break
        error = (1.5 if fit.k < 3.0 * math.sqrt(n) else 1.0) * (1.0 + 1.0 / fit.index) / math.sqrt(fit.k)
        low, high = max(low, 1.0 / fit.index - error), min(high, 1.0 / fit.index + error)
        vars(side).update(vars(fit), used=used, edge=edge)
    return gap


def excess(side: Any, z: float) -> float:
    """The mean excess at a normal score."""
    logs = side.log_excess + z * (1.0 + math.copysign(0.173, z) * side.skew) * side.log_error
    return float(side.light * max(side.mean + z * side.error, 0.0) + (1.0 - side.light) * math.exp(logs))


def summarise(x: Floats, middle: float, error: float, freedom: float) -> Any:
    """The probability of the skewed posterior, its centre, and quantiles of the mean by their probability."""
    n, right, left = float(len(x)), list_side(x, middle), list_side(-x, -middle)
    gaps = [fit_tail(side, n) for side in (right, left)]
    tails, shared = [(side, sign) for side, sign in ((right, 1.0), (left, -1.0)) if side.used], 0.0
    if len(tails) == 2 and max(right.light, left.light) <= 0.5:
        d, v = right.eta - left.eta, right.eta_variance + left.eta_variance
        p = special.expit(0.5 * math.log((v + 1.0) / v) - 0.5 * d * d * (1.0 / v - 1.0 / (v + 1.0)))
        shared = 2.0 * p * v
        for side, sign in tails:
            slope = sign * side.covariance / v
            side.log_error = math.sqrt(side.log_error**2 - p * slope**2 * (v - (1.0 - p) * d * d))
            side.log_excess -= p * slope * d
            shared *= slope
    body = slice(right.used, len(right.x) - left.used)
    count, b = right.c[body].sum(), right.c[body] @ right.x[body] / right.c[body].sum()
    spread = math.sqrt(right.c[body] @ (right.x[body] - b) ** 2 / (count * (count - 1.0)))
    ends = [(side.k, sign, sign * (side.edge + excess(side, 0.0)), side) for side, sign in tails]
    centre = (count * b + sum(k * at for k, _, at, _ in ends)) / n

    def skewed(z: float) -> float:
        t = math.copysign(
            math.sqrt((n - 1.0) * math.expm1((z * (8 * n - 5) / (8 * n - 7)) ** 2 / (n - 1.0))), z
        )
        squares, product = t * t * count / n * (count / n * spread**2 + (b - centre) ** 2 / n), shared
        for k, sign, at, side in ends:
            own, more = k / n * (excess(side, sign * z) - excess(side, 0.0)), k + min(max(sign * z, 0.0), 1.0)
            cube = more * max(1.0 - 1.0 / (9.0 * more) + sign * z / (3.0 * math.sqrt(more)), 0.0) ** 3
            squares += own**2 + ((at - centre) * (cube - k) / n) ** 2
            product *= abs(own) / side.log_error
        reach = math.sqrt(max(squares + product, 0.3 * squares) if product < 0.0 else squares)
        return middle + right.unit * (centre + math.copysign(reach, z))

    width = (skewed(1.645) - skewed(-1.645)) / (2.0 * stats.t.isf(0.05, freedom) * error)
    odds = max(1.0 / max(width - 1.0, 1e-6), float(any(gaps))) * evidence(right, left, n)
    p = odds / (1.0 + odds)

    def quantile(level: float) -> float:
        def apart(z: float) -> float:
            by_symmetry = stats.t.cdf((skewed(z) - middle) / error, freedom)
            return float(p * stats.norm.cdf(z) + (1.0 - p) * by_symmetry - level)

        return skewed(optimize.brentq(apart, -15.0, 15.0))

    return SimpleNamespace(p=p, centre=middle + right.unit * centre, quantile=quantile)
