"""Maps in a report: where points lie, what is outlined, what the table says."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heavytail.files import save_figure
from heavytail.report.figures.draw import draw_figure
from heavytail.report.figures.figure import Tiles
from heavytail.report.figures.sweep_maps import Mark, SweepAxis, SweepMap, find_reach, outline_works
from heavytail.report.report import write_report
from heavytail.report.report_data import ReportData, collect_report_data
from heavytail.studies import Study
from support.page_reader import read
from support.small_studies import done

# Values that a picture can tell apart: a hundredth of a decade or more.
ASCENDING = st.lists(st.integers(-600, 600), min_size=1, max_size=8, unique=True).map(
    lambda some: [10.0 ** (k / 100) for k in sorted(some)]
)


@given(ASCENDING, st.booleans())
def test_values_of_an_axis_lie_in_the_middle_of_their_tiles(values: list[float], zero: bool) -> None:
    axis = SweepAxis("x", np.array([0.0, *values] if zero else values))
    for i, value in enumerate(axis.values):
        assert axis.edges[i] <= axis.position(value) <= axis.edges[i + 1]
        assert axis.nearest(value) == i
    assert axis.position(1e12) == axis.edges[-1]
    assert axis.position(-1.0) == axis.edges[0]


@given(ASCENDING, st.floats(0, 1))
def test_what_lies_between_two_values_is_drawn_between_them(values: list[float], share: float) -> None:
    axis = SweepAxis("x", np.array(values))
    for low, high in itertools.pairwise(values):
        assert axis.position(low) <= axis.position(low + share * (high - low)) <= axis.position(high)


@given(arrays(np.bool_, st.tuples(st.integers(1, 6), st.integers(1, 6))))
def test_the_outline_is_every_edge_between_unlike_tiles_once(works: Any) -> None:
    segments = outline_works(works, range(works.shape[0] + 1), range(works.shape[1] + 1))
    across, up = (works[1:] != works[:-1]).sum(), (works[:, 1:] != works[:, :-1]).sum()
    assert len(segments) == len(set(segments)) == across + up
    for (x0, y0), (x1, y1) in segments:
        assert abs(x1 - x0) + abs(y1 - y0) == 1
        i, j = int(min(x0, x1)), int(min(y0, y1))
        assert works[i, j] != (works[i - 1, j] if x0 == x1 else works[i, j - 1])


@given(arrays(np.bool_, st.integers(1, 8)), st.data())
def test_a_reach_is_the_longest_stretch_without_a_gap(works: Any, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(works) - 1))
    reach = find_reach(works, np.arange(len(works), dtype=float), start)
    if reach is None:
        assert not works[start]
        return
    low, high = map(int, reach)
    assert low <= start <= high
    assert works[low : high + 1].all()
    assert low == 0 or not works[low - 1]
    assert high == len(works) - 1 or not works[high + 1]


def make_map(**changes: Any) -> SweepMap:
    """Two by three points in two panels."""
    axes = (
        SweepAxis("m", np.array([1.0, 10.0])),
        SweepAxis("r", np.array([0.1, 1.0, 10.0])),
        SweepAxis("t", np.array([0.01, 1.0])),
    )
    regret = np.arange(1.0, 13.0).reshape(2, 3, 2)
    marks = [Mark("<b>A</b> $x$", {"m": 10.0, "r": 3.0, "t": 0.9}, 0.5)]
    share = 1.0 - regret / 100
    return SweepMap("n", "<i>T</i> $y$", axes, 100.0, regret, share, 7, marks)._replace(**changes)


def test_a_map_knows_where_it_works() -> None:
    sweep_map = make_map()
    assert sweep_map.works.sum() == 5
    assert sweep_map.peak == (0, 0, 0)
    ranges = ["m at most 1", "r at most 0.1 to at least 10", "t at most 0.01 to at least 1"]
    assert sweep_map.describe_ranges() == ranges
    gap = sweep_map.last_tenth.copy()
    gap[0, 1, 0] = 0.9
    assert sweep_map._replace(last_tenth=gap).describe_ranges()[1] == "r at most 0.1"
    lost = sweep_map.regret.copy()
    lost[0, 0, 0] = np.nan
    unsure = sweep_map._replace(
        regret=lost, last_tenth=np.where(np.isnan(lost), np.nan, sweep_map.last_tenth)
    )
    assert unsure.peak == (0, 0, 1)
    assert unsure.works.sum() == 4
    nowhere = sweep_map._replace(last_tenth=sweep_map.last_tenth - 1)
    assert nowhere.describe_ranges() == ["m nowhere", "r nowhere", "t nowhere"]


def test_the_best_point_is_one_that_works() -> None:
    sweep_map = make_map()
    share = np.zeros_like(sweep_map.last_tenth)
    share[1, 2, 1] = 0.99
    assert sweep_map._replace(last_tenth=share).peak == (1, 2, 1)


def test_a_map_has_a_tile_for_every_point_and_marks_where_they_are() -> None:
    content = make_map().make_figure().content
    assert isinstance(content, Tiles)
    assert [panel.values.shape for panel in content.panels] == [(3, 2), (3, 2)]
    np.testing.assert_allclose(content.panels[1].values, make_map().regret[:, :, 1].T / 100)
    assert not content.panels[0].marks
    (mark,) = content.panels[1].marks
    assert mark.x == 10.0
    assert mark.y == 3.0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"marks": []},
        {"regret": np.full((2, 3, 2), np.nan), "last_tenth": np.full((2, 3, 2), np.nan)},
        {"regret": np.full((2, 3, 2), -1.0)},
        {"regret": np.full((2, 3, 2), 5.0)},
    ],
    ids=["as it is", "without marks", "all failed", "no regret", "flat"],
)
def test_a_map_is_drawn_whatever_is_in_it(changes: dict[str, Any], tmp_path: Path) -> None:
    sweep_map = make_map(**changes)
    drawn = [draw_figure(sweep_map.make_figure()) for _ in range(2)]
    first, again = (save_figure(each, tmp_path / f"{i}.svg").read_bytes() for i, each in enumerate(drawn))
    assert first == again


# In the report of a study

AXES = {"reward_scale": [0.001, 0.01, 0.1], "moment": ["true", 1.0, 0.1], "transition_scale": [0.01, 1.0]}
THEOREM = {"transition_scale": 1.0, "reward_scale": 1.0, "constants": "tight"}
SPEC: dict[str, Any] = {
    "name": "mapped",
    "episodes": 400,
    "seeds": 3,
    "envs": {"six_arms": {"label": "Six <arms>"}, "double_chain": {}},
    "agents": {
        "heavy_q_learning": {
            "label": "as stated",
            "parameters": {**THEOREM, "epsilon": 0.05, "moment": "true"},
        },
        "tuned": {
            "agent": "heavy_q_learning",
            "parameters": {"epsilon": 0.05, "moment": 0.3, "transition_scale": 1.0, "constants": "tight"},
            "grid": {"reward_scale": [0.001, 0.03]},
        },
        "other": {"agent": "heavy_q_learning", "parameters": {**THEOREM, "epsilon": 0.04, "moment": 1.0}},
        "q_learning": {},
    },
    "tuning": {"seeds": 1},
    "statistics": {"resamples": 100, "permutations": 200},
    "maps": {
        "heavy_q_learning": {
            "label": "Heavy <Q>",
            "parameters": {"epsilon": 0.05, "constants": "tight"},
            "seeds": 3,
            "axes": AXES,
        }
    },
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return done(SPEC, tmp_path_factory.mktemp("mapped"))


@pytest.fixture(scope="module")
def data(study: Study) -> ReportData:
    return collect_report_data(study)


def test_a_map_holds_the_numbers_of_its_points(study: Study, data: ReportData) -> None:
    rows = study.maps().table.to_pandas().set_index(["env", "reward_scale", "moment", "transition_scale"])
    for each, env in zip(data.sweep_maps, SPEC["envs"], strict=True):
        assert [axis.name for axis in each.axes] == list(AXES)
        for (i, j, k), regret in np.ndenumerate(each.regret):
            row = rows.loc[(env, *(axis.values[at] for axis, at in zip(each.axes, (i, j, k), strict=True)))]
            assert (regret, each.last_tenth[i, j, k]) == (row["regret_median"], row["last_tenth"])


def test_agents_that_differ_in_the_axes_only_are_marked_where_they_are(
    study: Study, data: ReportData
) -> None:
    for each, env in zip(data.sweep_maps, SPEC["envs"], strict=True):
        stated, tuned = each.marks
        assert (stated.label, tuned.label) == ("as stated", "tuned")
        assert stated.at == {"reward_scale": 1.0, "moment": each.axes[1].values[-1], "transition_scale": 1.0}
        assert tuned.at == {
            "reward_scale": study.choices()["tuned"][env]["reward_scale"],
            "moment": 0.3,
            "transition_scale": 1.0,
        }
        assert each.marks_in(0) == []


def test_an_agent_that_leaves_a_parameter_of_an_axis_out_has_no_place_there(tmp_path: Path) -> None:
    axes = {"r_max": [1.0, 2.0], "transition_scale": [0.01, 0.1]}
    raw = {**SPEC, "agents": {"q_learning": {}}, "maps": {"q_learning": {"axes": axes}}, "episodes": 20}
    data = collect_report_data(done(raw, tmp_path))
    assert [each.marks for each in data.sweep_maps] == [[], []]


def test_the_report_shows_where_it_works(study: Study, data: ReportData, tmp_path: Path) -> None:
    page = write_report(study, tmp_path / "report.html").read_text(encoding="utf-8")
    reader = read(page)
    assert "Where it works" in reader.words
    assert "Heavy <Q>, Six <arms>" in reader.words
    assert "<arms>" not in page
    for each in data.sweep_maps:
        assert f"{each.works.sum()} of {each.works.size}" in reader.words
        assert f"where--{each.name}" in reader.figures
        assert (tmp_path / "figures" / f"where-{each.name}.svg").exists()
    assert set(re.findall(r'href="figures/([^"]+)"', page)) <= {
        path.name for path in (tmp_path / "figures").iterdir()
    }
    assert "time in map" in reader.words
