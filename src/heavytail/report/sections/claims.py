"""The section of claims: the sentence, what was tested, the number, the verdict, and links."""

from collections.abc import Sequence
from typing import Any

from heavytail.report.figures.figure import figure_id
from heavytail.report.number_format import interval, number, p_value, percent
from heavytail.report.report_data import ReportData, StudySection
from heavytail.report.sections.section import Section
from heavytail.report.tables import Link, Table, TableCell, make_number_cell, make_text_cell
from heavytail.studies.claims import ClaimResult, TestResult, Verdict, Words, find_kind, say_verdict
from heavytail.studies.results import Task
from heavytail.studies.specs.spec import Claim, Spec

CLAIMS = "claims"  # id of the section
FIGURES = {
    "final_regret": "regret",
    "last_tenth": "last-tenth",
    "first_tenth": "pace",
    "first_hundredth": "pace",
    "counter": "counters",
}
ORDER: dict[Verdict, int] = {"reproduced": 0, "undecided": 1, "not reproduced": 2}
PLACE = "Place"  # in a paper; a study's own claims have none
CLAIM_HEADINGS = ["#", "Verdict", "Claim", PLACE, "Decisive test", "Number", "p", "Figures"]
TEST_HEADINGS = ["#", "Test", "Statistic", "Number", "Against", "Better in", "p", "p, Holm", "Verdict"]


def claims_id(data: ReportData) -> str:
    """Return the id of the heading of a study's claims, if a page has several."""
    return f"{data.prefix}{CLAIMS}-of"


def make_claims_section(studies: Sequence[StudySection]) -> Section:
    """Make the section of the claims of all studies, which explains once how they are judged."""
    content: list[dict[str, Any]] = []
    last_method: dict[str, str] | None = None
    for study in studies:
        method = _describe_method(study.data.spec) if study.data.claims else None
        content.append(
            {
                "heading": Link(claims_id(study.data), study.title) if len(studies) > 1 else None,
                "method": method if method != last_method else None,
                **_make_tables(study.data),
            }
        )
        last_method = method or last_method
    return Section(CLAIMS, "Claims", "Claims", "claims", {"studies": content})


def _describe_method(spec: Spec) -> dict[str, str]:
    statistics = spec.statistics
    return {"confidence": f"{statistics.confidence:.0%}", "significance": number(statistics.significance)}


def _make_tables(data: ReportData) -> dict[str, Table | None]:
    """Make the tables of claims and of all their tests."""
    if not data.claims:
        return {"claims": None, "tests": None}
    of_paper = any(result.claim.place for result in data.claims)
    shown = [i for i, heading in enumerate(CLAIM_HEADINGS) if of_paper or heading != PLACE]
    rows = (_make_claim_row(i, result, data) for i, result in enumerate(data.claims, 1))
    claims = [[row[i] for i in shown] for row in rows]
    tests = [
        _make_test_row(i, test, result.claim, data)
        for i, result in enumerate(data.claims, 1)
        for test in result.tests
    ]
    return {
        "claims": Table([CLAIM_HEADINGS[i] for i in shown], claims, f"{data.prefix}claims-table"),
        "tests": Table(TEST_HEADINGS, tests, f"{data.prefix}tests-table"),
    }


def _make_claim_row(i: int, result: ClaimResult, data: ReportData) -> list[TableCell]:
    claim, decisive = result.claim, result.decisive_test
    held = sum(test.verdict == "reproduced" for test in result.tests)
    row = [
        make_number_cell(str(i), i),
        _make_verdict_cell(result.verdict, claim)._replace(
            notes=[f"{held} of {len(result.tests)} tests hold"]
        ),
        TableCell([claim.claim], claim.claim, "long", [claim.note] if claim.note else []),
        make_text_cell(claim.place),
    ]
    if decisive is None:
        return row + [make_text_cell("–")] * 4
    task = data.tasks[decisive.env]
    return [
        *row,
        TableCell([sentence(decisive, data.spec, task)], kind="middle", notes=[decisive.method]),
        _make_estimate_cell(decisive, task),
        _make_p_cell(_decisive_p(decisive)),
        TableCell(_make_links(result, data), kind="number"),
    ]


def _make_test_row(i: int, test: TestResult, claim: Claim, data: ReportData) -> list[TableCell]:
    task = data.tasks[test.env]
    link = Link(figure_id(task.html_id, FIGURES[test.condition.metric]), sentence(test, data.spec, task))
    improvement = "–" if test.improvement is None else f"{percent(test.improvement)} of seeds"
    bound = percent(test.bound) if find_kind(test.condition).is_rate else number(test.bound)
    return [
        make_number_cell(str(i), i),
        TableCell([link], kind="middle"),
        TableCell([], kind="middle", notes=[f"{test.method}; {test.runs} runs"]),
        _make_estimate_cell(test, task),
        make_number_cell(bound, test.bound),
        make_number_cell(improvement, -1.0 if test.improvement is None else test.improvement),
        _make_p_cell(test.p_opposite if test.verdict == "not reproduced" else test.p_value),
        _make_p_cell(_decisive_p(test)),
        _make_verdict_cell(test.verdict, claim),
    ]


def sentence(test: TestResult, spec: Spec, task: Task) -> str:
    """Describe the test in words."""
    condition = test.condition
    metric = {
        "final_regret": "final regret",
        "last_tenth": f"{task.reward} in the last tenth",
        "first_tenth": f"{task.reward} in the first tenth",
        "first_hundredth": f"{task.reward} in the first hundredth",
        "counter": condition.counter,
    }[condition.metric]
    of_optimum = "" if condition.metric == "counter" or task.optimum is None else " of the optimum"
    agent, than = (spec.agents[key].label if key else "" for key in (condition.agent, condition.than))
    words = Words(agent, than, metric, of_optimum, number, percent)
    return f"{task.label}: {find_kind(condition).sentence(condition, words)}"


def _decisive_p(test: TestResult) -> float | None:
    """Return the p-value of the direction that the test supports."""
    return test.adjusted_opposite if test.verdict == "not reproduced" else test.adjusted


def _make_estimate_cell(test: TestResult, task: Task) -> TableCell:
    """Make the cell of the estimate with its interval; a reward also as a share of the optimum, if known."""
    if find_kind(test.condition).is_rate:
        return make_number_cell(percent(test.estimate, test.low, test.high), test.estimate)
    is_reward = test.condition.metric not in ("final_regret", "counter")
    share = f"{percent(test.estimate / task.optimum)} of the optimum" if is_reward and task.optimum else ""
    return make_number_cell(interval(test.estimate, test.low, test.high), test.estimate, share)


def _make_p_cell(p: float | None) -> TableCell:
    return make_number_cell(p_value(p), 2.0 if p is None else p)


def _make_verdict_cell(verdict: Verdict, claim: Claim) -> TableCell:
    return TableCell([], ORDER[verdict], verdict=say_verdict(verdict, claim))


def _make_links(result: ClaimResult, data: ReportData) -> list[Link]:
    """Make links to the figures behind a claim's tests, in the order of environments."""
    figures = {(test.env, FIGURES[test.condition.metric]) for test in result.tests}
    envs = list(data.tasks)
    return [
        Link(figure_id(data.tasks[env].html_id, name), f"{data.tasks[env].label}, {name.replace('-', ' ')}")
        for env, name in sorted(figures, key=lambda figure: (envs.index(figure[0]), figure[1]))
    ]
