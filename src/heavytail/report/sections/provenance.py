"""The provenance of a study's results: the last section of its report."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heavytail.report.number_format import duration
from heavytail.report.report_data import StudySection
from heavytail.report.sections.section import Section
from heavytail.report.tables import Link
from heavytail.studies.provenance import count_parts, count_values, mixed, total_seconds

ORIGIN = "origin"  # id of the section


def make_origin_section(studies: Sequence[StudySection]) -> Section:
    """Make the last section: command, time, versions, machines and spec of each study."""
    title = "How this was made"
    content = [_describe_origin(study, alone=len(studies) == 1) for study in studies]
    return Section(ORIGIN, title, title, "origin", {"studies": content})


def _describe_origin(study: StudySection, *, alone: bool) -> dict[str, Any]:
    data = study.data
    spec = data.results.metadata.get("spec", data.spec.model_dump(mode="json"))
    return {
        "heading": None if alone else Link(f"{data.prefix}{ORIGIN}-of", study.title),
        "mixed": describe_mixed(data.all_sidecars),
        "facts": _list_facts(study),
        "spec": json.dumps(spec, indent=2, ensure_ascii=False),
    }


def _list_facts(study: StudySection) -> dict[str, str]:
    data = study.data
    times = {
        f"time in {phase}": (
            f"{duration(total_seconds(sidecars))} in {sum(map(count_parts, sidecars))} parts,"
            " all workers together"
        )
        for phase, sidecars in data.sidecars.items()
    }
    versions = {
        key: _count_values(values) if len(values) > 1 else next(iter(values))
        for key, values in count_values(data.all_sidecars).items()
    }
    return {
        **({"command": study.command} if study.command else {}),
        **times,
        "spec digest": data.spec.digest(),
        "started on": str(data.results.metadata.get("started_on", "not recorded")),
        **versions,
    }


def describe_mixed(sidecars: Sequence[Mapping[str, Any]]) -> str:
    """Describe which versions computed which parts; empty if all have the same."""
    return "; ".join(f"{key} {_count_values(values)}" for key, values in mixed(sidecars).items())


def _count_values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{value} ({count} part{'s' * (count > 1)})" for value, count in values.items())
