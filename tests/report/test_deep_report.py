"""The report of deep agents.

The best policy is not known, runs are measured in steps, and rewards are those of whole episodes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from heavytail.report.figures.figure import Curves
from heavytail.report.figures.heat_maps import Measure, compute_shades
from heavytail.report.report import write_report
from heavytail.report.report_data import ReportData, collect_report_data
from heavytail.studies import Study
from heavytail.studies.results import mean_reward_in
from support.fake_deep import SPEC, made_up_deep
from support.page_reader import Reader, read
from support.small_studies import done

NAN = re.compile(r"\bnan\b", re.IGNORECASE)


@pytest.fixture(scope="module", autouse=True)
def worlds() -> Iterator[None]:
    with made_up_deep():
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return done(SPEC, tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def data(study: Study) -> ReportData:
    return collect_report_data(study)


@pytest.fixture(scope="module")
def report(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(study, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def page(report: Path) -> Reader:
    return read(report.read_text(encoding="utf-8"))


def test_without_an_optimum_there_is_no_regret(page: Reader) -> None:
    assert list(page.figures) == ["summary--first", "map--deep"] + [
        f"{env}--{name}" for env in SPEC["envs"] for name in ("pace", "last-tenth", "truncated")
    ]
    assert "best policy" not in page.words.replace("The best policy is not known", "")
    assert "optimum" not in page.words
    assert page.words.count("regret") == len(SPEC["envs"])  # that there is none


def test_nothing_says_nan(page: Reader, report: Path) -> None:
    assert not re.search(NAN, page.words)
    assert not any(re.fullmatch(NAN, value) for value in page.values("data-sort"))
    drawn = {path.name: path.read_text() for path in (report.parent / "figures").iterdir()}
    assert drawn.keys() >= {
        "overview.svg",
        "map-deep.svg",
        "quiet-pace.svg",
        "quiet-truncated.svg",
        "loud-grid-heavy.svg",
    }
    assert not any("regret" in name for name in drawn)
    assert not any(re.search(NAN, text) for text in drawn.values())


def test_figures_show_who_takes_part(page: Reader) -> None:
    for name, figure in page.figures.items():
        agents = ["clipped", "heavy"] if name.endswith("truncated") else list(SPEC["agents"])
        assert set(figure.agents) == (set() if "map" in name else set(agents))


def test_words_are_those_of_returns(page: Reader) -> None:
    words = page.words
    assert "Mean clean return per episode of the episodes that ended since the previous checkpoint" in words
    assert "Clean return per episode, last tenth" in words
    assert "Median clean return per episode in the last tenth over 2 tuning seeds" in words
    assert "Bright is good, on a scale for each agent" in words
    assert "noise 1: Heavy-DQN, clean return in the last tenth, at least −180 " in words
    assert "4,000 steps" in words


def curves(data: ReportData, name: str) -> Curves:
    (figure,) = [figure for figure in data.figures["loud"] if figure.name == name]
    assert isinstance(figure.content, Curves)
    return figure.content


def test_the_learning_curve_is_the_return_of_episodes(data: ReportData, page: Reader) -> None:
    runs = data.tasks["loud"].agents[0].runs
    slow = np.full(runs.scored.shape, np.nan)
    for i, j in np.ndindex(*slow.shape):
        ended = runs.scored[i, j] - (runs.scored[i, j - 1] if j else 0.0)
        gained = runs.mean_reward[i, j] - (runs.mean_reward[i, j - 1] if j else 0.0)
        slow[i, j] = gained / ended if ended else slow[i, j - 1]
    (line,) = [curve for curve in curves(data, "pace").curves if curve.agent == "plain"]
    assert np.isnan(line.y[0])  # after 100 steps no episode has ended
    np.testing.assert_allclose(line.y[1:], np.median(slow, axis=0)[1:])
    assert {"steps", "mean clean return per episode"} <= set(page.figures["loud--pace"].text)


def test_truncated_rewards_are_a_share_of_steps(data: ReportData) -> None:
    """On a logarithmic axis, so that the agent that truncates nothing is not on it."""
    content = curves(data, "truncated")
    assert {curve.agent: float(curve.y[-1]) for curve in content.curves} == {"clipped": 0.5, "heavy": 0.075}
    assert content.y.log
    assert content.y.limits == (0.01, 1.0)


def test_grids_are_bright_where_returns_are_large(data: ReportData) -> None:
    (grid,) = [grid for grid in data.grids if (grid.agent, grid.env) == ("clipped", "loud")]
    (map_,) = grid.heat_maps.maps
    assert map_.values.shape == (1, 3)
    assert map_.chosen == (0, int(np.argmax(map_.values)))
    (shaded,) = compute_shades(*grid.heat_maps[2:])
    assert shaded[map_.chosen] == 1.0
    np.testing.assert_allclose(shaded, (map_.values - map_.values.min()) / np.ptp(map_.values))


def test_the_map_of_agents_against_environments(data: ReportData, page: Reader) -> None:
    matrix = data.matrices[0]
    assert (matrix.maps[0].rows, matrix.maps[0].columns) == (
        ["unclipped", "clipped", "Heavy-DQN"],
        ["noise 1", "noise 5", "noise 20"],
    )
    runs = {agent.key: agent.runs for agent in data.tasks["louder"].agents}
    assert matrix.maps[0].values[2, 2] == np.median(mean_reward_in(runs["heavy"], 0.9, 1.0))
    assert not matrix.measure.by_column  # the same environment under different noise
    assert "Median clean return per episode in the last tenth" in page.words
    assert "Bright is good, on one scale for all." in page.words


def test_scores_for_rliable_are_the_returns_themselves(study: Study, data: ReportData) -> None:
    scores = study.to_rliable()
    assert scores["heavy"].shape == (6, 3)
    runs = data.tasks["quiet"].agents[2].runs
    np.testing.assert_array_equal(scores["heavy"][:, 0], mean_reward_in(runs, 0.9, 1.0))


def test_a_scale_for_each_environment_where_they_differ(data: ReportData) -> None:
    apart = Measure("", large_is_good=True, by_column=True)
    (shaded,) = compute_shades(data.matrices[0].maps, apart)
    assert (shaded.max(axis=0) == 1.0).all()
    assert (shaded.min(axis=0) == 0.0).all()


def test_runs_that_never_end_an_episode(tmp_path: Path) -> None:
    """Shorter than an episode: there is nothing to score, and the page says so with dashes."""
    made = Study({**SPEC, "steps": 150, "claims": [], "agents": {"plain": SPEC["agents"]["plain"]}}, tmp_path)
    made.run(engine="inline")
    page = read(write_report(made, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert not re.search(NAN, page.words)
    assert page.words.count("unclipped baseline transform = none defaults") == 3
    assert "" in page.values("data-sort")  # what there is none of is first
    assert made.to_rliable() == {}
