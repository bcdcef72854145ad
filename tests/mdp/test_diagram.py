import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, PathPatch
from matplotlib.transforms import Bbox

import heavytail as ht
from heavytail.mdp import MDP
from heavytail.mdp.diagram import MAX_STATES, draw_mdp, save_figure
from heavytail.mdp.diagram.contents import END, find_terminal_states, list_arrows, list_mean_rewards
from heavytail.mdp.diagram.law_families import group_laws
from heavytail.mdp.diagram.layouts import LAYOUTS, choose_layout
from heavytail.registry import own_builders
from support import mdps

SMALL: dict[str, dict[str, Any]] = {"deep_sea": {"size": 5}}
HEAVY = ht.laws.alpha_stable(1.1)

PICTURES: dict[str, Callable[[], MDP]] = {
    **{
        name: partial(ht.make_mdp, name, **SMALL.get(name, {}))
        for name in own_builders("env")
        if not name.startswith("changing_")
    },
    **{name: make for name, make in mdps.MDPS.items() if name != "infinite"},  # no law has such samples
    "six_arms strehl": lambda: ht.make_mdp("six_arms", probabilities="strehl"),
    "two_state heavy": lambda: ht.make_mdp("two_state", n_actions=10, law=HEAVY),
    "river_swim long": lambda: ht.make_mdp("river_swim", n_states=MAX_STATES, law=HEAVY),
    "deep_sea large": lambda: ht.make_mdp("deep_sea", size=6, seed=1, law=HEAVY),
    "double_chain self": lambda: ht.make_mdp("double_chain", symmetric=True, head="self"),
    "garnet 5": lambda: ht.make_mdp("garnet", n_states=5, law=HEAVY),
    "garnet 6": lambda: ht.make_mdp("garnet", n_states=6),
    "garnet of bernoullis": lambda: ht.make_mdp(
        "garnet", n_states=4, law=ht.laws.bernoulli(0.01, scale=10.0)
    ),
    "garnet of losses": lambda: ht.make_mdp(
        "garnet", n_states=3, law=ht.laws.empirical(np.maximum(np.arange(200.0) - 150, 0))
    ),
    "heavy_bandit tree": lambda: ht.make_mdp("heavy_bandit", n_leaves=4, n_actions=2),
    "heavy_bandit star": lambda: ht.make_mdp("heavy_bandit", n_leaves=4, n_actions=4),
    "one state": lambda: ht.mdp_from_arrays([[[1.0]]], [[0.0]]),
}


@cache
@cache
def picture(name: str) -> Figure:
    return draw_mdp(PICTURES[name](), title=name)


def ids(svg: Path) -> list[str]:
    # Written a line before.
    return [element.attrib["id"] for element in ET.parse(svg).iter() if "id" in element.attrib]  # noqa: S314


def shafts_by_id(figure: Figure) -> dict[str, PathPatch]:
    return {str(patch.get_gid()): patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)}


def texts_of_graph(figure: Figure) -> list[tuple[str, Bbox]]:
    """The texts of the graph, which is the first of the axes, with their places."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in figure.axes[0].texts]


def overlap(one: Bbox, other: Bbox) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_well_formed_and_names_every_state(name: str, tmp_path: Path) -> None:
    mdp = PICTURES[name]()
    names = ids(save_figure(picture(name), tmp_path / "picture.svg"))
    assert {f"state-{s}" for s in range(mdp.n_states)} <= set(names)
    assert {f"start-{s}" for s in mdp.start_states} <= set(names)
    assert sum(name.startswith("arrow-") for name in names) == len(list_arrows(mdp))


@pytest.mark.parametrize("name", PICTURES)
def test_labels_neither_overlap_nor_leave_the_graph(name: str) -> None:
    figure = picture(name)
    placed = texts_of_graph(figure)
    assert not [(a, b) for (a, one), (b, other) in combinations(placed, 2) if overlap(one, other)]
    graph = figure.axes[0].get_window_extent()
    assert all(
        graph.x0 <= box.x0 and box.x1 <= graph.x1 and graph.y0 <= box.y0 and box.y1 <= graph.y1
        for _, box in placed
    )
    for text in figure.texts:
        assert text.get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    "name",
    ["six_arms", "double_chain", "river_swim", "two_state", "heavy_bandit tree", "garnet 5", "garnet 6"],
)
def test_no_label_lies_on_a_state(name: str) -> None:
    figure = picture(name)
    numbers = [t for t in figure.axes[0].texts if t.get_gid()]
    labels = [
        (t, box)
        for t, (_, box) in zip(figure.axes[0].texts, texts_of_graph(figure), strict=True)
        if t not in numbers
    ]
    circles = [c.get_window_extent() for c in figure.axes[0].patches if isinstance(c, Circle)]
    for t, box in labels:
        for circle in circles:
            center, radius = np.array([circle.x0 + circle.x1, circle.y0 + circle.y1]) / 2, circle.width / 2
            nearest = np.clip(center, [box.x0, box.y0], [box.x1, box.y1])
            assert np.linalg.norm(center - nearest) > 0.97 * radius, t.get_text()


def test_the_two_state_mdp_has_the_arrows_of_the_paper() -> None:
    """In its figure 1 each action of state 0 has a loop and an arrow; in state 1 the actions are alike."""
    arrows = list_arrows(ht.make_mdp("two_state"))
    assert [(a.source, a.target, a.actions, a.low) for a in arrows] == [
        (0, 0, (0,), 0.85),
        (0, 0, (1,), 0.9),
        (0, 1, (0,), 0.15),
        (0, 1, (1,), 0.1),
        (1, 0, (0, 1), 0.1),
        (1, 1, (0, 1), 0.9),
    ]
    shafts = shafts_by_id(draw_mdp(ht.make_mdp("two_state")))
    assert [name for name in shafts if name.startswith("arrow-0-1")] == ["arrow-0-1-by-0", "arrow-0-1-by-1"]
    assert len(shafts) == len(arrows) + 1  # the start


def test_every_arrow_has_a_head() -> None:
    figure = picture("six_arms")
    heads = [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    assert len(heads) == len(shafts_by_id(figure))


def test_actions_differ_in_line_and_colour() -> None:
    shafts = shafts_by_id(draw_mdp(ht.make_mdp("double_chain")))
    dashed, solid = shafts["arrow-2-1-by-0"], shafts["arrow-2-3-by-1"]
    assert solid.get_linestyle() == "-" != dashed.get_linestyle()
    assert solid.get_edgecolor() != dashed.get_edgecolor()


def test_six_arms_stays_readable() -> None:
    """Six ways out, one loop for all that fail, six ways back, six loops, and the labels that say so."""
    for preset, loop in (("episodic", "a1–a5: 0.8"), ("strehl", "a1–a5: 0.85 to 0.99")):
        mdp = ht.make_mdp("six_arms", probabilities=preset)
        assert len(list_arrows(mdp)) == 6 + 1 + 6 + 6
        texts = [t.get_text() for t in draw_mdp(mdp).axes[0].texts]
        assert {loop, "a1–a5", "not a2", "a0–a4", "r(a2) = 1.4"} <= set(texts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("six_arms", "star"),
        ("double_chain", "double_chain"),
        ("double_chain self", "double_chain"),
        ("river_swim", "chain"),
        ("two_state", "chain"),
        ("one state", "chain"),
        ("deep_sea", "grid"),
        ("deep_sea large", "grid"),
        ("heavy_bandit tree", "tree"),
        ("heavy_bandit star", "star"),
        ("garnet 5", "circle"),
        ("garnet of bernoullis", "circle"),
    ],
)
def test_layouts_are_chosen_by_structure(name: str, expected: str) -> None:
    mdp = PICTURES[name]()
    assert choose_layout(list_arrows(mdp), mdp.n_states).name == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["six_arms", "garnet 6", "mixed", "one state", "deep_sea"])
def test_every_layout_takes_every_mdp(name: str, layout: str) -> None:
    mdp = PICTURES[name]()
    placed = choose_layout(list_arrows(mdp), mdp.n_states, layout)
    assert len({tuple(p) for p in placed.positions.round(6).tolist()}) == mdp.n_states
    assert draw_mdp(mdp, layout=layout).axes


def test_episodes_end_in_terminal_states_or_at_an_end_arrow() -> None:
    mixed, sea = mdps.mixed(), PICTURES["deep_sea"]()
    assert find_terminal_states(mixed) == {2}
    assert not [a for a in list_arrows(mixed) if a.source == 2]
    assert find_terminal_states(sea) == set()
    assert [(a.source, a.actions) for a in list_arrows(sea) if a.target == END] == [
        (s, (0, 1)) for s in range(20, 25)
    ]


def test_heavy_tailed_rewards_are_marked_and_described() -> None:
    mdp = ht.make_mdp("six_arms")
    assert [{r.kind for r in rewards} for rewards in list_mean_rewards(mdp)] == [
        set(),
        {"random"},
        *[{"heavy"}] * 5,
    ]
    heavy, light = group_laws(mdp)
    assert [law.name for law in heavy.laws] == ["alpha_stable"] * 5
    assert (heavy.kind, heavy.laws[0].tail_index, heavy.means) == ("heavy", 1.1, [1.2, 1.4, 1.6, 1.8, 2.0])
    assert [law.name for law in light.laws] == ["normal"]
    assert (light.kind, light.means, light.states) == ("random", [1.2], ["1 (a0)"])
    texts = [t.get_text() for t in draw_mdp(mdp).texts]
    assert "alpha_stable, tail index 1.1, infinite variance" in texts


def test_each_law_has_a_family_with_its_own_mean_and_tail_index() -> None:
    laws = sorted(
        (law for law in mdps.all_laws() if law.name != "constant"), key=lambda law: (law.name, law.mean())
    )
    families = group_laws(ht.mdp_from_arrays(np.ones((1, len(laws), 1)), laws=[laws]))
    families.sort(key=lambda family: (family.laws[0].name, family.means[0]))
    for family, law in zip(families, laws, strict=True):
        assert family.laws[0].name == law.name
        assert family.kind == ("heavy" if law.tail_index < np.inf else "random")
        np.testing.assert_allclose(
            [family.means[0], family.laws[0].tail_index], [law.mean(), law.tail_index], atol=1e-12
        )


def test_laws_that_differ_only_in_location_share_a_family() -> None:
    laws = [
        ht.laws.empirical([0.0, 1.0], loc=2.0),
        ht.laws.empirical([0.0, 1.0]),
        ht.laws.empirical([0.0, 3.0]),
    ]
    families = group_laws(ht.mdp_from_arrays(np.ones((1, 3, 1)), laws=[laws]))
    assert [family.means for family in families] == [[0.5, 2.5], [1.5]]


HEAVY_PLUGIN_LAW = """
import math
from dataclasses import dataclass
from typing import ClassVar
import heavytail as ht
from heavytail.laws.law import Law
from heavytail.laws.table import sampler
from heavytail.mdp.diagram import draw_mdp
from heavytail.registry import register

@dataclass(frozen=True)
class Lomax(Law):
    name: ClassVar[str] = "lomax"
    alpha: float
    loc: float = 0.0
    tail_index = property(lambda self: self.alpha)
    def mean(self): return self.loc + 1.0 / (self.alpha - 1.0)
    def row(self): return (self.alpha, self.loc)
    @classmethod
    def from_row(cls, row, data): return cls(float(row[0]), float(row[1]))
    def _moment(self, p, center): return math.nan

register("law", "lomax")(Lomax)

@sampler("lomax")
def draw(table, i, u, e):
    return table.parameters[i, 1] + math.exp(e / table.parameters[i, 0]) - 1.0

figure = draw_mdp(ht.mdp_from_arrays([[[1.0], [1.0]]], laws=[[Lomax(1.5), Lomax(1.5, loc=3.0)]]))
print("; ".join(text.get_text() for text in [*figure.texts, *figure.legends[-1].get_texts()]))
"""


def test_a_law_from_outside_is_drawn_with_its_own_tail() -> None:
    """No room of heavytail names it; in a process of its own, because laws stay registered."""
    command = [sys.executable, "-c", HEAVY_PLUGIN_LAW]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "lomax, tail index 1.5, infinite variance; means 2, 5; in state 0" in text
    assert "heavy-tailed reward" in text


def test_probabilities_of_a_discrete_law_are_exact() -> None:
    figure = draw_mdp(ht.mdp_from_arrays([[[1.0]]], laws=[[ht.laws.bernoulli(1e-7, scale=1e6)]]))
    texts = {text.get_text() for text in figure.axes[1].texts}
    assert texts == {"0 with probability 1", "1e+06 with probability 1e-07"}


def test_only_the_first_stage_is_drawn_and_the_title_says_so() -> None:
    figure = draw_mdp(ht.make_mdp("heavy_chain"), title="a chain")
    assert figure.texts[0].get_text() == "a chain (step 0 of 5)"
    assert draw_mdp(mdps.staged()).texts[0].get_text() == "step 0 of 3"


def test_laws_that_are_left_out_are_counted() -> None:
    laws = [[ht.laws.student_t(1.5, scale=1.0 + k) for k in range(9)]]
    texts = [t.get_text() for t in draw_mdp(ht.mdp_from_arrays(np.ones((1, 9, 1)), laws=laws)).texts]
    assert any("3 more kinds of laws are not drawn" in text for text in texts)
    family = draw_mdp(ht.make_mdp("garnet", n_states=5, law=HEAVY))
    assert any("8 of 15 laws drawn" in axes.get_xlabel() for axes in family.axes)


def test_a_reward_of_very_many_states_is_written_once() -> None:
    figure = draw_mdp(PICTURES["deep_sea"]())
    assert "where nothing is noted: r(a1) = −0.002" in figure.texts[0].get_text()
    assert [t.get_text() for t in figure.axes[0].texts if "r(" in t.get_text()] == ["r(a1) = 0.998"]


def test_the_same_bytes_twice_and_in_threads(tmp_path: Path) -> None:
    def save(k: int) -> bytes:
        return save_figure(
            draw_mdp(ht.make_mdp("double_chain"), title="twice"), tmp_path / f"{k}.svg"
        ).read_bytes()

    first = save(0)
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(save, range(1, 5))) == {first}


def test_a_png_is_written(tmp_path: Path) -> None:
    path = save_figure(draw_mdp(ht.make_mdp("two_state")), str(tmp_path / "picture.PNG"))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    figure = Figure()
    mistakes: list[tuple[Callable[[], object], str]] = [
        (
            lambda: draw_mdp(ht.make_mdp("deep_sea", size=7)),
            r"^this MDP has 49 states; a picture shows at most 40$",
        ),
        (
            lambda: draw_mdp(ht.make_mdp("two_state"), layout="chian"),
            r"^there is no layout 'chian'; did you mean 'chain'\?$",
        ),
        (
            lambda: save_figure(figure, tmp_path / "picture.gif"),
            r"^'picture.gif' is no name for a picture; it must end in .svg, .pdf or .png$",
        ),
        (
            lambda: save_figure(figure, tmp_path / "no" / "picture.svg"),
            r"^.*picture.svg cannot be written: there is no folder .*no$",
        ),
    ]
    for mistake, message in mistakes:
        with pytest.raises(ht.InputError, match=message):
            mistake()


def test_pyplot_is_not_loaded() -> None:
    """And matplotlib is not loaded before a picture is drawn."""
    code = (
        "import sys, heavytail as ht, heavytail.report; mdp = ht.make_mdp('two_state');"
        "assert 'matplotlib' not in sys.modules;"
        "from heavytail.mdp.diagram import draw_mdp; draw_mdp(mdp);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_graph_is_drawn_inch_to_inch() -> None:
    """So that what was placed apart stays apart."""
    figure = picture("six_arms")
    inch = figure.axes[0].transData.transform([(0.0, 0.0), (1.0, 1.0)])
    np.testing.assert_allclose(inch[1] - inch[0], figure.dpi)
