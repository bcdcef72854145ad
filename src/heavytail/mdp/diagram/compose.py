"""The graph of an MDP with everything in its place, in inches, before any of it is painted."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.mdp.diagram.arrows import RADIUS, Routes, route
from heavytail.mdp.diagram.contents import (
    PAYS,
    Arrow,
    Pay,
    Payment,
    arrow_in_words,
    arrows_of,
    number_in_words,
    payment_lines,
    payments_of,
    terminal_states,
)
from heavytail.mdp.diagram.labels import (
    Label,
    along_curve,
    around_state,
    behind_arrow,
    place,
    size_of,
    width_of,
)
from heavytail.mdp.diagram.layouts import Layout, lay_out
from heavytail.mdp.diagram.style import INK, action_style
from heavytail.mdp.mdp import MDP

OFTEN = 8  # states with the same label, from which on it is said once
EDGE = 0.16  # around everything, for lines and the dots at ends


class Drawing(NamedTuple):
    """All that is in the graph."""

    n_actions: int
    arrows: list[Arrow]
    routes: Routes
    centers: Floats  # [S, 2]
    pays: list[Pay]  # of the states
    terminal: set[int]
    labels: list[Label]
    places: Floats  # [L, 2] centres of the labels
    common: str  # what is said once of many states

    def bounds(self) -> tuple[Floats, Floats]:
        """The lower left and the upper right corner."""
        halves = np.array([size_of(label.lines) / 2 for label in self.labels]).reshape(-1, 2)
        points = [
            self.centers - RADIUS,
            self.centers + RADIUS,
            *self.routes.curves,
            *self.routes.starts.values(),
        ]
        corners = np.concatenate([*points, self.places - halves, self.places + halves])
        return corners.min(axis=0) - EDGE, corners.max(axis=0) + EDGE


def compose(mdp: MDP, layout_name: str | None) -> Drawing:
    """Read the first stage of an MDP, lay its states out, route its arrows, and find places for its words."""
    arrows, payments = arrows_of(mdp), payments_of(mdp)
    room = max(
        (width_of(arrow_in_words(arrow, mdp.n_actions)) for arrow in arrows if arrow.target != arrow.source),
        default=0.0,
    )
    layout = lay_out(arrows, mdp.n_states, layout_name, room)
    routes = route(arrows, layout, mdp.start_states.tolist())
    often = _said_once(payments, mdp.n_actions)
    labels = (
        _state_labels(payments, often, layout, mdp.n_actions)
        + _arrow_labels(arrows, routes, mdp.n_actions)
        + _start_labels(mdp, routes)
    )
    inside = [
        (curve + curve[::-1]) / 2
        for arrow, curve in zip(arrows, routes.curves, strict=True)
        if arrow.source == arrow.target
    ]
    curves = [
        *routes.curves,
        *routes.starts.values(),
        *inside,
    ]  # words inside a loop would seem to belong to it
    return Drawing(
        n_actions=mdp.n_actions,
        arrows=arrows,
        routes=routes,
        centers=layout.positions,
        pays=[max((p.pay for p in each), key=PAYS.index, default="nothing") for each in payments],
        terminal=terminal_states(mdp),
        labels=labels,
        places=place(labels, layout.positions, curves),
        common=f"where nothing is noted: {', '.join(often)}" if often else "",
    )


def _said_once(payments: list[list[Payment]], n_actions: int) -> tuple[str, ...]:
    """The label that very many states would carry."""
    counts = Counter(tuple(payment_lines(each, n_actions)) for each in payments)
    lines, count = counts.most_common(1)[0]
    return lines if count >= OFTEN and () not in counts else ()


def _state_labels(
    payments: list[list[Payment]], often: tuple[str, ...], layout: Layout, n_actions: int
) -> list[Label]:
    labels = []
    for s, each in enumerate(payments):
        lines = tuple(payment_lines(each, n_actions))
        if lines and lines != often:
            colours = tuple(INK[p.pay] for p in each)[: len(lines)]
            labels.append(
                Label(lines, colours, *around_state(layout.positions[s], layout.words[s], lines), curve=-1)
            )
    return labels


def _arrow_labels(arrows: list[Arrow], routes: Routes, n_actions: int) -> list[Label]:
    labels = []
    for i, arrow in enumerate(arrows):
        if words := arrow_in_words(arrow, n_actions):
            colour = action_style(arrow.actions, n_actions).colour
            labels.append(
                Label(
                    (words,),
                    (colour,),
                    *along_curve(routes.curves[i], (words,), loop=arrow.source == arrow.target),
                    curve=i,
                )
            )
    return labels


def _start_labels(mdp: MDP, routes: Routes) -> list[Label]:
    """The probabilities of several start states."""
    start, labels = mdp.start, []
    for k, (s, curve) in enumerate(routes.starts.items()):
        if start[s] < 1.0:
            lines = (number_in_words(start[s]),)
            labels.append(Label(lines, ("black",), *behind_arrow(curve, lines), curve=len(routes.curves) + k))
    return labels
