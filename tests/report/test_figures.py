"""Figures: one description each, drawn in a page and as a file, those of plugins too."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from heavytail import registry
from heavytail.files import save_figure
from heavytail.report.figures.draw import draw_figure, draw_panels
from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    Curves,
    Figure,
    ReferenceLine,
    Row,
    Rows,
    SmallMultiples,
)
from heavytail.report.figures.svg import make_drawing
from heavytail.report.report import write_report
from heavytail.report.theme import AgentStyle
from support.page_reader import read
from support.small_studies import done, small

PLUGIN = '''
import numpy as np

from heavytail.registry import register
from heavytail.report.figures.figure import Axis, Curves, Figure, Styles, make_curve
from heavytail.studies.results import Task


@register("figure", "spread")
def spread(task: Task, styles: Styles) -> Figure | None:
    """Range of mean rewards over seeds."""
    if task.key == "double_chain":
        return None
    curves = [make_curve(a, styles, a.runs.at, [np.ptp(a.runs.mean_reward, axis=0)]) for a in task.agents]
    return Figure("A <spread>", "Range & more.", Curves(Axis("episodes"), Axis("range"), curves), order=1.5)
'''

STYLE = AgentStyle(1, "dash", "square")
LABEL = '<b>A</b> & "B" $x$'
X = np.array([1, 10, 100])
Y = np.array([-1.0, 1.0, np.nan])
CURVE = AgentCurve("a", LABEL, STYLE, X, Y, Y - 0.5, Y + 0.5)
LINE = ReferenceLine("a bound < 1", X, X * 1.0, "dash", labelled=True)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "figure_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("figure_plugin")
    yield
    del registry._table["figure", "spread"], sys.modules["figure_plugin"]


def test_a_figure_of_a_plugin_is_in_the_page_and_a_file(plugin: None, tmp_path: Path) -> None:
    report = write_report(done(small(), tmp_path / "study"), tmp_path / "report.html")
    page = read(report.read_text(encoding="utf-8"))
    names = [name.removeprefix("six_arms--") for name in page.figures if "six_arms" in name]
    assert names[:3] == ["regret", "spread", "reward"]
    assert "double_chain--spread" not in page.figures
    assert page.figures["six_arms--spread"].agents == ["random", "q_learning"]
    assert "A <spread>" in page.words
    assert "figures/six_arms-spread.svg" in page.values("href")
    assert (tmp_path / "figures" / "six_arms-spread.svg").exists()


def test_every_registered_figure_says_what_it_shows() -> None:
    figures = registry.registered("figure")
    assert {"regret", "reward", "pace", "log-log", "realised", "last-tenth", "final-regret", "truncated"} <= {
        figure.name for figure in figures
    }
    assert all(figure.doc for figure in figures)


LINES = Curves(Axis("x"), Axis("y"), [CURVE, CURVE._replace(low=None, high=None, note="more")], [LINE])
ROWS = Rows(
    Axis("x", percent=True), [Row("a", LABEL, STYLE, 0.5), Row("a", LABEL, STYLE, 0.5, 0.4, 0.6)], 0.5
)


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        Curves(Axis("x", log=True), Axis("y", log=True), [CURVE], [LINE]),
        Curves(Axis("x", limits=(0.0, 9.0)), Axis("y", log=True, percent=True, limits=(0.01, 1.0)), [CURVE]),
        Curves(Axis("x"), Axis("y", percent=True), []),
        Rows(Axis("x"), [Row("a", LABEL, STYLE, 0.0, values=Y)], reference=0.5),
        Rows(Axis("x"), []),
        ROWS,
        SmallMultiples([("$one$ <b>", LINES), ("two", ROWS)]),
    ],
    ids=["linear", "logarithmic", "percent", "no agents", "seeds", "no rows", "intervals", "multiples"],
)
def test_a_description_is_drawn_the_same_every_time(content: Any, tmp_path: Path) -> None:
    figure = Figure("A $title$ <b>", "", content)
    first, again = (save_figure(draw_figure(figure), tmp_path / f"{i}.svg").read_bytes() for i in "12")
    assert first == again
    for (_, one), (_, other) in zip(draw_panels(figure), draw_panels(figure), strict=True):
        drawing = make_drawing(one, "name")
        assert drawing == make_drawing(other, "name")
        root = ET.fromstring(f"<svg>{drawing.content}</svg>")  # noqa: S314 - our own
        tags = {each.tag for each in root.iter()}
        assert tags <= {"svg", "g", "defs", "path", "use", "text", "title", "clipPath", "rect"}
        assert {each.get("data-agent") for each in root.iter()} <= {"a", None}
        assert {each.text for each in root.iter("title")} <= {LABEL, f"{LABEL}, more"}


def test_figures_of_a_page_follow_its_theme_and_share_no_id() -> None:
    one, other = (
        make_drawing(drawn, name).content
        for name in ("one", "other")
        for _, drawn in draw_panels(Figure("", "", LINES))
    )
    assert set(re.findall(r"#[0-9a-f]{6}", one)) <= {"#000000"}
    assert {"var(--c1)", "var(--ink)", "var(--muted)", "var(--grid)"} <= set(re.findall(r"var\([^)]*\)", one))
    ids = [set(re.findall(r' id="([^"]+)"', content)) for content in (one, other)]
    assert ids[0]
    assert not ids[0] & ids[1]
    uses = set(re.findall(r'href="#([^"]+)"', one)) | set(re.findall(r"url\(#([^)]+)\)", one))
    assert uses == ids[0]


def test_long_curves_are_drawn_with_few_points() -> None:
    x = np.arange(1, 100_001)
    noise = np.random.default_rng(0).normal(size=len(x))
    curve = CURVE._replace(x=x, y=noise, low=noise - 1, high=noise + 1)
    ((_, drawn),) = draw_panels(Figure("", "", Curves(Axis("x"), Axis("y"), [curve])))
    assert len(make_drawing(drawn, "").content) < 30_000


def test_a_band_ends_where_a_logarithmic_axis_does() -> None:
    curve = CURVE._replace(y=np.array([1.0, 2.0, 3.0]), low=np.array([-1.0, 1.0, 2.0]), high=np.full(3, 4.0))
    for log, least in ((True, 1.0), (False, -1.0)):
        ((_, drawn),) = draw_panels(Figure("", "", Curves(Axis("x"), Axis("y", log=log), [curve])))
        (band,) = drawn.axes[0].collections
        assert np.asarray(band.get_paths()[0].vertices)[:, 1].min() == least


def test_a_figure_of_something_else_is_an_error() -> None:
    with pytest.raises(TypeError, match="rows or tiles, not str"):
        draw_figure(Figure("", "", "text"))  # type: ignore[arg-type]
