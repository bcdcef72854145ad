"""Every figure of a report as a file of its own, for papers and slides."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from heavytail.errors import InputError
from heavytail.files import save_figure
from heavytail.report.figures import figures_of
from heavytail.report.figures.curves import FigureSpec
from heavytail.report.figures.families import family_figures
from heavytail.report.figures.families_matplotlib import paper_family_figures
from heavytail.report.figures.heatmaps_matplotlib import paper_heat_maps
from heavytail.report.figures.render_matplotlib import overview, paper_figures
from heavytail.report.figures.sweep_maps_matplotlib import paper_landscape
from heavytail.report.figures.sweep_maps_plotly import landscape_figure
from heavytail.report.html_tables import legend, table, text
from heavytail.report.number_format import duration
from heavytail.report.page import figure, page, paragraphs, section, tiles
from heavytail.report.report_data import ReportData, collect_report_data
from heavytail.report.sections.across import across_section
from heavytail.report.sections.agents import agents_table, counters_table
from heavytail.report.sections.claims import claims_section, how_judged
from heavytail.report.sections.growth import growth_of_family, growth_of_task
from heavytail.report.sections.provenance import origin, warning
from heavytail.report.sections.sweeps import PLACE, landscapes_section
from heavytail.report.sections.tuning import grids_section
from heavytail.studies.families import Family
from heavytail.studies.provenance import seconds_of
from heavytail.studies.published import COMPANIONS, published_result
from heavytail.studies.results import Agent, Task
from heavytail.studies.study import Study

PICTURES = "figures"  # the folder beside the page


def picture_name(*parts: str) -> str:
    """The file of a figure.

    >>> picture_name("six_arms", "regret")
    'six_arms-regret.svg'
    """
    return f"{'-'.join(parts)}.svg"


def write_pictures(folder: Path, found: ReportData) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    if found.alone:
        save_figure(overview(found.alone, found.styles), folder / picture_name(found.prefix + "overview"))
    for task in found.alone:
        for name, drawn in paper_figures(task, found.styles).items():
            save_figure(drawn, folder / picture_name(task.place, name))
    for family in found.families:
        for name, drawn in paper_family_figures(family, found.styles).items():
            save_figure(drawn, folder / picture_name(family.place, name))
    for grid in found.grids:
        task = found.tasks[grid.env]
        title = f"{grid.label}, {task.label}\n{grid.measure.words} in tuning"
        save_figure(
            paper_heat_maps(grid.maps, grid.measure, title),
            folder / picture_name(task.place, "grid", grid.agent),
        )
    for each in found.across:
        title = each.measure.words.capitalize()
        save_figure(
            paper_heat_maps([each.map], each.measure, title), folder / picture_name(found.prefix + each.name)
        )
    for landscape in found.landscapes:
        save_figure(paper_landscape(landscape), folder / picture_name(found.prefix + PLACE, landscape.name))


CLAIMS, ORIGIN = "claims", "origin"  # places in the page


class CompanionStudy(NamedTuple):
    """A finished study that is shown in the report of another."""

    study: Study
    title: str
    words: str  # where its results come from


class StudySection(NamedTuple):
    """A study as a page shows it."""

    found: ReportData
    title: str
    words: str
    command: str


class Section(NamedTuple):
    """A part of a page."""

    name: str
    link: str  # what the top of the page calls it
    title: str
    body: str


def write_report(
    study: Study, path: str | Path, *, command: str = "", beside: Sequence[CompanionStudy] = ()
) -> Path:
    """Write the report of a finished study.

    Args:
        study: with all its parts done.
        path: of the page; the folder ``figures`` beside it gets every figure as SVG.
        command: with which it can be done again, shown in the page.
        beside: finished studies that follow in the same page, their claims beside those of the first.

    Returns:
        The path of the page.
    """
    target, every = Path(path), chapters(study, command, beside)
    content = page_of(every)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for chapter in every:
            write_pictures(target.parent / PICTURES, chapter.found)
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
    return target


def chapters(study: Study, command: str = "", beside: Sequence[CompanionStudy] = ()) -> list[StudySection]:
    """A study, then those beside it; ``~`` is in no name of a spec, so that the names in a page differ."""
    spec = study.spec
    first = StudySection(collect_report_data(study), spec.title or spec.name, spec.description, command)
    return [
        first,
        *(
            StudySection(collect_report_data(each.study, f"{i}~"), each.title, each.words, "")
            for i, each in enumerate(beside, 2)
        ),
    ]


def page_of(every: Sequence[StudySection]) -> str:
    """The report as HTML."""
    first, *others = every
    figures = {place: shown for chapter in every for place, shown in _figures(chapter.found)}
    lines = [[Section(CLAIMS, "Claims", "Claims", _claims(every)), *_sections(first.found, figures)]]
    lines += [[_opening(other), *_sections(other.found, figures, f"{other.title}: ")] for other in others]
    lines[-1].append(Section(ORIGIN, "How this was made", "How this was made", _origin(every)))
    body = f"<h1>{escape(first.title)}</h1>\n{_head(first)}"
    body += "".join(section(each.name, each.title, each.body) for line in lines for each in line)
    return page(first.title, [[(each.name, each.link) for each in line] for line in lines], body, figures)


def _figures(found: ReportData) -> Iterator[tuple[str, list[FigureSpec]]]:
    for task in found.alone:
        yield task.place, figures_of(task, found.styles)
    for family in found.families:
        yield family.place, family_figures(family, found.styles)
    if found.landscapes:
        yield f"{found.prefix}{PLACE}", [landscape_figure(each) for each in found.landscapes]


def _head(chapter: StudySection) -> str:
    return paragraphs(chapter.words) + tiles(_numbers(chapter.found)) + warning(chapter.found.every_sidecar)


def _lengths(found: ReportData) -> str:
    """How long runs are, in the units that they are counted in."""
    by_unit: dict[str, set[int]] = {}
    for cell in found.cells:
        by_unit.setdefault(found.tasks[cell.env].unit, set()).add(cell.parts[0].units)
    ends = {unit: sorted({min(units), max(units)}) for unit, units in by_unit.items()}
    return " / ".join(f"{' to '.join(f'{n:,}' for n in both)} {unit}s" for unit, both in ends.items())


def _numbers(found: ReportData) -> dict[str, str]:
    verdicts = [each.verdict for each in found.judged]
    claims = (
        {
            f"claims {word}": str(verdicts.count(word))
            for word in ("reproduced", "not reproduced", "undecided")
        }
        if verdicts
        else {}
    )
    return {
        **claims,
        "agents × environments": f"{len(found.spec.agents)} × {len(found.spec.envs)}",
        "seeds": str(found.spec.seeds),
        "per run": _lengths(found),
        **({"runs on maps": f"{sum(found.maps.table['runs'].to_pylist()):,}"} if found.maps else {}),
        "of computing": duration(seconds_of(found.every_sidecar)),
    }


def _opening(chapter: StudySection) -> Section:
    """Where a study beside the first begins."""
    link = (
        f'<p>Its <a href="#{escape(f"{chapter.found.prefix}{CLAIMS}-of")}">claims</a> are with those of'
        " the first study.</p>\n"
    )
    return Section(f"{chapter.found.prefix}study", chapter.title, chapter.title, _head(chapter) + link)


def _sections(
    found: ReportData, figures: Mapping[str, Sequence[FigureSpec]], before: str = ""
) -> Iterator[Section]:
    """The parts that each study has for itself; `before` begins their titles."""
    if found.across:
        words, pictures = (
            "Agents × environments",
            [f"{PICTURES}/{picture_name(found.prefix + each.name)}" for each in found.across],
        )
        yield Section(f"{found.prefix}map", words, f"{before}{words}", across_section(found.across, pictures))
    for task in found.alone:
        yield Section(
            f"env-{task.place}",
            task.label,
            f"{before}{task.label}",
            _environment(found, task, figures[task.place]),
        )
    for family in found.families:
        yield Section(
            f"family-{family.place}",
            family.label,
            f"{before}{family.label}",
            _family(found, family, figures[family.place]),
        )
    if found.maps:
        words, place = "Where it works", f"{found.prefix}{PLACE}"
        drawn = [
            figure(place, shown, f"{PICTURES}/{picture_name(place, shown.name)}") for shown in figures[place]
        ]
        yield Section(
            f"{place}-it-works",
            words,
            f"{before}{words}",
            landscapes_section(found.landscapes, drawn, found.maps),
        )
    if found.failures:
        yield Section(
            f"{found.prefix}failures",
            "Runs that failed",
            f"{before}Runs that failed",
            _failures(found.failures),
        )


def _environment(found: ReportData, task: Task, figures: Sequence[FigureSpec]) -> str:
    return (
        f"<p>{_about(task)}</p>\n"
        + agents_table(task, found.styles, found.spec, found.cells, found.seconds)
        + growth_of_task(task, found.styles)
        + _drawn(found, task.place, task.agents, figures)
        + counters_table(task, found.styles)
        + grids_section([grid for grid in found.grids if grid.env == task.key], found.styles, found.spec)
    )


def _family(found: ReportData, family: Family, figures: Sequence[FigureSpec]) -> str:
    last = family.members[-1]
    return (
        (
            f"<p>{len(family.members)} environments that differ in {escape(family.axis)}. The table of"
            " agents is of the last.</p>\n"
        )
        + agents_table(last, found.styles, found.spec, found.cells, found.seconds)
        + growth_of_family(family, found.styles)
        + _drawn(found, family.place, family.agents, figures)
    )


def _drawn(found: ReportData, place: str, agents: Sequence[Agent], figures: Sequence[FigureSpec]) -> str:
    """A legend, and the figures that it is for."""
    drawn = "".join(
        figure(place, shown, f"{PICTURES}/{picture_name(place, shown.name)}") for shown in figures
    )
    return (
        legend(place, [(a.key, a.label, a.setting) for a in agents], found.styles)
        + f'<div class="figures">{drawn}</div>\n'
    )


def _about(task: Task) -> str:
    if task.optimum is None:
        return (
            "Nobody knows the best policy here, so that there is no regret. A clean return is the sum of"
            " the rewards of an episode without the noise on top of them."
        )
    steps = f" ({task.horizon} steps each)" if task.horizon > 1 else ""
    return f"The best policy earns {task.optimum:.4g} per {task.per}{steps}."


def _failures(failures: list[list[str]]) -> str:
    rows = [[text(value) for value in row] for row in failures]
    return (
        "<p>They are left out of all"
        f" numbers.</p>\n{table(['Agent', 'Environment', 'Phase', 'Point', 'Seed', 'Error'], rows)}"
    )


def _claims(every: Sequence[StudySection]) -> str:
    """The claims of all studies, and once what the numbers mean."""
    shown, said = "", ""
    for chapter in every:
        found = chapter.found
        shown += _heading(chapter, CLAIMS, every) + claims_section(
            found.spec, found.judged, found.tasks, prefix=found.prefix
        )
        if found.judged and (words := how_judged(found.spec)) != said:
            shown, said = shown + words, words
    return shown


def _origin(every: Sequence[StudySection]) -> str:
    return "".join(
        _heading(each, ORIGIN, every)
        + origin(each.found.spec, each.found.about, each.found.sidecars, each.command)
        for each in every
    )


def _heading(chapter: StudySection, name: str, every: Sequence[StudySection]) -> str:
    """The name of a study above what is its own in a section of all, if there are several."""
    return (
        f'<h3 id="{escape(f"{chapter.found.prefix}{name}-of")}">{escape(chapter.title)}</h3>\n'
        if len(every) > 1
        else ""
    )


def beside(name: str, fresh: list[Study]) -> Iterator[CompanionStudy]:
    """What is shown beside the first of some fresh studies: the others, and published results."""
    for study in fresh[1:]:
        yield CompanionStudy(
            study, f"{study.spec.title}: run here", "Run here, now, at the scale that this machine allows."
        )
    for each in (name, *COMPANIONS.get(name, ())):
        if result := published_result(each):
            words = (
                f"The result that comes with heavytail, at full scale, computed on {_device(result)}"
                f" with: heavytail run studies/{each}/spec.toml"
            )
            yield CompanionStudy(result, f"{result.spec.title}: published result", words)


def _device(study: Study) -> str:
    pages = study.store.sidecars(
        [part for stage in study.stages() if stage.phase != "map" for part in stage.parts]
    )
    pages += study.maps().sidecars if study.sweeps else []
    return ", ".join(sorted({str(page.get("device", "a CPU")) for page in pages}))
