"""Claims as a reader sees them.

The sentence, what was tested, the number, the verdict, and where to look.
"""

from collections.abc import Mapping, Sequence
from html import escape

from heavytail.report.html_tables import Cell, numeric, table, text
from heavytail.report.number_format import interval, number, p_value, percent
from heavytail.report.page import figure_id
from heavytail.studies.claims import ClaimResult, TestResult, Verdict, Words, kind_of_test
from heavytail.studies.results import Task
from heavytail.studies.specs.spec import Spec

FIGURES = {
    "final_regret": "regret",
    "last_tenth": "last-tenth",
    "first_tenth": "pace",
    "first_hundredth": "pace",
    "counter": "counters",
}
ORDER: dict[Verdict, int] = {"reproduced": 0, "undecided": 1, "not reproduced": 2}


def claims_section(
    spec: Spec, judged: Sequence[ClaimResult], tasks: Mapping[str, Task], *, prefix: str = ""
) -> str:
    """The table of claims, then every test behind it; `prefix` begins the names of tables."""
    if not judged:
        return "<p>This study makes no claims.</p>\n"
    rows = [_claim(i + 1, each, spec, tasks) for i, each in enumerate(judged)]
    every = [_row(i + 1, test, spec, tasks) for i, each in enumerate(judged) for test in each.tests]
    claims = table(
        ["#", "Verdict", "Claim", "Place", "Decisive test", "Number", "p", "Figures"],
        rows,
        name=f"{prefix}claims-table",
    )
    tests = table(
        ["#", "Test", "Statistic", "Number", "Against", "Better in", "p", "p, Holm", "Verdict"],
        every,
        name=f"{prefix}tests-table",
    )
    return f"{claims}<details><summary>All {len(every)} tests</summary>{tests}</details>\n"


def how_judged(spec: Spec) -> str:
    """What the verdicts and the numbers in the tables mean."""
    confidence, significance = f"{spec.statistics.confidence:.0%}", number(spec.statistics.significance)
    return (
        "<p>A claim is reproduced if all its tests are, not reproduced if any comes out the other way, and undecided else. The decisive test is the weakest of those that"
        " carry the verdict. Two agents are compared by the interquartile mean of their differences on common seeds; its p-value is that of a one-sided permutation"
        f" test, corrected for all tests of the study in both directions (Holm), and decides at {significance}. A median or a mean is compared with a value by its {confidence}"
        " bootstrap interval, the share of runs in which something happened by its exact interval; these have no p-value and are not corrected. Numbers in brackets are such intervals. Positive differences favour the agent named first; the p-value of a claim that is not reproduced is that of its opposite.</p>\n"
    )


def _claim(i: int, judged: ClaimResult, spec: Spec, tasks: Mapping[str, Task]) -> list[Cell]:
    claim, decisive_test = judged.claim, judged.decisive_test
    note = f"<small>{escape(claim.note)}</small>" if claim.note else ""
    held = sum(test.verdict == "reproduced" for test in judged.tests)
    words = Cell(f"{escape(claim.claim)}{note}", claim.claim, "long")
    verdict = Cell(
        f"{_badge(judged.verdict)}<small>{held} of {len(judged.tests)} tests hold</small>",
        ORDER[judged.verdict],
    )
    if decisive_test is None:
        return [
            numeric(str(i), i),
            verdict,
            words,
            text(claim.place),
            text("–"),
            text("–"),
            text("–"),
            text("–"),
        ]
    return [
        numeric(str(i), i),
        verdict,
        words,
        text(claim.place),
        Cell(
            f"{escape(sentence(decisive_test, spec, tasks[decisive_test.env]))}<small>{escape(decisive_test.method)}</small>",
            kind="middle",
        ),
        _number(decisive_test, tasks[decisive_test.env]),
        _p(_decisive_p(decisive_test)),
        Cell(_links(judged, tasks), kind="number"),
    ]


def _row(i: int, test: TestResult, spec: Spec, tasks: Mapping[str, Task]) -> list[Cell]:
    shown = "–" if test.improvement is None else f"{percent(test.improvement)} of seeds"
    improvement = Cell(shown, -1.0 if test.improvement is None else test.improvement, "number")
    verdict = Cell(_badge(test.verdict), ORDER[test.verdict])
    sides = f"<small>{escape(test.method)}; {test.runs} runs</small>"
    against = numeric(
        percent(test.bound) if kind_of_test(test.condition).is_rate else number(test.bound), test.bound
    )
    where = figure_id(tasks[test.env].place, FIGURES[test.condition.metric])
    words = Cell(
        f'<a href="#{escape(where)}">{escape(sentence(test, spec, tasks[test.env]))}</a>', kind="middle"
    )
    p = [_p(test.p_opposite if test.verdict == "not reproduced" else test.p_value), _p(_decisive_p(test))]
    return [
        numeric(str(i), i),
        words,
        Cell(sides, kind="middle"),
        _number(test, tasks[test.env]),
        against,
        improvement,
        *p,
        verdict,
    ]


def sentence(test: TestResult, spec: Spec, task: Task) -> str:
    """Say in words what is tested."""
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
    return f"{task.label}: {kind_of_test(condition).sentence(condition, words)}"


def _decisive_p(test: TestResult) -> float | None:
    """Of the direction that was found."""
    return test.adjusted_opposite if test.verdict == "not reproduced" else test.adjusted


def _number(test: TestResult, task: Task) -> Cell:
    """The estimate with its interval, and as a share of the optimum where it is a reward and there is one."""
    if kind_of_test(test.condition).is_rate:
        return numeric(percent(test.estimate, test.low, test.high), test.estimate)
    is_reward = test.condition.metric not in ("final_regret", "counter")
    share = f"{percent(test.estimate / task.optimum)} of the optimum" if is_reward and task.optimum else ""
    return numeric(interval(test.estimate, test.low, test.high), test.estimate, share)


def _p(p: float | None) -> Cell:
    return numeric(p_value(p), 2.0 if p is None else p)


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{verdict}</span>'


def _links(judged: ClaimResult, tasks: Mapping[str, Task]) -> str:
    places = {(test.env, FIGURES[test.condition.metric]) for test in judged.tests}
    ordered = sorted(places, key=lambda place: (list(tasks).index(place[0]), place[1]))
    return "<br>".join(
        (
            f'<a href="#{escape(figure_id(tasks[env].place, name))}">{escape(tasks[env].label)},'
            f" {name.replace('-', ' ')}</a>"
        )
        for env, name in ordered
    )
