import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import heavytail as ht
from heavytail.files import save_figure
from heavytail.mdp import MDP
from heavytail.mdp.diagram import MAX_STATES, draw_mdp
from heavytail.mdp.diagram.contents import list_arrows
from heavytail.mdp.diagram.layouts import LAYOUTS, choose_layout
from heavytail.registry import own_builders
from support import mdps

SMALL: dict[str, dict[str, Any]] = {"deep_sea": {"size": 5}}
HEAVY = ht.laws.alpha_stable(1.1)

READABLE = ["six_arms", "double_chain", "river_swim", "two_state", "heavy_bandit tree", "heavy_chain"]


def _build(name: str) -> MDP:
    return ht.make_mdp(name, **SMALL.get(name, {}))


PICTURES: dict[str, Callable[[], MDP]] = {
    **{name: partial(_build, name) for name in own_builders("env") if not name.startswith("changing_")},
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
def picture(name: str) -> Figure:
    """A picture whose texts have their places."""
    figure = draw_mdp(PICTURES[name](), title=name)
    figure.draw_without_rendering()
    return figure


def words(figure: Figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)}


def graph_axes(figure: Figure) -> Axes:
    return figure.axes[-1]


def graph_words(figure: Figure) -> list[str]:
    return [text.get_text() for text in graph_axes(figure).texts if text.get_text()]


def arrows(figure: Figure) -> list[FancyArrowPatch]:
    return [patch for patch in graph_axes(figure).patches if isinstance(patch, FancyArrowPatch)]


def overlap(one: Bbox, other: Bbox) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


@pytest.mark.parametrize("name", PICTURES)
def test_every_state_has_its_number_and_no_text_leaves_the_picture(name: str) -> None:
    figure = picture(name)
    assert {str(s) for s in range(PICTURES[name]().n_states)} <= set(graph_words(figure))
    for text in graph_axes(figure).texts:
        box = text.get_window_extent()
        assert figure.bbox.contains(box.x0, box.y0), text
        assert figure.bbox.contains(box.x1, box.y1), text


@pytest.mark.parametrize("name", READABLE)
def test_no_text_lies_on_another(name: str) -> None:
    placed = [(text.get_text(), text.get_window_extent()) for text in graph_axes(picture(name)).texts]
    placed = [(text, box) for text, box in placed if text]
    assert not [(a, b) for (a, one), (b, other) in combinations(placed, 2) if overlap(one, other)]


@pytest.mark.parametrize("name", READABLE)
def test_no_label_lies_on_a_state(name: str) -> None:
    axes = graph_axes(picture(name))
    circles = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, Circle)]
    for text in axes.texts:
        box = text.get_window_extent()
        for circle in circles:
            center = np.array([circle.x0 + circle.x1, circle.y0 + circle.y1]) / 2
            nearest = np.clip(center, box.min, box.max)
            label = not text.get_text().isdigit() and text.get_text()
            assert not label or np.linalg.norm(center - nearest) > 0.97 * circle.width / 2


def test_the_two_state_mdp_has_the_arrows_of_the_paper() -> None:
    """In its figure 1 each action of state 0 has a loop and an arrow; in state 1 the actions are alike."""
    assert sorted(graph_words(picture("two_state"))) == sorted(
        ["0", "1", "0.85", "0.9", "0.15", "0.1", "0.1", "0.9", "r = 1"]
    )
    assert len(arrows(picture("two_state"))) == 6 + 1  # the start
    assert {"a0", "a1", "any action", "fixed reward"} <= words(picture("two_state"))


def test_actions_differ_in_line_and_colour() -> None:
    styles = {(patch.get_linestyle(), patch.get_edgecolor()) for patch in arrows(picture("double_chain"))}
    assert len({line for line, _ in styles}) == 2  # dashed and solid
    assert len({colour for _, colour in styles}) == 3  # of two actions and of the start


def test_six_arms_stays_readable() -> None:
    """Six ways out, one loop for all that fail, six ways back, six loops, and the labels that say so."""
    for name, loop in (("six_arms", "a1–a5: 0.8"), ("six_arms strehl", "a1–a5: 0.85 to 0.99")):
        assert len(arrows(picture(name))) == 6 + 1 + 6 + 6 + 1  # the start
        assert {loop, "a1–a5", "not a2", "a0–a4", "r(a2) = 1.4"} <= set(graph_words(picture(name)))


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


def test_episodes_end_in_terminal_states_or_at_a_dot() -> None:
    marks = {"terminal state", "end of the episode"}
    assert words(picture("mixed")) & marks == {"terminal state"}
    assert words(picture("deep_sea")) & marks == {"end of the episode"}


def test_heavy_tailed_rewards_are_marked_and_described() -> None:
    means = "means 1.2, 1.4, 1.6, 1.8, 2, of which the last is drawn"
    where = "in states 2 (a1), 3 (a2), 4 (a3), 5 (a4), 6 (a5)"
    assert {
        "random reward",
        "heavy-tailed reward",
        f"alpha_stable, tail index 1.1, infinite variance\n{means}\n{where}",
        "normal, all moments finite\nmean 1.2\nin state 1 (a0)",
    } <= words(picture("six_arms"))


def test_each_law_is_described_by_its_own_mean_and_tail() -> None:
    laws = [law for law in mdps.all_laws() if law.name != "constant"]
    for some in (laws[:5], laws[5:]):
        said = words(draw_mdp(ht.mdp_from_arrays(np.ones((1, len(some), 1)), laws=[some])))
        for law in some:
            mean = f"mean {law.mean():.3g}\n".replace("-", "−")
            (about,) = [text for text in said if text.startswith(f"{law.name}, ") and mean in text]
            assert ("infinite variance" in about) == (law.tail_index <= 2.0)


def test_laws_that_differ_only_in_location_are_drawn_together() -> None:
    laws = [ht.laws.empirical([0.0, 1.0], loc=2.0), ht.laws.empirical([0.0, 1.0]), ht.laws.empirical([0, 3])]
    said = words(draw_mdp(ht.mdp_from_arrays(np.ones((1, 3, 1)), laws=[laws])))
    assert {text for text in said if text.startswith("empirical")} == {
        "empirical, 2 samples\nmeans 0.5, 2.5, of which the last is drawn\nin state 0 (not a2)",
        "empirical, 2 samples\nmean 1.5\nin state 0 (a2)",
    }


HEAVY_PLUGIN_LAW = """
import math
from dataclasses import dataclass
from typing import ClassVar
import heavytail as ht
from heavytail.laws.law import Law
from heavytail.laws.table import sampler
from heavytail.mdp.diagram import draw_mdp
from heavytail.registry import register
from matplotlib.text import Text

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
print([text.get_text() for text in figure.findobj(Text)])
"""


def test_a_law_from_outside_is_drawn_with_its_own_tail() -> None:
    """No room of heavytail names it; in a process of its own, because laws stay registered."""
    command = [sys.executable, "-c", HEAVY_PLUGIN_LAW]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert r"lomax, tail index 1.5, infinite variance\nmeans 2, 5" in text
    assert "heavy-tailed reward" in text


def test_only_the_first_step_is_drawn_and_the_title_says_so() -> None:
    assert "heavy_chain (step 0 of 5)" in words(picture("heavy_chain"))
    assert "step 0 of 3" in words(draw_mdp(mdps.staged()))


def test_laws_that_are_left_out_are_counted() -> None:
    laws = [[ht.laws.student_t(1.5, scale=1.0 + k) for k in range(9)]]
    said = words(draw_mdp(ht.mdp_from_arrays(np.ones((1, 9, 1)), laws=laws)))
    assert any("3 more kinds of laws are not drawn" in text for text in said)


def test_a_reward_of_very_many_states_is_written_once() -> None:
    figure = picture("deep_sea")
    assert any("where nothing is noted: r(a1) = −0.002" in text for text in words(figure))
    assert [text for text in graph_words(figure) if "r(" in text] == ["r(a1) = 0.998"]


def test_the_same_bytes_twice_and_in_threads(tmp_path: Path) -> None:
    def save(k: int) -> bytes:
        figure = draw_mdp(ht.make_mdp("double_chain"), title="twice")
        return save_figure(figure, tmp_path / f"{k}.svg").read_bytes()

    first = save(0)
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(save, range(1, 5))) == {first}


def test_mistakes_are_one_line() -> None:
    with pytest.raises(ht.InputError, match=r"^this MDP has 49 states; a picture shows at most 40$"):
        draw_mdp(ht.make_mdp("deep_sea", size=7))
    with pytest.raises(ht.InputError, match=r"^there is no layout 'chian'; did you mean 'chain'\?$"):
        draw_mdp(ht.make_mdp("two_state"), layout="chian")


def test_pyplot_is_not_loaded() -> None:
    """And matplotlib is not loaded before a picture is drawn."""
    code = (
        "import sys, heavytail as ht, heavytail.report; mdp = ht.make_mdp('two_state');"
        "assert 'matplotlib' not in sys.modules;"
        "from heavytail.mdp.diagram import draw_mdp; draw_mdp(mdp);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
