"""Diagrams of small MDPs: the graph of the transitions, and beside it the reward laws.

>>> import heavytail as ht
>>> from heavytail.mdp.diagram import draw_mdp
>>> figure = draw_mdp(ht.make_mdp("two_state"), title="two_state")
>>> type(figure).__name__
'Figure'

Neither pyplot nor global state is used: it works without a screen and in threads.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch
from matplotlib.path import Path

from heavytail.arrays import Floats
from heavytail.errors import InputError, short_text
from heavytail.mdp.diagram.contents import (
    END,
    START,
    Arrow,
    find_terminal_states,
    format_arrow,
    group_laws,
    list_arrows,
    list_rewards,
    pool_laws,
)
from heavytail.mdp.diagram.layouts import choose_layout
from heavytail.mdp.from_log import LoggedMDP
from heavytail.mdp.mdp import MDP

__all__ = ["draw_mdp"]

MAX_STATES, MAX_FAMILIES, MAX_NAME = 40, 6, 24  # the last: characters of a label
MIN_COMMON = 8  # states with the same rewards, from which on these are written once
RADIUS, STUB = 0.25, 0.65  # inches from the centre of a state
LOOP, LOOP_TURN = 0.85, 27.0  # how far out its control points are, and how many degrees to either side
GAP = 0.41  # between the control points of arrows that connect the same states
DETOUR = 0.35  # bend of an arrow that would cross a third state, relative to its length
ROOM = 60.0  # degrees that a loop, a stub or a note has to the next arrow, where there is room
MARGIN = np.array([1.6, 0.85])  # around the centres of the states
MIN_WIDTH, LAW_WIDTH, LAW_HEIGHT = 4.5, 5.0, 2.1  # inches
HEADER, FOOTER, LEGEND_ROW = 0.55, 0.3, 0.23
SMALL = 8.0

# Action 0 is dashed and action 1 solid, as in both figures of the paper.
DASHES = ((4, 2), (), (1.2, 1.3), (5, 1.5, 1.2, 1.5), (8, 2), (4, 1.2, 1, 1.2, 1, 1.2))
COLOURS = ("#0072B2", "#B35900", "#00875F", "#B0528A", "#7A5CC8", "#5E7A00")
ANY, SEVERAL = "black", "#777777"  # arrows of all actions, and of some
# Of each kind of reward: the colours of texts and circles, and the name in the legend.
INKS = {"nothing": "#444444", "fixed": "#444444", "random": "#0060A0", "heavy": "#C22F00"}
FILLS = {"nothing": "white", "fixed": "#DDDDDD", "random": "#C9E3F5", "heavy": "#FBCDB8"}
MEANINGS = {"fixed": "fixed reward", "random": "random reward", "heavy": "heavy-tailed reward"}


def draw_mdp(mdp: MDP | LoggedMDP, *, title: str = "", layout: str | None = None) -> Figure:
    """Draw the transitions and the reward laws of an MDP.

    States are circles, tinted where they give rewards; a short arrow leads into each start state, and an
    episode ends at a double ring or a dot. Each action has its line; actions with the same successor and
    probability share an arrow, which names them. Certain transitions carry no number.

    Args:
        mdp: an MDP of at most 40 states; of one that depends on the step, the first step is drawn. One from a
            log has its labels in the legend.
        title: above the picture.
        layout: "chain", "star", "double_chain", "grid", "tree" or "circle"; None chooses by how the states
            are connected.
    """
    log, mdp = (mdp, mdp.mdp) if isinstance(mdp, LoggedMDP) else (None, mdp)
    if mdp.n_states > MAX_STATES:
        raise InputError(f"this MDP has {mdp.n_states:,} states; a picture shows at most {MAX_STATES}")
    if mdp.n_stages > 1:
        title = f"{title} (step 0 of {mdp.n_stages})" if title else f"step 0 of {mdp.n_stages}"
    graph = _Graph(mdp, layout)
    families = group_laws(pool_laws(log) if log else mdp)
    shown = families[:MAX_FAMILIES]
    width, height = np.maximum(np.ptp(graph.positions, axis=0) + 2 * MARGIN, (MIN_WIDTH, 0.0))
    rows = max(1, int(height / LAW_HEIGHT), min(len(shown), 3))
    columns = math.ceil(len(shown) / rows)
    laws_width, height = LAW_WIDTH * columns, max(height, LAW_HEIGHT * min(rows, len(shown)))
    handles = graph.list_handles(log)
    widest = 0.09 * max(len(str(handle.get_label())) for handle in handles) + 0.6
    ncols = max(1, int((width + laws_width) / widest))
    footer = FOOTER + LEGEND_ROW * math.ceil(len(handles) / ncols)

    figure = Figure((width + laws_width, HEADER + height + footer))
    parts: Any = figure.subfigures(3, 1, height_ratios=(HEADER, height, footer))
    header, body, below = parts
    header.text(0.01, 0.75, title, va="top", fontsize=12.0, weight="bold")
    subtitle = _describe(mdp, graph.common, len(families))
    header.text(0.01, 0.15, subtitle, fontsize=SMALL, color="#555555")
    if shown:
        body, laws = body.subfigures(1, 2, width_ratios=(width, laws_width))
        parts = np.ravel(laws.subfigures(rows, columns, squeeze=False), order="F")
        for (kind, law, about), part in zip(shown, parts, strict=False):
            law.plot(part)
            part.suptitle(about, x=0.02, ha="left", fontsize=SMALL, color=INKS[kind])
    graph.draw(body.add_axes((0.0, 0.0, 1.0, 1.0)), width, height)
    below.legend(handles=handles, ncols=ncols, loc="center left", frameon=False, fontsize=SMALL)
    return figure


def _describe(mdp: MDP, common: str, n_families: int) -> str:
    more = n_families - MAX_FAMILIES
    parts = [
        f"{_count(mdp.n_states, 'state')}, {_count(mdp.n_actions, 'action')}",
        f"episodes of {_count(mdp.horizon, 'step')}" if mdp.horizon else "continuing",
        "" if n_families else "all rewards are fixed",
        f"where nothing is noted: {', '.join(common.splitlines())}" if common else "",
        f"{more} more kinds of laws are not drawn" if more > 0 else "",
    ]
    return "; ".join(filter(None, parts))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n > 1)}"


class _Graph:
    """States and arrows on axes whose unit is about an inch.

    Parts of a single state (a loop, a stub, the note of its rewards) are drawn outward from it, where the
    arrows to other states leave room.
    """

    def __init__(self, mdp: MDP, layout_name: str | None) -> None:
        self.n_actions = mdp.n_actions
        self.arrows, self.rewards = list_arrows(mdp), list_rewards(mdp)
        self.terminal = find_terminal_states(mdp)
        _, self.positions, self.outward = choose_layout(self.arrows, mdp.n_states, layout_name)
        notes = [note for _, note in self.rewards]
        common, count = Counter(notes).most_common(1)[0]
        self.common = common if count >= MIN_COMMON and all(notes) else ""
        self.taken: dict[int, list[float]] = defaultdict(list)  # directions at each state, in degrees

    def draw(self, axes: Axes, width: float, height: float) -> None:
        """Draw on axes of about this size in inches."""
        left, top = self.positions[:, 0].min() - MARGIN[0], self.positions[:, 1].max() + MARGIN[1]
        axes.set(xlim=(left, left + width), ylim=(top - height, top), aspect="equal", anchor="NW")
        axes.set_axis_off()
        self.circles = [
            Circle((x, y), RADIUS, facecolor=FILLS[kind], edgecolor="black", zorder=4)
            for (x, y), (kind, _) in zip(self.positions, self.rewards, strict=True)
        ]
        for arrow, bend in self._bends():
            self._connect(axes, arrow, bend)
        for arrow in self.arrows:
            if not _connects(arrow):
                self._attach(axes, arrow)
        for s, ((kind, note), (x, y)) in enumerate(zip(self.rewards, self.positions, strict=True)):
            axes.add_patch(self.circles[s])
            if s in self.terminal:
                axes.add_patch(Circle((x, y), RADIUS - 0.045, fill=False, zorder=5))
            axes.text(x, y, str(s), ha="center", va="center", fontsize=10.5, zorder=6)
            if note not in ("", self.common):
                angle, room = self._find_room(s, float(self.outward[s]))
                distance = RADIUS + 0.04 if room > 45.0 else STUB
                _write_beyond(axes, self.positions[s], angle, distance, note, INKS[kind])

    def _bends(self) -> Iterator[tuple[Arrow, float]]:
        """Yield each arrow between two states, and how far its control point lies to its left.

        All arrows between the same two states lie side by side.
        """
        between: dict[tuple[int, int], list[Arrow]] = defaultdict(list)
        for arrow in filter(_connects, self.arrows):
            between[min(arrow[:2]), max(arrow[:2])].append(arrow)
        for (first, _), arrows in between.items():
            forward = [arrow for arrow in arrows if arrow.source == first]
            back = [arrow for arrow in arrows if arrow.source != first]
            for k, arrow in enumerate([*reversed(forward), *back]):
                offset = GAP * ((len(arrows) - 1) / 2 - k)
                yield arrow, offset if arrow.source == first else -offset

    def _connect(self, axes: Axes, arrow: Arrow, bend: float) -> None:
        """Draw an arrow from state to state, curved if it would cross a third."""
        start, end = self.positions[arrow.source], self.positions[arrow.target]
        length = float(np.linalg.norm(end - start))
        left = np.array([start[1] - end[1], end[0] - start[0]]) / length
        others = np.delete(self.positions, [arrow.source, arrow.target], axis=0) - start
        along, beside = others @ (end - start) / length, others @ left
        if ((np.abs(beside) < RADIUS + 0.1) & (along > 0) & (along < length)).any():
            bend += math.copysign(DETOUR * length, bend)
        control = (start + end) / 2 + bend * left
        for s, center in ((arrow.source, start), (arrow.target, end)):
            self.taken[s].append(_direction(control - center))
        shape = {"posA": start, "posB": end, "connectionstyle": f"arc3,rad={-bend / length}", "shrinkB": 1.0}
        ends = {"patchA": self.circles[arrow.source], "patchB": self.circles[arrow.target]}
        self._add_arrow(axes, arrow, **shape, **ends)
        x, y = 0.36 * start + 0.48 * control + 0.16 * end  # nearer to the start, so that two ways differ
        text = axes.text(x, y, format_arrow(arrow, self.n_actions), color=self._colour(arrow), zorder=3)
        text.set(ha="center", va="center", fontsize=SMALL)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.9})

    def _attach(self, axes: Axes, arrow: Arrow) -> None:
        """Draw an arrow at one state: a loop, a stub into a start state, or the end of an episode."""
        s = max(arrow.source, arrow.target)
        center = self.positions[s]
        angle, _ = self._find_room(s, 180.0 if arrow.source == START else float(self.outward[s]))
        turns = (-LOOP_TURN, 0.0, LOOP_TURN) if arrow.source == arrow.target else (0.0,)
        self.taken[s] += [angle + turn for turn in turns]
        far = center + STUB * _unit(angle)
        if arrow.source == START:
            self._add_arrow(axes, arrow, posA=far, posB=center, patchB=self.circles[s], shrinkB=1.0)
        elif arrow.target == END:
            self._add_arrow(axes, arrow, posA=center, posB=far, patchA=self.circles[s], shrinkB=4.0)
            axes.plot(*far, "o", color="black", markersize=6, markerfacecolor="white", zorder=3)
            axes.plot(*far, "o", color="black", markersize=3, zorder=3)
        else:
            leave, enter = _unit(angle + LOOP_TURN), _unit(angle - LOOP_TURN)
            points = center + np.array([RADIUS * leave, LOOP * leave, LOOP * enter, (RADIUS + 0.02) * enter])
            codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
            self._add_arrow(axes, arrow, path=Path(points, codes))
        text = format_arrow(arrow, self.n_actions)
        _write_beyond(axes, center, angle, STUB + 0.1, text, self._colour(arrow))

    def _add_arrow(self, axes: Axes, arrow: Arrow, **shape: Any) -> None:
        colour, dashes = action_style(arrow.actions, self.n_actions)
        patch = FancyArrowPatch(arrowstyle="-|>", mutation_scale=13.0, **shape)
        patch.set(color=colour, linestyle=dashes, linewidth=1.1, zorder=1)
        axes.add_patch(patch)

    def _colour(self, arrow: Arrow) -> str:
        return action_style(arrow.actions, self.n_actions)[0]

    def _find_room(self, s: int, wanted: float) -> tuple[float, float]:
        """Return a direction near the wanted one with room, and how many degrees it has on each side."""

        def room(turn: float) -> float:
            gaps = [abs((wanted + turn - other + 180.0) % 360.0 - 180.0) for other in self.taken[s]]
            return min([ROOM, *gaps])

        turn = max(sorted(range(-180, 180, 15), key=abs), key=lambda turn: room(turn) - 0.1 * abs(turn))
        return wanted + turn, room(turn)

    def list_handles(self, log: LoggedMDP | None) -> list[Artist]:
        """Return the legend: lines of actions, of all where they have labels; marks; labels of states."""
        n, used = self.n_actions, {arrow.actions for arrow in self.arrows if arrow.source != START}
        names = [f"a{a}{name}" for a, name in enumerate(_short_names(log.actions) if log else [""] * n)]
        lines = [(action_style((a,), n), names[a]) for a in range(n) if log or (a,) in used]
        if n > 1 and tuple(range(n)) in used:
            lines.append(((ANY, "-"), "any action"))
        if any(1 < len(actions) < n for actions in used):
            lines.append(((SEVERAL, "-"), "as named"))
        handles: list[Artist] = [
            Line2D([], [], color=colour, linestyle=dashes, label=x) for (colour, dashes), x in lines
        ]
        kinds = {kind for kind, _ in self.rewards}
        for kind, meaning in MEANINGS.items():
            if kind in kinds:
                handles.append(Patch(facecolor=FILLS[kind], edgecolor="black", label=meaning))
        if any(arrow.target == END for arrow in self.arrows):
            handles.append(_make_mark("o", "end of the episode"))
        if self.terminal:
            handles.append(_make_mark("$◎$", "terminal state"))
        return handles + [
            _make_mark(f"${s}$", name[2:]) for s, name in enumerate(_short_names(log.states) if log else ())
        ]


def action_style(actions: Sequence[int], n_actions: int) -> tuple[str, Any]:
    """Return the colour and the line style of one action, of several, or of all."""
    if len(actions) > 1 or len(actions) == n_actions:
        return ANY if len(actions) == n_actions else SEVERAL, "-"
    a = actions[0]
    dashes = DASHES[(a + a // len(COLOURS)) % len(DASHES)]
    return COLOURS[a % len(COLOURS)], (0.0, dashes) if dashes else "-"


def _connects(arrow: Arrow) -> bool:
    return START != arrow.source != arrow.target != END


def _unit(angle: float) -> Floats:
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _direction(vector: Floats) -> float:
    return math.degrees(math.atan2(vector[1], vector[0]))


def _write_beyond(axes: Axes, center: Floats, angle: float, distance: float, text: str, colour: str) -> None:
    """Write a text that begins at some distance from a centre, and leads away from it."""
    to = _unit(angle)
    x, y = center + distance * to
    across = "center" if abs(to[0]) < 0.4 else "left" if to[0] > 0 else "right"
    up = "center" if abs(to[1]) < 0.4 else "bottom" if to[1] > 0 else "top"
    axes.text(x, y, text, color=colour, ha=across, va=up, fontsize=SMALL, linespacing=1.1, zorder=3)


def _short_names(labels: Sequence[Hashable]) -> list[str]:
    """Write labels as a legend can show them, which takes a dollar for mathematics."""
    texts = [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]
    return [": " + short_text(text, MAX_NAME).replace("$", r"\$") for text in texts]


def _make_mark(marker: str, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color="black", markersize=8, label=label)
