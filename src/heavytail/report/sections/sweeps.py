"""Sweep maps as a reader sees them: a table of where agents work, then the maps."""

from collections.abc import Sequence

from heavytail.report.figures.sweep_maps import WORKS, SweepMap
from heavytail.report.number_format import number, percent
from heavytail.report.report_data import SWEEPS, ReportData
from heavytail.report.sections.section import Section, place_figure
from heavytail.report.tables import Table, TableCell, make_number_cell, make_text_cell


def make_sweeps_section(data: ReportData, title: str, title_prefix: str) -> Section:
    """Make the section: how wide the region is in which each agent works, then the maps."""
    place = f"{data.prefix}{SWEEPS}"
    content = {
        "works": f"{WORKS:.0%}",
        "command": data.sweep_summary.command if data.sweep_summary else "",
        "table": _make_table(data.sweep_maps),
    }
    figures = [place_figure(place, figure) for figure in data.figures[place]]
    return Section(f"{place}-it-works", title, f"{title_prefix}{title}", "sweeps", content, figures)


def _make_table(maps: Sequence[SweepMap]) -> Table:
    labels = list(dict.fromkeys(mark.label for sweep_map in maps for mark in sweep_map.marks))
    headings = ["Map", "Share of points that work", "Works around the best point", "Best point", *labels]
    return Table(headings, [_make_row(sweep_map, labels) for sweep_map in maps])


def _make_row(sweep_map: SweepMap, labels: Sequence[str]) -> list[TableCell]:
    works, peak = sweep_map.works, sweep_map.peak
    best = [
        f"{axis.name} {number(float(axis.values[i]), 3)}"
        for axis, i in zip(sweep_map.axes, peak, strict=True)
        if axis.name
    ]
    marks = {mark.label: mark for mark in sweep_map.marks}
    return [
        make_text_cell(sweep_map.title),
        _make_share_cell(float(works.mean()), [f"{works.sum():,} of {works.size:,}"]),
        TableCell(sweep_map.describe_ranges() if works[peak] else ["nowhere"], float(works[peak])),
        _make_share_cell(float(sweep_map.last_tenth[peak]), best),
        *(
            _make_share_cell(marks[label].earns, marks[label].describe())
            if label in marks
            else make_text_cell("–")
            for label in labels
        ),
    ]


def _make_share_cell(share: float, notes: Sequence[str]) -> TableCell:
    return make_number_cell(percent(share), share)._replace(notes=notes)
