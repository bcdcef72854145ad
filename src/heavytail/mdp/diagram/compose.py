"""The graph of an MDP with everything in its place, in inches, before any of it is drawn."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.mdp.diagram.arrows import RADIUS, Edges, route_arrows, sample_curve
from heavytail.mdp.diagram.contents import (
    REWARD_KINDS,
    Arrow,
    MeanReward,
    RewardKind,
    find_terminal_states,
    list_arrows,
    list_mean_rewards,
)
from heavytail.mdp.diagram.labels import (
    Label,
    along_curve,
    around_state,
    behind_arrow,
    measure_size,
    measure_width,
    place_labels,
)
from heavytail.mdp.diagram.layouts import Layout, choose_layout
from heavytail.mdp.diagram.style import REWARD_STYLES, action_style
from heavytail.mdp.diagram.text import format_arrow, format_number, format_rewards
from heavytail.mdp.mdp import MDP

MIN_COMMON = 8  # states with the same label, from which on it is written once
EDGE = 0.16  # around everything, for lines and the dots at ends


class Diagram(NamedTuple):
    """All that is in the graph."""

    n_actions: int
    arrows: list[Arrow]
    edges: Edges
    centers: Floats  # [S, 2]
    kinds: list[RewardKind]  # of the states
    terminal: set[int]
    labels: list[Label]
    places: Floats  # [L, 2] centres of the labels
    common: str  # the label of many states, written once
    state_names: tuple[str, ...] = ()  # where states have names of their own
    action_names: tuple[str, ...] = ()

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the lower left and the upper right corner."""
        halves = np.array([measure_size(label.lines) / 2 for label in self.labels]).reshape(-1, 2)
        boxes = ((self.centers, np.array(RADIUS)), (self.places, halves))
        corners = [center + sign * half for center, half in boxes for sign in (-1, 1)]
        everything = np.concatenate([*corners, *_sample_curves(self.edges)])
        return everything.min(axis=0) - EDGE, everything.max(axis=0) + EDGE


def layout_diagram(mdp: MDP, layout_name: str | None) -> Diagram:
    """Lay out the states of an MDP's first stage, route its arrows, and find places for its labels."""
    arrows, rewards = list_arrows(mdp), list_mean_rewards(mdp)
    texts = [format_arrow(arrow, mdp.n_actions) for arrow in arrows]
    between = (text for arrow, text in zip(arrows, texts, strict=True) if arrow.target != arrow.source)
    layout = choose_layout(arrows, mdp.n_states, layout_name, max(map(measure_width, between), default=0.0))
    edges = route_arrows(arrows, layout, mdp.start_states.tolist())
    curves = _sample_curves(edges)
    state_lines = [format_rewards(each, mdp.n_actions) for each in rewards]
    common = common_label(state_lines)
    labels = [
        *_label_states(rewards, state_lines, common, layout),
        *_label_arrows(arrows, texts, curves, mdp.n_actions),
        *_label_starts(mdp, edges, curves),
    ]
    # A label inside a loop would seem to belong to it.
    loops = [curves[i] for i, arrow in enumerate(arrows) if arrow.target == arrow.source]
    inside = [(curve + curve[::-1]) / 2 for curve in loops]
    return Diagram(
        n_actions=mdp.n_actions,
        arrows=arrows,
        edges=edges,
        centers=layout.positions,
        kinds=[max((r.kind for r in each), key=REWARD_KINDS.index, default="nothing") for each in rewards],
        terminal=find_terminal_states(mdp),
        labels=labels,
        places=place_labels(labels, layout.positions, [*curves, *inside]),
        common=f"where nothing is noted: {', '.join(common)}" if common else "",
    )


def _sample_curves(edges: Edges) -> list[Floats]:
    """Return points along all arrows, those into the start states last."""
    return [sample_curve(controls) for controls in (*edges.curves, *edges.starts.values())]


def common_label(labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the label that very many states would carry, if all states carry one."""
    label, count = Counter(labels).most_common(1)[0]
    return label if count >= MIN_COMMON and () not in labels else ()


def _label_states(
    rewards: list[list[MeanReward]], texts: list[tuple[str, ...]], common: tuple[str, ...], layout: Layout
) -> Iterator[Label]:
    for s, (each, lines) in enumerate(zip(rewards, texts, strict=True)):
        if lines and lines != common:
            colours = tuple(REWARD_STYLES[reward.kind].ink for reward in each)[: len(lines)]
            candidates = around_state(layout.positions[s], layout.label_angles[s], lines)
            yield Label(lines, colours, *candidates, curve=-1)


def _label_arrows(
    arrows: list[Arrow], texts: list[str], curves: list[Floats], n_actions: int
) -> Iterator[Label]:
    for i, (arrow, text) in enumerate(zip(arrows, texts, strict=True)):
        if text:
            colour = action_style(arrow.actions, n_actions).colour
            candidates = along_curve(curves[i], (text,), loop=arrow.source == arrow.target)
            yield Label((text,), (colour,), *candidates, curve=i)


def _label_starts(mdp: MDP, edges: Edges, curves: list[Floats]) -> Iterator[Label]:
    """Yield the probabilities of several start states."""
    start = mdp.start
    for i, s in enumerate(edges.starts, start=len(edges.curves)):
        if start[s] < 1.0:
            lines = (format_number(start[s]),)
            yield Label(lines, ("black",), *behind_arrow(curves[i], lines), curve=i)
