"""Every figure of a report as a file of its own, for papers and slides."""

from pathlib import Path

from heavytail.report.papers import overview, paper_figures
from heavytail.report.papers_families import paper_family_figures
from heavytail.report.papers_heatmaps import paper_heat_maps
from heavytail.report.papers_landscape import paper_landscape
from heavytail.report.saving import save_figure
from heavytail.studies.findings import Findings
from heavytail.studies.landscapes import PLACE

PICTURES = "figures"  # the folder beside the page


def picture_name(*parts: str) -> str:
    """The file of a figure.

    >>> picture_name("six_arms", "regret")
    'six_arms-regret.svg'
    """
    return f"{'-'.join(parts)}.svg"


def write_pictures(folder: Path, found: Findings) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    if found.alone:
        save_figure(overview(found.alone, found.looks), folder / picture_name(found.prefix + "overview"))
    for task in found.alone:
        for name, figure in paper_figures(task, found.looks).items():
            save_figure(figure, folder / picture_name(task.place, name))
    for family in found.families:
        for name, figure in paper_family_figures(family, found.looks).items():
            save_figure(figure, folder / picture_name(family.place, name))
    for grid in found.grids:
        task = found.tasks[grid.env]
        title = f"{grid.label}, {task.label}\n{grid.measure.words} in tuning"
        save_figure(paper_heat_maps(grid.maps, grid.measure, title), folder / picture_name(task.place, "grid", grid.agent))
    for each in found.across:
        title = each.measure.words.capitalize()
        save_figure(paper_heat_maps([each.map], each.measure, title), folder / picture_name(found.prefix + each.name))
    for landscape in found.landscapes:
        save_figure(paper_landscape(landscape), folder / picture_name(found.prefix + PLACE, landscape.name))
