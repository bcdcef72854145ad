"""Several studies in one report.

Each is whole, no two things share a name, and the claims of all stand together.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from heavytail.report.report import CompanionStudy, write_report
from support.fake_deep import SPEC as DEEP
from support.fake_deep import made_up_deep
from support.page_reader import Reader, read
from support.small_studies import done, small

CLAIM = {"claim": "Tables do.", "conditions": [{"test": "better", "agent": "q_learning", "than": "random"}]}
WORDS = "Published at full scale, <computed> with: heavytail run spec.toml"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("studies")
    with made_up_deep():
        quick, full = done(DEEP, folder / "quick"), done({**DEEP, "seeds": 8}, folder / "full")
        first = done(
            small(claims=[CLAIM], title="Tables", agents={**small()["agents"], "psrl": {}}),
            folder / "tabular",
        )
        beside = [
            CompanionStudy(quick, "Quick & new", "Fewer seeds."),
            CompanionStudy(full, "Full scale", WORDS),
        ]
        yield write_report(
            first, folder / "page" / "report.html", command="heavytail reproduce", beside=beside
        )


@pytest.fixture(scope="module")
def page(report: Path) -> Reader:
    return read(report.read_text(encoding="utf-8"))


def test_no_two_things_share_a_name(page: Reader) -> None:
    names = Counter(page.values("id"))
    assert {name for name, times in names.items() if times > 1} == set()
    links = {value[1:] for value in page.values("href") if value.startswith("#")}
    assert links <= names.keys()
    assert {
        "2~quiet--last-tenth",
        "3~quiet--last-tenth",
        "six_arms--last-tenth",
        "2~study",
        "env-3~loud",
    } <= links


def test_every_study_has_its_figures(page: Reader, report: Path) -> None:
    places = Counter(name.split("--")[0] for name in page.figures)
    assert places == {
        **{f"{prefix}summary": 1 for prefix in ("", "2~", "3~")},
        "six_arms": 7,
        "double_chain": 7,
        **{f"{i}~map": 1 for i in (2, 3)},
        **{f"{i}~{env}": 3 for i in (2, 3) for env in DEEP["envs"]},
    }
    envs = [value for tag, name, value in page.attributes if name == "data-env"]
    assert {place for place in places if "summary" not in place and "map" not in place} <= set(envs)
    pictures = {
        value.removeprefix("figures/") for value in page.values("href") if value.startswith("figures/")
    }
    assert pictures <= {path.name for path in (report.parent / "figures").iterdir()}
    assert {"2~quiet-pace.svg", "3~quiet-pace.svg", "2~map-deep.svg"} <= pictures


def test_figures_of_each_study_are_its_own(page: Reader) -> None:
    agents = [page.figures[f"{i}~loud--last-tenth"].agents for i in (2, 3)]
    assert agents[0] == agents[1]
    assert set(agents[0]) == set(DEEP["agents"])


def test_claims_stand_together_and_origins_too(page: Reader) -> None:
    words = page.words
    first, last = words.index("Claims Tables # Verdict"), words.index("How this was made Tables command")
    assert (
        first
        < words.index("Tables do.")
        < words.index("Quick & new # Verdict")
        < words.index("Full scale # Verdict")
        < last
    )
    assert words.count("supported) if all its tests are") == 1
    assert words.count("spec digest") == 3
    assert words.count("heavytail reproduce") == 1
    assert WORDS in words


def test_the_top_lists_all(page: Reader) -> None:
    top = page.words[: page.words.index("dark")]
    assert top.startswith(
        "Tables Summary Claims six_arms double_chain Quick & new Agents × environments noise 1 noise 5 noise"
        " 20 Full scale"
    )
    assert top.strip().endswith("How this was made")
