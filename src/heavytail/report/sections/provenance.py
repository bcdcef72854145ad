"""Where the results of a study come from, as the last section of its report."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from heavytail.report.number_format import duration
from heavytail.report.page import definitions
from heavytail.studies.plan import Phase
from heavytail.studies.provenance import _parts, mixed, seconds_of, values_of
from heavytail.studies.specs.spec import Spec


def warning(sidecars: Sequence[Mapping[str, Any]]) -> str:
    """A word about parts that different versions computed; nothing if there are none."""
    lines = [f"{key} {_counted(values)}" for key, values in mixed(sidecars).items()]
    if not lines:
        return ""
    return (
        '<p class="warning">Not all parts were computed by the same versions:'
        f" {escape('; '.join(lines))}.</p>\n"
    )


def origin(
    spec: Spec, about: Mapping[str, Any], pages: Mapping[Phase, Sequence[Mapping[str, Any]]], command: str
) -> str:
    """The last part of a report: command if there is one, time, versions, machines, spec."""
    every = [page for each in pages.values() for page in each]
    time = {
        f"time in {phase}": f"{duration(seconds_of(each))} in {sum(map(_parts, each))} parts, all workers together"
        for phase, each in pages.items()
    }
    versions = {
        key: _counted(values) if len(values) > 1 else next(iter(values))
        for key, values in values_of(every).items()
    }
    facts = {
        **({"command": command} if command else {}),
        **time,
        "spec digest": spec.digest(),
        "started on": str(about.get("started_on", "not recorded")),
        **versions,
    }
    text = json.dumps(
        about["spec"] if "spec" in about else spec.model_dump(mode="json"), indent=2, ensure_ascii=False
    )
    return (
        f"{warning(every)}{definitions(facts)}<details><summary>The"
        f" spec</summary><pre>{escape(text)}</pre></details>\n"
    )


def _counted(values: Mapping[str, int]) -> str:
    return ", ".join(f"{value} ({count} part{'s' * (count > 1)})" for value, count in values.items())
