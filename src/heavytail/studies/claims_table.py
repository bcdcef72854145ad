"""Claims as a reader sees them: the sentence, what was tested, the number, the verdict, and where to look."""

from collections.abc import Mapping, Sequence
from html import escape

from heavytail.report.curves import Task
from heavytail.report.page import figure_id
from heavytail.report.page_numbers import interval, number, p_value, percent
from heavytail.report.tables import Cell, numeric, table, text
from heavytail.studies.claims import Judged, Outcome, Verdict
from heavytail.studies.spec import Spec

FIGURES = {
    "final_regret": "regret",
    "last_tenth": "last-tenth",
    "first_tenth": "pace",
    "first_hundredth": "pace",
    "counter": "counters",
}
ORDER: dict[Verdict, int] = {"reproduced": 0, "undecided": 1, "not reproduced": 2}


def claims_section(spec: Spec, judged: Sequence[Judged], tasks: Mapping[str, Task]) -> str:
    """The table of claims, then every test behind it."""
    if not judged:
        return "<p>This study makes no claims.</p>\n"
    rows = [_claim(i + 1, each, spec, tasks) for i, each in enumerate(judged)]
    every = [_row(i + 1, test, spec, tasks) for i, each in enumerate(judged) for test in each.tests]
    claims = table(["#", "Verdict", "Claim", "Place", "Decisive test", "Number", "p", "Figures"], rows, name="claims-table")
    tests = table(["#", "Test", "Statistic", "Number", "Against", "Better in", "p", "p, Holm", "Verdict"], every, name="tests-table")
    return f"{claims}<p>{_how(spec)}</p>\n<details><summary>All {len(every)} tests</summary>{tests}</details>\n"


def _how(spec: Spec) -> str:
    confidence, significance = f"{spec.statistics.confidence:.0%}", number(spec.statistics.significance)
    return (
        "A claim is reproduced if all its tests are, not reproduced if any comes out the other way, and undecided else. The decisive test is the weakest of those that"
        " carry the verdict. Two agents are compared by the interquartile mean of their differences on common seeds; its p-value is that of a one-sided permutation"
        f" test, corrected for all tests of the study in both directions (Holm), and decides at {significance}. A median is compared with a value by its {confidence}"
        " bootstrap interval, which has no p-value and is not corrected. Numbers in brackets are such intervals. Positive differences favour the agent named first; the p-value of a claim that is not reproduced is that of its opposite."
    )


def _claim(i: int, judged: Judged, spec: Spec, tasks: Mapping[str, Task]) -> list[Cell]:
    claim, decisive = judged.claim, judged.decisive
    note = f"<small>{escape(claim.note)}</small>" if claim.note else ""
    held = sum(test.verdict == "reproduced" for test in judged.tests)
    words = Cell(f"{escape(claim.claim)}{note}", claim.claim, "long")
    verdict = Cell(f"{_badge(judged.verdict)}<small>{held} of {len(judged.tests)} tests hold</small>", ORDER[judged.verdict])
    if decisive is None:
        return [numeric(str(i), i), verdict, words, text(claim.place), text("–"), text("–"), text("–"), text("–")]
    return [
        numeric(str(i), i),
        verdict,
        words,
        text(claim.place),
        Cell(f"{escape(sentence(decisive, spec))}<small>{escape(decisive.method)}</small>", kind="middle"),
        _number(decisive, tasks[decisive.env]),
        _p(_decisive_p(decisive)),
        Cell(_links(judged, tasks), kind="number"),
    ]


def _row(i: int, test: Outcome, spec: Spec, tasks: Mapping[str, Task]) -> list[Cell]:
    shown = "–" if test.improvement is None else f"{percent(test.improvement)} of seeds"
    improvement = Cell(shown, -1.0 if test.improvement is None else test.improvement, "number")
    verdict = Cell(_badge(test.verdict), ORDER[test.verdict])
    sides = f"<small>{escape(test.method)}; {test.runs} runs</small>"
    against = numeric(number(test.bound), test.bound)
    where = figure_id(test.env, FIGURES[test.condition.metric])
    words = Cell(f'<a href="#{escape(where)}">{escape(sentence(test, spec))}</a>', kind="middle")
    p = [_p(test.p_opposite if test.verdict == "not reproduced" else test.p_value), _p(_decisive_p(test))]
    return [numeric(str(i), i), words, Cell(sides, kind="middle"), _number(test, tasks[test.env]), against, improvement, *p, verdict]


def sentence(test: Outcome, spec: Spec) -> str:
    """What is tested, in words."""
    condition, env = test.condition, spec.envs[test.env].label
    agent = spec.agents[condition.agent].label
    what = {
        "final_regret": "final regret",
        "last_tenth": "reward in the last tenth",
        "first_tenth": "reward in the first tenth",
        "first_hundredth": "reward in the first hundredth",
        "counter": condition.counter,
    }[condition.metric]
    share = f"{number(condition.value or 0.0)}{'' if condition.metric == 'counter' else ' of the optimum'}"
    match condition.test:
        case "better":
            return f"{env}: {agent} better than {spec.agents[condition.than].label}, {what}"
        case "no_gain":
            return f"{env}: {agent} no better than {spec.agents[condition.than].label}, {what}, margin {number(condition.margin)}"
        case "at_least":
            return f"{env}: {agent}, {what}, at least {share}"
    return f"{env}: {agent}, {what}, at most {share}"


def _decisive_p(test: Outcome) -> float | None:
    """Of the direction that was found."""
    return test.adjusted_opposite if test.verdict == "not reproduced" else test.adjusted


def _number(test: Outcome, task: Task) -> Cell:
    """The estimate with its interval, and as a share of the optimum where it is a reward."""
    shown = escape(interval(test.estimate, test.low, test.high))
    if test.condition.metric not in ("final_regret", "counter") and task.optimum:
        shown += f"<small>{percent(test.estimate / task.optimum)} of the optimum</small>"
    return Cell(shown, test.estimate, "number")


def _p(p: float | None) -> Cell:
    return numeric(p_value(p), 2.0 if p is None else p)


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{verdict}</span>'


def _links(judged: Judged, tasks: Mapping[str, Task]) -> str:
    places = {(test.env, FIGURES[test.condition.metric]) for test in judged.tests}
    ordered = sorted(places, key=lambda place: (list(tasks).index(place[0]), place[1]))
    return "<br>".join(
        f'<a href="#{escape(figure_id(env, name))}">{escape(tasks[env].label)}, {name.replace("-", " ")}</a>' for env, name in ordered
    )
