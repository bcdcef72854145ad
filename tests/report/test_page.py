"""The report of a small study: what is in the page, and that nothing in it comes from elsewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from heavytail.errors import InputError
from heavytail.report.report import collect_studies, render_page, write_report
from heavytail.report.report_data import ReportData, StudySection
from heavytail.studies import Study
from support.page_reader import read
from support.small_studies import done

COMMAND = 'heavytail run "a<b".toml'
NASTY = '<i>A</i> & "B" $x$'
SPEC: dict[str, Any] = {
    "name": "page",
    "title": "A <study> & its page",
    "description": "First </script><script>alert(1)</script>.\n\nSecond.",
    "episodes": 200,
    "seeds": 4,
    "checkpoints": 20,
    "envs": {"six_arms": {"label": "Six <arms>"}, "double_chain": {}},
    "agents": {
        "random": {"label": NASTY, "setting": "yard&stick"},
        "q": {
            "agent": "heavy_q_learning",
            "parameters": {"epsilon": 0.05},
            "grid": {
                "moment": ["true", 1.0],
                "transition_scale": [0.01, 0.1, 1.0],
                "reward_scale": [0.001, 0.01],
            },
        },
        "ucrl2": {"envs": ["double_chain"], "grid": {"reward_scale": [0.1, 1.0]}},
    },
    "tuning": {"seeds": 2},
    "statistics": {"resamples": 100, "permutations": 200},
    "claims": [
        {
            "claim": "Learning <b>helps</b>.",
            "place": "section 1 & 2",
            "note": "Or not.",
            "conditions": [
                {"test": "better", "agent": "q", "than": "random"},
                {"test": "no_gain", "agent": "random", "than": "q"},
            ],
        },
        {
            "claim": "Chance does not.",
            "conditions": [
                {"test": "at_most", "agent": "random", "value": 0.5},
                {
                    "test": "at_least",
                    "agent": "ucrl2",
                    "metric": "counter",
                    "counter": "phases",
                    "value": 1.0,
                },
            ],
        },
    ],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return done(SPEC, tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def section(study: Study) -> StudySection:
    (only,) = collect_studies(study)
    return only


@pytest.fixture(scope="module")
def report(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    assert write_report(study, path, command=COMMAND) == path
    return path


@pytest.fixture(scope="module")
def page(report: Path) -> str:
    return report.read_text(encoding="utf-8")


def test_it_loads_nothing(page: str) -> None:
    reader = read(page)
    links = [
        value
        for _, name, value in reader.attributes
        if name in ("src", "href", "action", "data", "poster", "srcset")
    ]
    assert links
    assert all(link.startswith(("#", "data:", "figures/")) for link in links), links
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert ("meta", "name", "viewport") in reader.attributes


def test_it_says_what_was_found(page: str) -> None:
    words = read(page).words
    for expected in (
        "Learning <b>helps</b>.",
        "section 1 & 2",
        "Or not.",
        "Chance does not.",
        "Runs",
        "Tuned values and their grids",
        "phases",
        "First </script><script>alert(1)</script>.",
        'heavytail run "a<b".toml',
        "★",
        "numba",
        "Six <arms>",
    ):
        assert expected in words, expected
    assert words.count(NASTY) >= 4
    assert re.search(r"\b(reproduced|undecided)\b", words)


def test_words_of_the_study_are_never_markup(page: str) -> None:
    reader = read(page)
    tags = {tag for tag, _, _ in reader.attributes}
    assert "i" not in tags
    assert "<script>alert" not in page
    assert "<i>A" not in page
    assert "<b>helps" not in page


def test_links_lead_somewhere(page: str) -> None:
    reader = read(page)
    places = {value for _, name, value in reader.attributes if name == "id"}
    links = {value[1:] for _, name, value in reader.attributes if name == "href" and value.startswith("#")}
    assert links <= places
    assert {"six_arms--last-tenth", "double_chain--counters"} <= links


def test_every_figure_shows_its_agents_and_says_what_it_is(page: str) -> None:
    reader = read(page)
    assert len(reader.figures) == 1 + 2 * 8
    for name, figure in reader.figures.items():
        agents = {"random", "q"} if "six_arms" in name else {"random", "q", "ucrl2"}
        counting = {"q"} if name.endswith("truncated") else agents
        assert set(figure.agents) == counting
    labels = [value for _, name, value in reader.attributes if name == "aria-label"]
    assert "Regret: cumulative regret (reward) against episodes" in labels
    assert reader.values("role").count("img") == len(labels) == page.count("<svg role")
    assert page.count("<summary>Numbers") == len(reader.figures)  # for each a table


def test_the_same_study_gives_the_same_files(study: Study, report: Path, tmp_path: Path) -> None:
    again = write_report(study, tmp_path / "again" / "report.html", command=COMMAND)
    first, second = (
        {path.name: path.read_bytes() for path in each.parent.rglob("*.*")} for each in (report, again)
    )
    assert first == second
    assert {"overview.svg", "six_arms-regret.svg", "double_chain-grid-q.svg"} <= first.keys()
    assert set(re.findall(r'href="figures/([^"]+)"', first["report.html"].decode())) <= first.keys()


def test_what_went_wrong_is_said(section: StudySection) -> None:
    def page(data: ReportData) -> str:
        return render_page([section._replace(data=data)])

    data = section.data
    assert "Runs that failed" not in page(data)
    lost = page(data._replace(failures=[["q", "six_arms", "evaluation", "{}", "3", "ValueError: <no>"]]))
    assert "ValueError: &lt;no&gt;" in lost
    mixed = {"evaluation": [{**each, "numba": str(i)} for i, each in enumerate(data.sidecars["evaluation"])]}
    assert "Not all parts were computed by the same versions: numba 0 (1 part)" in page(
        data._replace(sidecars=mixed)  # type: ignore[arg-type]
    )
    assert 'class="warning"' not in page(data)


def test_only_claims_of_a_paper_have_a_place_in_it(section: StudySection, page: str) -> None:
    results = [
        result._replace(claim=result.claim.model_copy(update={"place": ""})) for result in section.data.claims
    ]
    own = render_page([section._replace(data=section.data._replace(claims=results))])
    assert (">Place" in page, ">Place" in own) == (True, False)


def test_a_study_in_progress_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="parts of the tuning are done"):
        write_report(Study(SPEC, tmp_path), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_one_seed_one_agent_no_claims(tmp_path: Path) -> None:
    made = Study(
        {"name": "least", "episodes": 20, "seeds": 1, "envs": {"six_arms": {}}, "agents": {"random": {}}},
        tmp_path,
    )
    made.run(engine="inline")
    page = write_report(made, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "This study makes no claims." in page
    assert "Tuned values" not in page
    assert "fill-opacity: 0.16" not in page  # no bands


def test_a_page_that_cannot_be_written_is_one_line(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(study, tmp_path / "file" / "report.html")
