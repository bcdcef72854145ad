"""Every figure of a report as a file of its own, for papers and slides."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from heavytail.report.curves import Task
from heavytail.report.papers import overview, paper_figures
from heavytail.report.papers_heatmaps import paper_heat_maps
from heavytail.report.saving import save_figure
from heavytail.report.theme import Look
from heavytail.studies.grids import Grid

PICTURES = "figures"  # the folder beside the page


def picture_name(*parts: str) -> str:
    """The file of a figure."""
    return f"{'-'.join(parts)}.svg"


def write_pictures(folder: Path, tasks: Mapping[str, Task], looks: Mapping[str, Look], grids: Sequence[Grid]) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    save_figure(overview(list(tasks.values()), looks), folder / picture_name("overview"))
    for key, task in tasks.items():
        for name, figure in paper_figures(task, looks).items():
            save_figure(figure, folder / picture_name(key, name))
    for grid in grids:
        title = f"{grid.label}, {tasks[grid.env].label}: median final regret in tuning"
        save_figure(paper_heat_maps(grid.maps, title), folder / picture_name(grid.env, "grid", grid.agent))
