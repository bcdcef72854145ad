"""Where results come from: who computed the parts of a study, with what, and how long it took."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from heavytail.report.page import definitions
from heavytail.report.page_numbers import duration
from heavytail.studies.plan import Phase
from heavytail.studies.spec import Spec

PER_PART = frozenset({"sha256", "bytes", "part", "seconds", "parts"})
HARMLESS = frozenset({"host", "cpus", "machine"})  # may differ in one study without a word


def seconds_of(sidecars: Sequence[Mapping[str, Any]]) -> float:
    """Work in these parts, all workers together."""
    return float(sum(page.get("seconds", 0.0) for page in sidecars))


def values_of(sidecars: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """By key, in how many parts each value is found."""
    found: dict[str, dict[str, int]] = {}
    for page in sidecars:
        for key in page.keys() - PER_PART:
            values = found.setdefault(key, {})
            values[str(page[key])] = values.get(str(page[key]), 0) + _parts(page)
    return {key: dict(sorted(values.items())) for key, values in sorted(found.items())}


def mixed(sidecars: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """What should be the same in all parts and is not."""
    return {key: values for key, values in values_of(sidecars).items() if len(values) > 1 and key not in HARMLESS}


def warning(sidecars: Sequence[Mapping[str, Any]]) -> str:
    """A word about parts that different versions computed; nothing if there are none."""
    lines = [f"{key} {_counted(values)}" for key, values in mixed(sidecars).items()]
    if not lines:
        return ""
    return f'<p class="warning">Not all parts were computed by the same versions: {escape("; ".join(lines))}.</p>\n'


def origin(spec: Spec, about: Mapping[str, Any], pages: Mapping[Phase, Sequence[Mapping[str, Any]]], command: str) -> str:
    """The last part of a report: command if there is one, time, versions, machines, spec."""
    every = [page for each in pages.values() for page in each]
    time = {
        f"time in {phase}": f"{duration(seconds_of(each))} in {sum(map(_parts, each))} parts, all workers together"
        for phase, each in pages.items()
    }
    versions = {key: _counted(values) if len(values) > 1 else next(iter(values)) for key, values in values_of(every).items()}
    facts = {
        **({"command": command} if command else {}),
        **time,
        "spec digest": spec.digest(),
        "started on": str(about.get("started_on", "not recorded")),
        **versions,
    }
    text = json.dumps(about["spec"] if "spec" in about else spec.model_dump(mode="json"), indent=2, ensure_ascii=False)
    return f"{warning(every)}{definitions(facts)}<details><summary>The spec</summary><pre>{escape(text)}</pre></details>\n"


def _parts(page: Mapping[str, Any]) -> int:
    """Of how many parts it speaks: of a map, sidecars that say the same are one."""
    return int(page.get("parts", 1))


def _counted(values: Mapping[str, int]) -> str:
    return ", ".join(f"{value} ({count} part{'s' * (count > 1)})" for value, count in values.items())
