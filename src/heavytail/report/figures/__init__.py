"""The figures of a report: one description each, drawn in the page and as files for papers."""

from heavytail.registry import registered
from heavytail.report.figures.figure import Figure, Styles
from heavytail.studies.results import Task


def make_figures(task: Task, styles: Styles) -> list[Figure]:
    """Make all registered figures that apply to a task, in the order of the page."""
    figures = [
        figure._replace(name=entry.name)
        for entry in registered("figure")
        if (figure := entry.builder(task, styles)) is not None
    ]
    return sorted(figures, key=lambda figure: (figure.order, figure.name))
