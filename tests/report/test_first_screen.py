"""The first screen of a report: leaderboard, sentences, and the picture that follows from the spec."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.report.figures.figure import Figure, Rows, SmallMultiples
from heavytail.report.findings import count_verdicts, make_findings
from heavytail.report.first_figure import choose_first_figure
from heavytail.report.leaderboard import Standing, make_leaderboard
from heavytail.report.theme import assign_styles
from heavytail.statistics import Interval
from heavytail.studies.claims import ClaimResult, Verdict
from heavytail.studies.published import published
from heavytail.studies.results import Aggregation, Runs, Task, summarise_agent
from heavytail.studies.specs.reading import make_spec, read_spec
from heavytail.studies.specs.spec import Claim, Condition, Spec
from support.small_studies import small

VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided")
AGGREGATION = Aggregation(0.95, 100, 0)


def spec(*agents: str, **changes: Any) -> Spec:
    statistics = {"resamples": 100, "permutations": 100}
    return make_spec(small(agents={agent: {} for agent in agents}, statistics=statistics, **changes))


def task(key: str, paces: dict[str, Sequence[float]], optimum: float | None = None) -> Task:
    """An environment in which each run of an agent earns the same in every episode."""
    at = np.arange(1, 11) * 10
    agents = []
    for name, values in paces.items():
        rewards = np.outer(values, at)
        seeds, scored = np.arange(len(values)), np.broadcast_to(at * 1.0, rewards.shape)
        runs = Runs(seeds, at, scored, rewards, rewards, rewards * np.nan, {}, 0)
        agents.append(summarise_agent(name, name, "", runs, AGGREGATION))
    return Task(key, key, key, "episode", "episode", 1, optimum, agents, AGGREGATION)


LOW, HIGH = np.linspace(1.0, 1.1, 12).tolist(), np.linspace(1.5, 1.6, 12).tolist()


def test_the_leaderboard_ranks_and_tells_who_is_worse() -> None:
    tasks = [task(key, {"random": LOW, "ucrl2": HIGH, "psrl": HIGH[::-1]}, 2.0) for key in ("a", "b")]
    board = make_leaderboard(spec("random", "ucrl2", "psrl"), tasks)
    assert [each.agent for each in board] == ["ucrl2", "psrl", "random"]
    assert [float(each.share.estimate) for each in board] == [0.75, 0.75, 0.0]
    assert [each.level for each in board] == [2, 2, 0]
    first, level, worse = board
    assert first.p_value is None
    assert level.p_value is not None
    assert level.p_value > 0.05
    assert worse.p_value is not None
    assert worse.p_value < 0.001
    assert first.of_optimum is not None
    assert float(first.of_optimum.estimate) == pytest.approx(0.775)


def test_agents_need_not_have_run_everywhere() -> None:
    tasks = [task("a", {"random": LOW, "ucrl2": HIGH}), task("b", {"random": LOW, "psrl": HIGH})]
    board = {each.agent: each for each in make_leaderboard(spec("random", "ucrl2", "psrl"), tasks)}
    assert [board[agent].envs for agent in ("random", "ucrl2", "psrl")] == [2, 1, 1]
    assert board["psrl"].p_value is None  # it never met the first
    assert board["ucrl2"].of_optimum is None


def test_alone_nobody_is_ranked() -> None:
    assert make_leaderboard(spec("random"), [task("a", {"random": LOW})]) == []


@given(st.lists(st.sampled_from(VERDICTS), min_size=9, max_size=9))
def test_sentences_about_the_paper_follow_its_verdicts(verdicts: list[Verdict]) -> None:
    """Each is that of its claim's verdict, whatever came out."""
    claims = read_spec(published("paper")).claims
    results = [ClaimResult(claim, [], verdict) for claim, verdict in zip(claims, verdicts, strict=True)]
    sentences = make_findings(results, [], [], 0.05)
    told = [claim.found for claim in claims if claim.found]
    assert len(sentences) == len(told) == 3
    for sentence, found, verdict in zip(
        sentences, told, [result.verdict for result in results if result.claim.found], strict=True
    ):
        assert (
            sentence
            == {
                "reproduced": found.reproduced,
                "not reproduced": found.not_reproduced,
                "undecided": found.undecided,
            }[verdict]
        )
        assert ("do not decide" in sentence) == (verdict == "undecided")
        assert ("not both" in sentence or "do not always" in sentence) == (verdict == "not reproduced")


def test_claims_of_ones_own_are_supported_and_those_of_a_paper_reproduced() -> None:
    conditions = [Condition(test="better", agent="a")]
    own, theirs = (Claim(claim="x", place=place, conditions=conditions) for place in ("", "section 1"))
    results = [ClaimResult(claim, [], verdict) for claim in (own, theirs) for verdict in VERDICTS]
    assert count_verdicts(results) == {
        "reproduced": 1,
        "not reproduced": 1,
        "supported": 1,
        "not supported": 1,
        "undecided": 2,
    }
    assert count_verdicts(results[:1]) == {"supported": 1, "not supported": 0, "undecided": 0}
    assert count_verdicts([]) == {}


def test_without_words_of_the_spec_the_leaderboard_speaks() -> None:
    def standing(label: str, p: float | None) -> Standing:
        return Standing(label, label, Interval(*np.array([0.8, 0.7, 0.9])), None, 3, 2, p)

    leader, breadth = make_findings(
        [], [standing("A", None), standing("B", 0.2), standing("C", 0.01)], [], 0.05
    )
    assert leader.endswith(
        "beats a run of another agent in 80.0 [70.0, 90.0] % of cases; to tell B from it takes more seeds."
    )
    assert breadth == "In 2 of 3 environments no agent is significantly better than it."


def first(tasks: Sequence[Task]) -> Figure | None:
    agents = ("random", "ucrl2")
    board, styles = make_leaderboard(spec(*agents), tasks), assign_styles((agent, agent) for agent in agents)
    return choose_first_figure({}, [], tasks, styles, board)


def test_few_environments_have_a_panel_each_and_many_have_one_for_all() -> None:
    few = [task(key, {"random": LOW, "ucrl2": HIGH}, 2.0) for key in "ab"]
    figure = first(few)
    assert figure is not None
    assert isinstance(figure.content, SmallMultiples)
    panels = [panel for _, panel in figure.content.panels if isinstance(panel, Rows)]
    assert [[row.agent for row in panel.rows] for panel in panels] == [["ucrl2", "random"]] * 2
    assert panels[0].x.percent
    assert panels[0].rows[0].estimate == pytest.approx(0.775)
    many = first([task(str(i), {"random": LOW, "ucrl2": HIGH}) for i in range(20)])
    assert many is not None
    assert isinstance(many.content, Rows)
    assert [row.estimate for row in many.content.rows] == [1.0, 0.0]


def test_where_nothing_came_out_there_is_no_picture() -> None:
    assert first([task("a", {})]) is None
