"""Figures: one description each, drawn by plotly and by matplotlib, those of plugins too."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from heavytail import registry
from heavytail.files import save_figure
from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    Curves,
    Figure,
    ReferenceLine,
    Strip,
    Strips,
)
from heavytail.report.figures.render_matplotlib import render_matplotlib
from heavytail.report.figures.render_plotly import render_plotly
from heavytail.report.report import write_report
from heavytail.report.theme import LIGHT, AgentStyle
from support.page_reader import read, resolved
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
    names = [name.removeprefix("plot-six_arms--") for name in page.data if "six_arms" in name]
    assert names[:3] == ["regret", "spread", "reward"]
    assert "plot-double_chain--spread" not in page.data
    traces = page.data["plot-six_arms--spread"]["traces"]
    assert [trace["meta"] for trace in traces] == ["random", "q_learning"]
    assert "A <spread>" in page.words
    assert "figures/six_arms-spread.svg" in page.values("href")
    assert (tmp_path / "figures" / "six_arms-spread.svg").exists()


def test_every_registered_figure_says_what_it_shows() -> None:
    figures = registry.registered("figure")
    assert {"regret", "reward", "pace", "log-log", "realised", "last-tenth", "final-regret", "truncated"} <= {
        figure.name for figure in figures
    }
    assert all(figure.doc for figure in figures)


@pytest.mark.parametrize(
    "content",
    [
        Curves(Axis("x"), Axis("y"), [CURVE, CURVE._replace(low=None, high=None, note="another")], [LINE]),
        Curves(Axis("x", log=True), Axis("y", log=True), [CURVE], [LINE]),
        Curves(Axis("x", limits=(0.0, 9.0)), Axis("y", log=True, percent=True, limits=(0.01, 1.0)), [CURVE]),
        Curves(Axis("x"), Axis("y", percent=True), []),
        Strips(Axis("x"), [Strip("a", LABEL, STYLE, Y, ["s1", "s2", "s3"])], reference=0.5),
        Strips(Axis("x"), []),
    ],
    ids=["linear", "logarithmic", "percent", "no agents", "strips", "no strips"],
)
def test_both_renderers_draw_a_description(content: Any, tmp_path: Path) -> None:
    figure = Figure("A $title$ <b>", "", content)
    rendered = render_plotly(figure)
    drawn = go.Figure(resolved({"traces": rendered.traces, "layout": rendered.layout}, LIGHT))
    assert not any("<b>" in trace.name for trace in drawn.data)  # text is never plotly's markup
    first, again = (save_figure(render_matplotlib(figure), tmp_path / f"{i}.svg").read_bytes() for i in "12")
    assert first == again


def test_a_band_ends_where_a_logarithmic_axis_does() -> None:
    curve = CURVE._replace(y=np.array([1.0, 2.0, 3.0]), low=np.array([-1.0, 1.0, 2.0]), high=np.full(3, 4.0))
    band, line = render_plotly(Figure("", "", Curves(Axis("x"), Axis("y", log=True), [curve]))).traces
    assert (band["x"], band["y"]) == ([10, 100, 100, 10], [4.0, 4.0, 2.0, 1.0])
    assert line["y"] == [1.0, 2.0, 3.0]
    band, _ = render_plotly(Figure("", "", Curves(Axis("x"), Axis("y"), [curve]))).traces
    assert len(band["x"]) == 6


def test_a_figure_of_something_else_is_an_error() -> None:
    with pytest.raises(TypeError, match="intervals or tiles, not str"):
        render_plotly(Figure("", "", "text"))  # type: ignore[arg-type]
