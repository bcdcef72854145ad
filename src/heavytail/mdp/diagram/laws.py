"""The random reward laws of an MDP: those that differ only in location together, in one small picture."""

from collections import defaultdict
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heavytail.arrays import Floats
from heavytail.laws.constant import Constant, constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law, laws_from_table
from heavytail.laws.table import law_table
from heavytail.mdp.diagram.contents import (
    classify_law,
    format_actions,
    format_integers,
    format_number,
    list_slots,
)
from heavytail.mdp.diagram.style import INKS
from heavytail.mdp.logged_mdp import LoggedMDP
from heavytail.mdp.mdp import MDP

LAW_WIDTH, LAW_HEIGHT = 5.0, 2.1  # of one family, in inches
MAX_CURVES, MAX_ATOMS, MAX_NAMED = 8, 20, 6
DRAWS = 100_000
FONT_SIZE = 7.5


class LawFamily(NamedTuple):
    """Laws that differ only in their location, by ascending mean, and what is said of them."""

    laws: list[Law]
    about: str


def group_laws(mdp: MDP) -> list[LawFamily]:
    """Return the families of the random laws of the first step, heavy-tailed ones first."""
    laws = laws_from_table(mdp.laws)
    alike: dict[tuple[str, bytes], dict[int, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for slot in sorted(list_slots(mdp), key=lambda slot: slot.law):
        if not isinstance(law := laws[slot.law], Constant):
            centred = replace(law, loc=0.0)  # type: ignore[type-var]  # every law is a dataclass
            shape = law.name, repr(centred.row()).encode() + centred.data().tobytes()
            alike[shape][slot.law].add((slot.state, slot.action))
    families = []
    for cells in alike.values():
        family = sorted((laws[i] for i in cells), key=lambda law: law.mean())
        where = _say_where(set().union(*cells.values()), mdp.n_actions)
        families.append(LawFamily(family, f"{_describe(family)}; {where}"))
    return sorted(families, key=lambda family: classify_law(family.laws[0]) != "heavy")


def _describe(laws: list[Law]) -> str:
    tail = (
        f"tail index {format_number(laws[0].tail_index)}"
        if laws[0].tail_index < np.inf
        else "all moments finite"
    )
    tail += ", infinite variance" if laws[0].tail_index <= 2.0 else ""
    told = f"{n:,} samples" if (n := len(laws[0].data())) else tail
    means = list(dict.fromkeys(format_number(law.mean()) for law in laws))
    shown = ", ".join(means) if len(means) <= MAX_NAMED else f"{means[0]} to {means[-1]}"
    return f"{laws[0].name}, {told}\nmean{'s' * (len(means) > 1)} {shown}"


def _say_where(cells: set[tuple[int, int]], n_actions: int) -> str:
    by_state: dict[int, list[int]] = defaultdict(list)
    for s, a in sorted(cells):
        by_state[s].append(a)
    whole = [s for s, actions in by_state.items() if len(actions) == n_actions]
    parts = [format_integers(whole)] if whole else []
    parts += [f"{s} ({format_actions(by_state[s], n_actions)})" for s in by_state if s not in whole]
    others = " and others" if len(parts) > MAX_NAMED else ""
    return f"in state{'s' * (len(by_state) > 1)} {', '.join(parts[:MAX_NAMED])}{others}"


def pool_laws(log: LoggedMDP) -> MDP:
    """Return the MDP of a log with one law for each state and action, of all rewards that it earned."""
    mdp, laws = log.mdp, laws_from_table(log.mdp.laws)
    rows = mdp.rows()
    visits = np.rint(mdp.probabilities() * log.counts.ravel()[rows]).astype(np.int64)
    earned: dict[int, list[Floats]] = defaultdict(list)
    for row, i, n in zip(rows.tolist(), mdp.law.tolist(), visits.tolist(), strict=True):
        earned[row].append(data if len(data := laws[i].data()) else np.full(max(n, 1), laws[i].mean()))
    pooled = [np.concatenate(earned[row]) for row in range(len(mdp.row_means))]
    each = [empirical(rewards) if np.ptp(rewards) else constant(float(rewards[0])) for rewards in pooled]
    return mdp._replace(law=rows.astype(np.uint32), laws=law_table(each))


# Drawing


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add axes to a figure; all lengths are in inches."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def draw_family(figure: Figure, family: LawFamily, left: float, top: float) -> None:
    """Draw what is said of some laws, and below it their probabilities, or their densities and tail."""
    colour, n = INKS[classify_law(family.laws[0])], len(family.laws)
    ruler = figure.dpi_scale_trans
    figure.text(left + 0.3, top, family.about, fontsize=8.0, color=colour, va="top", transform=ruler)
    chosen = np.linspace(0, n - 1, min(n, MAX_CURVES)).round().astype(int)
    samples = [family.laws[k].sample(DRAWS) for k in chosen]
    values, counts = np.unique(samples[0], return_counts=True)
    values, probabilities = family.laws[0].atoms() or (values, counts / DRAWS)
    if len(values) <= MAX_ATOMS:
        below = f"reward; 1 of {n} laws drawn" if n > 1 else "reward"
        axes = _add_titled_axes(figure, left + 0.6, top, 4.2, "probability", below)
        _draw_atoms(axes, values, probabilities, colour)
        return
    axes = _add_titled_axes(figure, left + 0.3, top, 2.7, "density", "reward")
    _draw_densities(axes, samples, n, colour)
    axes = _add_titled_axes(figure, left + 3.5, top, 1.3, "P(|reward − median| > x)", "x (dashed: normal)")
    _draw_tail(axes, samples[0], colour)


def _add_titled_axes(figure: Figure, left: float, top: float, width: float, title: str, below: str) -> Axes:
    axes = add_axes(figure, left, top - LAW_HEIGHT + 0.5, width, LAW_HEIGHT - 1.05)
    axes.set_title(title, loc="left", fontsize=FONT_SIZE, pad=2.0)
    axes.set_xlabel(below, fontsize=FONT_SIZE, labelpad=1.5)
    axes.tick_params(labelsize=FONT_SIZE - 0.5)
    return axes


def _draw_densities(axes: Axes, samples: list[Floats], n: int, colour: str) -> None:
    """Draw histograms where most of the draws are, and say how many are beyond."""
    low, quarter, half, three_quarters, high = np.quantile(samples, [0.001, 0.25, 0.5, 0.75, 0.999]).tolist()
    spread = three_quarters - quarter or high - low or 1.0  # most draws may be equal
    lower, upper = max(low, half - 3.2 * spread), min(high, half + 3.2 * spread)
    for each in samples:
        heights, edges = np.histogram(each, 60, (lower, upper))
        axes.stairs(heights, edges, fill=True, color=colour, alpha=1.0 / (2 + len(samples)))
    axes.set(xlim=(lower, upper), yticks=[])
    outside = np.mean((samples[0] < lower) | (samples[0] > upper))
    more = f"; {len(samples)} of {n} laws drawn" if n > len(samples) else ""
    axes.set_xlabel(f"reward ({outside:.1%} of draws lie outside){more}")


def _draw_tail(axes: Axes, samples: Floats, colour: str) -> None:
    """Draw the probability of being farther from the median than x, beside that of a normal law as wide."""
    levels = np.geomspace(0.5, 1e-4, 60)
    x = np.quantile(np.abs(samples - np.median(samples)), 1.0 - levels)
    normal = np.array([NormalDist().inv_cdf(1.0 - level / 2) for level in levels])
    axes.loglog(x[x > 0], levels[x > 0], color=colour)
    axes.loglog(x[0] * normal / normal[0], levels, color="#999999", linestyle="--")
    axes.minorticks_off()


def _draw_atoms(axes: Axes, values: Floats, probabilities: Floats, colour: str) -> None:
    """Draw the values of a discrete law, on a logarithmic axis because the rare ones matter."""
    floor = float(probabilities[probabilities > 0].min()) / 3
    axes.stem(values, probabilities, linefmt=colour, basefmt=" ", bottom=floor)
    axes.set(yscale="log", ylim=(floor, 2.0))
    axes.minorticks_off()
    for value, p in zip(values, probabilities, strict=True) if len(values) <= MAX_NAMED else ():
        text = f"  {format_number(value)} with probability {format_number(p)}  "
        side = "left" if value <= values.mean() else "right"
        axes.text(value, p, text, ha=side, va="center", fontsize=FONT_SIZE)
