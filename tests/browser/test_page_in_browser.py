"""The report in a real browser: figures fit and follow the theme, it reacts to clicks, it requests nothing.

Run by ``make test-browser``; screenshots are left in the folder that HEAVYTAIL_SCREENSHOTS names.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heavytail.report.report import CompanionStudy, write_report
from support.fake_deep import SPEC as DEEP
from support.fake_deep import made_up_deep
from support.small_studies import done

SPEC: dict[str, Any] = {
    "name": "browser",
    "title": "A small study",
    "description": "Two environments, four agents.",
    "episodes": 2000,
    "seeds": 5,
    "checkpoints": 50,
    "envs": {"six_arms": {"label": "SixArms"}, "double_chain": {"label": "DoubleChain"}},
    "agents": {
        "heavy": {
            "agent": "heavy_q_learning",
            "label": "Heavy-Q-Learning",
            "setting": "tuned",
            "parameters": {"epsilon": 0.05},
            "grid": {
                "moment": ["true", 1.0],
                "transition_scale": [0.01, 0.1],
                "reward_scale": [0.0001, 0.001, 0.01],
            },
        },
        "q_learning": {
            "label": "Q-learning",
            "setting": "baseline",
            "grid": {"transition_scale": [0.01, 0.1, 1.0]},
        },
        "ucrl2": {"label": "UCRL2", "setting": "baseline"},
        "random": {"label": 'random <play> & "more"', "setting": "yardstick"},
    },
    "tuning": {"seeds": 2},
    "claims": [
        {
            "claim": "Zebras learn.",
            "conditions": [{"test": "better", "agent": "heavy", "than": "random", "metric": "final_regret"}],
        },
        {"claim": "Ants are lucky.", "conditions": [{"test": "at_least", "agent": "random", "value": 0.9}]},
        {"claim": "Moles are not.", "conditions": [{"test": "at_most", "agent": "random", "value": 0.9}]},
    ],
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    return write_report(done(SPEC, folder), folder / "report.html", command="heavytail run spec.toml")


@pytest.fixture(scope="module")
def combined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tabular study, and two deep ones with the same environments."""
    folder = tmp_path_factory.mktemp("studies")
    with made_up_deep():
        first, quick, full = (
            done(spec, folder / name)
            for name, spec in {
                "tabular": {**SPEC, "episodes": 500},
                "quick": DEEP,
                "full": {**DEEP, "seeds": 8},
            }.items()
        )
        beside = [CompanionStudy(quick, "Quick", "Fewer seeds."), CompanionStudy(full, "Full scale", "All.")]
        yield write_report(first, folder / "report.html", command="heavytail reproduce", beside=beside)


class Window:
    """The report in a window, its console messages and its requests."""

    def __init__(self, browser: Any, report: Path, width: int, **settings: Any) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(report.as_uri())

    def agents(self, figure: str) -> int:
        """Count the agents that are visible in a figure."""
        shown = (
            "all => new Set(all.filter(each => getComputedStyle(each).display !== 'none')"
            ".map(each => each.dataset.agent)).size"
        )
        return int(self.page.locator(f'[id="{figure}"] svg [data-agent]').evaluate_all(shown))

    def points(self, figure: str) -> int:
        """Count the markers of agents in a figure."""
        return self.page.locator(f'[id="{figure}"] svg [data-agent] use').count()

    def column(self, table: str, number: int) -> list[str]:
        """List the texts of a column, from the top."""
        return [
            str(text).strip()
            for text in self.page.locator(f"#{table} tbody tr td:nth-child({number})").all_inner_texts()
        ]


@pytest.fixture
def desk(browser: Any, report: Path) -> Iterator[Window]:
    opened = Window(browser, report, 1280, color_scheme="light")
    yield opened
    opened.page.context.close()


def test_it_logs_nothing_and_requests_nothing(desk: Window, report: Path) -> None:
    assert desk.messages == []
    assert [url for url in desk.requests if not url.startswith("data:")] == [report.as_uri()]


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (380, "light"), (380, "dark")]
)
def test_the_first_screen_says_what_was_found(
    browser: Any, report: Path, screenshots: Path, width: int, scheme: str
) -> None:
    """Sentences, verdicts, the picture and the leaderboard, before anything is scrolled."""
    opened = Window(browser, report, width, color_scheme=scheme)
    page = opened.page
    page.screenshot(path=screenshots / f"first-{width}-{scheme}.png")
    places = [
        page.locator(where).first.bounding_box()["y"]
        for where in ("p.finding", ".verdicts", "#summary--first", "#leaderboard", "#claims")
    ]
    assert places == sorted(places)
    assert places[2] < 900  # the picture begins on the first screen
    assert page.locator("#summary--first svg[role=img]").count() == 2
    assert opened.points("summary--first") == 2 * 4
    assert page.locator(".verdicts .verdict").all_inner_texts() == ["supported", "not supported", "undecided"]
    assert page.locator("#leaderboard tbody tr").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.messages == []
    page.context.close()


def test_panels_stand_below_each_other_where_there_is_no_room(desk: Window) -> None:
    def tops() -> set[int]:
        """The upper ends of the panels."""
        ends = "all => all.map(each => Math.round(each.getBoundingClientRect().top))"
        return set(desk.page.locator("#summary--first .panel").evaluate_all(ends))

    assert len(tops()) == 1
    desk.page.set_viewport_size({"width": 380, "height": 900})
    assert len(tops()) == 2


def test_letters_of_figures_can_be_read(browser: Any, report: Path) -> None:
    for width in (390, 1280):
        opened = Window(browser, report, width, color_scheme="light")
        pixels = opened.page.locator("figure svg text").evaluate_all(
            "all => all.map(each => parseFloat(getComputedStyle(each).fontSize)"
            " * each.ownerSVGElement.getScreenCTM().a)"
        )
        assert min(pixels) > 7
        assert max(pixels) < 18
        opened.page.context.close()


@pytest.mark.parametrize("width", [380, 1280])
def test_tables_scroll_inside_their_box(browser: Any, combined: Path, width: int) -> None:
    opened = Window(browser, combined, width, color_scheme="light")
    opened.page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    outside = opened.page.locator(".scroll").evaluate_all(
        "(all, width) => all.filter(each => each.getBoundingClientRect().right > width + 1).length", width
    )
    assert outside == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.page.context.close()


def test_a_report_is_small(report: Path, combined: Path) -> None:
    assert report.stat().st_size < 600e3
    assert combined.stat().st_size < 1e6


def test_curves_are_drawn(desk: Window, screenshots: Path) -> None:
    for env in ("six_arms", "double_chain"):
        assert desk.agents(f"{env}--regret") == 4
        assert desk.agents(f"{env}--log-log") == 4
        assert desk.points(f"{env}--last-tenth") == 4 * 5
    assert desk.page.locator("figure svg").count() >= 15
    assert 'random <play> & "more"' in desk.page.locator("#six_arms--last-tenth").inner_text()
    assert desk.page.locator("#six_arms--regret details tbody tr").count() == 4
    desk.page.screenshot(path=screenshots / "light.png", full_page=True)


def test_the_legend_hides_and_shows(desk: Window) -> None:
    button = desk.page.locator('.legend[data-env="six_arms"] [data-agent="q_learning"]')
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert [
        desk.agents("six_arms--regret"),
        desk.agents("six_arms--log-log"),
        desk.agents("double_chain--regret"),
    ] == [3, 3, 4]
    button.click()
    assert desk.agents("six_arms--regret") == 4
    button.dblclick()
    assert desk.agents("six_arms--regret") == 1
    desk.page.locator('.legend[data-env="six_arms"] .all').click()
    assert desk.agents("six_arms--regret") == 4


def test_tables_sort(desk: Window) -> None:
    assert [text.split(".")[0] for text in desk.column("claims-table", 3)] == [
        "Zebras learn",
        "Ants are lucky",
        "Moles are not",
    ]
    head = desk.page.locator("#claims-table th:nth-child(3)")
    head.locator("button").click()
    assert [text.split()[0] for text in desk.column("claims-table", 3)] == ["Ants", "Moles", "Zebras"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert [text.split()[0] for text in desk.column("claims-table", 3)] == ["Zebras", "Moles", "Ants"]
    regret = desk.page.locator("#six_arms-agents th:nth-child(4)")
    regret.locator("button").click()
    values = [float(text.split()[0].replace(",", "")) for text in desk.column("six_arms-agents", 4)]
    assert values == sorted(values)


def test_light_and_dark_themes(desk: Window, browser: Any, report: Path, screenshots: Path) -> None:
    def background(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    def ink(page: Any) -> str:
        text = page.locator("#six_arms--regret svg text").first
        return str(text.evaluate("each => getComputedStyle(each).fill"))

    light, ink_in_light = background(desk.page), ink(desk.page)
    desk.page.locator("#theme").click()
    assert background(desk.page) != light
    assert ink(desk.page) != ink_in_light
    assert desk.messages == []
    dark_window = Window(browser, report, 1280, color_scheme="dark")
    assert background(dark_window.page) == background(desk.page)
    dark_window.page.screenshot(path=screenshots / "dark.png", full_page=True)
    dark_window.page.context.close()
    desk.page.locator("#theme").click()
    assert (background(desk.page), ink(desk.page)) == (light, ink_in_light)


@pytest.mark.parametrize("width", [320, 380, 820])
def test_nothing_sticks_out_of_a_phone(browser: Any, report: Path, screenshots: Path, width: int) -> None:
    phone = Window(browser, report, width, has_touch=True, is_mobile=True, color_scheme="light")
    phone.page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= width
    widths = phone.page.locator(".panel").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )
    assert max(widths) <= width
    assert phone.messages == []
    phone.page.screenshot(path=screenshots / f"phone-{width}.png", full_page=True)
    phone.page.context.close()


def test_a_figure_is_one_click_from_its_claim(desk: Window) -> None:
    desk.page.locator("#claims-table a").first.click()
    assert desk.page.url.endswith("#six_arms--regret")
    desk.page.wait_for_function(
        "(() => { const top ="
        " document.getElementById('six_arms--regret').getBoundingClientRect().top; return top > -5"
        " && top < 400; })()"
    )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_several_studies_share_a_page(
    browser: Any, combined: Path, screenshots: Path, width: int, scheme: str
) -> None:
    opened = Window(browser, combined, width, color_scheme=scheme)
    assert opened.messages == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [combined.as_uri()]
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.agents("six_arms--regret") == 4
    for place in ("2~loud", "3~loud"):
        assert opened.agents(f"{place}--pace") == 3
        assert opened.agents(f"{place}--truncated") == 2
    assert [opened.points(f"{i}~loud--last-tenth") for i in (2, 3)] == [3 * 6, 3 * 8]
    assert "NaN" not in opened.page.inner_text("body")
    opened.page.screenshot(path=screenshots / f"combined-{scheme}-{width}.png", full_page=True)
    opened.page.context.close()


def test_each_study_has_a_legend_of_its_own(browser: Any, combined: Path) -> None:
    opened = Window(browser, combined, 1280, color_scheme="light")
    opened.page.locator('.legend[data-env="3~loud"] [data-agent="heavy"]').click()
    assert [opened.agents("2~loud--pace"), opened.agents("3~loud--pace"), opened.agents("3~quiet--pace")] == [
        3,
        2,
        3,
    ]
    opened.page.locator('nav a[href="#env-3~loud"]').click()
    opened.page.wait_for_function(
        "Math.abs(document.getElementById('env-3~loud').getBoundingClientRect().top) < 100"
    )
    assert opened.messages == []
    opened.page.context.close()
