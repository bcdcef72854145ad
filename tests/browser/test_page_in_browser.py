"""The report in a real browser: it draws, it reacts to clicks, it requests nothing.

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
        self.page.wait_for_function("document.documentElement.dataset.drawn", timeout=120_000)

    def draw_all(self) -> "Window":
        """Draw the figures that are far from the window too, as for print."""
        self.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.page.wait_for_function("document.documentElement.dataset.drawn === 'all'", timeout=120_000)
        return self

    def lines(self, figure: str) -> int:
        """Count the curves that are visible in a figure."""
        drawn = (
            "els => els.filter(e => e.getAttribute('d') && getComputedStyle(e).strokeWidth !== '0px').length"
        )
        return int(
            self.page.locator(f'[id="plot-{figure}"] .scatterlayer .trace path.js-line').evaluate_all(drawn)
        )

    def column(self, table: str, number: int) -> list[str]:
        """List the texts of a column, from the top."""
        return [
            str(text).strip()
            for text in self.page.locator(f"#{table} tbody tr td:nth-child({number})").all_inner_texts()
        ]


@pytest.fixture
def desk(browser: Any, report: Path) -> Iterator[Window]:
    opened = Window(browser, report, 1280, color_scheme="light").draw_all()
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
    assert page.locator("#plot-summary--first .scatterlayer .trace").count() == 2 * 4
    assert page.locator(".verdicts .verdict").all_inner_texts() == ["supported", "not supported", "undecided"]
    assert page.locator("#leaderboard tbody tr").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.messages == []
    page.context.close()


def test_figures_are_drawn_when_they_are_looked_at(browser: Any, report: Path) -> None:
    opened = Window(browser, report, 1280, color_scheme="light")
    last = opened.page.locator("#plot-double_chain--final-regret")
    assert opened.page.evaluate("document.documentElement.dataset.drawn") == "near"
    assert last.locator(".main-svg").count() == 0
    last.scroll_into_view_if_needed()
    last.locator(".main-svg").first.wait_for()
    opened.page.context.close()


def test_panels_stand_below_each_other_where_there_is_no_room(browser: Any, report: Path) -> None:
    opened = Window(browser, report, 1280, color_scheme="light")

    def tops() -> list[float]:
        """The upper ends of the panels' axes."""
        ends = "all => all.map(each => each.getBoundingClientRect().top)"
        return list(opened.page.locator("#plot-summary--first .subplot .xaxislayer-above").evaluate_all(ends))

    assert len(set(map(round, tops()))) == 1
    opened.page.set_viewport_size({"width": 380, "height": 900})
    opened.page.wait_for_function(
        "document.getElementById('plot-summary--first').getBoundingClientRect().height > 400"
    )
    opened.page.wait_for_timeout(500)
    assert len(set(map(round, tops()))) == 2
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


def test_a_report_is_below_three_megabytes(combined: Path) -> None:
    assert combined.stat().st_size < 3e6


def test_curves_are_drawn(desk: Window, screenshots: Path) -> None:
    for env in ("six_arms", "double_chain"):
        assert desk.lines(f"{env}--regret") == 4
        assert desk.lines(f"{env}--log-log") == 4
        assert desk.lines(f"{env}--reward") == 5  # and the best policy
        assert desk.page.locator(f"#plot-{env}--last-tenth .scatterlayer .point").count() == 4 * 5
    assert desk.page.locator(".plot .main-svg").count() >= 15
    assert 'random <play> & "more"' in desk.page.locator("#plot-six_arms--last-tenth").inner_text()
    desk.page.screenshot(path=screenshots / "light.png", full_page=True)


def test_the_legend_hides_and_shows(desk: Window) -> None:
    button = desk.page.locator('.legend[data-env="six_arms"] [data-agent="q_learning"]')
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert [
        desk.lines("six_arms--regret"),
        desk.lines("six_arms--log-log"),
        desk.lines("double_chain--regret"),
    ] == [3, 3, 4]
    button.click()
    assert desk.lines("six_arms--regret") == 4
    button.dblclick()
    assert desk.lines("six_arms--regret") == 1
    desk.page.locator('.legend[data-env="six_arms"] .all').click()
    assert desk.lines("six_arms--regret") == 4


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
        return str(page.locator("#plot-six_arms--regret .xtitle").evaluate("e => e.style.fill"))

    light, ink_in_light = background(desk.page), ink(desk.page)
    desk.page.locator("#theme").click()
    assert background(desk.page) != light
    assert ink(desk.page) != ink_in_light
    assert desk.messages == []
    dark_window = Window(browser, report, 1280, color_scheme="dark").draw_all()
    assert background(dark_window.page) == background(desk.page)
    dark_window.page.screenshot(path=screenshots / "dark.png", full_page=True)
    dark_window.page.context.close()
    desk.page.locator("#theme").click()
    assert (background(desk.page), ink(desk.page)) == (light, ink_in_light)


@pytest.mark.parametrize("width", [320, 380, 820])
def test_nothing_sticks_out_of_a_phone(browser: Any, report: Path, screenshots: Path, width: int) -> None:
    phone = Window(browser, report, width, has_touch=True, is_mobile=True, color_scheme="light").draw_all()
    phone.page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= width
    widths = phone.page.locator(".plot .main-svg").evaluate_all(
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
    opened = Window(browser, combined, width, color_scheme=scheme).draw_all()
    assert opened.messages == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [combined.as_uri()]
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.lines("six_arms--regret") == 4
    for place in ("2~loud", "3~loud"):
        assert opened.lines(f"{place}--pace") == 3
        assert opened.lines(f"{place}--truncated") == 2
    points = [
        opened.page.locator(f'[id="plot-{i}~loud--last-tenth"] .scatterlayer .point').count() for i in (2, 3)
    ]
    assert points == [3 * 6, 3 * 8]
    assert "NaN" not in opened.page.inner_text("body")
    opened.page.screenshot(path=screenshots / f"combined-{scheme}-{width}.png", full_page=True)
    opened.page.context.close()


def test_each_study_has_a_legend_of_its_own(browser: Any, combined: Path) -> None:
    opened = Window(browser, combined, 1280, color_scheme="light").draw_all()
    opened.page.locator('.legend[data-env="3~loud"] [data-agent="heavy"]').click()
    assert [opened.lines("2~loud--pace"), opened.lines("3~loud--pace"), opened.lines("3~quiet--pace")] == [
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
