"""The leaderboard as a table: who does best over all environments."""

from heavytail.report.leaderboard import Standing
from heavytail.report.number_format import p_value, percent
from heavytail.report.report_data import ReportData
from heavytail.report.tables import Table, TableCell, make_agent_cell, make_number_cell, make_text_cell


def make_leaderboard_table(data: ReportData) -> Table | None:
    """Make the table; None where fewer than two agents met."""
    if not data.leaderboard:
        return None
    known = any(each.of_optimum for each in data.leaderboard)
    headings = [
        "#",
        "Agent",
        "Beats another's run",
        *(["Of the optimum"] if known else []),
        "Not told from the best in",
        "Against the first",
    ]
    rows = [
        [
            make_number_cell(str(i), i),
            make_agent_cell(data.styles[each.agent], each.label),
            make_number_cell(percent(*map(float, each.share)), float(each.share.estimate)),
            *([_make_optimum_cell(each)] if known else []),
            make_number_cell(f"{each.level} of {each.envs}", each.level),
            _make_test_cell(i, each, data.spec.statistics.significance),
        ]
        for i, each in enumerate(data.leaderboard, 1)
    ]
    return Table(headings, rows, f"{data.prefix}leaderboard")


def _make_optimum_cell(each: Standing) -> TableCell:
    if each.of_optimum is None:
        return make_number_cell("–", -1.0)
    return make_number_cell(percent(*map(float, each.of_optimum)), float(each.of_optimum.estimate))


def _make_test_cell(i: int, each: Standing, significance: float) -> TableCell:
    """Say whether the first is significantly better; of the first itself there is nothing to say."""
    if each.p_value is None:
        return make_text_cell("" if i == 1 else "never met")
    words = "worse" if each.p_value <= significance else "not told apart"
    return make_number_cell(f"{words} (p {p_value(each.p_value)})", each.p_value)
